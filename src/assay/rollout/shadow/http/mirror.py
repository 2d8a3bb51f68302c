"""The mirror: an ASGI application that passes every request to the primary and copies some beside it."""

from __future__ import annotations

import random

import h11

from assay.core.errors import AssayError
from assay.rollout.shadow.counts import (
    CLIENT_LEFT,
    CLOSING,
    NOT_IDEMPOTENT,
    NOT_SAMPLED,
    PRIMARY_FAILED,
    PROCESS_ENDED,
    QUEUE_FULL,
    ShadowCounts,
)
from assay.rollout.shadow.http.captures import Capture, Memory
from assay.rollout.shadow.http.endpoint import Endpoint
from assay.rollout.shadow.http.link import ShadowLink
from assay.rollout.shadow.http.primary_exchange import (
    ClientLeftError,
    PrimaryError,
    PrimaryExchange,
    Receive,
    Scope,
    Send,
)
from assay.rollout.shadow.http.settings import MirrorSettings

_REPEATABLE = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE")  # RFC 9110, 9.2.2


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
        is_repeatable = scope["method"] in _REPEATABLE or self._is_search(scope["method"], path)
        exchange = PrimaryExchange(self._primary, self.settings, scope, capture, is_repeatable)
        try:
            await exchange.pass_on(receive, send)
        except ClientLeftError:
            self._leave_out(capture, CLIENT_LEFT)
            return
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


async def _refuse(send: Send, status: int, problem: str) -> None:
    """Answer a request that the primary did not answer."""
    body = f"assay shadow mirror: {problem}\n".encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
