"""A client of one HTTP endpoint over kept connections: bytes pass as they are, nothing is followed."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import deque
from typing import Any

import h11

from assay.remote.http import parse_url

Headers = list[tuple[bytes, bytes]]
_MAX_HEAD = 256 * 1024  # bytes of the status line and the headers
_READ = 1 << 16
_IDLE_SECONDS = 3.0  # servers close idle connections, often after 5 s
_MAX_IDLE = 256

# headers that are about one connection (RFC 9110, 7.6.1)
_HOP_BY_HOP = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding"),
        *(b"upgrade", b"proxy-authenticate", b"proxy-authorization"),
    )
)


def end_to_end(headers: Headers) -> Headers:
    """Return the headers that a proxy passes on.

    >>> end_to_end([(b"connection", b"close, x-trace"), (b"X-Trace", b"1"), (b"etag", b"2")])
    [(b'etag', b'2')]
    """
    named = {
        token.strip().lower()
        for name, value in headers
        if name.lower() == b"connection"
        for token in value.split(b",")
    }
    return [
        (name, value)
        for name, value in headers
        if (low := name.lower()) not in _HOP_BY_HOP and low not in named
    ]


class EndpointConnection:
    """One connection; after an exchange it can be used again, unless either side closes it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._state = h11.Connection(h11.CLIENT, _MAX_HEAD)
        self.idle_since = 0.0
        self.is_reused = False

    async def send(self, event: Any) -> None:
        """Send a part of a request."""
        data = self._state.send(event)
        if data:
            self._writer.write(data)
            if self._writer.transport.get_write_buffer_size() > _READ:
                await self._writer.drain()

    def ready_event(self) -> Any:
        """Return the next part of the answer if its bytes are here, else NEED_DATA."""
        return self._state.next_event()

    async def next_event(self, timeout: float | None = None) -> Any:
        """Return the next part of the answer, within so many seconds without a byte."""
        while (event := self._state.next_event()) is h11.NEED_DATA:
            async with asyncio.timeout(timeout):
                data = await self._reader.read(_READ)
            self._state.receive_data(data)
        return event

    def is_open(self) -> bool:
        """Return whether it can be used again."""
        return not (self._reader.at_eof() or self._writer.is_closing())

    def restart(self) -> bool:
        """Prepare the next exchange; False if the connection cannot be used again."""
        try:
            self._state.start_next_cycle()
        except h11.ProtocolError:
            return False
        return self.is_open() and self._state.trailing_data == (b"", False)

    def close(self) -> None:
        """Close the connection at once."""
        self._writer.transport.abort() if not self._writer.is_closing() else None


class Endpoint:
    """A server by its URL; a target of a request is added to the path of the URL."""

    def __init__(self, url: str) -> None:
        parts = parse_url(url, ("http", "https"))
        self._host, self._ssl = parts.hostname or "", parts.scheme == "https"
        self._port = parts.port or (443 if self._ssl else 80)
        self.base_path = parts.path.rstrip("/").encode()
        self.host_header = parts.netloc.encode()
        self._context = ssl.create_default_context() if self._ssl else None
        self._idle: deque[EndpointConnection] = deque()

    async def connect(self, is_fresh: bool = False) -> EndpointConnection:
        """Return a kept connection, or a new one."""
        while self._idle and not is_fresh:
            connection = self._idle.pop()
            if connection.is_open() and time.monotonic() - connection.idle_since < _IDLE_SECONDS:
                connection.is_reused = True
                return connection
            connection.close()
        reader, writer = await asyncio.open_connection(self._host, self._port, ssl=self._context)
        return EndpointConnection(reader, writer)

    def release(self, connection: EndpointConnection) -> None:
        """Keep a connection whose exchange is over, or close it."""
        if len(self._idle) < _MAX_IDLE and connection.restart():
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close the kept connections."""
        while self._idle:
            self._idle.pop().close()
