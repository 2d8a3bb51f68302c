"""The capacity of a system: rates, saturation, and the search for the highest rate."""

import math

import numpy as np
import pytest

from assay.core.timing import TimedAnswers
from assay.stats.capacity import achieved_rate, find_capacity, is_saturated, request_count


def serve(rate: float, limit: float) -> TimedAnswers:
    """Answers of a server that keeps up to a limit and falls behind above it."""
    n = request_count(rate, 2)
    latency = 1_000_000 if rate <= limit else 50_000_000
    seconds = n / min(rate, limit)
    return TimedAnswers(np.zeros((n, 1), np.int64), seconds, np.full(n, latency))


def test_capacity_is_the_highest_rate_that_meets_the_objective() -> None:
    capacity = find_capacity(lambda rate: serve(rate, 730), 99, 10, fastest=2000)
    assert capacity.rate is not None
    assert 730 / 1.05 <= capacity.rate <= 730
    assert not [probe for probe in capacity.probes if probe.met and probe.rate > 730]


def test_capacity_may_lie_above_one_client_and_below_everything() -> None:
    above = find_capacity(lambda rate: serve(rate, 3500), 99, 10, fastest=2000)
    assert above.rate is not None
    assert 3500 / 1.05 <= above.rate <= 3500
    assert find_capacity(lambda rate: serve(rate, 0.1), 99, 10, fastest=2000).rate is None


def test_capacity_is_not_held_below_a_rate_that_nobody_offered() -> None:
    """A closed loop may have been slow for reasons of its own."""
    capacity = find_capacity(lambda rate: serve(rate, 3500), 99, 10, fastest=100)
    assert capacity.rate is not None
    assert 3500 / 1.05 <= capacity.rate <= 3500
    assert not all(probe.met for probe in capacity.probes)
    endless = find_capacity(lambda rate: serve(rate, math.inf), 50, 10, fastest=1)
    assert endless.rate is not None
    assert endless.rate > 32


def test_falling_behind_is_saturation() -> None:
    assert is_saturated(serve(1000, 900), 1000)
    assert not is_saturated(serve(1000, 1000), 1000)


def test_what_failed_is_finished_and_what_is_not_finished_is_behind() -> None:
    timing = serve(1000, 1000)
    failing = timing._replace(errors=len(timing.positions) // 5)
    assert not is_saturated(failing, 1000)
    assert is_saturated(failing, 1000, unfinished=failing.errors)
    assert achieved_rate(failing, 1000) == pytest.approx(800, rel=0.01)


def test_answers_are_counted_over_the_schedule_where_it_is_longer() -> None:
    quick = TimedAnswers(np.zeros((5, 1), np.int64), 0.8)
    assert (achieved_rate(quick), achieved_rate(quick, 5), achieved_rate(quick, 50)) == (6.25, 5, 6.25)
