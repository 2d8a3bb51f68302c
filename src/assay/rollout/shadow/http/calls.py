"""Calls of an endpoint that no user waits for: limited in time and size, and never repeated."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import h11

from assay.core.timing import error_text
from assay.rollout.shadow.answers import timeout_answer
from assay.rollout.shadow.http.endpoint import Endpoint, EndpointConnection, Headers
from assay.rollout.shadow.http.frames import MirroredRequest
from assay.rollout.shadow.http.settings import MirrorSettings
from assay.rollout.shadow.records import CallAnswer


@dataclass(frozen=True)
class RawAnswer:
    """An answer as bytes."""

    status: int
    encoding: str
    body: bytes
    latency_ms: float
    size: int


class _TooLargeError(Exception):
    """The body of an answer is larger than the limit."""


class EndpointCaller:
    """Sends mirrored requests to one endpoint."""

    def __init__(self, url: str, settings: MirrorSettings, withheld: tuple[str, ...] = ()) -> None:
        self._endpoint = Endpoint(url)
        self._timeout, self._max_body = settings.limits.timeout, settings.max_body
        self._keep_host = settings.keep_host
        self._withheld = {name.lower() for name in withheld}

    async def call(self, request: MirroredRequest) -> RawAnswer | CallAnswer:
        """Return the answer as bytes, or how the call failed."""
        start = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout):
                return await self._exchange(request, start)
        except TimeoutError:
            return timeout_answer(self._timeout)
        except _TooLargeError:
            kind, reason = "too large", f"more than {self._max_body:,} bytes"
        except (OSError, h11.ProtocolError) as error:
            kind, reason = "connection", f"{type(error).__name__}: {error_text(error)}"
        return CallAnswer(1000 * (time.perf_counter() - start), None, kind, reason)

    async def _exchange(self, request: MirroredRequest, start: float) -> RawAnswer:
        connection = await self._endpoint.connect()
        try:
            answer = await self._send(connection, request, start)
        except BaseException:
            connection.close()
            raise
        self._endpoint.release(connection)
        return answer

    async def _send(
        self, connection: EndpointConnection, request: MirroredRequest, start: float
    ) -> RawAnswer:
        target = self._endpoint.base_path + request.target.encode("latin-1")
        await connection.send(
            h11.Request(method=request.method, target=target, headers=self._headers(request))
        )
        if request.body:
            await connection.send(h11.Data(data=request.body))
        await connection.send(h11.EndOfMessage())
        while isinstance(head := await connection.next_event(), h11.InformationalResponse):
            pass
        if not isinstance(head, h11.Response):
            raise ConnectionError("closed without an answer")
        body = await self._read_body(connection)
        latency = 1000 * (time.perf_counter() - start)
        encoding = next((v.decode("latin-1") for n, v in head.headers if n == b"content-encoding"), "")
        return RawAnswer(head.status_code, encoding, body, latency, len(body))

    def _headers(self, request: MirroredRequest) -> Headers:
        headers = [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in request.headers
            if name.lower() not in self._withheld
        ]
        if self._keep_host and any(name == b"host" for name, _ in headers):
            return headers
        rest = [(name, value) for name, value in headers if name != b"host"]
        return [(b"host", self._endpoint.host_header), *rest]

    async def _read_body(self, connection: EndpointConnection) -> bytes:
        parts: list[bytes] = []
        size = 0
        while isinstance(event := await connection.next_event(), h11.Data):
            size += len(event.data)
            if size > self._max_body:
                raise _TooLargeError
            parts.append(bytes(event.data))
        if not isinstance(event, h11.EndOfMessage):
            raise ConnectionError("closed before the end of the answer")
        return b"".join(parts)
