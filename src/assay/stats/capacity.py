"""Capacity: the highest request rate at which a system meets a latency objective."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from assay.core.timing import TimedAnswers
from assay.stats.percentiles import min_samples, percentile_ms

SATURATION_SHARE = 0.98  # below this share of the offered rate, the system does not keep up
_SEARCH_FACTOR = 64  # rates are searched up to this factor below and above the rate of a closed loop
_RATE_STEP = 1.05  # the search ends when the met and the missed rate differ by less than this factor


class RateProbe(NamedTuple):
    """An offered rate and its result."""

    rate: float
    achieved: float
    latency_ms: float | None  # at the percentile of the objective
    met: bool


class Capacity(NamedTuple):
    """The highest rate that meets an objective; None if none does."""

    rate: float | None
    probes: list[RateProbe]
    best: TimedAnswers | None


def achieved_rate(timing: TimedAnswers, rate: float | None = None) -> float:
    """Return answers per second, over at least the duration of the schedule if a rate was offered."""
    return (len(timing.positions) - timing.errors) / _duration(timing, rate)


def is_saturated(timing: TimedAnswers, rate: float, unfinished: int = 0) -> bool:
    """Return whether a system fell behind the offered rate; failed requests count as finished."""
    return (len(timing.positions) - unfinished) / _duration(timing, rate) < SATURATION_SHARE * rate


def _duration(timing: TimedAnswers, rate: float | None) -> float:
    return max(timing.seconds, len(timing.positions) / rate if rate else 0)


def request_count(rate: float, seconds: float, percentile: float = 99.0) -> int:
    """Return the number of requests that fill the duration and suffice to estimate the percentile."""
    return max(math.ceil(rate * seconds), min_samples(percentile))


def find_capacity(
    offer: Callable[[float], TimedAnswers], percentile: float, within_ms: float, fastest: float
) -> Capacity:
    """Search for the highest rate that meets the objective, starting at the rate of a closed loop."""
    probes: list[RateProbe] = []
    best: TimedAnswers | None = None
    low, high = 0.0, fastest * 2
    rate = fastest
    while not low or high / low > _RATE_STEP:
        timing = offer(rate)
        probe = _evaluate_rate(timing, rate, percentile, within_ms)
        probes.append(probe)
        if probe.met:
            low, best = rate, timing
            if (
                high / low <= _RATE_STEP
                and high < fastest * _SEARCH_FACTOR
                and all(earlier.met for earlier in probes)
            ):
                high *= 2  # the upper bound was a guess, and no rate has failed yet
        else:
            high = rate
        if not low and rate < fastest / _SEARCH_FACTOR:
            return Capacity(None, probes, None)
        rate = math.sqrt(low * high) if low else high / 2
    return Capacity(low, probes, best)


def _evaluate_rate(timing: TimedAnswers, rate: float, percentile: float, within_ms: float) -> RateProbe:
    latencies = timing.latencies
    assert latencies is not None
    latency_ms = percentile_ms(latencies[latencies >= 0], percentile)
    is_met = (
        latency_ms is not None
        and latency_ms <= within_ms
        and not timing.errors
        and not is_saturated(timing, rate)
    )
    return RateProbe(rate, achieved_rate(timing, rate), latency_ms, is_met)
