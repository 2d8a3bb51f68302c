"""The client of events for programs that use asyncio."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

from assay.online.telemetry.client import EventClient, EventCounts
from assay.online.telemetry.sinks import Sink


class AsyncEventClient:
    """An EventClient whose waiting does not block the event loop.

    Recording waits for nothing: `query` and `event` take what those of EventClient take, and need no await.
    """

    def __init__(self, sink: Sink, **settings: Any) -> None:
        self.client = EventClient(sink, **settings)
        self.query, self.event = self.client.query, self.client.event

    @property
    def counts(self) -> EventCounts:
        """What became of the records."""
        return self.client.counts

    async def flush(self, timeout: float | None = None) -> bool:
        """Wait until what was recorded is written, or the timeout; return whether nothing waits."""
        return await asyncio.to_thread(self.client.flush, timeout)

    async def close(self, timeout: float | None = None) -> None:
        """Flush, stop, and close the sink."""
        await asyncio.to_thread(self.client.close, timeout)

    async def __aenter__(self) -> AsyncEventClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
