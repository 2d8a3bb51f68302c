"""One pass of a trial: in a batch, one by one, at a rate, or in search of the capacity."""

from __future__ import annotations

import time
from collections.abc import Callable

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
    warmup: int,
    number: int,
    told: Callable[[float], None] = lambda rate: None,
) -> Repetition:
    """One pass, after a warm-up that is thrown away; the rates that are tried are told."""
    asking = case.asking
    crew = index.crew(1 if asking.mode == "batch" else min(asking.clients, len(queries)))
    for hosted in crew:
        hosted.ask("set_search", dict(case.search))
        hosted.ask("warm", queries, k, warmup)
    if asking.mode == "capacity":
        return _capacity(crew, asking, queries, k, number, told)
    return once(_sound(_timed(crew, asking, queries, k, number)), len(queries))


def _timed(crew: list[Hosted], asking: Asking, queries: Vectors, k: int, number: int) -> Timed:
    if asking.mode == "batch":
        made: Timed = crew[0].ask("batch", queries, k)
        return made
    if asking.mode == "single":
        return _closed(crew, asking, queries, k)
    assert asking.rate is not None
    return _offered(crew, asking, queries, k, asking.rate, number)


def _closed(crew: list[Hosted], asking: Asking, queries: Vectors, k: int) -> Timed:
    """Every query once."""
    return _shared(crew, "single", asking.clients, queries, k, np.arange(len(queries)))


def _offered(crew: list[Hosted], asking: Asking, queries: Vectors, k: int, rate: float, number: int) -> Timed:
    """Queries offered at a rate."""
    due = schedule(rate, requests(rate, asking.seconds, asking.percentile or 99.0), seed=number)
    numbers = np.arange(len(due)) % len(queries)
    return _shared(crew, "scheduled", asking.clients, queries, k, numbers, due)


def _shared(
    crew: list[Hosted], mode: str, clients: int, queries: Vectors, k: int, numbers: Positions, *more: Ticks
) -> Timed:
    """Requests that the processes of a crew take in turns."""
    parts = [slice(turn, None, len(crew)) for turn in range(len(crew))]
    for hosted, part in zip(crew, parts, strict=True):
        hosted.ask("ready", queries, numbers[part])
    start = time.perf_counter_ns() + _AHEAD
    try:
        for hosted, part in zip(crew, parts, strict=True):
            hosted.tell(mode, k, clients // len(crew), start, *(m[part] for m in more))
        return merged([hosted.answer(mode) for hosted in crew])
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


def _capacity(
    crew: list[Hosted],
    asking: Asking,
    queries: Vectors,
    k: int,
    number: int,
    told: Callable[[float], None],
) -> Repetition:
    assert asking.percentile is not None
    assert asking.within_ms is not None
    closed = _sound(_closed(crew, asking, queries, k))

    def offer(rate: float) -> Timed:
        told(rate)
        return _offered(crew, asking, queries, k, rate, number)

    found = capacity(offer, asking.percentile, asking.within_ms, achieved(closed))
    extra = {"capacity": found.rate, "probes": [probe._asdict() for probe in found.probes]}
    return once(found.best or closed, len(queries), extra)


def _sound(timed: Timed) -> Timed:
    if timed.errors == len(timed.positions):
        raise EngineError(f"every search failed: {timed.problem}")
    return timed
