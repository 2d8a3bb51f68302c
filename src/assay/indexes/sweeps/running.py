"""One pass of a trial: in a batch, one by one, at a rate, or in search of the capacity."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from assay.core.errors import EngineError
from assay.core.vectors import Positions, Vectors
from assay.indexes.hosting.hosted import Hosted
from assay.indexes.hosting.load import achieved, capacity, requests
from assay.indexes.hosting.timing import Ticks, Timed, schedule
from assay.indexes.sweeps.living import Living
from assay.indexes.sweeps.plan import Asking, Case
from assay.indexes.sweeps.results import Repetition, once

_AHEAD = 50_000_000  # nanoseconds from now to the start of a schedule: every client is ready by then


def run(
    index: Living,
    case: Case,
    queries: Vectors,
    k: int,
    warmup: int | None,
    number: int,
    told: Callable[[float], None] = lambda rate: None,
) -> Repetition:
    """One pass, after a warm-up that is thrown away; the rates that are tried are told."""
    asking = case.asking
    crew = index.crew(1 if asking.mode == "batch" else min(asking.clients, len(queries)))
    for hosted in crew:
        hosted.ask("set_search", dict(case.search))
    made = _Pass(crew, asking, queries, k, warmup, number)
    if asking.mode == "capacity":
        return _capacity(made, told)
    return once(_sound(made.timed()), len(queries))


class _Pass(NamedTuple):
    """The processes that are asked, and what."""

    crew: list[Hosted]
    asking: Asking
    queries: Vectors
    k: int
    warmup: int | None
    number: int

    def timed(self) -> Timed:
        """As the trial asks."""
        if self.asking.mode == "batch":
            return self._following("batch", self.queries, self.k)
        if self.asking.mode == "single":
            return self.closed()
        assert self.asking.rate is not None
        return self.offered(self.asking.rate)

    def closed(self) -> Timed:
        """Every query once."""
        numbers = np.arange(len(self.queries))
        if self.crew[1:]:
            return self._shared("single", numbers)
        self.crew[0].ask("ready", self.queries, numbers, self.k, self.asking.clients)
        return self._following("single")

    def offered(self, rate: float) -> Timed:
        """Queries offered at a rate."""
        asking = self.asking
        due = schedule(rate, requests(rate, asking.seconds, asking.percentile or 99.0), seed=self.number)
        return self._shared("scheduled", np.arange(len(due)) % len(self.queries), due)

    def _following(self, name: str, *arguments: Any) -> Timed:
        """What follows the warm-up at once: it is told before that ends, and the process never sleeps."""
        (hosted,) = self.crew
        hosted.tell("warm", self.queries, self.k, self.warmup, name == "batch")
        hosted.tell(name, *arguments)
        try:
            hosted.answer("warm")
        except BaseException:
            hosted.kill()  # the answer to come would be taken for another
            raise
        made: Timed = hosted.answer(name)
        return made

    def _shared(self, name: str, numbers: Positions, *more: Ticks) -> Timed:
        """Requests that the processes take in turns, from the same moment on."""
        crew = self.crew
        parts = [slice(turn, None, len(crew)) for turn in range(len(crew))]
        for hosted, part in zip(crew, parts, strict=True):
            hosted.ask("ready", self.queries, numbers[part], self.k, self.asking.clients // len(crew))
        try:
            for hosted in crew:
                hosted.tell("warm", self.queries, self.k, self.warmup, False)
            for hosted in crew:
                hosted.answer("warm")
            start = time.perf_counter_ns() + _AHEAD
            for hosted, part in zip(crew, parts, strict=True):
                hosted.tell(name, start, *(m[part] for m in more))
            return merged([hosted.answer(name) for hosted in crew])
        except BaseException:
            for hosted in crew[1:] and crew:  # the answers of the others would be taken for those to come
                hosted.kill()
            raise


def merged(parts: list[Timed]) -> Timed:
    """What several processes did in turns, as one."""
    if len(parts) == 1:
        return parts[0]
    n = sum(len(part.positions) for part in parts)
    positions = np.empty((n, parts[0].positions.shape[1]), np.int64)
    latencies = np.empty(n, np.int64)
    for turn, part in enumerate(parts):
        assert part.latencies is not None
        positions[turn :: len(parts)] = part.positions
        latencies[turn :: len(parts)] = part.latencies
    return Timed(
        positions,
        max(part.began / 1e9 + part.seconds for part in parts) - min(part.began for part in parts) / 1e9,
        latencies,
        sum(part.errors for part in parts),
        next((part.problem for part in parts if part.problem), ""),
        min(part.began for part in parts),
    )


def _capacity(made: _Pass, told: Callable[[float], None]) -> Repetition:
    percentile, within_ms = made.asking.percentile, made.asking.within_ms
    assert percentile is not None
    assert within_ms is not None
    closed = _sound(made.closed())
    warm = made._replace(warmup=0)

    def offer(rate: float) -> Timed:
        told(rate)
        return warm.offered(rate)

    found = capacity(offer, percentile, within_ms, achieved(closed))
    extra = {"capacity": found.rate, "probes": [probe._asdict() for probe in found.probes]}
    return once(found.best or closed, len(made.queries), extra)


def _sound(timed: Timed) -> Timed:
    if timed.errors == len(timed.positions):
        raise EngineError(f"every search failed: {timed.problem}")
    return timed
