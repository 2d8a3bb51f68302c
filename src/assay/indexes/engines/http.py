"""HTTP/1.1 with JSON over one connection that is kept, for engines that are servers."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from assay.core.errors import EngineError, InputError

STALE = (ConnectionResetError, BrokenPipeError)  # RemoteDisconnected is a ConnectionResetError
FIRST, LONGEST = 0.02, 2.0  # seconds between two looks at a server that is not ready


class Client:
    """A server spoken to in JSON, with the headers that every request carries."""

    def __init__(self, engine: str, url: str, headers: Mapping[str, str], timeout: float) -> None:
        self.engine, self.timeout, self.parts = engine, timeout, parsed(url, ("http", "https"))
        self.headers = {**_basic(self.parts), **headers}
        self._connection: HTTPConnection | None = None

    @property
    def where(self) -> str:
        """The server in words, without a password."""
        return f"{self.engine} at {self.parts.hostname}:{self.parts.port or '(default port)'}"

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """What the server answers, read as JSON; anything but success is an error with the server's words."""
        content = body if isinstance(body, bytes) or body is None else _compact(body)
        headers = self.headers | ({} if body is None else {"Content-Type": kind})
        try:
            status, answer = self._sent(method, self.parts.path.rstrip("/") + path, content, headers)
        except TimeoutError:
            raise EngineError(
                f"{self.where} did not answer {method} {path} in {self.timeout:g} s; raise timeout"
            ) from None
        except (OSError, HTTPException) as error:
            raise EngineError(
                f"{self.where} cannot be reached for {method} {path}: {_words(error)}"
            ) from None
        return self._read(method, path, status, answer)

    def lines(self, path: str, rows: Iterable[Any]) -> Any:
        """What the server answers to a POST of one JSON value a line."""
        return self.call(
            "POST", path, b"".join(_compact(row) + b"\n" for row in rows), "application/x-ndjson"
        )

    def close(self) -> None:
        """Close the connection."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def _sent(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        reused = self._connection is not None
        try:
            return self._exchanged(method, path, body, headers)
        except STALE:
            if not reused:
                raise
        return self._exchanged(method, path, body, headers)  # the server had closed a connection that idled

    def _exchanged(
        self, method: str, path: str, body: bytes | None, head: dict[str, str]
    ) -> tuple[int, bytes]:
        self._connection = self._connection or self._opened()
        try:
            self._connection.request(method, path, body, head)
            answer: HTTPResponse = self._connection.getresponse()
            return answer.status, answer.read()
        except (OSError, HTTPException):
            self.close()
            raise

    def _opened(self) -> HTTPConnection:
        made = HTTPSConnection if self.parts.scheme == "https" else HTTPConnection
        return made(self.parts.hostname or "", self.parts.port, timeout=self.timeout)

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


def message(body: Any) -> str:
    """The words in an error's body, wherever an engine puts them.

    >>> message({"error": {"type": "x", "reason": "no such index"}, "status": 404})
    'no such index'
    >>> message({"status": {"error": "Not found"}, "time": 0.1})
    'Not found'
    """
    if isinstance(body, dict):
        keys = ("error", "errors", "reason", "message", "status", "root")
        return next((message(body[key]) for key in keys if body.get(key)), json.dumps(body)[:300])
    if isinstance(body, list):
        return message(body[0]) if body else "no reason given"
    return str(body or "no reason given")


def parsed(url: str, schemes: tuple[str, ...]) -> SplitResult:
    """The parts of a server's URL, checked."""
    try:
        parts = urlsplit(url)
        if parts.scheme in schemes and parts.hostname and parts.port != 0:
            return parts
    except ValueError:  # the port is no number
        pass
    told = re.sub(r"//[^/@]*@", "//…@", url)  # a password is not repeated
    raise InputError(f"url: expected {schemes[0]}://HOST:PORT, found {told!r}")


def bearer(api_key: str | None) -> dict[str, str]:
    """The header of a token."""
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def _basic(parts: SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _words(error: Exception) -> str:
    said = error.strerror if isinstance(error, OSError) else None
    return said or str(error) or type(error).__name__
