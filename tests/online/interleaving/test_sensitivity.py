"""How many users an interleaving and an A/B test need: known numbers, and what cannot be said."""

import math

import numpy as np
import pytest
from statsmodels.stats.power import NormalIndPower, normal_power

from assay.core.errors import UndecidableError
from assay.core.events import Events
from assay.online.interleaving.event_credits import credit_events
from assay.online.interleaving.preference import compare_rankers
from assay.online.interleaving.sensitivity import (
    METRICS,
    UnitSums,
    compare_sensitivity,
    users_needed_ab,
    users_needed_interleaved,
)
from assay.online.simulation import INTERLEAVED, TrafficSettings, simulate
from tests.online.interleaving.logs import collection, same_list


def test_the_users_of_an_interleaving_have_the_power() -> None:
    values = np.array([1.0, 1.0, -1.0, 0.0, 0.5] * 40)
    n = users_needed_interleaved(values)
    effect = values.mean() / values.std(ddof=1)
    assert normal_power(effect, n, 0.05) == pytest.approx(0.8, abs=1e-3)


def test_the_users_of_an_ab_test_are_those_of_statsmodels() -> None:
    """With a denominator of 1, a ratio is a mean."""
    rng = np.random.default_rng(2)
    before, after = rng.normal(0.0, 1.0, 500), rng.normal(0.3, 1.0, 500)
    effect = (after.mean() - before.mean()) / math.sqrt((before.var(ddof=1) + after.var(ddof=1)) / 2)
    expected = 2 * NormalIndPower().solve_power(abs(effect), alpha=0.05, power=0.8)
    arms = [UnitSums(values, np.ones(500)) for values in (before, after)]
    assert users_needed_ab(*arms) == pytest.approx(expected, rel=1e-3)


def test_the_variance_of_a_ratio_is_that_of_resampled_users() -> None:
    rng = np.random.default_rng(3)
    searches = (1 + rng.poisson(2, 400)).astype(np.float64)
    arms = [UnitSums(rng.binomial(searches.astype(int), p).astype(float), searches) for p in (0.3, 0.4)]

    def ratio(arm: UnitSums) -> float:
        rows = rng.integers(0, 400, 400)
        return float(arm.numerator[rows].sum() / arm.denominator[rows].sum())

    spread = np.var([ratio(arms[1]) - ratio(arms[0]) for _ in range(2_000)]) * 400
    difference = arms[1].numerator.sum() / searches.sum() - arms[0].numerator.sum() / searches.sum()
    expected = 2 * (1.959964 + 0.841621) ** 2 * spread / difference**2
    assert users_needed_ab(*arms) == pytest.approx(expected, rel=0.15)


def traffic(better: bool = True, users: int = 1_200) -> Events:
    """Return one log: a third of the users see interleaved lists, the others those of one ranker."""
    good = [f"d{number}" for number in range(10)]
    bad = [*good[3:6], *good[:3], *good[6:]]
    rankings = {"old": same_list(bad), "new": same_list(good if better else bad)}
    settings = TrafficSettings(users=users, arms={"old": 1.0, "new": 1.0, INTERLEAVED: 1.0})
    return simulate(rankings, *collection(), settings).events()


def test_an_interleaving_needs_fewer_users_than_an_ab_test_of_the_same_traffic() -> None:
    events = traffic()
    found = compare_sensitivity(compare_rankers(credit_events(events), "old", "new"), events)
    assert [metric.metric for metric in found.metrics] == [*METRICS]
    assert found.interleaving.value is not None
    for metric in found.metrics:
        users, times = metric.users_needed, metric.times_as_many
        assert times.low is not None
        assert times.low > 1
        assert users.value == pytest.approx(found.interleaving.value * (times.value or 0))
        assert (users.low or 0) < (users.value or 0) < (users.high or math.inf)


def test_the_same_seed_gives_the_same_intervals() -> None:
    events = traffic(users=300)
    result = compare_rankers(credit_events(events), "old", "new")
    assert compare_sensitivity(result, events, seed=4) == compare_sensitivity(result, events, seed=4)


def test_no_number_of_users_finds_no_difference() -> None:
    found = compare_sensitivity(compare_rankers(credit_events(traffic(False)), "old", "new"), traffic(False))
    assert found.interleaving.value is None
    assert all(metric.times_as_many.value is None for metric in found.metrics)


def test_a_log_without_the_arms_is_refused() -> None:
    events = traffic(users=100)
    result = compare_rankers(credit_events(events), "old", "new")
    other = simulate(
        {"x": same_list(["d1"]), "y": same_list(["d2"])}, *collection(), TrafficSettings(users=20)
    ).events()
    with pytest.raises(
        UndecidableError, match="users of the variant 'old' of an A/B test, found variants: x, y"
    ):
        compare_sensitivity(result, other)
