"""JSON by POST to an endpoint, asked again where that may help."""

from __future__ import annotations

import json
import os
import random
from time import sleep
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from assay.core.errors import InputError
from assay.core.http import BROKEN, Link, Response, TooLargeError, bearer, waiting, words
from assay.core.secrets import hidden, refuse_unsendable
from assay.models.model import ModelError, may_repeat, time_left

AGAIN = (408, 425, 429, 500, 502, 503, 504, 529)  # the statuses after which asking again may help
FIRST, LONGEST = 0.5, 60.0  # seconds to wait: before the first repetition, and at most
LARGEST = 1 << 29  # bytes of an answer
_LOOKED_AT = 100_000  # bytes of an answer in which words for an error are looked for


class Settings(NamedTuple):
    """How an endpoint is spoken to."""

    base_url: str
    key_env: str | None  # the environment variable that holds the key
    timeout: float
    retries: int = 0


class Client:
    """An endpoint, with connections that are kept for the next request of any thread."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.parts = settings, _parsed(settings.base_url)
        self._key = _key(settings.key_env)
        self._idle: list[Link] = []

    def post(self, path: str, body: Any) -> Any:
        """The answer, read as JSON; a ModelError where there is none after all repetitions."""
        content = json.dumps(body).encode()
        most = self.settings.retries if may_repeat() else 0
        for turn in range(most + 1):
            try:
                return self._answer(path, content)
            except ModelError as error:
                pause = _pause(turn, error.after)
                if not error.again or turn == most or pause > LONGEST:
                    raise
            sleep(pause)
        raise AssertionError

    def close(self) -> None:
        """Close the connections."""
        while self._idle:
            self._idle.pop().close()

    def _answer(self, path: str, content: bytes) -> Any:
        seconds = min(self.settings.timeout, time_left())
        try:
            status, headers, answer = self._exchanged(path, content, seconds)
        except TimeoutError:
            said = f"no answer of {self._where} in {max(0.0, seconds):.3g} s; raise timeout"
            raise ModelError("timeout", said, again=True) from None
        except BROKEN as error:
            said = f"{self._where} cannot be reached: {self._hidden(words(error))}"
            raise ModelError("connection", said, again=True) from None
        except TooLargeError as error:
            raise ModelError("too large", f"{self._where} answered with {error}") from None
        if status != 200:
            raise self._refused(status, headers.get("Retry-After"), answer)
        try:
            return json.loads(answer)
        except ValueError:
            shown = self._shown(answer)[:80]
            raise ModelError("malformed", f"{self._where} answered with no JSON: {shown!r}") from None

    def _exchanged(self, path: str, content: bytes, seconds: float) -> Response:
        if seconds <= 0:
            raise TimeoutError
        head = {"Content-Type": "application/json", "Accept": "application/json", **bearer(self._key)}
        try:
            link = self._idle.pop()
        except IndexError:
            link = Link(self.parts, None, LARGEST)
        link.timeout = seconds
        found = link.exchanged("POST", self.parts.path.rstrip("/") + path, content, head)
        self._idle.append(link)
        return found

    def _refused(self, status: int, after: str | None, answer: bytes) -> ModelError:
        said = self._shown(answer)[:300]
        named = self.settings.key_env or "name the variable that holds the key by key_env"
        hint = f"; look at the key ({named})" if status in (401, 403) else ""
        kind = "limited" if status == 429 else "status"
        told = f"{self._where} answered {status}: {said}{hint}"
        return ModelError(kind, told, again=status in AGAIN, after=waiting(after))

    def _shown(self, answer: bytes) -> str:
        """What an endpoint answered, without the key; only then may it be cut."""
        return self._hidden(answer[:_LOOKED_AT].decode(errors="replace"))

    def _hidden(self, text: str) -> str:
        return hidden(text, {self.settings.key_env or ""})

    @property
    def _where(self) -> str:
        return f"{self.parts.scheme}://{self.parts.netloc}{self.parts.path}"


def _parsed(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise InputError(f"base_url: expected https://HOST/v1, found {url.partition('?')[0]!r}")
    if parts.username is not None:
        raise InputError("base_url: a key does not stand in a URL; name its environment variable by key_env")
    return parts


def _key(variable: str | None) -> str:
    key = os.environ.get(variable, "") if variable else ""
    if variable and not key:
        raise InputError(f"key_env: the environment variable {variable} is not set")
    refuse_unsendable("key_env", f"the environment variable {variable}", key)
    return key


def _pause(turn: int, after: float | None) -> float:
    """Seconds to wait: as the endpoint says, else twice as long each time, and not in step with others."""
    return after if after is not None else min(LONGEST, FIRST * 2**turn * random.uniform(1, 1.5))
