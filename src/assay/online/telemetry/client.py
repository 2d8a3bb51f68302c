"""Queries and events of an application, sent in batches by a thread, never in the way of a search."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any
from uuid import uuid4
from weakref import WeakMethod

from assay.core.errors import InputError, first_line
from assay.online.telemetry.records import Record, event_record, query_record
from assay.online.telemetry.sinks import Sink

_LOG = logging.getLogger("assay.telemetry")
_EXIT_SECONDS = 5.0


@dataclass(frozen=True)
class EventCounts:
    """What became of the records of a client; `recorded` is the sum of the others."""

    recorded: int
    written: int
    waiting: int
    dropped: int  # because the queue was full, or the client closed
    failed: int  # because the sink failed or refused them


class EventClient:
    """Records queries and events of UBI 1.3 and writes them to a sink in batches, from a thread.

    No call waits or fails because of the sink: with a full queue, new records are dropped and counted. The
    queue is flushed when the program ends, for at most five seconds. A process that was forked has a queue
    of its own.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        application: str | None = None,
        capacity: int = 10_000,
        batch: int = 500,
        interval: float = 1.0,
    ) -> None:
        if capacity < 1 or batch < 1 or interval <= 0:
            raise InputError(
                "expected a capacity and a batch of 1 or more and an interval above 0 s, "
                f"found {capacity}, {batch} and {interval:g}"
            )
        self.sink, self.application = sink, application
        self.capacity, self.batch, self.interval = capacity, batch, interval
        self._is_closed = False
        self._start()
        atexit.register(self.close, _EXIT_SECONDS)
        restart = WeakMethod(self._restart)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: (call := restart()) and call())

    def _restart(self) -> None:
        """Begin anew in a forked process, without a thread or a connection of its own."""
        self.sink.close()
        self._start()

    def _start(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[Record] = deque()
        self._recorded = self._written = self._dropped = self._failed = 0
        self._sending = 0
        self._is_flushing = False
        self._thread: threading.Thread | None = None

    def query(
        self,
        user_query: str,
        *,
        client_id: str | None = None,
        hit_ids: Sequence[str] | None = None,
        query_id: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        latency_ms: float | None = None,
        cost: float | None = None,
        experiment_id: str | None = None,
        variant: str | None = None,
        config_version: str | None = None,
        team_by_doc: Mapping[str, str] | None = None,
        at: datetime | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> str:
        """Record a query with the ids of its results in rank order, and return its id.

        The id goes into the page, so that its events can name it. An empty list of results is a query
        without results; None says that they are not logged.
        """
        query_id = query_id or str(uuid4())
        own = {
            "experiment_id": experiment_id,
            "variant": variant,
            "config_version": config_version,
            "latency_ms": latency_ms,
            "cost": cost,
            "team_by_doc": team_by_doc,
        }
        ids = {"client_id": client_id, "session_id": session_id, "user_id": user_id}
        record = query_record(
            user_query,
            query_id,
            hit_ids=hit_ids,
            at=at,
            attributes={**(attributes or {}), **{k: v for k, v in own.items() if v is not None}},
            application=self.application,
            **ids,
        )
        self.record(record)
        return query_id

    def event(
        self,
        action: str,
        *,
        query_id: str | None = None,
        client_id: str | None = None,
        object_id: str | None = None,
        rank: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        message: str | None = None,
        at: datetime | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> bool:
        """Record an event: click, impression, view, add_to_cart, purchase or one of your own.

        `rank` counts from 1. False if the event was dropped.
        """
        return self.record(
            event_record(
                action,
                object_id=object_id,
                rank=rank,
                at=at,
                attributes=attributes,
                application=self.application,
                query_id=query_id,
                session_id=session_id,
                client_id=client_id,
                user_id=user_id,
                message=message,
            )
        )

    def record(self, record: Record) -> bool:
        """Put a record into the queue; False if it was dropped."""
        with self._changed:
            self._recorded += 1
            if self._is_closed or len(self._queue) >= self.capacity:
                self._dropped += 1
                return False
            self._queue.append(record)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="assay events", daemon=True)
                self._thread.start()
            if len(self._queue) >= self.batch:
                self._changed.notify_all()
        return True

    @property
    def counts(self) -> EventCounts:
        """What became of the records."""
        with self._changed:
            waiting = len(self._queue) + self._sending
            return EventCounts(self._recorded, self._written, waiting, self._dropped, self._failed)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until what was recorded is written, or the timeout; return whether nothing waits."""
        with self._changed:
            self._is_flushing = not self._is_empty()
            self._changed.notify_all()
            return self._changed.wait_for(self._is_empty, timeout)

    def close(self, timeout: float | None = None) -> None:
        """Flush, stop, and close the sink; records that could not be written in time are dropped."""
        with self._changed:
            if self._is_closed:
                return
            self._is_closed = True
        end = None if timeout is None else time.monotonic() + timeout
        self.flush(timeout)
        with self._changed:
            self._dropped += len(self._queue)
            self._queue.clear()
            self._changed.notify_all()
        if self._thread is None:
            self.sink.close()
        else:
            self._thread.join(None if end is None else max(0.0, end - time.monotonic()))
        atexit.unregister(self.close)

    def __enter__(self) -> EventClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _is_empty(self) -> bool:
        return not self._queue and not self._sending

    def _work(self) -> None:
        """Write batches until the client is closed and its queue empty."""
        while records := self._next_batch():
            refused, error = len(records), None
            try:
                refused = self.sink.write(records)
            except Exception as caught:  # a sink may be anything
                error = caught
            self._finish(len(records), refused, error)
        self.sink.close()

    def _next_batch(self) -> list[Record]:
        """Return the next records; none if the client is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._is_closed)
            end = time.monotonic() + self.interval
            while not self._is_due() and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)
            records = [self._queue.popleft() for _ in range(min(self.batch, len(self._queue)))]
            self._sending = len(records)
            return records

    def _is_due(self) -> bool:
        return len(self._queue) >= self.batch or self._is_flushing or self._is_closed

    def _finish(self, size: int, refused: int, error: Exception | None) -> None:
        """Count a batch, and log if records were lost."""
        with self._changed:
            self._sending = 0
            self._written += size - refused
            self._failed += refused
            if self._is_empty():
                self._is_flushing = False
                self._changed.notify_all()
        if refused:
            reason = "the server refused them" if error is None else first_line(error)
            _LOG.warning("%d of %d events were not written: %s", refused, size, reason)
