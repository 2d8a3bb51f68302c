"""Group-sequential bounds, beside published tables and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

from assay.core.errors import InputError
from assay.stats.moments import Moments
from assay.stats.sequential.boundary_crossing import crossing_chances
from assay.stats.sequential.group_sequential import (
    Looks,
    compute_bounds,
    futility_bounds,
    group_sequential_power,
    make_group_sequential,
    repeated_p,
)
from assay.stats.sequential.spending import spend
from assay.stats.unit_differences import difference, relative_difference

FIVE = Looks((1.0, 2.0, 3.0, 4.0, 5.0), 5.0)
FORTNIGHT = Looks(tuple(float(day) for day in range(1, 15)), 14.0)
DRIFT = float(norm.ppf(0.975) + norm.ppf(0.8))  # with which a fixed test has a power of .80


@pytest.mark.parametrize(
    ("looks", "sides", "published"),
    [
        (FIVE, 2, [4.8769, 3.3569, 2.6803, 2.2898, 2.0310]),  # Lan and DeMets 1983
        (FIVE._replace(spending="pocock"), 2, [2.4380, 2.4268, 2.4101, 2.3966, 2.3859]),
        (Looks((1.0, 2.0, 3.0, 4.0), 4.0), 1, [3.74955, 2.53993, 2.01604, 1.72014]),  # SeqBounds.jl
    ],
)
def test_bounds_are_those_of_published_tables(looks: Looks, sides: int, published: list[float]) -> None:
    assert compute_bounds(looks, 0.05, sides) == pytest.approx(published, abs=2e-4)


@pytest.mark.parametrize(
    ("count", "rate"), [(1, 0.05), (2, 0.083), (5, 0.142), (10, 0.193), (14, 0.22), (20, 0.248)]
)
def test_repeated_looks_at_a_fixed_test_alarm_as_often_as_published(count: int, rate: float) -> None:
    times = [(i + 1) / count for i in range(count)]  # Armitage, McPherson and Rowe 1969
    chances = crossing_chances(times, [-1.96] * count, [1.96] * count)
    assert sum(map(sum, chances)) == pytest.approx(rate, abs=6e-4)


def test_crossing_chances_are_those_of_the_multivariate_normal() -> None:
    times, lows, highs, drift = np.array([0.2, 0.5, 1.0]), [-0.5, -1.0, 0.3], [2.5, 2.2, 2.0], 1.7
    covariance = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    inside = multivariate_normal(drift * np.sqrt(times), covariance).cdf(highs, lower_limit=lows)
    chances = crossing_chances(list(times), lows, highs, drift)
    assert 1 - sum(map(sum, chances)) == pytest.approx(inside, abs=1e-4)


gaps = st.lists(st.floats(0.01, 1), min_size=1, max_size=12)


@settings(max_examples=30)
@given(gaps, st.floats(0.3, 3), st.sampled_from(["obrien-fleming", "pocock"]), st.sampled_from([1, 2]))
def test_any_looks_spend_exactly_alpha(steps: list[float], planned: float, kind: str, sides: int) -> None:
    units = tuple(np.cumsum(steps).tolist())
    looks = Looks(units, planned * units[-1], kind, is_final=True)
    bounds = compute_bounds(looks, 0.05, sides)
    finite = [min(b, 9.0) for b in bounds]
    lows = [-b for b in finite] if sides == 2 else [-math.inf] * len(bounds)
    crossed = sum(map(sum, crossing_chances(looks.times, lows, finite)))
    assert crossed == pytest.approx(0.05, abs=1e-6)


def test_one_look_at_the_end_is_the_fixed_test() -> None:
    single = Looks((500.0,), 500.0)
    assert compute_bounds(single)[0] == pytest.approx(norm.ppf(0.975))
    assert repeated_p(single, 1.5) == pytest.approx(2 * norm.sf(1.5), abs=1e-6)


def test_power_of_daily_looks_is_near_that_of_a_fixed_test() -> None:
    power, units = group_sequential_power(FORTNIGHT, DRIFT)
    assert power == pytest.approx(0.783, abs=1e-3)
    assert units < 0.8
    assert group_sequential_power(FORTNIGHT, 0.0)[0] == pytest.approx(0.05, abs=1e-6)
    assert group_sequential_power(FORTNIGHT._replace(spending="pocock"), DRIFT)[0] < power


def test_futility_bounds_rise_and_spend_no_more_than_beta() -> None:
    lows = futility_bounds(FORTNIGHT, DRIFT, beta=0.2)
    highs = compute_bounds(FORTNIGHT)
    assert list(lows) == sorted(lows)
    assert all(low <= high for low, high in zip(lows, highs, strict=True))
    stopped = crossing_chances(FORTNIGHT.times, lows, highs, DRIFT)
    assert sum(low for low, _ in stopped) <= 0.2 + 1e-9


def test_the_interval_and_p_agree_with_the_bound() -> None:
    rng = np.random.default_rng(5)
    arms = [Moments.from_values(rng.normal(mean, 1, 400)) for mean in (0.0, 0.12)]
    looks = Looks((300.0, 500.0, 800.0), 1000.0)
    plain = difference(arms[0], arms[1])
    result = make_group_sequential(plain, looks)
    low, high = result.estimate[1:3]
    assert low is not None
    assert high is not None
    assert plain.error is not None
    assert high - low == pytest.approx(2 * plain.error * compute_bounds(looks)[-1])
    assert result.spread.p_at_most(low) == pytest.approx(0.025, abs=1e-5)
    assert result.spread.p_at_most(high) == pytest.approx(0.975, abs=1e-5)
    assert result.method == "Welch, group sequential (obrien-fleming)"
    assert (plain.p or 1) < (result.p or 0)


def test_one_sided_results_have_one_end() -> None:
    arms = [Moments.from_values(np.arange(400.0) + shift) for shift in (0, 30)]
    plain, looks = difference(arms[0], arms[1]), Looks((400.0, 800.0), 800.0)
    greater = make_group_sequential(plain, looks, alternative="greater")
    less = make_group_sequential(plain, looks, alternative="less")
    assert greater.estimate.high is less.estimate.low is None
    assert (greater.p or 0) + (less.p or 0) == pytest.approx(1)
    assert (greater.p or 1) < 0.001


def test_a_look_that_may_spend_nothing_has_no_interval_and_says_so() -> None:
    arms = [Moments.from_values(np.arange(40.0) + shift) for shift in (0, 30)]
    result = make_group_sequential(difference(arms[0], arms[1]), Looks((80.0,), 10_000.0))
    assert result.estimate[1:3] == (None, None)
    assert result.reason.startswith("too early")


def test_extreme_statistics_keep_a_p_in_range() -> None:
    assert repeated_p(FIVE, 40.0) == pytest.approx(1e-12)
    assert repeated_p(FIVE, 0.0) == 1.0
    assert 0 < repeated_p(FIVE, 3.0) < repeated_p(FIVE, 2.0) < 1


def test_what_is_unknown_stays_unknown_and_wrong_options_are_refused() -> None:
    empty = difference(Moments(), Moments())
    assert make_group_sequential(empty, FIVE) == empty
    arms = Moments.from_values([10.0, 11.0, 12.0]), Moments.from_values([11.0, 12.0, 14.0])
    with pytest.raises(InputError, match="alternative"):
        make_group_sequential(difference(*arms), FIVE, alternative="larger")
    with pytest.raises(InputError, match="delta method"):
        make_group_sequential(relative_difference(*arms, interval="fieller"), FIVE)
    with pytest.raises(InputError, match="increasing numbers of units"):
        compute_bounds(Looks((2.0, 1.0), 5.0))
    with pytest.raises(InputError, match="1 or 2 sides"):
        compute_bounds(FIVE, sides=3)
    with pytest.raises(InputError, match="expected spending"):
        spend(0.5, 0.05, "linear")


def test_spending_begins_at_0_and_ends_at_alpha() -> None:
    for kind in ("obrien-fleming", "pocock"):
        parts = [spend(share, 0.05, kind) for share in (0.0, 0.1, 0.5, 0.9, 1.0, 1.3)]
        assert (parts[0], parts[-2], parts[-1]) == (0.0, 0.05, 0.05)
        assert parts == sorted(parts)
