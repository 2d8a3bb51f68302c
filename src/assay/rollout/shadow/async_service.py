"""The async wrapper: coroutines that answer as before while a candidate answers a sample, unseen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Generic, ParamSpec, Self, TypeVar

from assay.rollout.shadow.answers import failed_answer, read_answer, timeout_answer
from assay.rollout.shadow.offers import Offer, ShadowedFunction, milliseconds_since
from assay.rollout.shadow.records import NOT_CALLED, CallAnswer

P = ParamSpec("P")
R = TypeVar("R")


class AsyncShadow(ShadowedFunction[P, Awaitable[R]], Generic[P, R]):
    """A coroutine function with a candidate beside it: callers receive what the primary returns or raises.

    The candidate is called in tasks of its own, after the primary, with the same arguments, and cancelled
    when its time is over. It shares the event loop: one that computes at length belongs into a thread.
    """

    def _prepare(self) -> None:
        self._tasks: dict[asyncio.Task[None], Offer] = {}
        self._slots = asyncio.Semaphore(self.limits.concurrency)

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return what the primary returns."""
        start = time.perf_counter()
        try:
            result = await self.primary(*args, **kwargs)
        except Exception as error:
            self._offer((args, kwargs), None, error, milliseconds_since(start))
            raise
        self._offer((args, kwargs), result, None, milliseconds_since(start))
        return result

    def _has_room(self) -> bool:
        return len(self._tasks) < self.limits.queue + self.limits.concurrency

    def _begin(self, offer: Offer) -> str:
        task = asyncio.create_task(self._run(offer))
        self._tasks[task] = offer
        task.add_done_callback(self._forget)
        return ""

    def _forget(self, task: asyncio.Task[None]) -> None:
        """Remove a task; one that was cancelled before its calls ended is logged."""
        offer = self._tasks.pop(task)
        if task.cancelled():
            self._offers.record(offer, NOT_CALLED, None)
        elif task.exception() is not None:
            self.counts.add_log_dropped()

    async def _run(self, offer: Offer) -> None:
        async with self._slots:
            candidate = await self._call(self.candidate, offer)
            repeat = await self._call(self.primary, offer) if offer.is_repeated else None
        self._offers.record(offer, candidate, repeat)

    async def _call(self, function: Callable[..., Awaitable[Any]], offer: Offer) -> CallAnswer:
        start = time.perf_counter()
        timeout = asyncio.timeout(self.limits.timeout)
        try:
            async with timeout:
                result = await function(*offer.arguments[0], **offer.arguments[1])
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # also SystemExit: it must not end the process
            if timeout.expired():
                return timeout_answer(self.limits.timeout)
            return failed_answer(error, milliseconds_since(start))
        return read_answer(self._offers.options.hits, result, milliseconds_since(start))

    async def close(self) -> None:
        """Wait until the calls end or their time is over, and complete the log."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._tasks:
            _, open_tasks = await asyncio.wait([*self._tasks], timeout=2 * self.limits.timeout)
            for task in open_tasks:
                task.cancel()
            await asyncio.wait([*open_tasks], timeout=1.0) if open_tasks else None
        await asyncio.to_thread(self._offers.log.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *reason: object) -> None:
        await self.close()
