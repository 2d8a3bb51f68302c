"""On which side of a threshold a value lies, against scipy's tests."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.stats.thresholds import Sides, share_sides, sides
from tests.reference_measures import quick

VALUES = np.array([0.2, 0.5, 0.9, 0.4, np.nan, 0.7, 0.1, 0.6])
KNOWN = VALUES[~np.isnan(VALUES)]


@pytest.mark.parametrize("threshold", [-0.1, 0.3, 0.4857, 0.8])
def test_a_mean_is_held_by_students_one_sided_test(threshold: float) -> None:
    result = sides(VALUES, "mean", threshold)
    assert result.above == pytest.approx(stats.ttest_1samp(KNOWN, threshold, alternative="greater").pvalue)
    assert result.below == pytest.approx(stats.ttest_1samp(KNOWN, threshold, alternative="less").pvalue)


@quick
@given(st.integers(1, 400), st.floats(0, 1), st.data())
def test_a_share_is_held_by_the_exact_binomial_test(n: int, threshold: float, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n))
    result = share_sides(hits, n, threshold)
    assert result.above == pytest.approx(stats.binomtest(hits, n, threshold, "greater").pvalue, abs=1e-9)
    assert result.below == pytest.approx(stats.binomtest(hits, n, threshold, "less").pvalue, abs=1e-9)


def test_a_share_of_queries_is_counted_without_those_for_which_it_is_undefined() -> None:
    hits = np.array([1.0, 1.0, 0.0, np.nan, 1.0])
    assert sides(hits, "share", 0.5) == share_sides(3, 4, 0.5)


def test_a_geometric_mean_is_held_by_its_logarithms_with_the_floor_of_trec_eval() -> None:
    values = np.array([0.3, 0.0, 0.5, 0.2, 0.4])
    logs = np.log(np.maximum(values, 1e-5))
    expected = stats.ttest_1samp(logs, np.log(0.1), alternative="greater").pvalue
    assert sides(values, "geometric", 0.1).above == pytest.approx(expected)


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
def test_a_quantile_is_held_by_how_many_values_lie_below_the_threshold(q: float) -> None:
    values = np.arange(100) / 100
    result = sides(values, "quantile", 0.25, q)  # 25 of 100 lie below
    assert result.above == pytest.approx(stats.binomtest(25, 100, q, "less").pvalue)
    assert result.below == pytest.approx(stats.binomtest(25, 100, q, "greater").pvalue)


def test_a_quantile_that_equals_the_threshold_reaches_it_but_does_not_lie_past_it() -> None:
    values = np.full(50, 0.5)
    reached, past = sides(values, "quantile", 0.5, 0.2), sides(values, "quantile", 0.5, 0.2, past=True)
    assert reached.above == pytest.approx(0.8**50)
    assert past.below == pytest.approx(0.2**50)


def test_values_that_all_agree_are_as_sure_as_that_many_signs() -> None:
    same = np.full(10, 0.8)
    assert sides(same, "mean", 0.5).above == pytest.approx(0.5**10)
    assert sides(same, "mean", 0.9).below == pytest.approx(0.5**10)
    assert sides(same, "mean", 0.8) == Sides(0.5, 0.5)


@pytest.mark.parametrize("kind", ["mean", "geometric", "share", "quantile"])
def test_no_value_says_nothing(kind: str) -> None:
    assert sides(np.array([np.nan]), kind, 0.5) == Sides(None, None)


def test_one_value_says_nothing_of_a_mean() -> None:
    assert sides(np.array([0.9]), "mean", 0.5) == Sides(None, None)
