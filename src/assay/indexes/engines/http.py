"""HTTP/1.1 with JSON over one connection that is kept, for engines that are servers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from assay.core.errors import EngineError
from assay.core.http import BROKEN, Link, basic_of, bearer, compact, message, parsed, words

__all__ = ["Client", "bearer", "message", "parsed", "until"]

FIRST, LONGEST = 0.02, 2.0  # seconds between two looks at a server that is not ready


class Client(Link):
    """A server spoken to in JSON, with the headers that every request carries."""

    def __init__(self, engine: str, url: str, headers: Mapping[str, str], timeout: float) -> None:
        super().__init__(parsed(url, ("http", "https")), timeout)
        self.engine, self.headers = engine, {**basic_of(self.parts), **headers}

    @property
    def where(self) -> str:
        """The server in words, without a password."""
        return f"{self.engine} at {self.parts.hostname}:{self.parts.port or '(default port)'}"

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """What the server answers, read as JSON; anything but success is an error with the server's words."""
        content = body if isinstance(body, bytes) or body is None else compact(body)
        headers = self.headers | ({} if body is None else {"Content-Type": kind})
        try:
            status, _, answer = self.exchanged(method, self.parts.path.rstrip("/") + path, content, headers)
        except TimeoutError:
            raise EngineError(
                f"{self.where} did not answer {method} {path} in {self.timeout:g} s; raise timeout"
            ) from None
        except BROKEN as error:
            raise EngineError(f"{self.where} cannot be reached for {method} {path}: {words(error)}") from None
        return self._read(method, path, status, answer)

    def lines(self, path: str, rows: Iterable[Any]) -> Any:
        """What the server answers to a POST of one JSON value a line."""
        return self.call("POST", path, b"".join(compact(row) + b"\n" for row in rows), "application/x-ndjson")

    def _read(self, method: str, path: str, status: int, answer: bytes) -> Any:
        try:
            body = json.loads(answer) if answer else None
        except ValueError:
            body = answer.decode(errors="replace")[:300]
            if status < 400:
                raise EngineError(f"{self.where} answered {method} {path} with no JSON: {body!r}") from None
        if status >= 400:
            hint = "; give a valid api_key" if status in (401, 403) else ""
            raise EngineError(f"{self.where} refused {method} {path} ({status}): {message(body)}{hint}")
        return body


def until(ready: Callable[[], bool], seconds: float, waited_for: str) -> None:
    """Ask again and again, less and less often, until a server is ready; an error when it never is."""
    end, pause = time.monotonic() + seconds, FIRST
    while not ready():
        if time.monotonic() + pause > end:
            raise EngineError(f"{waited_for} after {seconds:g} s; raise ready_timeout or look at the server")
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST)
