"""A service that answers as before while a candidate answers a sample of its requests, unseen."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread
from typing import Any, ParamSpec, Self, TypeVar

from assay.rollout.shadow.answers import failed_answer, read_answer, timeout_answer
from assay.rollout.shadow.counts import QUEUE_FULL
from assay.rollout.shadow.offers import Offer, ShadowedFunction, milliseconds_since
from assay.rollout.shadow.records import NOT_CALLED, CallAnswer

P = ParamSpec("P")
R = TypeVar("R")


class _Job:
    """A mirrored request; its answers are logged once, in time or as a timeout."""

    def __init__(self, offer: Offer) -> None:
        self.offer, self.started = offer, 0.0
        self.candidate: CallAnswer | None = None
        self.is_logged = False


class Shadow(ShadowedFunction[P, R]):
    """A function with a candidate beside it: callers receive what the primary returns or raises.

    The candidate is called in threads of its own, after the primary, with the same arguments: neither
    function may change them. `idempotent` says on purpose that calls may be repeated; a function of the
    arguments says which. A call that does not end in its time is logged as a timeout; its thread is busy
    until it ends, and with all threads busy requests are dropped and counted.
    """

    def _prepare(self) -> None:
        self._lock, self._running = Lock(), set[_Job]()
        self._waiting: queue.Queue[_Job | None] = queue.Queue(self.limits.queue)
        self._threads = [
            Thread(target=self._work, name=f"shadow-{number}", daemon=True)
            for number in range(self.limits.concurrency)
        ]
        for thread in self._threads:
            thread.start()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return what the primary returns."""
        start = time.perf_counter()
        try:
            result = self.primary(*args, **kwargs)
        except Exception as error:
            self._offer((args, kwargs), None, error, milliseconds_since(start))
            raise
        self._offer((args, kwargs), result, None, milliseconds_since(start))
        return result

    def _has_room(self) -> bool:
        self._log_overdue()
        return not self._waiting.full()

    def _begin(self, offer: Offer) -> str:
        try:
            self._waiting.put_nowait(_Job(offer))
        except queue.Full:  # another caller was faster
            return QUEUE_FULL
        return ""

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            job.started = time.perf_counter()
            with self._lock:
                self._running.add(job)
            candidate = self._call(self.candidate, job.offer)
            with self._lock:
                job.candidate, job.started = candidate, time.perf_counter()
            repeat = self._call(self.primary, job.offer) if job.offer.is_repeated else None
            self._finish(job, candidate, repeat)
        self._end_thread()  # the next one

    def _call(self, function: Callable[..., Any], offer: Offer) -> CallAnswer:
        start = time.perf_counter()
        try:
            result = function(*offer.arguments[0], **offer.arguments[1])
        except BaseException as error:  # also SystemExit: it must end neither thread nor process
            return failed_answer(error, milliseconds_since(start))
        latency = milliseconds_since(start)
        if latency > 1000 * self.limits.timeout:
            return timeout_answer(self.limits.timeout)
        return read_answer(self._offers.options.hits, result, latency)

    def _finish(self, job: _Job, candidate: CallAnswer, repeat: CallAnswer | None) -> None:
        """Log the answers, unless they were logged as a timeout."""
        with self._lock:
            self._running.discard(job)
            is_first, job.is_logged = not job.is_logged, True
        if is_first:
            self._offers.record(job.offer, candidate, repeat)
        else:
            self.counts.add_late()

    def _log_overdue(self, is_end: bool = False) -> None:
        """Log the calls whose time is over as timeouts; at the end, all that still run."""
        limit = time.perf_counter() - self.limits.timeout
        with self._lock:
            overdue = [job for job in self._running if not job.is_logged and (is_end or job.started < limit)]
            for job in overdue:
                job.is_logged = True
        late = timeout_answer(self.limits.timeout)
        for job in overdue:
            repeat = late if job.candidate is not None else None
            self._offers.record(job.offer, job.candidate or late, repeat)

    def close(self) -> None:
        """Wait until the calls end or their time is over, and complete the log."""
        if self._is_closed:
            return
        self._is_closed = True
        end = time.perf_counter() + 2 * self.limits.timeout  # a candidate, then a repeat
        while time.perf_counter() < end and (self._running or not self._waiting.empty()):
            time.sleep(0.005)
        self._log_overdue(is_end=True)
        self._drop_waiting()
        for thread in self._threads:
            thread.join(0.01 if self._running else 1.0)
        self._offers.log.close()

    def _drop_waiting(self) -> None:
        """Log what no thread came to as not called, and let the threads end."""
        try:
            while (job := self._waiting.get_nowait()) is not None:
                self._offers.record(job.offer, NOT_CALLED, None)
        except queue.Empty:
            pass
        self._end_thread()

    def _end_thread(self) -> None:
        """Let one thread end; without room no thread is free to end."""
        with suppress(queue.Full):
            self._waiting.put_nowait(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()
