"""Times of searches, measured from outside: in one batch, one after another, or by a schedule.

A closed loop sends a query when the previous one has been answered, so a stall delays queries whose waiting
time is not counted (coordinated omission). An open loop sends queries by a schedule and measures latency from
the scheduled start.
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
SearchBatch = Callable[[NDArray[Any], int], NDArray[np.int64]]
SearchOne = Callable[[Any, int], Any]  # searches for one query

_MAX_ERROR_LENGTH = 2000  # characters
_SPIN_NANOSECONDS = 200_000  # before a query is due, poll the clock instead of sleeping


class Clock(Protocol):
    """A clock with a method that waits for a time."""

    def now(self) -> int:
        """Return the time in nanoseconds."""

    def wait(self, until: int) -> None:
        """Return when this time is reached."""


class MonotonicClock:
    """The monotonic clock of the machine; `spin` polls it just before the end of a wait, for precision."""

    def __init__(self, spin: bool = True) -> None:
        self.now = time.perf_counter_ns
        self._spin = _SPIN_NANOSECONDS if spin else 0

    def wait(self, until: int) -> None:
        """Sleep, then poll the clock until this time."""
        while (remaining := until - self.now()) > 0:
            if remaining > self._spin:
                time.sleep((remaining - self._spin) / 1e9)


class TimedAnswers(NamedTuple):
    """The answers of searches and the times they took."""

    positions: NDArray[np.int64]
    seconds: float  # from the first start to the last end
    latencies: Ticks | None = None  # of each query, −1 if it failed; None for a batch
    errors: int = 0
    first_error: str = ""  # message of the first search that failed
    start: int = 0  # of the first request, by the clock that all processes share


class RequestLog(NamedTuple):
    """The times and answers of a sequence of requests."""

    starts: Ticks
    ends: Ticks  # including requests that failed
    answers: list[Any]
    failures: NDArray[np.bool_]
    first_error: str


def time_batch(search: SearchBatch, queries: NDArray[Any], k: int) -> TimedAnswers:
    """Time one search for all queries."""
    with _without_garbage_collection():
        begin = time.perf_counter_ns()
        positions = search(queries, k)
        seconds = (time.perf_counter_ns() - begin) / 1e9
    return TimedAnswers(_check_positions(positions, len(queries), k), seconds)


def time_closed_loop(
    search: SearchOne, rows: Sequence[Any], k: int, clients: int = 1, start: int = 0
) -> TimedAnswers:
    """Time requests that each client sends when its previous one has been answered."""
    clock = MonotonicClock(spin=False)
    clock.wait(start)
    with _without_garbage_collection():
        if clients == 1:
            log = run_closed_loop(search, rows, k, clock)
        else:
            log = run_open_loop(search, rows, k, np.zeros(len(rows), np.int64), clock, clients)
    return _to_timed_answers(log, k)


def time_schedule(
    search: SearchOne, rows: Sequence[Any], k: int, clients: int, start: int, due: Ticks
) -> TimedAnswers:
    """Time requests sent when they are due (nanoseconds after the start), with latencies from that time."""
    clock = MonotonicClock(spin=clients == 1)
    with _without_garbage_collection():
        log = run_open_loop(search, rows, k, due + start, clock, clients)
    log.starts[:] = due + start
    return _to_timed_answers(log, k)


def run_closed_loop(search: SearchOne, rows: Sequence[Any], k: int, clock: Clock) -> RequestLog:
    """Search for each row once the previous one is answered; each clock reading is an end and a start."""
    now, n, first_error = clock.now, len(rows), ""
    ends, answers, failures = [0] * n, [None] * n, np.zeros(n, np.bool_)
    begin = now()
    for i, row in enumerate(rows):
        try:
            answers[i] = search(row, k)
        except Exception as error:
            failures[i], first_error = True, first_error or _describe_error(error)
        ends[i] = now()
    ticks = np.array([begin, *ends], np.int64)
    return RequestLog(ticks[:-1], ticks[1:], answers, failures, first_error)


def run_open_loop(
    search: SearchOne, rows: Sequence[Any], k: int, due: Ticks, clock: Clock, clients: int = 1
) -> RequestLog:
    """Search for each row when it is due, or as soon afterwards as a client is free."""
    n = len(due)
    log = RequestLog(np.zeros(n, np.int64), np.zeros(n, np.int64), [None] * n, np.zeros(n, np.bool_), "")
    errors: list[str] = []
    numbers = count()

    def serve() -> None:
        while (i := next(numbers)) < n:
            clock.wait(int(due[i]))
            log.starts[i] = clock.now()
            try:
                log.answers[i] = search(rows[i], k)
                log.ends[i] = clock.now()
            except Exception as error:
                log.ends[i], log.failures[i] = clock.now(), True
                errors.append(_describe_error(error))

    threads = [Thread(target=serve, daemon=True) for _ in range(clients - 1)]
    for thread in threads:
        thread.start()
    serve()
    for thread in threads:
        thread.join()
    return log._replace(first_error=errors[0] if errors else "")


def schedule(rate: float, n: int, seed: int | None = None) -> Ticks:
    """Return the times at which n queries are due at a rate per second: even, or random if there is a seed.

    A random schedule lasts as long as an even one, so that its rate is the requested one.

    >>> schedule(1000, 3).tolist()
    [0, 1000000, 2000000]
    """
    if seed is None:
        due_times: Ticks = np.round(np.arange(n) * (1e9 / rate)).astype(np.int64)
        return due_times
    times = np.cumsum(np.random.default_rng(seed).exponential(1.0, n))
    share: NDArray[np.float64] = (times - times[0]) / max(times[-1] - times[0], 1e-9)
    due: Ticks = np.round(share * ((n - 1) * 1e9 / rate)).astype(np.int64)
    return due


def _to_timed_answers(log: RequestLog, k: int) -> TimedAnswers:
    failures = log.failures
    latencies = np.where(failures, -1, log.ends - log.starts)
    positions = np.full((len(log.answers), k), -1, np.int64)
    for i in np.flatnonzero(~failures):
        positions[i] = _check_positions(log.answers[i], 1, k)[0]
    start = int(log.starts.min())
    seconds = (int(log.ends.max()) - start) / 1e9
    return TimedAnswers(positions, float(seconds), latencies, int(failures.sum()), log.first_error, start)


def _check_positions(answer: Any, n: int, k: int) -> NDArray[np.int64]:
    """Return an answer as a table of positions, or raise an error; called when the clock has stopped."""
    try:
        table = np.asarray(answer)
        positions = table.astype(np.int64, copy=False) if table.dtype.kind != "f" else None
    except (TypeError, ValueError):
        description = f"a {type(answer).__name__} that is not a table of numbers"
    else:
        if positions is not None and positions.shape == (n, k):
            return positions
        description = f"numbers of type {table.dtype}" if positions is None else f"shape {table.shape}"
    raise EngineError(
        f"search returned {description}; expected positions of shape {(n, k)}: "
        f"a row of {k} positions for each query, filled with −1 if there are fewer"
    )


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error_text(error)}"


def error_text(error: BaseException) -> str:
    """Return the message of an error without control characters and of limited length.

    >>> error_text(ValueError("\x1b[31mred"))
    ' [31mred'
    """
    text = "".join(c if c.isprintable() or c == "\n" else " " for c in str(error)[: 2 * _MAX_ERROR_LENGTH])
    return text if len(text) <= _MAX_ERROR_LENGTH else f"{text[:_MAX_ERROR_LENGTH]} …"


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Disable garbage collection while the clock runs."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
