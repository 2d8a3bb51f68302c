"""HTTP/1.1 over one connection that is kept: what everything that speaks to a server shares."""

from __future__ import annotations

import base64
import io
import json
import math
import re
import select
import socket
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPMessage,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
)
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from assay.core.errors import InputError
from assay.core.secrets import hidden

BROKEN = (OSError, HTTPException)  # TimeoutError is an OSError: look for it first


class Response(NamedTuple):
    """What a server answered."""

    status: int
    headers: HTTPMessage
    body: bytes


class TooLargeError(Exception):
    """An answer is larger than was allowed."""


class Link:
    """A connection to a server, opened when it is needed; for one thread at a time.

    A request is sent once: a connection that the server closed while it idled is noticed before.
    """

    def __init__(self, parts: SplitResult, timeout: float | None, most: int | None = None) -> None:
        self.parts, self.timeout, self.most = parts, timeout, most
        self._connection: HTTPConnection | None = None

    def exchanged(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Response:
        """What the server answers, all of it within the timeout and of no more than `most` bytes."""
        end = math.inf if self.timeout is None else time.monotonic() + self.timeout
        if self._connection is not None and _dropped(self._connection.sock):
            self.close()
        self._connection = self._connection or self._opened()
        try:
            return self._answer(self._connection, end, (method, path, body, dict(headers)))
        except BaseException:
            self.close()  # what is still to come would be taken for the next answer
            raise

    def _answer(self, connection: HTTPConnection, end: float, asked: tuple[Any, ...]) -> Response:
        connection.response_class = partial(_response, end)  # type: ignore[assignment]
        if connection.sock is not None:
            connection.sock.settimeout(_left(end))
        pieces: list[Any] = []
        connection.send = pieces.append  # type: ignore[assignment]  # head and body leave in one packet
        connection.request(*asked)
        type(connection).send(connection, b"".join(pieces))
        with connection.getresponse() as answer:
            return Response(answer.status, answer.headers, self._body(answer))

    def _body(self, answer: HTTPResponse) -> bytes:
        if self.most is None:
            return answer.read()
        found = b"" if (answer.length or 0) > self.most else answer.read(self.most + 1)
        if (answer.length or 0) + len(found) > self.most:
            raise TooLargeError(f"more than {self.most:,} bytes")
        if answer.length:
            raise IncompleteRead(found, answer.length)
        return found

    def _opened(self) -> HTTPConnection:
        made = HTTPSConnection if self.parts.scheme == "https" else HTTPConnection
        return made(self.parts.hostname or "", self.parts.port, timeout=self.timeout)

    def close(self) -> None:
        """Close the connection."""
        if self._connection:
            self._connection.close()
            self._connection = None


class _Until(io.RawIOBase):
    """A socket read until a moment, however slowly the bytes come in."""

    def __init__(self, sock: socket.socket, end: float) -> None:
        self._sock, self._end = sock, end
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read what there is."""
        self._sock.settimeout(_left(self._end))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Let go of the socket."""
        self._raw.close()
        super().close()

    def makefile(self, mode: str) -> io.BufferedReader:
        """The file that an HTTPResponse reads."""
        return io.BufferedReader(self)


def _response(end: float, sock: socket.socket, **options: Any) -> HTTPResponse:
    return HTTPResponse(_Until(sock, end), **options)  # type: ignore[arg-type]


def _left(end: float) -> float | None:
    """The seconds that are left; None: as many as it takes."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return None if math.isinf(left) else left


def _dropped(sock: socket.socket | None) -> bool:
    """Whether a connection that idles was closed by the other side: then there is something to read."""
    if sock is None:
        return True
    if not hasattr(select, "poll"):
        return bool(select.select([sock], [], [], 0)[0])
    look = select.poll()
    look.register(sock, select.POLLIN)
    return bool(look.poll(0))


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


def basic(pair: str) -> dict[str, str]:
    """The header of a name and a password, as NAME:PASSWORD.

    >>> basic("ada:p@ss")
    {'Authorization': 'Basic YWRhOnBAc3M='}
    """
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def basic_of(parts: SplitResult) -> dict[str, str]:
    """The header of the name and the password in a URL, where there are any."""
    return (
        {} if parts.username is None else basic(f"{unquote(parts.username)}:{unquote(parts.password or '')}")
    )


def compact(value: Any) -> bytes:
    """A value as JSON without blanks."""
    return json.dumps(value, separators=(",", ":")).encode()


def message(body: Any) -> str:
    """The words in an error's body, wherever a server puts them.

    >>> message({"error": {"type": "x", "reason": "no such index"}, "status": 404})
    'no such index'
    >>> message({"status": {"error": "Not found"}, "time": 0.1})
    'Not found'
    """
    if isinstance(body, dict):
        keys = ("error", "errors", "reason", "message", "status", "root")
        return next((message(body[key]) for key in keys if body.get(key)), hidden(json.dumps(body))[:300])
    if isinstance(body, list):
        return message(body[0]) if body else "no reason given"
    return str(body or "no reason given")


def words(error: Exception) -> str:
    """What an error of a connection says."""
    said = error.strerror if isinstance(error, OSError) else None
    return said or str(error) or type(error).__name__


def waiting(header: str | None) -> float | None:
    """The seconds that a Retry-After asks for: a number, or a date.

    >>> waiting("3"), waiting("Wed, 21 Oct 2015 07:28:00 GMT"), waiting("soon")
    (3.0, 0.0, None)
    """
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None
