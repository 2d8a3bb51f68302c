"""Power against statsmodels, and the borders of what a set of queries is good for."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestPower

from assay.stats.power import STEPS, assess_size, detectable_difference, power, queries_needed
from tests.reference_measures import quick

NS = (2, 3, 10, 43, 200, 1000, 6980)
THEIRS = TTestPower()


@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("n", NS)
def test_power_is_statsmodels(n: int, alpha: float) -> None:
    for shift in (0.0, 0.5, 1.0, 2.0, 3.0, 5.0):
        effect = shift / math.sqrt(n)
        expected = THEIRS.power(effect, n, alpha, alternative="two-sided")
        assert power(0.3 * effect, 0.3, n, alpha) == pytest.approx(expected, abs=1e-10)


def test_power_is_what_gpower_says() -> None:
    """G*Power 3.1, matched pairs, d = 0.5, two tails: 34 pairs, actual power 0.8077775."""
    assert power(0.5, 1.0, 34) == pytest.approx(0.8077775, abs=5e-8)
    assert queries_needed(0.5, 1.0) == 34


@pytest.mark.parametrize(("difference", "n"), [(0.02, 400), (0.04, 200), (0.1, 20)])
def test_power_is_how_often_a_t_test_finds_the_difference(difference: float, n: int) -> None:
    rng = np.random.default_rng(n)
    result = stats.ttest_1samp(rng.normal(difference, 0.2, (n, 4000)), 0.0).pvalue <= 0.05
    expected = power(difference, 0.2, n)
    assert result.mean() == pytest.approx(expected, abs=3.5 * math.sqrt(expected * (1 - expected) / 4000))


@quick
@given(st.floats(-1, 1), st.floats(0.01, 1), st.integers(2, 5000), st.sampled_from([0.001, 0.05, 0.2]))
def test_power_grows_with_the_difference_and_the_queries_and_knows_no_direction(
    difference: float, deviation: float, n: int, alpha: float
) -> None:
    result = power(difference, deviation, n, alpha)
    assert alpha - 1e-9 <= result <= 1
    assert power(-difference, deviation, n, alpha) == result
    assert power(1.1 * difference, deviation, n, alpha) >= result - 1e-9
    assert power(difference, deviation, n + 1, alpha) >= result - 1e-9


def test_power_of_what_cannot_be_missed_is_1_and_of_one_query_0() -> None:
    assert power(1.0, 0.001, 100_000) == 1.0
    assert power(0.1, 0.0, 10) == 1.0
    assert power(0.1, 0.2, 1) == power(0.1, 0.2, 0) == 0.0


@pytest.mark.parametrize("wanted", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("alpha", [0.0001, 0.001, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("n", NS)
def test_what_is_detectable_is_found_with_the_wanted_power(n: int, alpha: float, wanted: float) -> None:
    result = detectable_difference(0.3, n, alpha, wanted)
    assert result is not None
    assert power(result, 0.3, n, alpha) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("n", [10, 43, 200, 1000, 6980])
def test_what_is_detectable_is_statsmodels(n: int) -> None:
    expected = THEIRS.solve_power(nobs=n, alpha=0.05, power=0.8)
    assert detectable_difference(0.3, n) == pytest.approx(0.3 * expected, rel=2e-4)


@quick
@given(st.floats(1e-9, 1e6), st.integers(2, 10_000))
def test_what_is_detectable_has_the_unit_of_the_deviation(deviation: float, n: int) -> None:
    item = detectable_difference(1.0, n)
    assert item is not None
    assert detectable_difference(deviation, n) == pytest.approx(item * deviation, rel=1e-9)


def test_what_is_detectable_where_there_is_little_to_say() -> None:
    assert detectable_difference(0.2, 1) is None
    assert detectable_difference(0.2, 0) is None
    assert detectable_difference(0.0, 2) == 0.0
    assert (
        detectable_difference(0.2, 50, alpha=0.9) == detectable_difference(0.2, 50, alpha=0.8) == 0.0
    )  # so often by chance alone


@pytest.mark.parametrize("effect", [0.05, 0.1, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("alpha", [0.01, 0.05])
def test_needed_is_statsmodels_rounded_up(effect: float, alpha: float) -> None:
    expected = THEIRS.solve_power(effect_size=effect, alpha=alpha, power=0.8)
    assert queries_needed(0.2 * effect, 0.2, alpha) == math.ceil(expected)


@quick
@given(st.floats(0.001, 1), st.floats(0.01, 1), st.sampled_from([0.5, 0.8, 0.95]))
def test_needed_is_the_smallest_number_that_is_enough(
    difference: float, deviation: float, wanted: float
) -> None:
    n = queries_needed(difference, deviation, 0.05, wanted)
    assert n is not None
    assert n >= 2
    assert power(difference, deviation, n) >= wanted
    assert power(difference, deviation, n - 1) < wanted
    assert queries_needed(-difference, deviation, 0.05, wanted) == n


def test_needed_where_there_is_nothing_to_find_or_no_doubt() -> None:
    assert queries_needed(0.0, 0.2) is None
    assert queries_needed(0.1, 0.0) == 2
    assert queries_needed(1e-6, 1.0) == pytest.approx(
        (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2 * 1e12, rel=1e-5
    )


@pytest.mark.parametrize(
    ("n", "step"),
    [(0, 0), (1, 0), (199, 0), (200, 1), (999, 1), (1000, 2), (4999, 2), (5000, 3), (10**6, 3)],
)
def test_the_borders_of_the_count_are_those_of_the_guides(n: int, step: int) -> None:
    result = assess_size(n, 0.0)
    assert result.by_count == STEPS[step]
    assert result.verdict == STEPS[step if n > 1 else 0]


@pytest.mark.parametrize(("times", "step"), [(3.0, 1), (1.0, 2), (0.5, 3)])
def test_the_borders_of_the_spread_are_in_margins(times: float, step: int) -> None:
    smallest = detectable_difference(0.2, 6000)
    assert smallest is not None
    inside, outside = (assess_size(6000, 0.2, margin=smallest / times * f) for f in (1 + 1e-9, 1 - 1e-9))
    assert (inside.by_spread, outside.by_spread) == (STEPS[step], STEPS[step - 1])
    assert (inside.verdict, outside.verdict) == (STEPS[step], STEPS[step - 1])
    if times <= 1.0:  # exact in binary
        assert assess_size(6000, 0.2, margin=smallest / times).by_spread == STEPS[step]


@pytest.mark.parametrize("n", [50, 300, 2000, 6000])
@pytest.mark.parametrize("deviation", [0.001, 0.05, 0.1, 0.3, 1.0])
def test_the_verdict_is_the_more_cautious(n: int, deviation: float) -> None:
    result = assess_size(n, deviation)
    steps = [STEPS.index(result.by_count), STEPS.index(result.by_spread)]
    assert result.verdict == STEPS[min(steps)]
    assert result.detectable_difference == detectable_difference(deviation, n)
    assert result.queries_needed == queries_needed(0.01, deviation)


def test_a_set_that_says_nothing_needs_nothing_that_can_be_told() -> None:
    assert (
        assess_size(1, 0.2).by_spread,
        assess_size(1, 0.2).detectable_difference,
        assess_size(1, 0.2).queries_needed,
    ) == (STEPS[0], None, None)
    assert (assess_size(300, 0.0).by_spread, assess_size(300, 0.0).queries_needed) == (STEPS[1], None)


def test_enough_queries_by_spread_are_as_many_as_are_needed() -> None:
    enough = queries_needed(0.01, 0.1)
    assert enough is not None
    assert assess_size(enough, 0.1).by_spread == "gates releases"
    assert assess_size(enough - 1, 0.1).by_spread == "directional"


def test_a_stricter_alpha_makes_the_verdict_more_cautious() -> None:
    loose, strict = (assess_size(1000, 0.1, alpha=alpha) for alpha in (0.05, 0.001))
    assert (loose.verdict, strict.verdict) == ("gates releases", "directional")
