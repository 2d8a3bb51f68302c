"""What a comparison says: differences, wins, directions and states, of every kind of measure."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.core.arrays import Floats
from assay.stats import Estimate, central_value
from assay.stats.comparison import Comparison, Subject, compare_columns
from assay.stats.difference_intervals import NormalSpread, ResampledSpread, Spread, UnknownSpread
from assay.stats.paired_tests import TESTS, bootstrap, mcnemar, randomisation, t
from tests.reference_measures import quick

KINDS = ("mean", "share", "geometric", "quantile")
VALUES = st.lists(st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 1.0])] * 2), min_size=2, max_size=25)


def scores(n: int, seed: int = 1, gain: float = 0.05) -> tuple[Floats, Floats]:
    """Scores of n queries for two systems that often agree."""
    rng = np.random.default_rng(seed)
    before, other = rng.beta(0.8, 1.0, n), rng.beta(0.8, 1.0, n)
    return before, np.clip(np.where(rng.random(n) < 0.4, before, other + gain), 0, 1)


def compare_one(
    before: Floats, after: Floats, kind: str = "mean", lower: bool = False, **options: Any
) -> Comparison:
    subjects = [Subject("M@10", kind, 0.5, lower)]
    (result,) = compare_columns(subjects, before[:, None], after[:, None], **options)
    return result


def comparison_with(
    spread: Spread, value: float | None, corrected: float | None, lower: bool = False
) -> Comparison:
    """A comparison with this difference and this corrected p."""
    result = compare_one(*scores(5), lower=lower)
    difference = Estimate(value, *spread.interval(0.95), 0.95, 5)
    return replace(result, difference=difference, corrected_p=corrected, spread=spread)


def passes(values: Floats) -> Floats:
    return (values > 0.5).astype(np.float64)


def test_a_mean_is_compared_by_scipys_paired_t_test() -> None:
    before, after = scores(60)
    result, expected = compare_one(before, after), stats.ttest_rel(after, before)
    low, high = expected.confidence_interval(0.95)
    assert (result.baseline, result.candidate) == pytest.approx((before.mean(), after.mean()), rel=1e-12)
    assert result.difference[:3] == pytest.approx((after.mean() - before.mean(), low, high), rel=1e-9)
    assert result.difference[3:5] == (0.95, 60)
    assert (result.p, result.corrected_p) == pytest.approx((expected.pvalue, expected.pvalue), rel=1e-10)
    assert result.test == "t"
    assert result.effect == pytest.approx(expected.statistic / math.sqrt(60), rel=1e-10)
    assert result.deviation == pytest.approx((after - before).std(ddof=1), rel=1e-12)


def test_wins_ties_and_losses_are_counted() -> None:
    result = compare_one(np.array([0.0, 0.5, 0.5, 1.0, 0.2]), np.array([0.5, 0.5, 0.4, 1.0, 0.4]))
    assert (result.wins, result.ties, result.losses) == (2, 2, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_lower_is_better_turns_what_is_good_and_nothing_else(kind: str) -> None:
    before, after = scores(80)
    if kind == "share":
        before, after = passes(before), passes(after)
    plain, reversed_values = (compare_one(before, after, kind, lower) for lower in (False, True))
    assert reversed_values.difference == plain.difference
    assert (reversed_values.p, reversed_values.effect, reversed_values.deviation) == (
        plain.p,
        plain.effect,
        plain.deviation,
    )
    assert (reversed_values.wins, reversed_values.ties, reversed_values.losses) == (
        plain.losses,
        plain.ties,
        plain.wins,
    )
    assert reversed_values.improvement == -(plain.improvement or 0)
    assert plain.improvement == plain.difference.value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("margin", [-0.05, 0.0, 0.02])
def test_lower_is_better_asks_of_a_fall_what_is_else_asked_of_a_rise(kind: str, margin: float) -> None:
    before, after = scores(80)
    if kind == "share":
        before, after = passes(before), passes(after)
    plain = compare_one(before, after, kind)
    reversed_values = replace(plain, lower_is_better=True)
    assert plain.p_above(margin) == plain.spread.p_at_most(margin)
    assert reversed_values.p_above(margin) == pytest.approx(plain.p_below(-margin))
    assert reversed_values.p_below(margin) == pytest.approx(plain.p_above(-margin))
    assert reversed_values.p_not_inferior(0.02) == pytest.approx(plain.p_below(0.02))
    assert reversed_values.p_equivalent(0.02) == pytest.approx(plain.p_equivalent(0.02))


def test_margins_of_a_measure_that_should_fall_are_scipys() -> None:
    before, after = scores(60)
    result = compare_one(before, after, lower=True)
    better = stats.ttest_rel(before - 0.02, after, alternative="greater").pvalue
    assert result.p_above(0.02) == pytest.approx(better, rel=1e-9)
    assert result.p_below(0.02) == pytest.approx(1 - better, rel=1e-9)
    worse = stats.ttest_rel(before + 0.03, after, alternative="greater").pvalue
    assert result.p_not_inferior(0.03) == pytest.approx(worse, rel=1e-9)


@quick
@given(st.floats(-0.1, 0.1), st.floats(0.001, 0.1), st.floats(0.001, 0.2), st.booleans())
def test_equivalence_is_both_one_sided_tests(centre: float, error: float, margin: float, lower: bool) -> None:
    result = comparison_with(NormalSpread(centre, error, 20.0), centre, 0.5, lower)
    not_worse, not_better = result.p_not_inferior(margin), result.p_below(margin)
    assert not_worse is not None
    assert not_better is not None
    assert result.p_equivalent(margin) == max(not_worse, not_better)
    wider = result.p_equivalent(margin * 1.1)
    assert wider is not None
    assert wider <= (result.p_equivalent(margin) or 0) + 1e-12


SURE, UNSURE = NormalSpread(0.1, 0.01, 50.0), NormalSpread(0.1, 0.2, 50.0)


@pytest.mark.parametrize(
    ("value", "corrected", "lower", "expected"),
    [
        (0.1, 0.01, False, "better"),
        (-0.1, 0.01, False, "worse"),
        (0.1, 0.01, True, "worse"),
        (-0.1, 0.01, True, "better"),
        (0.1, 0.05, False, "better"),
        (0.1, 0.0501, False, None),
        (0.1, None, False, None),
        (0.0, 0.01, False, None),
        (None, None, False, None),
    ],
)
def test_the_direction_is_better_or_worse_also_where_lower_is_better(
    value: float | None, corrected: float | None, lower: bool, expected: str | None
) -> None:
    assert comparison_with(SURE, value, corrected, lower).direction() == expected


@pytest.mark.parametrize(
    ("spread", "corrected", "margin", "expected"),
    [
        (SURE, 0.001, 0.2, "same"),
        (SURE, 0.001, 0.01, "better"),
        (SURE, 0.9, 0.01, "open"),
        (UNSURE, 0.9, 0.01, "open"),
        (UNSURE, 0.9, 5.0, "same"),
        (UnknownSpread(), None, 0.5, "open"),
        (UnknownSpread(), 0.01, 0.5, "better"),
    ],
)
def test_state_is_same_before_it_is_better_or_worse_and_open_where_nothing_is_shown(
    spread: Spread, corrected: float | None, margin: float, expected: str
) -> None:
    assert comparison_with(spread, 0.1, corrected).state(margin) == expected
    reversed_values = comparison_with(spread, 0.1, corrected, lower=True).state(margin)
    assert reversed_values == {"better": "worse"}.get(expected, expected)


def test_a_higher_level_asks_for_more() -> None:
    result = comparison_with(SURE, 0.1, 0.03)
    strict = replace(result, difference=result.difference._replace(level=0.99))
    assert (result.direction(), strict.direction()) == ("better", None)


def test_p_at_the_border_is_enough() -> None:
    result = comparison_with(SURE, 0.1, 0.5)
    half = replace(result, difference=result.difference._replace(level=0.5))
    assert half.direction() == "better"
    assert half.p_equivalent(0.1) == 0.5
    assert half.state(0.1) == "same"


def test_the_level_is_that_of_the_interval() -> None:
    before, after = scores(60)
    narrow, wide = (compare_one(before, after, level=level).difference for level in (0.8, 0.99))
    expected = stats.ttest_rel(after, before).confidence_interval(0.99)
    assert (wide.low, wide.high) == pytest.approx((expected.low, expected.high), rel=1e-9)
    assert (wide.low or 0) < (narrow.low or 0) < (narrow.high or 0) < (wide.high or 0)


def test_a_share_is_compared_by_mcnemar_whatever_test_was_asked_for() -> None:
    before, after = map(passes, scores(80, gain=0.2))
    for test in TESTS:
        result = compare_one(before, after, "share", test=test)
        assert result.test == "McNemar"
        assert result.p == mcnemar((after - before)[:, None])[0]
    assert result.wins is not None
    assert result.losses is not None
    assert result.effect == pytest.approx(result.wins / (result.wins + result.losses) - 0.5)


def test_a_quantile_is_compared_by_resampling_whatever_test_was_asked_for() -> None:
    before, after = scores(80)
    for test in TESTS:
        result = compare_one(before, after, "quantile", test=test, seed=2)
        assert result.test == "bootstrap"
        assert isinstance(result.spread, ResampledSpread)
        assert result.p == result.spread.two_sided()
    assert result.difference.value == central_value(after, "quantile") - central_value(before, "quantile")  # type: ignore[operator]


def test_a_geometric_mean_is_tested_by_its_logarithms() -> None:
    before, after = scores(80)
    result = compare_one(before, after, "geometric")
    logs = [np.log(np.maximum(values, 1e-5)) for values in (before, after)]
    assert result.p == pytest.approx(stats.ttest_rel(logs[1], logs[0]).pvalue, rel=1e-10)
    assert result.difference.value == pytest.approx(
        stats.gmean(np.maximum(after, 1e-5)) - stats.gmean(np.maximum(before, 1e-5))
    )


@pytest.mark.parametrize("test", TESTS)
def test_the_test_that_was_asked_for_is_used(test: str) -> None:
    before, after = scores(40)
    result = compare_one(before, after, test=test, seed=3, permutations=700)
    samples = {"randomisation": randomisation, "bootstrap": bootstrap}
    differences = (after - before)[:, None]
    expected = samples[test](differences, 700, 3) if test in samples else TESTS[test](differences)
    assert (result.test, result.p) == (test, expected[0])


@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign"])
def test_a_number_of_permutations_does_not_matter_to_a_test_without_any(test: str) -> None:
    before, after = scores(40)
    assert compare_one(before, after, test=test, permutations=9).p == compare_one(before, after, test=test).p


def test_columns_are_compared_each_as_its_kind_asks() -> None:
    before, after = scores(90)
    tables = [np.column_stack((v, passes(v), v, v)) for v in (before, after)]
    subjects = [Subject(kind, kind) for kind in KINDS]
    result = compare_columns(subjects, *tables, test="randomisation", permutations=2000)
    assert [row.measure for row in result] == list(KINDS)
    for row, kind, first, last in zip(result, KINDS, tables[0].T, tables[1].T, strict=True):
        alone = compare_one(first, last, kind, test="randomisation", permutations=2000)
        assert replace(row, measure="M@10") == alone


def test_a_query_counts_where_both_values_are_defined() -> None:
    before, after = scores(50)
    before[[3, 4]] = after[[4, 9, 11]] = np.nan
    both = ~np.isnan(before) & ~np.isnan(after)
    for kind in KINDS:
        result, alone = compare_one(before, after, kind), compare_one(before[both], after[both], kind)
        assert result.p == pytest.approx(alone.p, rel=1e-12)
        assert replace(result, p=alone.p, corrected_p=alone.p) == alone
        assert result.difference.n == 46
        assert sum((result.wins or 0, result.ties or 0, result.losses or 0)) == 46


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_queries_say_nothing(n: int, test: str, kind: str) -> None:
    result = compare_one(np.zeros(n), np.ones(n), kind, test=test)
    assert (result.p, result.corrected_p, result.difference.low, result.difference.high) == (None,) * 4
    assert result.difference.value == (pytest.approx(1.0, abs=1e-4) if n else None)
    assert (result.wins, result.ties, result.losses, result.deviation) == (n, 0, 0, None)
    assert (
        result.p_above(0.1),
        result.p_below(0.1),
        result.p_equivalent(0.1),
        result.p_not_inferior(0.1),
    ) == (None,) * 4
    assert (result.direction(), result.state(0.1)) == (None, "open")


@pytest.mark.parametrize("kind", KINDS)
def test_equal_systems_have_not_moved(kind: str) -> None:
    before = passes(scores(300)[0])
    result = compare_one(before, before, kind)
    assert (result.p, result.difference.value, result.direction()) == (1.0, 0.0, None)
    assert (result.wins, result.ties, result.losses, result.effect) == (0, 300, 0, None)
    assert result.state(0.05) == "same"


def test_two_queries_have_a_deviation_and_as_many_gains_as_losses_an_effect_of_0() -> None:
    before, after = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    assert compare_one(before, after).deviation == pytest.approx(math.sqrt(2))
    assert compare_one(before, after, "share").effect == 0.0


def test_differences_that_are_all_equal_have_no_effect_size() -> None:
    before = np.array([0.1, 0.2, 0.3, 0.5])
    result = compare_one(before, before + 0.1)
    assert result.effect is None
    assert result.p == pytest.approx(1 / 8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lower", [False, True])
def test_other_queries_give_no_wins_and_no_effect(kind: str, lower: bool) -> None:
    before, after = scores(80)[0], scores(60, seed=5, gain=0.3)[1]
    if kind == "share":
        before, after = passes(before), passes(after)
    (result,) = compare_columns(
        [Subject("M", kind, 0.5, lower)], before[:, None], after[:, None], paired=False
    )
    counts = (result.wins, result.ties, result.losses, result.effect, result.deviation)
    assert counts == (None, None, None, None, None)
    assert result.difference.n == 140
    assert result.direction() == ("worse" if lower else "better")
    assert result.test == {"mean": "Welch", "share": "two shares"}.get(kind, "bootstrap")


def test_a_system_without_queries_has_no_difference_from_another() -> None:
    result = compare_one(np.array([np.nan]), np.ones(9), paired=False)
    assert (result.baseline, result.candidate, result.difference.value, result.p) == (None, 1.0, None, None)
    assert (result.improvement, result.direction()) == (None, None)


def test_other_queries_are_compared_by_scipys_welch() -> None:
    before, after = scores(80)[0], scores(60, seed=5)[1]
    holes = np.append(before, [np.nan] * 9)
    result, expected = (
        compare_one(holes, after, paired=False),
        stats.ttest_ind(after, before, equal_var=False),
    )
    low, high = expected.confidence_interval(0.95)
    assert result.p == pytest.approx(expected.pvalue, rel=1e-10)
    assert result.difference[:5] == pytest.approx(
        (after.mean() - before.mean(), low, high, 0.95, 140), rel=1e-9
    )


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_given_is_left_as_it_was(kind: str) -> None:
    before, after = scores(30)
    kept_rows = before.copy(), after.copy()
    compare_one(before, after, kind)
    compare_one(before, after, kind, paired=False)
    assert np.array_equal(before, kept_rows[0])
    assert np.array_equal(after, kept_rows[1])


@quick
@given(VALUES, st.sampled_from(["mean", "share"]), st.booleans())
def test_turning_the_systems_round_turns_the_comparison_round(
    values: list[tuple[float, float]], kind: str, paired: bool
) -> None:
    before, after = np.array(values).T
    if kind == "share":
        before, after = passes(before), passes(after)
    result, reversed_values = (
        compare_one(before, after, kind, paired=paired),
        compare_one(after, before, kind, paired=paired),
    )
    assert reversed_values.p == pytest.approx(result.p, rel=1e-9)
    assert reversed_values.improvement == pytest.approx(-(result.improvement or 0), abs=1e-12)
    assert (reversed_values.wins, reversed_values.losses) == (result.losses, result.wins)
    high = result.difference.high
    assert reversed_values.difference.low == (None if high is None else pytest.approx(-high, abs=1e-9))
    assert reversed_values.p_equivalent(0.1) == pytest.approx(result.p_equivalent(0.1), abs=1e-9)


@quick
@given(VALUES)
def test_the_interval_and_the_t_test_agree_on_whether_there_is_a_difference(
    values: list[tuple[float, float]],
) -> None:
    before, after = np.array(values).T
    result = compare_one(before, after)
    assert result.p is not None
    low, high = result.difference.low, result.difference.high
    if low is None or high is None:
        assert result.p > 0.05
    elif abs(result.p - 0.05) > 1e-9 and (after - before).std() > 1e-9:
        assert (result.p < 0.05) == (low > 0 or high < 0)


def test_a_slice_is_shown_by_column_and_value() -> None:
    result = compare_one(*scores(5))
    assert result.slice == "all"
    assert replace(result, column="category", value="faq").slice == "category: faq"


def test_t_is_what_is_asked_by_default() -> None:
    before, after = scores(30)
    assert compare_one(before, after).p == t((after - before)[:, None])[0]


@pytest.mark.parametrize("kind", KINDS)
def test_another_seed_moves_resampled_intervals_only(kind: str) -> None:
    before, after = scores(60)
    first, second = (compare_one(before, after, kind, seed=seed).difference for seed in (0, 1))
    assert first.is_resampled == (kind == "quantile")
    assert (first == second) == (kind != "quantile")


def test_differences_of_bounded_measures_stay_between_minus_1_and_1() -> None:
    before, after = np.array([[0.0], [1.0]]), np.array([[1.0], [0.9]])
    for kind in ("mean", "share"):
        subject = Subject("nDCG@10", kind, is_bounded=True)
        (row,) = compare_columns([subject], before, after.round())
        assert (row.difference.low or 0) >= -1
        assert (row.difference.high or 0) <= 1
    (free,) = compare_columns([Subject("DCG@10")], before, after)
    assert (free.difference.high or 0) > 1
