"""One request to the primary, and its answer on the way to the client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC, datetime
from typing import Any

import h11

from assay.rollout.shadow.http.captures import Capture
from assay.rollout.shadow.http.endpoint import Endpoint, EndpointConnection, Headers, end_to_end
from assay.rollout.shadow.http.frames import MirroredRequest
from assay.rollout.shadow.http.settings import MirrorSettings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_MAX_KEPT = 1 << 18  # bytes of a body that can be sent again


class ClientLeftError(Exception):
    """The client ended the connection before its request was complete."""


class PrimaryError(Exception):
    """The primary could not be reached, or did not answer in HTTP; nothing was sent to the client yet."""

    def __init__(self, status: int, problem: str) -> None:
        self.status, self.problem = status, problem
        super().__init__(problem)


class PrimaryExchange:
    """One request to the primary, and its answer on the way to the client."""

    def __init__(
        self,
        primary: Endpoint,
        settings: MirrorSettings,
        scope: Scope,
        capture: Capture | None,
        is_repeatable: bool,
    ) -> None:
        self._primary, self._settings, self._scope, self._capture = primary, settings, scope, capture
        self._is_repeatable = is_repeatable  # others get a new connection, which is not closed by surprise
        query: bytes = scope["query_string"]
        self._target: bytes = scope["raw_path"] + (b"?" + query if query else b"")
        self._headers = end_to_end(scope["headers"])
        names = {name for name, _ in scope["headers"]}
        self._has_body = b"content-length" in names or b"transfer-encoding" in names
        self._at, self._start, self._sending = datetime.now(UTC), time.perf_counter(), 0.0
        self._status, self._encoding = 0, ""
        self._parts: list[bytes] = []  # of the body, to send it again
        self._is_body_complete = not self._has_body

    async def pass_on(self, receive: Receive, send: Send) -> None:
        """Send the request to the primary and its answer to the client, part by part."""
        connection = await self._connect(is_fresh=not self._is_repeatable)
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
        if not (connection.is_reused and self._is_repeatable and self._is_body_kept):
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

    @property
    def _is_body_kept(self) -> bool:
        """Whether what was sent of the body is still known."""
        return sum(map(len, self._parts)) <= _MAX_KEPT

    async def _send_body(self, connection: EndpointConnection, receive: Receive) -> None:
        for part in self._parts:  # of the first attempt
            await connection.send(h11.Data(data=part))
        while not self._is_body_complete:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientLeftError
            self._is_body_complete = not message.get("more_body", False)
            data = message.get("body", b"")
            if data:
                if self._capture is not None:
                    self._capture.add(self._capture.body, data)
                if self._is_body_kept:
                    self._parts.append(data)
                await connection.send(h11.Data(data=data))

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
