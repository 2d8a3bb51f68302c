"""Reads of pages that can take long: each is done once, however many ask, and who asks does not wait long."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from starlette.exceptions import HTTPException

from assay.core.progress import Step, listen

PATIENCE = 0.8  # seconds until a page says that it is being computed
_WORKERS = 4
_MOST_READS = 32  # waiting, running, or done and not fetched
_FRESH_SECONDS = 15.0  # in which a result that nobody fetched is still right


@dataclass
class LongRead:
    """A read that was started."""

    started_at: float = field(default_factory=time.monotonic)
    ended_at: float | None = None
    step: Step | None = None
    future: Future[Any] = field(default_factory=Future)

    @property
    def seconds(self) -> int:
        """How long it has taken so far."""
        return int(time.monotonic() - self.started_at)

    def run(self, read: Callable[[], Any]) -> Any:
        """Read, and remember the steps that are reported."""
        try:
            with listen(self._remember):
                return read()
        finally:
            self.ended_at = time.monotonic()

    def _remember(self, step: Step) -> None:
        self.step = step

    @property
    def is_stale(self) -> bool:
        """Whether it ended so long ago that the store may have changed."""
        return self.ended_at is not None and time.monotonic() - self.ended_at > _FRESH_SECONDS


class LongReads:
    """The reads of one server; without a patience, who asks waits to the end."""

    def __init__(self, patience: float | None = None) -> None:
        self._patience, self._lock = patience, Lock()
        self._reads: dict[Hashable, LongRead] = {}
        self._workers = ThreadPoolExecutor(_WORKERS, "long-read")

    def get(self, key: Hashable, read: Callable[[], Any]) -> Any:
        """Return what is read, or the LongRead if it takes longer than the patience."""
        if self._patience is None:
            return read()
        one = self.wait(key, read)
        if not one.future.done():
            return one
        self._forget(key, one)
        return one.future.result()

    def wait(self, key: Hashable, read: Callable[[], Any]) -> LongRead:
        """Return the read after the patience, or when it is done; its result is kept for who gets it."""
        one = self._start(key, read)
        wait([one.future], self._patience)
        return one

    def _start(self, key: Hashable, read: Callable[[], Any]) -> LongRead:
        """Return the read of a key, started unless it runs or has just ended."""
        with self._lock:
            self._reads = {own: one for own, one in self._reads.items() if not one.is_stale}
            one = self._reads.get(key)
            if one is None:
                if len(self._reads) >= _MOST_READS:
                    raise HTTPException(503, "too many long pages are being computed: try again in a minute")
                one = self._reads[key] = LongRead()
                one.future = self._workers.submit(one.run, read)
            return one

    def _forget(self, key: Hashable, one: LongRead) -> None:
        with self._lock:
            if self._reads.get(key) is one:
                del self._reads[key]
