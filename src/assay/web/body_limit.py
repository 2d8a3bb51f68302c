"""The size of what may be sent: more is refused before it is stored."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.workflows.uploads import MAX_UPLOAD_BYTES

MAX_BODY_BYTES = 1 << 20
_LIMITS = {"/upload": 2 * MAX_UPLOAD_BYTES + MAX_BODY_BYTES}  # a run and judgments


class _TooLargeError(Exception):
    """More was sent than may be."""


class BodyLimit:
    """A middleware that refuses a body that is too large, announced or not."""

    def __init__(self, app: ASGIApp, limits: Mapping[str, int] | None = None) -> None:
        self.app, self._limits = app, _LIMITS if limits is None else limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count what is received."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit, size, has_begun = self._limits.get(scope["path"], MAX_BODY_BYTES), 0, False
        announced = dict(scope["headers"]).get(b"content-length", b"0")

        async def receive_counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > limit:
                raise _TooLargeError
            return message

        async def send_noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            if announced.isdigit() and int(announced) > limit:
                raise _TooLargeError
            await self.app(scope, receive_counted, send_noted)
        except _TooLargeError:
            if has_begun:
                raise
            problem = f"expected at most {limit:,} bytes, found more; score large files with `assay eval`"
            await JSONResponse({"error": problem}, 413)(scope, receive, send)
