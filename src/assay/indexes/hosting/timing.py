"""Searches timed from outside: in one batch, one after another, or by a schedule.

A closed loop sends a query when the one before it has been answered, so a stall delays queries that
nobody counts (coordinated omission). An open loop sends by schedule and counts from the intended start.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from threading import Thread
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import EngineError

Ticks = NDArray[np.int64]  # nanoseconds
Search = Callable[[NDArray[Any], int], NDArray[np.int64]]
Ask = Callable[[Any, int], Any]  # a search for one query

_SAID = 2000  # characters of an error that are kept
_SPIN = 200_000  # nanoseconds before a query is due in which the clock is watched, not slept


class Clock(Protocol):
    """A clock that can be waited for."""

    def now(self) -> int:
        """Nanoseconds."""

    def wait(self, until: int) -> None:
        """Return when it is so late."""


class Monotonic:
    """The clock of the machine, which never goes back; `spin` keeps the last moments exact."""

    def __init__(self, spin: bool = True) -> None:
        self.now = time.perf_counter_ns
        self._spin = _SPIN if spin else 0

    def wait(self, until: int) -> None:
        """Sleep, then watch the clock."""
        while (left := until - self.now()) > 0:
            if left > self._spin:
                time.sleep((left - self._spin) / 1e9)


class Timed(NamedTuple):
    """What searches returned, and how long they took."""

    positions: NDArray[np.int64]
    seconds: float  # from the first start to the last end
    latencies: Ticks | None = None  # of each query; none in a batch, −1 where a search failed
    errors: int = 0
    problem: str = ""  # what the first failed search said
    began: int = 0  # when the first request started, by the clock that all processes share


class Loop(NamedTuple):
    """When each request was sent and answered."""

    starts: Ticks
    ends: Ticks  # of those that failed, too
    found: list[Any]
    failed: NDArray[np.bool_]
    problem: str


def batch(search: Search, queries: NDArray[Any], k: int) -> Timed:
    """All queries in one call."""
    with _still():
        begin = time.perf_counter_ns()
        positions = search(queries, k)
        seconds = (time.perf_counter_ns() - begin) / 1e9
    return Timed(_checked(positions, len(queries), k), seconds)


def closed(search: Ask, rows: Sequence[Any], k: int, clients: int = 1, start: int = 0) -> Timed:
    """One request after another, each client sending its next when the last is answered."""
    clock = Monotonic(spin=False)
    clock.wait(start)
    with _still():
        if clients == 1:
            loop = closed_loop(search, rows, k, clock)
        else:
            loop = open_loop(search, rows, k, np.zeros(len(rows), np.int64), clock, clients)
    return _timed(loop, k)


def scheduled(search: Ask, rows: Sequence[Any], k: int, clients: int, start: int, due: Ticks) -> Timed:
    """Requests sent when they are due (nanoseconds after the start); latency is counted from then."""
    clock = Monotonic(spin=clients == 1)
    with _still():
        loop = open_loop(search, rows, k, due + start, clock, clients)
    loop.starts[:] = due + start
    return _timed(loop, k)


def closed_loop(search: Ask, rows: Sequence[Any], k: int, clock: Clock) -> Loop:
    """Ask for each row as soon as the last is answered: one look at the clock ends it and starts this."""
    now, n, problem = clock.now, len(rows), ""
    ends, found, failed = [0] * n, [None] * n, np.zeros(n, np.bool_)
    begin = now()
    for i, row in enumerate(rows):
        try:
            found[i] = search(row, k)
        except Exception as error:
            failed[i], problem = True, problem or _said(error)
        ends[i] = now()
    ticks = np.array([begin, *ends], np.int64)
    return Loop(ticks[:-1], ticks[1:], found, failed, problem)


def open_loop(search: Ask, rows: Sequence[Any], k: int, due: Ticks, clock: Clock, clients: int = 1) -> Loop:
    """Ask for each row when it is due, or as soon after as a client is free."""
    n = len(due)
    loop = Loop(np.zeros(n, np.int64), np.zeros(n, np.int64), [None] * n, np.zeros(n, np.bool_), "")
    problems: list[str] = []
    numbers = count()

    def serve() -> None:
        while (i := next(numbers)) < n:
            clock.wait(int(due[i]))
            loop.starts[i] = clock.now()
            try:
                loop.found[i] = search(rows[i], k)
                loop.ends[i] = clock.now()
            except Exception as error:
                loop.ends[i], loop.failed[i] = clock.now(), True
                problems.append(_said(error))

    threads = [Thread(target=serve, daemon=True) for _ in range(clients - 1)]
    for thread in threads:
        thread.start()
    serve()
    for thread in threads:
        thread.join()
    return loop._replace(problem=problems[0] if problems else "")


def schedule(rate: float, n: int, seed: int | None = None) -> Ticks:
    """When n queries are due at a rate per second: evenly, or by chance where there is a seed.

    A schedule by chance lasts as long as an even one, so that the rate is the one that was asked for.

    >>> schedule(1000, 3).tolist()
    [0, 1000000, 2000000]
    """
    if seed is None:
        even: Ticks = np.round(np.arange(n) * (1e9 / rate)).astype(np.int64)
        return even
    times = np.cumsum(np.random.default_rng(seed).exponential(1.0, n))
    share: NDArray[np.float64] = (times - times[0]) / max(times[-1] - times[0], 1e-9)
    due: Ticks = np.round(share * ((n - 1) * 1e9 / rate)).astype(np.int64)
    return due


def _timed(loop: Loop, k: int) -> Timed:
    failed = loop.failed
    latencies = np.where(failed, -1, loop.ends - loop.starts)
    found = np.full((len(loop.found), k), -1, np.int64)
    for i in np.flatnonzero(~failed):
        found[i] = _checked(loop.found[i], 1, k)[0]
    began = int(loop.starts.min())
    seconds = (int(loop.ends.max()) - began) / 1e9
    return Timed(found, float(seconds), latencies, int(failed.sum()), loop.problem, began)


def _checked(answer: Any, n: int, k: int) -> NDArray[np.int64]:
    """An answer as the table that it should be; looked at when the clock has stopped."""
    try:
        found = np.asarray(answer, np.int64)
    except (TypeError, ValueError):
        what = f"a {type(answer).__name__} that is no table of numbers"
    else:
        if found.shape == (n, k):
            return found
        what = f"shape {found.shape}"
    raise EngineError(
        f"search returned {what}; expected positions of shape {(n, k)}: "
        f"a row for each query, of {k} positions, −1 where there are fewer"
    )


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {words(error)}"


def words(error: BaseException) -> str:
    """What an error says, without what a terminal would obey, and not for ever.

    >>> words(ValueError("\x1b[31mred"))
    ' [31mred'
    """
    said = "".join(c if c.isprintable() or c == "\n" else " " for c in str(error)[: 2 * _SAID])
    return said if len(said) <= _SAID else f"{said[:_SAID]} …"


@contextmanager
def _still() -> Iterator[None]:
    """Nothing is collected while the clock runs."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
