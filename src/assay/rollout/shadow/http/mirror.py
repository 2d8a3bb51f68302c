"""The mirror: an ASGI application that passes every request to the primary and copies some beside it."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC, datetime
from typing import Any

import h11

from assay.core.errors import AssayError
from assay.rollout.shadow.counts import (
    ANSWER_TOO_LARGE,
    CLOSING,
    MEMORY_FULL,
    NOT_IDEMPOTENT,
    NOT_SAMPLED,
    PRIMARY_FAILED,
    PROCESS_ENDED,
    QUEUE_FULL,
    REQUEST_TOO_LARGE,
    ShadowCounts,
)
from assay.rollout.shadow.http.endpoint import Endpoint, EndpointConnection, Headers, end_to_end
from assay.rollout.shadow.http.frames import MirroredRequest
from assay.rollout.shadow.http.link import ShadowLink
from assay.rollout.shadow.http.settings import MirrorSettings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_REPEATABLE = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE")  # sent again over a new connection


class Capture:
    """What is kept of a request and its answer while they pass; nothing once `refusal` says why."""

    def __init__(self, limit: int, memory: Memory) -> None:
        self._limit, self._memory, self._held = limit, memory, 0
        self.body, self.answer = bytearray(), bytearray()
        self.refusal = ""

    def add(self, target: bytearray, data: bytes) -> None:
        """Keep a part of the request or of the answer, unless that is too much."""
        if self.refusal:
            return
        if len(target) + len(data) > self._limit:
            self.refuse(REQUEST_TOO_LARGE if target is self.body else ANSWER_TOO_LARGE)
        elif not self._memory.take(len(data)):
            self.refuse(MEMORY_FULL)
        else:
            self._held += len(data)
            target += data

    def refuse(self, reason: str) -> None:
        """Keep nothing more, and forget what was kept."""
        self.refusal = self.refusal or reason
        self.release()

    def release(self) -> None:
        """Give the memory back."""
        self._memory.free(self._held)
        self._held = 0
        self.body, self.answer = bytearray(), bytearray()


class Memory:
    """The bytes that all captures hold together."""

    def __init__(self, limit: int) -> None:
        self.limit, self.used = limit, 0

    def take(self, size: int) -> bool:
        """Take bytes; False if there are not so many."""
        if self.used + size > self.limit:
            return False
        self.used += size
        return True

    def free(self, size: int) -> None:
        """Give bytes back."""
        self.used -= size


class PrimaryError(Exception):
    """The primary could not be reached, or did not answer in HTTP; nothing was sent to the client yet."""

    def __init__(self, status: int, problem: str) -> None:
        self.status, self.problem = status, problem
        super().__init__(problem)


class Mirror:
    """The ASGI application; it reaches no server but the two that its settings name."""

    def __init__(self, settings: MirrorSettings) -> None:
        self.settings, self.counts = settings, ShadowCounts()
        self.link = ShadowLink(settings, self.counts)
        self._primary, self._memory = Endpoint(settings.primary), Memory(settings.memory // 2)
        self._random = random.Random(settings.limits.seed)
        self._is_closing = False
        self.problem = ""  # why it could not start

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or start and stop with the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._handle(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.link.open()
        except AssayError as error:
            self.problem = str(error)
            await send({"type": "lifespan.startup.failed", "message": self.problem})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._is_closing = True
        await self.link.close()
        self._primary.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.counts.add_request()
        path: bytes = scope["raw_path"]
        if scope["method"] == "CONNECT" or not (path.startswith(b"/") or path == b"*"):
            self.counts.leave_out(NOT_IDEMPOTENT)
            await _refuse(send, 400, "expected a path of the primary; this is no open proxy")
            return
        capture = self._start_capture(scope["method"], path)
        exchange = PrimaryExchange(self._primary, self.settings, scope, capture)
        try:
            await exchange.pass_on(receive, send)
        except PrimaryError as error:
            self._leave_out(capture, PRIMARY_FAILED)
            await _refuse(send, error.status, error.problem)
            return
        except (OSError, h11.ProtocolError):  # in the middle of the answer: the client's must end, too
            self._leave_out(capture, PRIMARY_FAILED)
            return
        if capture is not None:
            self._mirror(capture, exchange)

    def _start_capture(self, method: str, path: bytes) -> Capture | None:
        """Return what keeps a copy of the request; None if the candidate does not receive it."""
        reason = self._obstacle(method, path)
        if reason:
            self.counts.leave_out(reason)
            return None
        return Capture(self.settings.max_body, self._memory)

    def _obstacle(self, method: str, path: bytes) -> str:
        if method not in ("GET", "HEAD") and not self._is_search(method, path):
            return NOT_IDEMPOTENT
        if self._random.random() >= self.settings.limits.sample:
            return NOT_SAMPLED
        if self._is_closing:
            return CLOSING
        return self._full()

    def _full(self) -> str:
        if self.link.has_ended:
            return PROCESS_ENDED
        return QUEUE_FULL if self.link.is_full else ""

    def _is_search(self, method: str, path: bytes) -> bool:
        return method == "POST" and path.decode("latin-1") in self.settings.search_paths

    def _leave_out(self, capture: Capture | None, reason: str) -> None:
        if capture is not None:
            capture.refuse(reason)
            self.counts.leave_out(capture.refusal)

    def _mirror(self, capture: Capture, exchange: PrimaryExchange) -> None:
        """Hand a request and its answer to the shadow process."""
        reason = capture.refusal or self._full()
        if reason:
            self._leave_out(capture, reason)
            return
        repeated = self._random.random() < self.settings.limits.repeat
        self.link.send(exchange.to_mirrored(capture, repeated))
        self.counts.add_mirrored()
        capture.release()


class PrimaryExchange:
    """One request to the primary, and its answer on the way to the client."""

    def __init__(
        self, primary: Endpoint, settings: MirrorSettings, scope: Scope, capture: Capture | None
    ) -> None:
        self._primary, self._settings, self._scope, self._capture = primary, settings, scope, capture
        query: bytes = scope["query_string"]
        self._target: bytes = scope["raw_path"] + (b"?" + query if query else b"")
        self._headers = end_to_end(scope["headers"])
        names = {name for name, _ in scope["headers"]}
        self._has_body = b"content-length" in names or b"transfer-encoding" in names
        self._at, self._start, self._sending = datetime.now(UTC), time.perf_counter(), 0.0
        self._status, self._encoding = 0, ""
        self._is_body_sent = False

    async def pass_on(self, receive: Receive, send: Send) -> None:
        """Send the request to the primary and its answer to the client, part by part."""
        connection = await self._connect(is_fresh=False)
        try:
            head = await self._request(connection, receive)
        except (OSError, h11.ProtocolError) as error:
            connection.close()
            connection, head = await self._try_again(connection, receive, error)
        except BaseException:
            connection.close()
            raise
        try:
            await self._answer(connection, head, send)
        except BaseException:
            connection.close()
            raise
        self._primary.release(connection)

    async def _connect(self, is_fresh: bool) -> EndpointConnection:
        try:
            async with asyncio.timeout(self._settings.primary_timeout):
                return await self._primary.connect(is_fresh)
        except OSError as error:  # TimeoutError is one
            raise PrimaryError(502, "the primary cannot be reached") from error

    async def _try_again(
        self, connection: EndpointConnection, receive: Receive, error: Exception
    ) -> tuple[EndpointConnection, h11.Response]:
        """Repeat a request whose kept connection the primary had closed meanwhile."""
        if isinstance(error, TimeoutError):
            raise PrimaryError(504, "the primary did not answer in time") from error
        is_repeatable = self._scope["method"] in _REPEATABLE and not self._is_body_sent
        if not (connection.is_reused and is_repeatable):
            raise PrimaryError(502, "the primary ended the connection without an answer") from error
        connection = await self._connect(is_fresh=True)
        try:
            return connection, await self._request(connection, receive)
        except (OSError, h11.ProtocolError) as again:
            connection.close()
            raise PrimaryError(502, "the primary ended the connection without an answer") from again

    async def _request(self, connection: EndpointConnection, receive: Receive) -> h11.Response:
        """Send the request, and return the head of the answer."""
        target = self._target if self._target == b"*" else self._primary.base_path + self._target
        self._start = time.perf_counter()
        await connection.send(
            h11.Request(method=self._scope["method"], target=target, headers=self._request_headers())
        )
        try:
            if self._has_body:
                await self._send_body(connection, receive)
            await connection.send(h11.EndOfMessage())
        except ConnectionError:
            pass  # the primary may have answered before it read everything
        while isinstance(
            head := await connection.next_event(self._settings.primary_timeout), h11.InformationalResponse
        ):
            pass
        if not isinstance(head, h11.Response):
            raise ConnectionError("closed without an answer")
        return head

    def _request_headers(self) -> Headers:
        headers = [(name, value) for name, value in self._headers if name not in (b"host", b"expect")]
        chunked = [(n, v) for n, v in self._scope["headers"] if n == b"transfer-encoding"]
        host = next((value for name, value in self._headers if name == b"host"), None)
        if host is None or not self._settings.keep_host:
            host = self._primary.host_header
        return [(b"host", host), *headers, *chunked]

    async def _send_body(self, connection: EndpointConnection, receive: Receive) -> None:
        is_complete = False
        while not is_complete:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError("the client left")
            self._is_body_sent = True
            data = message.get("body", b"")
            if data:
                if self._capture is not None:
                    self._capture.add(self._capture.body, data)
                await connection.send(h11.Data(data=data))
            is_complete = not message.get("more_body", False)

    async def _answer(self, connection: EndpointConnection, head: h11.Response, send: Send) -> None:
        self._status = head.status_code
        headers = end_to_end(head.headers.raw_items())
        self._encoding = next((v.decode("latin-1") for n, v in head.headers if n == b"content-encoding"), "")
        await self._send_on(send, {"type": "http.response.start", "status": self._status, "headers": headers})
        pending = b""
        while True:
            event = connection.ready_event()
            if event is h11.NEED_DATA or event is h11.PAUSED:
                if pending:  # what is here goes on before the rest arrives
                    await self._send_on(
                        send, {"type": "http.response.body", "body": pending, "more_body": True}
                    )
                    pending = b""
                event = await connection.next_event(self._settings.primary_timeout)
            if isinstance(event, h11.Data):
                data = bytes(event.data)
                if self._capture is not None:
                    self._capture.add(self._capture.answer, data)
                pending += data
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                raise ConnectionError("closed before the end of the answer")
        await self._send_on(send, {"type": "http.response.body", "body": pending, "more_body": False})

    async def _send_on(self, send: Send, message: MutableMapping[str, Any]) -> None:
        """Send a part of the answer to the client; the time that takes is not the primary's."""
        start = time.perf_counter()
        await send(message)
        self._sending += time.perf_counter() - start

    def to_mirrored(self, capture: Capture, is_repeated: bool) -> MirroredRequest:
        """Return the request and its answer for the shadow process."""
        latency = 1000 * (time.perf_counter() - self._start - self._sending)
        headers = [
            (name.decode("latin-1").lower(), value.decode("latin-1"))
            for name, value in self._headers
            if name not in (b"expect", b"content-length")
        ]
        if self._has_body:
            headers.append(("content-length", str(len(capture.body))))
        wanted = self._settings.client_header.lower()
        client = next((value for name, value in headers if wanted and name == wanted), None)
        return MirroredRequest(
            self._scope["method"],
            self._target.decode("latin-1"),
            headers,
            bytes(capture.body),
            self._status,
            self._encoding,
            bytes(capture.answer),
            latency,
            self._at.isoformat(),
            is_repeated,
            client,
        )


async def _refuse(send: Send, status: int, problem: str) -> None:
    """Answer a request that the primary did not answer."""
    body = f"assay shadow mirror: {problem}\n".encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
