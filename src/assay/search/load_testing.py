"""Load tests of a live endpoint, with a hard cap: latency at a number of clients, or at a rate.

In a closed loop each client sends its next request when the last is answered, so a stall delays requests
that are not counted. In an open loop requests are sent by a schedule, and latency is measured from the
time at which they were due.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass
from itertools import count
from threading import Lock, Thread
from typing import Any

import numpy as np

from assay.core.errors import InputError, UndecidableError
from assay.core.tables import Queries
from assay.core.timing import MonotonicClock, Ticks, TimedAnswers, run_open_loop, schedule
from assay.remote.errors import RemoteError
from assay.search.attempt import Attempt, check_time_setting, stdout_to_stderr
from assay.search.searcher import Searcher, iterate_queries
from assay.stats.capacity import achieved_rate, is_saturated
from assay.stats.histograms import Histogram
from assay.stats.intervals import Estimate

_TIMEOUT_GRACE_SECONDS = 0.5  # beyond the timeout, for a searcher that reports the timeout itself


@dataclass(frozen=True)
class LoadCap:
    """The maximum load of a live endpoint: requests per second, and seconds."""

    rate: float
    seconds: float

    def __post_init__(self) -> None:
        check_time_setting("max-rate", self.rate)
        check_time_setting("max-seconds", self.seconds)

    def check(self, rate: float, seconds: float) -> None:
        """Refuse a rate or a duration beyond the cap."""
        for name, value, limit in (("rate", rate, self.rate), ("seconds", seconds, self.seconds)):
            if not 0 < value <= limit:
                advice = f"; raise the cap with --max-{name}" if value > limit else ""
                raise InputError(
                    f"{name}: expected more than 0 and at most the cap of {limit:g}, found {value:g}{advice}"
                )


@dataclass(frozen=True)
class LoadMeasurement:
    """How an endpoint answered the requests of a load test."""

    clients: int
    rate: float | None  # offered; None in a closed loop
    timing: TimedAnswers  # latencies of all requests; −1 if not answered
    errors: Counter[str]  # requests that failed, by kind
    unsent: Histogram  # how long requests had waited that were not sent in time

    @property
    def requests(self) -> int:
        """The number of requests that were sent."""
        return len(self.timing.positions) - self.unsent.n

    @property
    def achieved_rate(self) -> float:
        """Answers per second."""
        return achieved_rate(self.timing, self.rate)

    @property
    def is_saturated(self) -> bool:
        """Whether the endpoint fell behind the offered rate; its latencies are then only a lower bound.

        Requests that were not sent or timed out count as unfinished; other errors do not delay requests.
        """
        unfinished = self.unsent.n + self.errors["timeout"]
        return self.rate is not None and is_saturated(self.timing, self.rate, unfinished)

    @property
    def answered_latency(self) -> Histogram:
        """The latencies of the requests that were answered."""
        assert self.timing.latencies is not None
        return Histogram.of(self.timing.latencies[self.timing.latencies >= 0].tolist())

    @property
    def latency(self) -> Histogram:
        """The latencies, with the waiting time of unsent requests: otherwise a stall would be hidden."""
        return self.answered_latency + self.unsent

    def slo(self, ms: float) -> Estimate:
        """Return the share of all requests that were answered within so many milliseconds."""
        return self.answered_latency.share_within(ms, unanswered=self.timing.errors)

    def to_dict(self) -> dict[str, Any]:
        """Return the measurement as plain data."""
        return {
            "mode": "closed" if self.rate is None else "open",
            "clients": self.clients,
            "rate": self.rate,
            "requests": self.requests,
            "unsent": self.unsent.n,
            "errors": dict(self.errors),
            "seconds": self.timing.seconds,
            "achieved": self.achieved_rate,
            "saturated": self.is_saturated,
            "latency": self.latency.percentiles(),
            "histogram_ns": self.latency.to_dict(),
        }


def measure_closed_loop(
    searcher: Searcher,
    queries: Queries,
    k: int,
    clients: int,
    cap: LoadCap,
    *,
    seconds: float | None = None,
    requests: int | None = None,
    timeout: float = 30.0,
) -> LoadMeasurement:
    """Measure clients that send their next request when the last is answered."""
    if (seconds is None) == (requests is None):
        raise InputError("expected either seconds or requests, found " + ("both" if seconds else "neither"))
    duration = cap.seconds if seconds is None else seconds
    cap.check(cap.rate, duration)
    max_requests = math.floor(cap.rate * duration)
    n = max_requests if requests is None else requests
    if not 0 < n <= max_requests:
        raise InputError(f"requests: expected 1 to {max_requests:,}, the cap, found {n:,}")
    test = _LoadTest(searcher, queries, k, timeout, cap)
    test.run(schedule(cap.rate, n), clients, duration)  # the cap allows no request earlier
    return test.result(clients)


def measure_open_loop(
    searcher: Searcher,
    queries: Queries,
    k: int,
    rate: float,
    seconds: float,
    cap: LoadCap,
    *,
    clients: int = 32,
    timeout: float = 30.0,
) -> LoadMeasurement:
    """Measure requests at an even rate; latency counts from when they were due."""
    cap.check(rate, seconds)
    n = math.floor(rate * seconds)
    if not n:
        raise InputError(f"seconds: expected time for one request at {rate:g} per second, found {seconds:g}")
    test = _LoadTest(searcher, queries, k, timeout, cap)
    return test.result(clients, rate, test.run(schedule(rate, n), clients, cap.seconds))


class _LoadTest:
    """When each request was sent and answered; −1 if it was not."""

    def __init__(self, searcher: Searcher, queries: Queries, k: int, timeout: float, cap: LoadCap) -> None:
        check_time_setting("timeout", timeout)
        searcher.check_queries(queries)
        self._queries, self._k, self._timeout = list(iterate_queries(queries)), k, timeout
        self._problems: dict[int, RemoteError] = {}
        self._attempt = Attempt(searcher, k, timeout)
        self._now, self._send_deadline = time.perf_counter_ns, 0
        self._gap, self._next_allowed = round(1e9 / cap.rate), 0  # when the next request may be sent
        self._numbers, self._lock = count(), Lock()

    def run(self, due: Ticks, clients: int, seconds: float) -> Ticks:
        """Send requests for so many seconds at most; return when each was due by the clock."""
        start, n = self._now(), len(due)
        self._starts, self._ends = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
        self._due, self._clock = due + start, MonotonicClock(spin=clients == 1)
        self._send_deadline = start + round(seconds * 1e9)
        args = (self._send, range(n), self._k, np.zeros(n, np.int64), self._clock, clients)
        loop = Thread(target=run_open_loop, args=args, daemon=True)
        with stdout_to_stderr():
            loop.start()
            try:
                loop.join(seconds + self._timeout + _TIMEOUT_GRACE_SECONDS)  # then abandon calls that hang
            finally:
                self._send_deadline = 0  # after an interruption, too, no further request is sent
        return self._due

    def _wait_for_turn(self) -> int:
        """Wait until the next request is due, and allowed by the cap; return its number.

        Turns are assigned in advance by the schedule, so that a thread that wakes up late delays no other.
        """
        with self._lock:
            number = next(self._numbers)
            turn = max(int(self._due[number]), self._next_allowed, self._now())
            self._next_allowed = turn + self._gap
        self._clock.wait(turn)
        return number

    def _send(self, _: int, k: int) -> None:
        number, start = self._wait_for_turn(), self._now()
        if start >= self._send_deadline:
            return
        self._starts[number] = start
        end, answer = self._attempt(self._queries[number % len(self._queries)], start)
        if isinstance(answer, RemoteError):
            self._problems[number] = answer
        self._ends[number] = end

    def result(self, clients: int, rate: float | None = None, due: Ticks | None = None) -> LoadMeasurement:
        """Return the measurement: of all due requests in an open loop, of all sent ones in a closed loop."""
        starts, ends, problems = self._starts.copy(), self._ends.copy(), dict(self._problems)
        is_sent, last = starts >= 0, max(int(ends.max()), int(starts.max()))
        if not is_sent.any():
            raise UndecidableError("no request was sent in time: this machine is too busy; use more seconds")
        counted = is_sent if due is None else np.full(len(is_sent), True)
        is_failed = ends < 0
        is_failed[list(problems)] = True
        latencies = np.where(is_failed, -1, ends - (starts if due is None else due))[counted]
        unsent = Histogram() if due is None else Histogram.of(np.maximum(0, last - due[~is_sent]).tolist())
        errors = Counter(problem.kind for problem in problems.values())
        hanging_count = int((is_sent & is_failed).sum()) - len(problems)
        if hanging_count:
            errors["timeout"] += hanging_count
        first_problem = next((str(problem) for problem in problems.values()), "")
        first_start, positions = int(starts[is_sent].min()), np.empty((len(latencies), 0), np.int64)
        failed_count = int((latencies < 0).sum())
        timing = TimedAnswers(
            positions, max(last - first_start, 1) / 1e9, latencies, failed_count, first_problem, first_start
        )
        return LoadMeasurement(clients, rate, timing, errors, unsent)
