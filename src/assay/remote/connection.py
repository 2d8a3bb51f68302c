"""One HTTP/1.1 connection that is kept open between requests, with a deadline and a size limit."""

from __future__ import annotations

import io
import math
import select
import socket
import time
from collections.abc import Mapping
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
from urllib.parse import SplitResult

CONNECTION_ERRORS = (OSError, HTTPException)  # TimeoutError is an OSError: catch it first


class Response(NamedTuple):
    """The response of a server."""

    status: int
    headers: HTTPMessage
    body: bytes


class ResponseTooLargeError(Exception):
    """The body of a response is larger than the limit."""


class HttpConnection:
    """A connection to one server, opened by the first request; for one thread at a time.

    A request is sent only once. A connection that the server closed while it was idle is detected
    and reopened before the request is sent.
    """

    def __init__(self, parts: SplitResult, max_bytes: int | None = None) -> None:
        self._parts, self._max_bytes = parts, max_bytes
        self._connection: HTTPConnection | None = None

    def request(
        self,
        method: str,
        target: str,
        body: bytes | None,
        headers: Mapping[str, str],
        timeout: float | None,
    ) -> Response:
        """Return the response; TimeoutError if it is not complete within `timeout` seconds."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        if self._connection is not None and _is_closed_by_server(self._connection.sock):
            self.close()
        if self._connection is None:
            connection_class = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
            self._connection = connection_class(
                self._parts.hostname or "", self._parts.port, timeout=_seconds_left(end)
            )
        try:
            return self._send(self._connection, end, (method, target, body, dict(headers)))
        except BaseException:
            self.close()  # the rest of this response would be read as the next one
            raise

    def _send(self, connection: HTTPConnection, end: float, request: tuple[Any, ...]) -> Response:
        connection.response_class = partial(_response_with_deadline, end)  # type: ignore[assignment]
        if connection.sock is not None:
            connection.sock.settimeout(_seconds_left(end))
        pieces: list[Any] = []
        connection.send = pieces.append  # type: ignore[assignment]  # head and body go in one packet
        connection.request(*request)
        type(connection).send(connection, b"".join(pieces))
        with connection.getresponse() as response:
            return Response(response.status, response.headers, self._read_body(response))

    def _read_body(self, response: HTTPResponse) -> bytes:
        if self._max_bytes is None:
            return response.read()
        body = b"" if (response.length or 0) > self._max_bytes else response.read(self._max_bytes + 1)
        if (response.length or 0) + len(body) > self._max_bytes:
            raise ResponseTooLargeError(f"more than {self._max_bytes:,} bytes")
        if response.length:
            raise IncompleteRead(body, response.length)
        return body

    def close(self) -> None:
        """Close the connection; the next request opens a new one."""
        if self._connection:
            self._connection.close()
            self._connection = None


class _DeadlineReader(io.RawIOBase):
    """Reads a socket until a deadline, however slowly the bytes arrive."""

    def __init__(self, sock: socket.socket, end: float) -> None:
        self._sock, self._end = sock, end
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        """Return True: this file is for reading."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read available bytes into the buffer."""
        self._sock.settimeout(_seconds_left(self._end))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Release the socket."""
        self._raw.close()
        super().close()

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return the file that an HTTPResponse reads."""
        return io.BufferedReader(self)


def _response_with_deadline(end: float, sock: socket.socket, **options: Any) -> HTTPResponse:
    return HTTPResponse(_DeadlineReader(sock, end), **options)  # type: ignore[arg-type]


def _seconds_left(end: float) -> float | None:
    """Return the seconds until a deadline; None if there is no deadline."""
    seconds = end - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("timed out")
    return None if math.isinf(seconds) else seconds


def _is_closed_by_server(sock: socket.socket | None) -> bool:
    """Return whether the server closed an idle connection: then the socket is readable."""
    if sock is None:
        return True
    if not hasattr(select, "poll"):
        return bool(select.select([sock], [], [], 0)[0])
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))
