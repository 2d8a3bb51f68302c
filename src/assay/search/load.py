"""Load for a live endpoint, with a hard cap: how it answers some clients, or some rate.

In a closed loop each client sends when its last request is answered, so a stall delays requests that nobody
counts. In an open loop requests are sent by schedule, and latency is counted from when they were due.
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
from assay.indexes.hosting.load import achieved, saturated
from assay.indexes.hosting.timing import Monotonic, Ticks, Timed, open_loop, schedule
from assay.search.running import Attempt, aside, refuse_odd
from assay.search.searcher import Searcher, SearchError, asked
from assay.stats.histograms import Histogram
from assay.stats.intervals import Estimate

_GRACE = 0.5  # seconds beyond the timeout in which a searcher may say so itself


@dataclass(frozen=True)
class Cap:
    """The most that a live endpoint is made to bear: requests in any second, and seconds."""

    rate: float
    seconds: float

    def __post_init__(self) -> None:
        refuse_odd("max-rate", self.rate)
        refuse_odd("max-seconds", self.seconds)

    def refuse_more(self, rate: float, seconds: float) -> None:
        """Refuse what would go beyond."""
        for name, wanted, most in (("rate", rate, self.rate), ("seconds", seconds, self.seconds)):
            if not 0 < wanted <= most:
                raise InputError(
                    f"{name}: expected more than 0 and at most the cap of {most:g}, found {wanted:g}"
                )


@dataclass(frozen=True)
class Load:
    """How an endpoint answered so many requests."""

    clients: int
    rate: float | None  # that was offered; None: a closed loop
    timed: Timed  # latencies of all requests; −1: not answered
    errors: Counter[str]  # requests that failed, by kind
    unsent: Histogram  # how long those had waited that were not sent before the time was over

    @property
    def requests(self) -> int:
        """The requests that were sent."""
        return len(self.timed.positions) - self.unsent.n

    @property
    def achieved(self) -> float:
        """Answers per second."""
        return achieved(self.timed, self.rate)

    @property
    def saturated(self) -> bool:
        """Whether the endpoint fell behind the rate that was offered; its latencies are then but a bound.

        What fails at once does not keep others waiting; what was never sent, or timed out, is not done.
        """
        unfinished = self.unsent.n + self.errors["timeout"]
        return self.rate is not None and saturated(self.timed, self.rate, unfinished)

    @property
    def answered(self) -> Histogram:
        """The latencies of the requests that were answered."""
        assert self.timed.latencies is not None
        return Histogram.of(self.timed.latencies[self.timed.latencies >= 0].tolist())

    @property
    def latency(self) -> Histogram:
        """The latencies; what was never sent counts as long as it had waited, or a stall would be hidden."""
        return self.answered + self.unsent

    def slo(self, ms: float) -> Estimate:
        """The share of all requests that were answered within so many milliseconds."""
        return self.answered.share_within(ms, unanswered=self.timed.errors)

    def to_dict(self) -> dict[str, Any]:
        """The load as plain data."""
        return {
            "mode": "closed" if self.rate is None else "open",
            "clients": self.clients,
            "rate": self.rate,
            "requests": self.requests,
            "unsent": self.unsent.n,
            "errors": dict(self.errors),
            "seconds": self.timed.seconds,
            "achieved": self.achieved,
            "saturated": self.saturated,
            "latency": self.latency.percentiles(),
            "histogram_ns": self.latency.to_dict(),
        }


def closed(
    searcher: Searcher,
    queries: Queries,
    k: int,
    clients: int,
    cap: Cap,
    *,
    seconds: float | None = None,
    requests: int | None = None,
    timeout: float = 30.0,
) -> Load:
    """Clients that send their next request when the last is answered, for a time or a number of requests."""
    if (seconds is None) == (requests is None):
        raise InputError("expected either seconds or requests, found " + ("both" if seconds else "neither"))
    lasting = cap.seconds if seconds is None else seconds
    cap.refuse_more(cap.rate, lasting)
    most = math.floor(cap.rate * lasting)
    n = most if requests is None else requests
    if not 0 < n <= most:
        raise InputError(f"requests: expected 1 to {most:,}, the cap, found {n:,}")
    sent = _Sent(searcher, queries, k, timeout, cap)
    sent.all(schedule(cap.rate, n), clients, lasting)  # due by the cap: sooner is not allowed
    return sent.load(clients)


def opened(
    searcher: Searcher,
    queries: Queries,
    k: int,
    rate: float,
    seconds: float,
    cap: Cap,
    *,
    clients: int = 32,
    timeout: float = 30.0,
) -> Load:
    """Requests at an even rate, or as soon after as a client is free; latency counts from the due time."""
    cap.refuse_more(rate, seconds)
    n = math.floor(rate * seconds)
    if not n:
        raise InputError(f"seconds: expected time for a request at {rate:g} a second, found {seconds:g}")
    sent = _Sent(searcher, queries, k, timeout, cap)
    return sent.load(clients, rate, sent.all(schedule(rate, n), clients, cap.seconds))


class _Sent:
    """When each request was sent and answered; −1: it was not."""

    def __init__(self, searcher: Searcher, queries: Queries, k: int, timeout: float, cap: Cap) -> None:
        refuse_odd("timeout", timeout)
        searcher.refuse(queries)
        self._queries, self._k, self._timeout = list(asked(queries)), k, timeout
        self._problems: dict[int, SearchError] = {}
        self._ask = Attempt(searcher, k, timeout)
        self._now, self._until = time.perf_counter_ns, 0
        self._gap, self._free = round(1e9 / cap.rate), 0  # from when on the next may be sent
        self._numbers, self._lock = count(), Lock()

    def all(self, due: Ticks, clients: int, seconds: float) -> Ticks:
        """Send for so many seconds at most; says when each request was due by the clock."""
        begin, n = self._now(), len(due)
        self._starts, self._ends = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
        self._due, self._clock = due + begin, Monotonic(spin=clients == 1)
        self._until = begin + round(seconds * 1e9)
        args = (self._send, range(n), self._k, np.zeros(n, np.int64), self._clock, clients)
        loop = Thread(target=open_loop, args=args, daemon=True)
        with aside():
            loop.start()
            try:
                loop.join(seconds + self._timeout + _GRACE)  # what hangs longer is left to itself
            finally:
                self._until = 0  # after an interruption, too, nothing more is sent
        return self._due

    def _turn(self) -> int:
        """Wait until the next request is due, and allowed by the cap; says which it is.

        Turns are given out ahead and by schedule: a thread that wakes up late keeps no other waiting.
        """
        with self._lock:
            i = next(self._numbers)
            turn = max(int(self._due[i]), self._free, self._now())
            self._free = turn + self._gap
        self._clock.wait(turn)
        return i

    def _send(self, _: int, k: int) -> None:
        i, begin = self._turn(), self._now()
        if begin >= self._until:
            return
        self._starts[i] = begin
        end, found = self._ask(self._queries[i % len(self._queries)], begin)
        if isinstance(found, SearchError):
            self._problems[i] = found
        self._ends[i] = end

    def load(self, clients: int, rate: float | None = None, due: Ticks | None = None) -> Load:
        """What came of it: in an open loop of all that was due, in a closed one of what was sent."""
        starts, ends, problems = self._starts.copy(), self._ends.copy(), dict(self._problems)
        sent, last = starts >= 0, max(int(ends.max()), int(starts.max()))
        if not sent.any():
            raise UndecidableError("no request was sent in time: this machine is too busy; ask for longer")
        wanted = sent if due is None else np.full(len(sent), True)
        failing = ends < 0
        failing[list(problems)] = True
        latencies = np.where(failing, -1, ends - (starts if due is None else due))[wanted]
        unsent = Histogram() if due is None else Histogram.of(np.maximum(0, last - due[~sent]).tolist())
        errors = Counter(problem.kind for problem in problems.values())
        hanging = int((sent & failing).sum()) - len(problems)
        if hanging:
            errors["timeout"] += hanging
        said = next((str(problem) for problem in problems.values()), "")
        began, empty = int(starts[sent].min()), np.empty((len(latencies), 0), np.int64)
        failed = int((latencies < 0).sum())
        timed = Timed(empty, max(last - began, 1) / 1e9, latencies, failed, said, began)
        return Load(clients, rate, timed, errors, unsent)
