"""Intervals against known answers, against scipy, and against what they promise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.core.arrays import Floats
from assay.stats import Estimate, estimate
from assay.stats.bounded_means import UNIT
from assay.stats.distributions import normal_cdf, normal_quantile
from assay.stats.intervals import (
    central_value,
    estimate_mean,
    estimate_share,
    is_too_narrow,
    order_statistic,
)
from assay.stats.resampling import resampled_means
from tests.reference_measures import quick

KINDS = ("mean", "share", "geometric", "quantile")
LEVELS = (0.5, 0.8, 0.95, 0.99)
VALUES = st.lists(st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 0.7, 1.0]), min_size=2, max_size=40)


def sample(name: str, n: int = 60, seed: int = 1) -> Floats:
    rng = np.random.default_rng(seed)
    result = {
        "normal": lambda: rng.normal(0.5, 0.1, n),
        "skewed": lambda: rng.exponential(1.0, n),
        "bounded": lambda: rng.beta(0.5, 2.0, n),
        "steps": lambda: rng.integers(0, 11, n) / 10,
        "mostly zero": lambda: rng.random(n) * (rng.random(n) < 0.3),
    }
    return np.asarray(result[name](), np.float64)


def means_of(values: Floats, seed: int, resamples: int) -> Floats:
    return resampled_means(values[:, None], resamples, seed)[:, 0]


def ends(result: Estimate) -> tuple[float, float]:
    assert result.low is not None
    assert result.high is not None
    return result.low, result.high


@pytest.mark.parametrize("share", [1e-9, 1e-4, 0.005, 0.025, 0.2, 0.5, 0.6, 0.95, 0.975, 0.9995])
def test_normal_quantiles_are_scipys(share: float) -> None:
    assert normal_quantile(share) == pytest.approx(stats.norm.ppf(share), abs=1e-10)
    assert normal_cdf(normal_quantile(share)) == pytest.approx(share, rel=1e-10)
    assert normal_cdf(-5.0) == pytest.approx(stats.norm.cdf(-5.0), rel=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 10), (10, 10), (3, 10), (81, 263), (999, 1000)])
def test_the_interval_of_a_share_is_scipys_exact_one(hits: int, n: int, level: float) -> None:
    expected = stats.binomtest(hits, n).proportion_ci(level, method="exact")
    result = estimate_share(hits, n, level)
    assert (result.value, result.n, result.level) == (hits / n, n, level)
    assert ends(result) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_the_interval_of_a_share_is_what_the_textbooks_say() -> None:
    assert ends(estimate_share(81, 263)) == pytest.approx((0.2527, 0.3676), abs=5e-5)  # Newcombe 1998
    assert ends(estimate_share(0, 20)) == pytest.approx((0.0, 0.1684), abs=5e-5)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["normal", "skewed", "mostly zero"])
def test_a_mean_without_known_bounds_has_scipys_t_interval(name: str, level: float) -> None:
    values = sample(name)
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(level)
    assert ends(estimate_mean(values, level)) == pytest.approx((expected.low, expected.high), rel=1e-10)


def test_values_outside_the_bounds_have_no_bounds() -> None:
    values = np.array([0.2, 0.4, 1.5])
    assert estimate_mean(values, bounds=UNIT) == estimate_mean(values)
    assert ends(estimate_mean(values)) == pytest.approx((-1.0389, 2.4389), abs=5e-5)


@pytest.mark.parametrize(("n", "is_narrow"), [(27, True), (28, False), (500, False)])
def test_few_values_are_too_few_for_students_interval(n: int, is_narrow: bool) -> None:
    symmetric = np.tile([-0.1, 0.1], n)[:n] + np.where(np.arange(n) == n // 2 * 2, -0.1, 0.0)
    assert is_too_narrow(symmetric) == is_narrow
    assert estimate_mean(symmetric).is_narrow == is_narrow


@pytest.mark.parametrize(("n", "is_narrow"), [(1200, True), (1250, False)])
def test_skewed_values_need_more_of_them(n: int, is_narrow: bool) -> None:
    values = (np.arange(n) % 50 == 0) * 1.0  # the skewness is 6.86: 28 + 25 * 47.0 = 1,203 are needed
    assert stats.skew(values) == pytest.approx(6.857, abs=0.001)
    assert is_too_narrow(values) == is_narrow


@pytest.mark.parametrize("name", ["normal", "skewed", "steps"])
def test_resampled_means_spread_as_means_do(name: str) -> None:
    values = sample(name)
    means = means_of(values, seed=3, resamples=20_000)
    assert means.mean() == pytest.approx(values.mean(), abs=0.05 * values.std())
    assert means.std() == pytest.approx(values.std() / math.sqrt(len(values)), rel=0.03)


def test_every_value_is_drawn_equally_often() -> None:
    draws = means_of(np.eye(7)[0], seed=0, resamples=30_000)
    counts = [means_of(np.eye(7)[i], seed=0, resamples=30_000).sum() * 7 for i in range(7)]
    assert sum(counts) == pytest.approx(30_000 * 7)
    assert stats.chisquare(counts).pvalue > 1e-4
    assert draws.max() <= 1.0


@quick
@given(VALUES, st.sampled_from([(1 / 3, 0.0), (0.1, 0.7), (7.0, -2.0)]))
def test_another_unit_gives_the_same_interval_in_that_unit(
    values: list[float], unit: tuple[float, float]
) -> None:
    scale, shift = unit
    first = estimate_mean(np.array(values), bounds=UNIT)
    second = estimate_mean(np.array(values) * scale + shift, bounds=(shift, scale + shift))
    assert np.array(ends(second)) == pytest.approx(np.array(ends(first)) * scale + shift, abs=1e-9)


@quick
@given(VALUES, st.sampled_from([0.5, 0.95, 0.999]))
def test_the_interval_holds_the_mean_and_stays_inside_the_bounds(values: list[float], level: float) -> None:
    result = estimate_mean(np.array(values), level, UNIT)
    low, high = ends(result)
    assert result.value == pytest.approx(math.fsum(values) / len(values), abs=1e-12)
    assert 0.0 <= low <= (result.value or 0) <= high <= 1.0
    assert low < high


def test_the_digits_of_a_seed_never_change() -> None:
    values = np.array([0.0, 0.1, 0.25, 0.5, 0.5, 1.0])
    expected = [0.5166666666666667, 0.39166666666666666, 0.6]
    assert means_of(values, 0, 3).tolist() == pytest.approx(expected, abs=1e-15)
    many = np.tile(values, 60_000)  # more than fits the piece that is drawn at once
    assert means_of(many, 0, 3)[2] == pytest.approx(values.mean(), abs=0.005)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_queries_does_not_matter(kind: str) -> None:
    values = sample("bounded", 200).round() if kind == "share" else sample("bounded", 200)
    shuffled = np.random.default_rng(2).permutation(values)
    first, second = (estimate(v, kind, bounds=UNIT) for v in (values, shuffled))
    assert second[:3] == pytest.approx(first[:3], rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_undefined_is_none_and_rests_on_nothing(kind: str) -> None:
    for values in (np.array([]), np.array([np.nan, np.nan])):
        assert estimate(values, kind, level=0.9) == Estimate(None, None, None, 0.9, 0)


@pytest.mark.parametrize("kind", ["mean", "geometric", "quantile"])
def test_one_value_has_no_interval(kind: str) -> None:
    result = estimate(np.array([np.nan, 0.5]), kind)
    assert result.value == pytest.approx(0.5)
    assert (result.low, result.high, result.n) == (None, None, 1)


def test_one_query_of_a_share_still_has_an_interval() -> None:
    result = estimate(np.array([1.0, np.nan]), "share")
    assert (result.value, result.high, result.n) == (1.0, 1.0, 1)
    assert result.low == pytest.approx(0.025, abs=5e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_undefined_values_are_left_out_and_not_counted(kind: str) -> None:
    values = sample("steps", 50)
    values = values.round() if kind == "share" else values
    holes = np.full(100, np.nan)
    holes[::2] = values
    assert estimate(holes, kind) == estimate(values, kind)
    assert estimate(holes, kind).n == 50


def test_equal_values_leave_doubt_about_their_mean() -> None:
    assert estimate(np.full(9, 0.25), "mean") == Estimate(0.25, None, None, 0.95, 9)
    low, high = ends(estimate(np.ones(2), "mean", bounds=UNIT))
    assert low == pytest.approx(0.1581, abs=1e-4)
    assert high == 1.0
    assert ends(estimate(np.full(9, 0.25), "mean", bounds=UNIT)) == pytest.approx((0.166, 0.503), abs=0.002)


def test_the_geometric_mean_lets_no_value_below_a_hundred_thousandth() -> None:
    result = estimate(np.array([0.0, 1.0]), "geometric")
    assert result.value == pytest.approx(math.sqrt(1e-5), rel=1e-12)
    low, high = ends(result)
    assert low < (result.value or 0) < high
    assert ends(estimate(np.array([0.0, 1.0]), "geometric", bounds=UNIT))[1] == 1.0


def test_an_order_statistic_is_the_least_value_that_enough_do_not_exceed() -> None:
    values = np.random.default_rng(0).permutation(np.arange(1.0, 101.0))
    for q, target in (
        (0.05, 5),
        (0.5, 50),
        (0.07, 7),
        (0.28, 28),
        (0.29, 29),
        (0.99, 99),
        (0.0, 1),
        (1.0, 100),
    ):
        assert order_statistic(values, q, 0.95).value == target


def test_the_interval_of_an_order_statistic_is_that_of_the_binomial() -> None:
    result = order_statistic(np.arange(1.0, 101.0), 0.5, 0.95)
    assert ends(result) == (40.0, 61.0)  # the usual table for the median of 100
    result = order_statistic(np.arange(1.0, 11.0), 0.05, 0.95)
    assert (result.value, result.low, result.high) == (1.0, None, 3.0)


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
def test_the_interval_of_an_order_statistic_covers_at_its_level(q: float) -> None:
    rng = np.random.default_rng(11)
    truth, covered = -math.log1p(-q), 0
    for _ in range(1000):
        result = order_statistic(rng.exponential(1.0, 80), q, 0.9)
        low = -math.inf if result.low is None else result.low
        covered += low <= truth <= (math.inf if result.high is None else result.high)
    assert covered / 1000 > 0.9 - 3 * math.sqrt(0.09 / 1000)


@pytest.mark.parametrize(("name", "truth"), [("bounded", 0.2), ("mostly zero", 0.15), ("steps", 0.5)])
@pytest.mark.parametrize("n", [2, 10, 50])
def test_the_interval_of_a_bounded_mean_covers_at_its_level(name: str, truth: float, n: int) -> None:
    covered = 0
    for seed in range(300):
        low, high = ends(estimate_mean(sample(name, n, seed), bounds=UNIT))
        covered += low <= truth <= high
    assert covered / 300 > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 300)


def test_a_mean_of_few_values_that_are_not_zero_is_covered() -> None:
    covered = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        low, high = ends(estimate(rng.random(50) * (rng.random(50) < 0.06), "mean", bounds=UNIT))
        covered += low <= 0.03 <= high
    assert covered / 400 > 0.93


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("n", [2, 60])
def test_the_interval_of_a_share_covers_at_its_level(share: float, n: int) -> None:
    intervals = [ends(estimate_share(hits, n)) for hits in range(n + 1)]
    chances = stats.binom.pmf(range(n + 1), n, share)
    covered = sum(c for c, (low, high) in zip(chances, intervals, strict=True) if low <= share <= high)
    assert covered >= 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_the_value_alone_is_the_value_of_the_estimate(kind: str) -> None:
    holes = np.array([np.nan, 0.0, 1.0, 1.0, np.nan, 0.0, 1.0])
    for q in (0.0, 0.3, 0.5, 1.0):
        assert central_value(holes, kind, q) == estimate(holes, kind, q=q).value
    assert central_value(np.array([np.nan]), kind, 0.5) is None


@quick
@given(VALUES)
def test_a_higher_level_never_makes_the_interval_narrower(values: list[float]) -> None:
    for kind in ("mean", "share"):
        inner, outer = (estimate(np.array(values), kind, level, bounds=UNIT) for level in (0.8, 0.99))
        assert ends(outer)[0] <= ends(inner)[0] + 1e-12
        assert ends(inner)[1] <= ends(outer)[1] + 1e-12
