"""Spreads of differences against scipy, statsmodels and a calculation by hand, and how often they cover."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest
from statsmodels.stats.weightstats import ttost_paired

from assay.core.arrays import Floats
from assay.stats.comparison import p_between_spreads, two_shares_p
from assay.stats.difference_intervals import (
    NormalSpread,
    ResampledSpread,
    Spread,
    UnknownSpread,
    agresti_caffo,
    bonett_price,
    paired_spread,
    unpaired_spread,
    welch,
)
from assay.stats.intervals import central_value
from tests.reference_measures import quick

KINDS = ("mean", "share", "geometric", "quantile")
LEVELS = (0.5, 0.8, 0.95, 0.99)
SHARES = [(0, 10, 0, 10), (10, 10, 0, 7), (3, 20, 9, 31), (56, 70, 48, 80), (950, 1000, 2900, 3000)]


def scores(n: int, seed: int = 1) -> tuple[Floats, Floats]:
    """Scores of n queries for two systems that often agree."""
    rng = np.random.default_rng(seed)
    before, other = rng.beta(0.6, 1.0, n), rng.beta(0.7, 0.9, n)
    return before, np.where(rng.random(n) < 0.4, before, other)


def ends(spread: Spread, level: float = 0.95) -> tuple[float, float]:
    low, high = spread.interval(level)
    assert low is not None
    assert high is not None
    return low, high


def passes(hits: int, n: int) -> Floats:
    return np.repeat([1.0, 0.0], [hits, n - hits])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [2, 5, 43, 1000])
def test_the_spread_of_a_paired_mean_is_scipys_paired_t(n: int, level: float) -> None:
    before, after = scores(n, seed=2)
    result, expected = (
        paired_spread(before, after, "mean"),
        stats.ttest_rel(after, before),
    )
    interval = expected.confidence_interval(level)
    assert ends(result, level) == pytest.approx((interval.low, interval.high), rel=1e-10)
    assert result.two_sided() == pytest.approx(expected.pvalue, rel=1e-10)


@pytest.mark.parametrize("margin", [-0.2, -0.01, 0.0, 0.01, 0.05, 0.3])
def test_below_is_scipys_one_sided_paired_t_past_the_margin(margin: float) -> None:
    before, after = scores(43)
    result = paired_spread(before, after, "mean").p_at_most(margin)
    assert result is not None
    assert result == pytest.approx(
        stats.ttest_rel(after, before + margin, alternative="greater").pvalue, rel=1e-10
    )
    assert 1 - result == pytest.approx(
        stats.ttest_rel(after, before + margin, alternative="less").pvalue, rel=1e-9
    )


@pytest.mark.parametrize("margin", [0.02, 0.1, 0.2])
def test_two_one_sided_tests_are_statsmodels(margin: float) -> None:
    before, after = scores(60)
    result = paired_spread(before, after, "mean")
    low, high = result.p_at_most(-margin), result.p_at_most(margin)
    assert low is not None
    assert high is not None
    expected, above, below = ttost_paired(after, before, -margin, margin)
    assert (low, 1 - high) == pytest.approx((above[1], below[1]), rel=1e-9)
    assert max(low, 1 - high) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("n", "other"), [(2, 2), (5, 40), (300, 280)])
def test_welch_is_scipys(n: int, other: int, level: float) -> None:
    before, after = scores(n)[0], scores(other, seed=4)[1] * 1.5
    result, expected = welch(before, after), stats.ttest_ind(after, before, equal_var=False)
    interval = expected.confidence_interval(level)
    assert result.df == pytest.approx(expected.df, rel=1e-10)
    assert result.two_sided() == pytest.approx(expected.pvalue, rel=1e-10)
    assert ends(result, level) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert unpaired_spread(before, after, "mean") == result


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("hits", "n", "other_hits", "other_n"), SHARES)
def test_agresti_caffo_is_statsmodels(hits: int, n: int, other_hits: int, other_n: int, level: float) -> None:
    expected = confint_proportions_2indep(
        other_hits, other_n, hits, n, compare="diff", method="agresti-caffo", alpha=1 - level
    )
    assert ends(agresti_caffo(hits, n, other_hits, other_n), level) == pytest.approx(expected, abs=1e-12)
    result = unpaired_spread(passes(hits, n), passes(other_hits, other_n), "share")
    assert ends(result, level) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("hits", "n", "other_hits", "other_n"), SHARES[1:])
def test_two_shares_is_statsmodels(hits: int, n: int, other_hits: int, other_n: int) -> None:
    expected = proportions_ztest([other_hits, hits], [other_n, n])[1]
    result = two_shares_p(passes(hits, n), passes(other_hits, other_n))
    assert result == pytest.approx(expected, rel=1e-9)


def test_two_shares_that_are_all_or_nothing_are_no_evidence() -> None:
    for hits, other in ((0, 0), (5, 7)):
        assert two_shares_p(passes(hits, 5), passes(other, 7)) == 1.0
    assert two_shares_p(passes(1, 1), passes(0, 9)) is None
    assert two_shares_p(passes(1, 2), passes(0, 9)) is not None


def test_bonett_price_is_what_the_formula_gives_by_hand() -> None:
    """Of 50 queries 12 gained and 4 lost: shares 13/52 and 5/52, difference 8/52, variance
    (18/52 - (8/52)²) / 52 = 0.0062016, error 0.0787505."""
    result = bonett_price(12, 4, 50)
    assert result.centre == pytest.approx(0.1538462, abs=5e-8)
    assert result.error == pytest.approx(0.0787505, abs=5e-8)
    assert ends(result) == pytest.approx((-0.000502, 0.308194), abs=1e-6)
    before = np.repeat([0.0, 1.0, 1.0, 0.0], [12, 4, 20, 14])
    after = np.repeat([1.0, 0.0, 1.0, 0.0], [12, 4, 20, 14])
    assert paired_spread(before, after, "share") == result


@pytest.mark.parametrize("n", [20, 50, 300])
@pytest.mark.parametrize(("gain", "loss"), [(0.02, 0.02), (0.1, 0.05), (0.3, 0.1)])
def test_bonett_price_covers_near_its_level(n: int, gain: float, loss: float) -> None:
    rng = np.random.default_rng(n)
    counts = rng.multinomial(n, [gain, loss, 1 - gain - loss], 4000)
    result = [ends(bonett_price(up, down, n)) for up, down, _ in counts.tolist()]
    assert np.mean([low <= gain - loss <= high for low, high in result]) >= 0.93


def test_agresti_caffo_covers_near_its_level() -> None:
    rng = np.random.default_rng(5)
    hits, others = rng.binomial(30, 0.1, 3000).tolist(), rng.binomial(45, 0.25, 3000).tolist()
    result = [ends(agresti_caffo(a, 30, b, 45)) for a, b in zip(hits, others, strict=True)]
    assert np.mean([low <= 0.15 <= high for low, high in result]) >= 0.93


@pytest.mark.parametrize(("kind", "q"), [("geometric", 0.5), ("quantile", 0.5), ("quantile", 0.2)])
@pytest.mark.parametrize("paired", [True, False])
def test_resampled_spreads_cover_not_far_below_their_level(kind: str, q: float, paired: bool) -> None:
    rng, covered = np.random.default_rng(3), 0
    truth = (
        math.exp(0.25) - 1
        if kind == "geometric"
        else math.exp(0.25 + stats.norm.ppf(q)) - math.exp(stats.norm.ppf(q))
    )
    for seed in range(200):
        before, other = np.exp(rng.normal(0, 1, (2, 80)))
        if paired:
            other = np.exp(0.8 * np.log(before) + 0.6 * np.log(other))  # again a standard normal, correlated
        result = (paired_spread if paired else unpaired_spread)(before, other * math.exp(0.25), kind, seed, q)
        low, high = ends(result)
        covered += low <= truth <= high
    assert covered / 200 > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 200)


@pytest.mark.parametrize("kind", ["geometric", "quantile"])
def test_pairing_makes_a_resampled_interval_narrower(kind: str) -> None:
    before, after = scores(200)
    (low, high), (first, last) = (ends(f(before, after, kind)) for f in (paired_spread, unpaired_spread))
    assert high - low < last - first


@pytest.mark.parametrize("kind", ["geometric", "quantile"])
@pytest.mark.parametrize("paired", [True, False])
def test_resampled_spreads_hold_the_difference_and_are_the_same_for_the_same_seed(
    kind: str, paired: bool
) -> None:
    before, after = scores(100)
    make = paired_spread if paired else unpaired_spread
    result = make(before, after, kind, 3)
    first, last = central_value(before, kind), central_value(after, kind)
    assert first is not None
    assert last is not None
    low, high = ends(result)
    assert low <= last - first <= high
    assert ends(make(before, after, kind, 3)) == (low, high)


@pytest.mark.parametrize("make", [paired_spread, unpaired_spread])
def test_a_spread_is_of_the_median_and_the_first_seed_unless_told(make: Callable[..., Spread]) -> None:
    before, after = scores(100)
    for kind in ("geometric", "quantile"):
        assert ends(make(before, after, kind)) == ends(make(before, after, kind, 0, 0.5))


def test_resampled_counts_what_lies_at_the_margin_half() -> None:
    result = ResampledSpread(np.array([-0.2, 0.0, 0.0, 0.1, 0.3, 0.3, 0.4, 0.5, 0.6]))
    assert result.p_at_most(0.0) == (2 + 0.5) / 10
    assert result.p_at_most(-1.0) == 0.5 / 10
    assert result.p_at_most(1.0) == 9.5 / 10
    assert result.two_sided() == 2 * 2.5 / 10
    assert ResampledSpread(-result.values[::-1]).two_sided() == pytest.approx(result.two_sided())
    assert ResampledSpread(np.zeros(7)).two_sided() == 1.0


@pytest.mark.parametrize("level", LEVELS)
def test_resampled_intervals_are_numpys_quantiles(level: float) -> None:
    values = np.sort(np.random.default_rng(0).normal(size=501))
    assert ends(ResampledSpread(values), level) == pytest.approx(
        np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    )


@pytest.mark.parametrize("kind", KINDS)
def test_too_few_queries_have_no_spread(kind: str) -> None:
    for few in (np.array([]), np.array([0.5])):
        for result in (
            paired_spread(few, few, kind),
            unpaired_spread(few, np.ones(9), kind),
        ):
            assert result == UnknownSpread()
            assert (result.interval(0.95), result.p_at_most(0.1), result.two_sided()) == (
                (None, None),
                None,
                None,
            )


@pytest.mark.parametrize("kind", KINDS)
def test_equal_systems_have_no_difference(kind: str) -> None:
    before = np.random.default_rng(0).integers(0, 2, 30).astype(np.float64)
    result = paired_spread(before, before, kind)
    low, high = ends(result)
    assert low <= 0 <= high
    assert result.two_sided() == 1.0
    assert result.p_at_most(0.0) == 0.5


def test_queries_that_all_agree_show_no_more_than_a_coin_that_always_falls_alike() -> None:
    result = paired_spread(np.zeros(5), np.full(5, 0.25), "mean")
    assert result.interval(0.95) == (None, None)
    assert ends(paired_spread(np.zeros(6), np.full(6, 0.25), "mean")) == (0.25, 0.25)
    assert [result.p_at_most(margin) for margin in (0.2, 0.25, 0.3)] == [1 / 32, 0.5, 31 / 32]
    assert result.two_sided() == 1 / 16
    second_result = paired_spread(np.array([0.1, 0.2, 0.5]), np.array([0.2, 0.3, 0.6]), "mean")
    assert second_result.two_sided() == 1 / 4  # equal but for the last digits


def test_samples_that_do_not_vary_differ_or_do_not() -> None:
    same, other = welch(np.ones(3), np.ones(4)), welch(np.ones(3), np.zeros(4))
    assert (ends(same), same.two_sided()) == ((0.0, 0.0), 1.0)
    assert (ends(other), other.two_sided()) == ((-1.0, -1.0), 2 * 0.5**6)  # seven queries say so


@quick
@given(
    st.floats(-1, 1),
    st.floats(0.001, 1),
    st.sampled_from([1.0, 5.5, 200.0, math.inf]),
    st.floats(0.05, 0.999),
)
def test_an_interval_leaves_out_what_the_one_sided_tests_rule_out(
    centre: float, error: float, df: float, level: float
) -> None:
    result = NormalSpread(centre, error, df)
    low, high = ends(result, level)
    assert result.p_at_most(low) == pytest.approx((1 - level) / 2, rel=1e-6)
    assert result.p_at_most(high) == pytest.approx((1 + level) / 2, rel=1e-6)
    two = result.two_sided()
    assert two is not None
    assert 0 <= two <= 1
    assert (two < 1 - level - 1e-9) <= (not low <= 0 <= high)


@quick
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.floats(-1, 1))
def test_turning_the_systems_round_turns_the_spread_round(
    up: int, down: int, ties: int, margin: float
) -> None:
    before = np.repeat([0.0, 1.0, 1.0], [up + 1, down, ties + 1])
    after = np.repeat([1.0, 0.0, 1.0], [up + 1, down, ties + 1])
    for make in (paired_spread, unpaired_spread):
        for kind in ("mean", "share"):
            result, reversed_values = make(before, after, kind), make(after, before, kind)
            assert ends(reversed_values) == pytest.approx([-end for end in reversed(ends(result))], abs=1e-12)
            below, above = result.p_at_most(margin), reversed_values.p_at_most(-margin)
            assert below is not None
            assert above is not None
            assert below + above == pytest.approx(1, abs=1e-12)


def test_two_differences_apart_are_welchs_two_sample_test_of_them() -> None:
    first, second = scores(50), scores(70, seed=9)
    result = p_between_spreads(*(paired_spread(*item, "mean") for item in (first, second)))
    expected = stats.ttest_ind(first[1] - first[0], second[1] - second[0], equal_var=False)
    assert result == pytest.approx(expected.pvalue, rel=1e-10)


def test_how_far_shares_lie_apart_is_a_z_test() -> None:
    first, second = bonett_price(20, 5, 60), bonett_price(3, 9, 40)
    z = (first.centre - second.centre) / math.hypot(first.error, second.error)
    assert p_between_spreads(first, second) == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-10)
    assert (
        p_between_spreads(NormalSpread(0.1, 0.0, 3), NormalSpread(0.1, 0.0, 3)) is None
    )  # a spread of 0 tells nothing


def test_what_is_resampled_or_unknown_is_not_told_apart() -> None:
    expected_values = NormalSpread(0.1, 0.1, 5)
    for other in (ResampledSpread(np.zeros(3)), UnknownSpread()):
        assert p_between_spreads(expected_values, other) is None
        assert p_between_spreads(other, expected_values) is None
