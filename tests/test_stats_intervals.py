"""Intervals against known answers, against scipy, and against what they promise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.core.texts import Floats
from assay.stats import Estimate, estimate
from assay.stats.intervals import (
    bca,
    central,
    normal_cdf,
    normal_quantile,
    order_statistic,
    wilson,
)
from assay.stats.resampling import resampled_means
from brute import quick

KINDS = ("mean", "share", "geometric", "quantile")
VALUES = st.lists(st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 0.7, 1.0]), min_size=2, max_size=40)


def sample(name: str, n: int = 60, seed: int = 1) -> Floats:
    rng = np.random.default_rng(seed)
    made = {
        "normal": lambda: rng.normal(0.5, 0.1, n),
        "skewed": lambda: rng.exponential(1.0, n),
        "bounded": lambda: rng.beta(0.5, 2.0, n),
        "steps": lambda: rng.integers(0, 11, n) / 10,
        "mostly zero": lambda: rng.random(n) * (rng.random(n) < 0.3),
    }
    return np.asarray(made[name](), np.float64)


def means_of(values: Floats, seed: int, resamples: int) -> Floats:
    return resampled_means(values[:, None], resamples, seed)[:, 0]


def ends(made: Estimate) -> tuple[float, float]:
    assert made.low is not None
    assert made.high is not None
    return made.low, made.high


@pytest.mark.parametrize("share", [1e-9, 1e-4, 0.005, 0.025, 0.2, 0.5, 0.6, 0.95, 0.975, 0.9995])
def test_normal_quantiles_are_scipys(share: float) -> None:
    assert normal_quantile(share) == pytest.approx(stats.norm.ppf(share), abs=1e-10)
    assert normal_cdf(normal_quantile(share)) == pytest.approx(share, rel=1e-10)
    assert normal_cdf(-5.0) == pytest.approx(stats.norm.cdf(-5.0), rel=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 10), (10, 10), (3, 10), (81, 263), (999, 1000)])
def test_wilson_is_scipys(hits: int, n: int, level: float) -> None:
    values = np.repeat([1.0, 0.0], [hits, n - hits])
    expected = stats.binomtest(hits, n).proportion_ci(level, method="wilson")
    made = wilson(values.sum(), len(values), level)
    assert (made.value, made.n, made.level) == (hits / n, n, level)
    assert ends(made) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_is_what_the_textbooks_say() -> None:
    made = wilson(81, 263, 0.95)  # Newcombe 1998, table I: 81 of 263
    assert ends(made) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    made = wilson(0, 20, 0.95)  # 0 of 20
    assert ends(made) == pytest.approx((0.0, 0.1611), abs=5e-5)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("name", ["normal", "skewed", "bounded", "steps", "mostly zero"])
def test_bca_is_scipys_but_for_chance(name: str, level: float) -> None:
    values = sample(name)
    theirs = stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=level,
        n_resamples=20_000,
        method="BCa",
        rng=np.random.default_rng(5),
    ).confidence_interval
    ours = np.mean([ends(bca(values, level, seed)) for seed in range(10)], axis=0)
    error = values.std() / math.sqrt(len(values))
    assert np.abs(ours - [theirs.low, theirs.high]).max() < 0.12 * error


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
    steps = np.round(np.array(values) * 30)
    scale, shift = unit
    first, second = bca(steps), bca(steps * scale + shift)
    assert np.array(ends(second)) == pytest.approx(np.array(ends(first)) * scale + shift, abs=1e-9)


@quick
@given(VALUES, st.integers(0, 5))
def test_the_interval_holds_the_mean_and_stays_inside_the_values(values: list[float], seed: int) -> None:
    made = bca(np.array(values), seed=seed)
    low, high = ends(made)
    assert made.value == pytest.approx(math.fsum(values) / len(values), abs=1e-12)
    assert min(values) - 1e-12 <= low <= (made.value or 0) + 1e-12
    assert (made.value or 0) - 1e-12 <= high <= max(values) + 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_digits(kind: str) -> None:
    values = sample("steps", 500)
    values = values.round() if kind == "share" else values
    assert estimate(values, kind, seed=4) == estimate(values.copy(), kind, seed=4)
    if kind in ("mean", "geometric"):
        assert estimate(values, kind, seed=4) != estimate(values, kind, seed=5)


def test_the_digits_of_a_seed_never_change() -> None:
    values = np.array([0.0, 0.1, 0.25, 0.5, 0.5, 1.0])
    expected = [0.5166666666666667, 0.39166666666666666, 0.6]
    assert means_of(values, 0, 3).tolist() == pytest.approx(expected, abs=1e-15)
    many = np.tile(values, 60_000)  # more than fits the piece that is drawn at once
    assert means_of(many, 0, 3)[2] == pytest.approx(values.mean(), abs=0.005)


@pytest.mark.parametrize("name", ["skewed", "steps", "bounded"])
def test_the_order_of_queries_matters_no_more_than_chance(name: str) -> None:
    values = sample(name, 200)
    shuffled = np.random.default_rng(2).permutation(values)
    error = values.std() / math.sqrt(len(values))
    first, second = bca(values), bca(shuffled)
    assert second.value == pytest.approx(first.value, rel=1e-12)
    assert np.abs(np.array(ends(first)) - ends(second)).max() < 0.35 * error


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_undefined_is_none_and_rests_on_nothing(kind: str) -> None:
    for values in (np.array([]), np.array([np.nan, np.nan])):
        assert estimate(values, kind, level=0.9) == Estimate(None, None, None, 0.9, 0)


@pytest.mark.parametrize("kind", ["mean", "geometric", "quantile"])
def test_one_value_has_no_interval(kind: str) -> None:
    made = estimate(np.array([np.nan, 0.5]), kind)
    assert made.value == pytest.approx(0.5)
    assert (made.low, made.high, made.n) == (None, None, 1)


def test_one_query_of_a_share_still_has_wilsons_interval() -> None:
    made = estimate(np.array([1.0, np.nan]), "share")
    assert (made.value, made.high, made.n) == (1.0, 1.0, 1)
    assert made.low == pytest.approx(0.2065, abs=5e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_undefined_values_are_left_out_and_not_counted(kind: str) -> None:
    values = sample("steps", 50)
    values = values.round() if kind == "share" else values
    holes = np.full(100, np.nan)
    holes[::2] = values
    assert estimate(holes, kind) == estimate(values, kind)
    assert estimate(holes, kind).n == 50


def test_equal_values_leave_no_doubt_about_their_mean() -> None:
    assert bca(np.full(9, 0.25)) == Estimate(0.25, 0.25, 0.25, 0.95, 9)


def test_the_geometric_mean_lets_no_value_below_a_hundred_thousandth() -> None:
    made = estimate(np.array([0.0, 1.0]), "geometric")
    assert made.value == pytest.approx(math.sqrt(1e-5), rel=1e-12)
    low, high = ends(made)
    assert low >= 1e-5 * (1 - 1e-12)
    assert high <= 1.0 + 1e-12


def test_an_order_statistic_is_the_least_value_that_enough_do_not_exceed() -> None:
    values = np.random.default_rng(0).permutation(np.arange(1.0, 101.0))
    for q, wanted in (
        (0.05, 5),
        (0.5, 50),
        (0.07, 7),
        (0.28, 28),
        (0.29, 29),
        (0.99, 99),
        (0.0, 1),
        (1.0, 100),
    ):
        assert order_statistic(values, q, 0.95).value == wanted


def test_the_interval_of_an_order_statistic_is_that_of_the_binomial() -> None:
    made = order_statistic(np.arange(1.0, 101.0), 0.5, 0.95)
    assert ends(made) == (40.0, 61.0)  # the usual table for the median of 100
    made = order_statistic(np.arange(1.0, 11.0), 0.05, 0.95)
    assert (made.value, made.low, made.high) == (1.0, None, 3.0)


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
def test_the_interval_of_an_order_statistic_covers_at_its_level(q: float) -> None:
    rng = np.random.default_rng(11)
    truth, covered = -math.log1p(-q), 0
    for _ in range(1000):
        made = order_statistic(rng.exponential(1.0, 80), q, 0.9)
        low = -math.inf if made.low is None else made.low
        covered += low <= truth <= (math.inf if made.high is None else made.high)
    assert covered / 1000 > 0.9 - 3 * math.sqrt(0.09 / 1000)


@pytest.mark.parametrize(("name", "truth"), [("skewed", 1.0), ("bounded", 0.2), ("mostly zero", 0.15)])
def test_bca_covers_not_far_below_its_level_on_skewed_values(name: str, truth: float) -> None:
    covered = 0
    for seed in range(300):
        low, high = ends(bca(sample(name, 50, seed), 0.95, seed))
        covered += low <= truth <= high
    assert covered / 300 > 0.89


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_wilson_covers_near_its_level(share: float) -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(1000):
        low, high = ends(wilson(int((rng.random(60) < share).sum()), 60, 0.95))
        covered += low <= share <= high
    assert covered / 1000 > 0.92


@pytest.mark.parametrize("kind", KINDS)
def test_the_value_alone_is_the_value_of_the_estimate(kind: str) -> None:
    holes = np.array([np.nan, 0.0, 1.0, 1.0, np.nan, 0.0, 1.0])
    for q in (0.0, 0.3, 0.5, 1.0):
        assert central(holes, kind, q) == estimate(holes, kind, q=q).value
    assert central(np.array([np.nan]), kind, 0.5) is None


@quick
@given(VALUES)
def test_a_higher_level_never_makes_the_interval_narrower(values: list[float]) -> None:
    for kind in ("mean", "geometric"):
        inner, outer = (estimate(np.array(values), kind, level) for level in (0.8, 0.99))
        assert ends(outer)[0] <= ends(inner)[0] + 1e-12
        assert ends(inner)[1] <= ends(outer)[1] + 1e-12
