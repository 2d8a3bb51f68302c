"""Rank correlations agree with SciPy, and their intervals are honest for few pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.stats.rank_correlation import kendall, spearman

VALUES = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=3, max_size=12)


@given(VALUES)
def test_values_are_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, float).T
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert spearman(x, y).value is None
        assert kendall(x, y).value is None
        return
    assert spearman(x, y).value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert kendall(x, y).value == pytest.approx(stats.kendalltau(x, y).statistic)


@given(VALUES)
def test_the_interval_contains_the_value(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, float).T
    for e in (spearman(x, y), kendall(x, y)):
        if e.low is not None and e.high is not None and e.value is not None:
            assert -1 <= e.low <= e.value <= e.high <= 1


def test_a_perfect_order_of_few_pairs_is_no_proof() -> None:
    x = np.arange(5.0)
    low, high = spearman(x, x)[1:3]
    assert low is not None
    assert low < 0
    assert high == 1
    assert spearman(x, -x)[1] == -1


def test_too_few_pairs_have_no_interval() -> None:
    x = np.arange(3.0)
    assert spearman(x, x).value == 1
    assert spearman(x, x).has_no_interval
    assert kendall(x, x).has_no_interval
