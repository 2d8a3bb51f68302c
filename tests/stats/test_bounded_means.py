"""Intervals of bounded means against Clopper and Pearson, and against random weights drawn one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.core.arrays import Floats
from assay.stats.bounded_means import (
    UNIT,
    bounded_mean_interval,
    has_values_within,
    p_mean_at_least,
    p_mean_at_most,
)
from tests.reference_measures import quick

VALUES = st.lists(st.floats(0, 1), min_size=2, max_size=30)
SAMPLES = {
    "uniform": lambda rng, n: rng.random(n),
    "U-shaped": lambda rng, n: rng.beta(0.2, 0.2, n),
    "few non-zero": lambda rng, n: rng.random(n) * (rng.random(n) < 0.2),
}


def random_weight_interval(values: Floats, level: float) -> tuple[float, float]:
    """The interval as its definition says, from many random weights."""
    rng = np.random.default_rng(3)
    exponentials = rng.exponential(size=(400_000, len(values) + 1))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    low = np.quantile(weights @ np.append(values, 0.0), (1 - level) / 2)
    return float(low), float(np.quantile(weights @ np.append(values, 1.0), (1 + level) / 2))


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("n", [2, 5, 20])
@pytest.mark.parametrize("name", list(SAMPLES))
def test_the_approximation_is_that_of_random_weights(name: str, n: int, level: float) -> None:
    values = SAMPLES[name](np.random.default_rng(n), n)
    expected = random_weight_interval(values, level)
    assert bounded_mean_interval(values, level) == pytest.approx(expected, abs=0.015 / n + 0.001)


@pytest.mark.parametrize(("hits", "n"), [(0, 2), (1, 2), (3, 50), (50, 50), (250, 1000), (9999, 10_000)])
def test_of_zeros_and_ones_it_is_clopper_and_pearsons_interval(hits: int, n: int) -> None:
    expected = stats.binomtest(hits, n).proportion_ci(0.95, method="exact")
    result = bounded_mean_interval(np.repeat([1.0, 0.0], [hits, n - hits]), 0.95)
    assert result == pytest.approx((expected.low, expected.high), abs=0.02 / n)


def test_with_many_values_it_is_the_normal_interval() -> None:
    values = np.random.default_rng(0).random(20_000)
    half = 1.959964 * values.std() / np.sqrt(len(values))
    assert bounded_mean_interval(values, 0.95) == pytest.approx(
        (values.mean() - half, values.mean() + half), abs=0.02 * half
    )


@quick
@given(VALUES, st.sampled_from([0.5, 0.95, 0.999]))
def test_the_ends_are_where_the_tests_turn(values: list[float], level: float) -> None:
    sample = np.array(values)
    low, high = bounded_mean_interval(sample, level)
    assert 0 <= low <= high <= 1
    if high < 1 - 1e-6:
        assert p_mean_at_least(sample, high) == pytest.approx((1 - level) / 2, rel=1e-3)
    if low > 1e-6:
        assert p_mean_at_most(sample, low) == pytest.approx((1 - level) / 2, rel=1e-3)


@quick
@given(VALUES)
def test_turning_the_scale_round_turns_the_interval_round(values: list[float]) -> None:
    sample = np.array(values)
    low, high = bounded_mean_interval(sample, 0.95)
    assert bounded_mean_interval(1 - sample, 0.95) == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_thresholds_outside_the_bounds_are_decided() -> None:
    values = np.array([0.2, 0.4])
    assert [p_mean_at_least(values, t) for t in (-0.1, 0.0, 1.0, 1.1)] == [1.0, 1.0, 0.0, 0.0]
    assert [p_mean_at_most(values, t) for t in (-0.1, 0.0, 1.0, 1.1)] == [0.0, 0.0, 1.0, 1.0]
    assert p_mean_at_least(np.ones(3), 1.0) == 1.0


def test_values_may_pass_a_bound_by_rounding_only() -> None:
    assert has_values_within(np.array([0.0, 1.0 + 1e-14]), UNIT)
    assert not has_values_within(np.array([0.0, 1.0 + 1e-9]), UNIT)
