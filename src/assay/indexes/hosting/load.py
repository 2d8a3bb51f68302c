"""Load: how a system answers at a rate, and the highest rate at which it still meets an objective."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from assay.indexes.hosting.percentiles import fewest, percentile_ms
from assay.indexes.hosting.timing import Timed

SATURATED = 0.98  # of the offered rate: below, the system does not keep up
_DEEP = 64  # times below the rate of a closed loop, where an objective is out of reach, or above it
_STEP = 1.05  # between the rate that meets an objective and one that does not: near enough


class Probe(NamedTuple):
    """A rate that was offered, and how it was answered."""

    rate: float
    achieved: float
    latency_ms: float | None  # at the objective's percentile
    met: bool


class Capacity(NamedTuple):
    """The highest rate that met an objective; None where none did."""

    rate: float | None
    probes: list[Probe]
    best: Timed | None


def achieved(timed: Timed, rate: float | None = None) -> float:
    """Answers per second; at a rate, of the time that its schedule takes at least."""
    return (len(timed.positions) - timed.errors) / _lasting(timed, rate)


def saturated(timed: Timed, rate: float, unfinished: int = 0) -> bool:
    """Whether a system fell behind what was offered: what failed is finished, but for so many."""
    return (len(timed.positions) - unfinished) / _lasting(timed, rate) < SATURATED * rate


def _lasting(timed: Timed, rate: float | None) -> float:
    return max(timed.seconds, len(timed.positions) / rate if rate else 0)


def requests(rate: float, seconds: float, percentile: float = 99.0) -> int:
    """How many requests make up a run: as long as asked, and enough to know the percentile."""
    return max(math.ceil(rate * seconds), fewest(percentile))


def capacity(
    offer: Callable[[float], Timed], percentile: float, within_ms: float, fastest: float
) -> Capacity:
    """Search for the highest rate that meets the objective, around the rate of a closed loop."""
    probes: list[Probe] = []
    best: Timed | None = None
    low, high = 0.0, fastest * 2
    rate = fastest
    while not low or high / low > _STEP:
        timed = offer(rate)
        probe = _probe(timed, rate, percentile, within_ms)
        probes.append(probe)
        if probe.met:
            low, best = rate, timed
            if high / low <= _STEP and high < fastest * _DEEP and all(one.met for one in probes):
                high *= 2  # it was a guess, and nothing near it failed
        else:
            high = rate
        if not low and rate < fastest / _DEEP:
            return Capacity(None, probes, None)
        rate = math.sqrt(low * high) if low else high / 2
    return Capacity(low, probes, best)


def _probe(timed: Timed, rate: float, percentile: float, within_ms: float) -> Probe:
    latencies = timed.latencies
    assert latencies is not None
    late = percentile_ms(latencies[latencies >= 0], percentile)
    met = late is not None and late <= within_ms and not timed.errors and not saturated(timed, rate)
    return Probe(rate, achieved(timed, rate), late, met)
