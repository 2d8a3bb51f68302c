"""The async wrapper: coroutines that answer as before while a candidate answers a sample, unseen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Generic, ParamSpec, Self, TypeVar

from assay.rollout.shadow.answers import (
    ReadHits,
    failed_answer,
    read_answer,
    read_document_ids,
    snapshot,
    timeout_answer,
)
from assay.rollout.shadow.counts import CLOSING, FAULT, QUEUE_FULL, ShadowCounts
from assay.rollout.shadow.limits import DEFAULT_LIMITS, ShadowLimits
from assay.rollout.shadow.log import ShadowLog
from assay.rollout.shadow.offers import (
    Arguments,
    Offer,
    Offers,
    ReadQuery,
    ShadowOptions,
    first_text,
    milliseconds_since,
    no_client,
    open_log,
)
from assay.rollout.shadow.records import NOT_CALLED, CallAnswer

P = ParamSpec("P")
R = TypeVar("R")


class AsyncShadow(Generic[P, R]):
    """A coroutine function with a candidate beside it: callers receive what the primary returns or raises.

    The candidate is called in tasks of its own, after the primary, with the same arguments, and cancelled
    when its time is over. It shares the event loop: one that computes at length belongs into a thread.
    """

    def __init__(
        self,
        primary: Callable[P, Awaitable[R]],
        candidate: Callable[P, Awaitable[Any]],
        log: ShadowLog | str,
        *,
        idempotent: bool | Callable[P, bool],
        name: str = "",
        hits: ReadHits = read_document_ids,
        query: ReadQuery = first_text,
        client_id: ReadQuery = no_client,
        limits: ShadowLimits = DEFAULT_LIMITS,
    ) -> None:
        self.primary, self.candidate, self.limits = primary, candidate, limits
        options = ShadowOptions(
            name=name, idempotent=idempotent, hits=hits, query=query, client_id=client_id, limits=limits
        )
        self._offers = Offers(options, open_log(log))
        self._tasks: dict[asyncio.Task[None], Offer] = {}
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._is_closed = False

    @property
    def counts(self) -> ShadowCounts:
        """What became of the requests."""
        return self._offers.counts

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

    def _offer(
        self, arguments: Arguments, result: Any, error: BaseException | None, latency_ms: float
    ) -> None:
        """Start a task for the candidate; nothing that goes wrong here reaches the caller."""
        try:
            if not self._offers.choose(*arguments):
                return
            if self._is_closed or len(self._tasks) >= self.limits.queue + self.limits.concurrency:
                self.counts.leave_out(CLOSING if self._is_closed else QUEUE_FULL)
                return
            offer = self._offers.offer(arguments, snapshot(result), error, latency_ms)
            task = asyncio.create_task(self._run(offer))
        except Exception:
            self.counts.leave_out(FAULT)
            return
        self._tasks[task] = offer
        task.add_done_callback(self._forget)
        self.counts.add_mirrored()

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
