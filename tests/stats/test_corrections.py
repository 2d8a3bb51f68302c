"""Corrections and Tukey's differences against statsmodels and scipy."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multicomp import pairwise_tukeyhsd
from statsmodels.stats.multitest import multipletests

from assay.core.arrays import Floats
from assay.stats.corrections import (
    CORRECTIONS,
    benjamini_hochberg,
    correct_p_values,
    holm,
    tukey,
    two_families,
)
from tests.reference_measures import quick

PS = st.lists(st.floats(0, 1), min_size=1, max_size=30)
GAPPY = st.lists(st.one_of(st.none(), st.floats(0, 1), st.sampled_from([0.01, 0.05])), max_size=30)


def layout(n: int, systems: int, seed: int = 0) -> Floats:
    """Scores of n queries, some of them hard, by several systems, some of them better."""
    rng = np.random.default_rng(seed)
    result = rng.normal(0.4, 0.2, (n, 1)) + 0.04 * np.arange(systems) + rng.normal(0, 0.1, (n, systems))
    return np.clip(result, 0, 1)


@settings(deadline=None, max_examples=20)  # theirs takes its time
@given(PS)
def test_holm_is_statsmodels(ps: list[float]) -> None:
    assert holm(ps) == pytest.approx(multipletests(ps, method="holm")[1].tolist(), abs=1e-12)


@quick
@given(PS)
def test_benjamini_hochberg_is_statsmodels(ps: list[float]) -> None:
    expected = multipletests(ps, method="fdr_bh")[1].tolist()
    assert benjamini_hochberg(ps) == pytest.approx(expected, abs=1e-12)


@quick
@given(GAPPY)
def test_what_is_unknown_stays_unknown_and_does_not_count(ps: list[float | None]) -> None:
    for correction in (holm, benjamini_hochberg):
        result = correction(ps)
        assert [p is None for p in result] == [p is None for p in ps]
        assert [p for p in result if p is not None] == correction([p for p in ps if p is not None])


@quick
@given(PS)
def test_a_correction_keeps_the_order_and_never_lowers_p(ps: list[float]) -> None:
    for correction in (holm, benjamini_hochberg):
        result = np.array(correction(ps), np.float64)
        assert (result >= np.array(ps) - 1e-15).all()
        assert (result <= 1).all()
        assert (np.diff(result[np.argsort(ps, kind="stable")]) >= 0).all()
        assert correction(ps[::-1]) == result[::-1].tolist()


@settings(deadline=None, max_examples=20)  # theirs takes its time
@given(PS)
def test_holm_is_never_worse_than_bonferroni_and_never_better_than_benjamini_hochberg(
    ps: list[float],
) -> None:
    for p, mild, strict in zip(ps, benjamini_hochberg(ps), holm(ps), strict=True):
        assert mild is not None
        assert strict is not None
        assert mild <= strict + 1e-12
        assert strict <= min(1.0, p * len(ps)) + 1e-12


@quick
@given(GAPPY.filter(bool), GAPPY.filter(bool))
def test_two_families_pay_double_of_their_own_correction_and_no_more(
    first: list[float | None], second: list[float | None]
) -> None:
    for result, family in zip(two_families(first, second), (first, second), strict=True):
        expected = [None if p is None else min(1.0, 2 * p) for p in holm(family)]
        assert result == expected


@quick
@given(GAPPY)
def test_one_family_alone_pays_for_itself_only(ps: list[float | None]) -> None:
    assert two_families(ps, []) == (holm(ps), [])
    assert two_families([], ps) == ([], holm(ps))


def test_two_families_keep_the_chance_of_any_false_alarm() -> None:
    """Each family alarms falsely with half of the error at most, so both together with all of it at most."""
    rng, alarms = np.random.default_rng(1), 0
    for ps in rng.random((4000, 35)):
        first, second = two_families(ps[:5].tolist(), ps[5:].tolist())
        alarms += any(p is not None and p <= 0.05 for p in (*first, *second))
    assert alarms / 4000 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 4000)
    assert alarms / 4000 >= 0.035


def test_the_few_questions_one_came_with_do_not_pay_for_many_slices() -> None:
    whole, _ = two_families([0.01, 0.5], [0.3] * 200)
    assert whole == [0.04, 1.0]
    assert (holm([0.01, 0.5] + [0.3] * 200)[0] or 0) == 1.0


def test_corrected_knows_three_ways() -> None:
    whole, parts = [0.01, None], [0.02, 0.03]
    assert correct_p_values(whole, parts, "holm") == two_families(whole, parts)
    assert correct_p_values(whole, parts, "none") == (whole, parts)
    assert correct_p_values(whole, parts, "bh") == ([0.03, None], [0.03, 0.03])
    assert all(correct_p_values(whole, [], how)[1] == [] for how in CORRECTIONS)
    assert correct_p_values([], [], "holm") == ([], [])


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize(("n", "systems"), [(6, 3), (43, 4), (200, 5)])
def test_tukey_of_separate_queries_is_scipys(n: int, systems: int, level: float) -> None:
    values = layout(n, systems)
    expected = stats.tukey_hsd(*values.T)
    interval = expected.confidence_interval(level)
    for pair in tukey(values, level, paired=False):
        at = (pair.second, pair.first)
        assert pair.difference == pytest.approx(expected.statistic[at], abs=1e-12)
        assert (pair.low, pair.high) == pytest.approx((interval.low[at], interval.high[at]), abs=1e-6)
        assert pair.p == pytest.approx(expected.pvalue[at], abs=1e-6)


@pytest.mark.parametrize(("n", "systems"), [(6, 3), (43, 4)])
def test_tukey_of_separate_queries_is_statsmodels(n: int, systems: int) -> None:
    values = layout(n, systems, seed=3)
    names = np.tile(np.arange(systems), n)
    expected = pairwise_tukeyhsd(values.ravel(), names, alpha=0.05)
    result = tukey(values, 0.95, paired=False)
    assert [pair.difference for pair in result] == pytest.approx(expected.meandiffs, abs=1e-12)
    assert [[pair.low, pair.high] for pair in result] == pytest.approx(expected.confint, abs=1e-5)
    assert [pair.p for pair in result] == pytest.approx(expected.pvalues, abs=1e-5)


@pytest.mark.parametrize(("n", "systems"), [(5, 2), (12, 3), (43, 4)])
def test_tukey_of_the_same_queries_is_the_two_way_layout_of_statsmodels(n: int, systems: int) -> None:
    values = layout(n, systems, seed=n)
    rows = {
        "value": values.ravel(),
        "query": np.repeat(np.arange(n), systems),
        "system": [*range(systems)] * n,
    }
    table = anova_lm(ols("value ~ C(system) + C(query)", pd.DataFrame(rows)).fit())
    square, df = table.loc["Residual", "mean_sq"], table.loc["Residual", "df"]
    error = math.sqrt(square / n)
    reach = stats.studentized_range.ppf(0.95, systems, df) * error
    for pair in tukey(values):
        gap = values[:, pair.second].mean() - values[:, pair.first].mean()
        expected = stats.studentized_range.sf(abs(gap) / error, systems, df)
        assert pair == pytest.approx(
            (pair.first, pair.second, gap, gap - reach, gap + reach, expected), abs=1e-6
        )


def test_tukey_of_two_systems_is_the_paired_t_test() -> None:
    values = layout(30, 2)
    expected = stats.ttest_rel(values[:, 1], values[:, 0])
    (pair,) = tukey(values)
    interval = expected.confidence_interval(0.95)
    assert pair.p == pytest.approx(expected.pvalue, abs=1e-6)
    assert (pair.low, pair.high) == pytest.approx((interval.low, interval.high), abs=1e-6)


def test_tukey_takes_out_what_a_query_does_to_all_systems() -> None:
    values = layout(40, 3)
    harder = values + np.linspace(-5, 5, 40)[:, None]
    for pair, other in zip(tukey(values), tukey(harder), strict=True):
        assert other == pytest.approx(pair, abs=1e-6)
    assert tukey(harder, paired=False)[0].p > 0.9


def test_tukey_names_every_pair_once() -> None:
    assert [pair[:2] for pair in tukey(layout(9, 4))] == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


def test_tukey_of_systems_that_never_differ_shows_no_difference() -> None:
    values = np.repeat(layout(8, 1), 3, axis=1)
    assert {pair[2:] for pair in tukey(values)} == {(0.0, 0.0, 0.0, 1.0)}
    assert tukey(np.tile([0.25, 0.5], (8, 1)))[0].p == 2**-7  # as the exact randomisation test
