"""Paired tests against scipy and statsmodels, on made-up queries and on those of TREC DL 2019."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

import assay
from assay.core.arrays import Floats
from assay.stats import paired_tests
from assay.stats.paired_tests import TESTS, bootstrap, mcnemar, moments, randomisation, sign, t, wilcoxon
from tests.reference_measures import quick

RUNS = ("input.bm25base_p.gz", "input.ICT-BERT2.gz", "input.p_bert.gz")
PAIRS = list(combinations(RUNS, 2))
STEPS = (-1.0, -0.5, -0.25, 0.0, 0.0, 0.25, 0.5, 1.0)
COLUMNS = st.lists(st.sampled_from(STEPS), min_size=2, max_size=30)
FEW = {"randomisation": {"permutations": 500}, "bootstrap": {"resamples": 500}}


def pairs(n: int, m: int = 4, seed: int = 1) -> tuple[Floats, Floats]:
    """Scores of n queries by m measures for two systems that agree on two queries in five."""
    rng = np.random.default_rng(seed)
    before, other = rng.beta(0.6, 1.0, (n, m)), rng.beta(0.7, 1.0, (n, m))
    return before, np.where(rng.random((n, m)) < 0.4, before, other)


def ps(name: str, differences: Floats) -> list[float]:
    result: list[float] = TESTS[name](differences, **FEW.get(name, {})).tolist()
    return result


@pytest.fixture(scope="module")
def dl2019(shared: Path) -> dict[str, Floats]:
    """nDCG@10 of each query for three runs of TREC DL 2019."""
    folder = shared / "trec_dl2019"
    qrels = assay.read(folder / "2019qrels-pass.txt", "qrels")
    result = {name: assay.evaluate(qrels, assay.read(folder / name, "run"), ["nDCG@10"]) for name in RUNS}
    return {name: item.scores["nDCG@10"] for name, item in result.items()}


@pytest.mark.parametrize("n", [2, 4, 10, 43, 1000])
def test_t_is_scipys_paired_t_test(n: int) -> None:
    before, after = pairs(n)
    expected = stats.ttest_rel(after, before).pvalue
    assert t(after - before) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_t_is_scipys_on_real_queries(dl2019: dict[str, Floats], first: str, second: str) -> None:
    before, after = dl2019[first], dl2019[second]
    assert len(before) == 43
    expected = stats.ttest_rel(after, before)
    assert t((after - before)[:, None])[0] == pytest.approx(expected.pvalue, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_all_tests_tell_the_same_story_of_real_queries(
    dl2019: dict[str, Floats], first: str, second: str
) -> None:
    differences = (dl2019[second] - dl2019[first])[:, None]
    result = {name: TESTS[name](differences)[0] for name in TESTS}
    shifted_values = differences[differences != 0]
    assert result["wilcoxon"] == pytest.approx(stats.wilcoxon(shifted_values).pvalue, rel=1e-12)
    up = int((shifted_values > 0).sum())
    assert result["sign"] == pytest.approx(stats.binomtest(up, len(shifted_values)).pvalue, rel=1e-12)
    assert len({p < 0.05 for name, p in result.items() if name != "sign"}) == 1


@pytest.mark.parametrize("n", [2, 5, 12, 13, 14, 40, 60, 400])
def test_wilcoxon_is_scipys_after_zeros_are_dropped(n: int) -> None:
    before, after = pairs(n)
    differences = np.column_stack((after - before, np.round(after - before, 1)))
    for result, column in zip(wilcoxon(differences), differences.T, strict=True):
        shifted_values = column[column != 0]
        expected = stats.wilcoxon(shifted_values).pvalue if len(shifted_values) else 1.0
        assert result == pytest.approx(expected, rel=1e-12)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.sampled_from(STEPS), min_size=2, max_size=10))
def test_wilcoxon_of_tied_differences_is_scipys(values: list[float]) -> None:
    shifted_values = [value for value in values if value]
    expected = stats.wilcoxon(shifted_values).pvalue if shifted_values else 1.0
    assert wilcoxon(np.array(values)[:, None])[0] == pytest.approx(expected, rel=1e-12)


@quick
@given(COLUMNS)
def test_sign_is_scipys_binomial_test(values: list[float]) -> None:
    up, down = sum(v > 0 for v in values), sum(v < 0 for v in values)
    expected = stats.binomtest(up, up + down).pvalue if up + down else 1.0
    assert sign(np.array(values)[:, None])[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("up", "down"), [(0, 1), (3, 3), (12, 3), (0, 40), (501, 430), (3000, 3180)])
def test_sign_of_many_queries_is_scipys_binomial_test(up: int, down: int) -> None:
    differences = np.repeat([0.2, -0.1, 0.0], [up, down, 7])
    expected = stats.binomtest(up, up + down).pvalue
    assert sign(differences[:, None])[0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(
    ("both", "lost", "gained", "neither"),
    [(10, 2, 9, 4), (0, 0, 5, 0), (100, 15, 15, 60), (800, 121, 59, 20)],
)
def test_mcnemar_is_statsmodels(both: int, lost: int, gained: int, neither: int) -> None:
    before = np.repeat([1.0, 1.0, 0.0, 0.0], [both, lost, gained, neither])
    after = np.repeat([1.0, 0.0, 1.0, 0.0], [both, lost, gained, neither])
    expected = statsmodels_mcnemar([[both, lost], [gained, neither]], exact=True).pvalue
    assert mcnemar((after - before)[:, None])[0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("name", ["t", "wilcoxon", "sign"])
def test_undefined_values_are_left_out(name: str) -> None:
    before, after = pairs(30)
    after[3, 0] = before[5, 0] = after[:28, 1] = after[:29, 2] = after[:, 3] = np.nan
    differences = after - before
    result = ps(name, differences)
    for p, column in zip(result[:2], differences.T[:2], strict=True):
        assert p == pytest.approx(ps(name, column[~np.isnan(column)][:, None])[0], rel=1e-12)
    assert np.isnan(result[2:]).all()


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_queries_say_nothing(name: str, n: int) -> None:
    assert np.isnan(ps(name, np.full((n, 2), 0.5))).all()
    assert np.isnan(ps(name, np.array([[0.5, np.nan], [np.nan, np.nan], [np.nan, np.nan]]))).all()


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("n", [2, 5, 300])
def test_no_differences_are_no_evidence(name: str, n: int) -> None:
    assert ps(name, np.zeros((n, 2))) == [1.0, 1.0]


@pytest.mark.parametrize("n", [2, 5, 9])
def test_equal_differences_are_as_rare_as_a_coin_that_always_falls_alike(n: int) -> None:
    differences = np.tile([[0.1, 0.3 - 0.2, -7.0]], (n, 1))
    differences[0, 1] = 0.2 - 0.1  # equal but for the last digits
    for test in (t, sign, randomisation, bootstrap):
        assert test(differences) == pytest.approx(2.0 ** (1 - n), rel=1e-12)


@pytest.mark.parametrize("n", [5, 12, 40])
def test_the_bootstrap_is_that_of_t_but_for_chance(n: int) -> None:
    """Efron and Tibshirani's algorithm 16.2, word for word, with random numbers of another kind."""
    before, after = pairs(n, 1, seed=3)
    differences = (after - before)[:, 0] + 0.1
    observed = stats.ttest_1samp(differences, 0).statistic
    shifted_values = np.random.default_rng(1).choice(differences - differences.mean(), (40_000, n))
    with np.errstate(divide="ignore", invalid="ignore"):
        result = shifted_values.mean(axis=1) / (shifted_values.std(axis=1, ddof=1) / np.sqrt(n))
    expected = np.mean(~(np.abs(result) < np.abs(observed)))
    error = np.sqrt(2 * expected * (1 - expected) / 40_000)
    assert bootstrap(differences[:, None], 40_000)[0] == pytest.approx(expected, abs=4 * error)


@pytest.mark.parametrize("n", [2, 3])
def test_the_bootstrap_shows_nothing_by_two_or_three_queries(n: int) -> None:
    differences = np.linspace(0.1, 0.2, n)[:, None]
    assert bootstrap(differences, 500)[0] > 0.08  # all drawn alike: one in n^(n - 1)
    assert bootstrap(np.repeat(differences, 20, axis=0), 500)[0] < 0.01


@pytest.mark.parametrize("name", ["randomisation", "bootstrap"])
def test_what_was_never_reached_is_one_of_all_that_were_tried_and_the_data(name: str) -> None:
    differences = np.random.default_rng(8).normal(0.5, 0.2, (60, 1))
    assert TESTS[name](differences, 500)[0] == 1 / 501
    assert TESTS[name](differences, 500)[0] == TESTS[name](differences, 500, 0)[0]


@pytest.mark.parametrize("name", ["randomisation", "bootstrap"])
def test_undefined_values_are_left_out_of_what_is_drawn(name: str) -> None:
    before, after = pairs(60)
    after[::5, 0] = after[58:, 1] = np.nan
    differences = after - before
    for p, column in zip(TESTS[name](differences, 20_000), differences.T, strict=True):
        alone = TESTS[name](column[~np.isnan(column)][:, None], 20_000)[0]
        assert p == pytest.approx(alone, abs=4 * np.sqrt(2 * alone * (1 - alone) / 20_000))


@pytest.mark.parametrize("name", TESTS)
def test_no_test_cares_for_the_direction_the_unit_or_the_order_of_columns(name: str) -> None:
    before, after = pairs(25)
    differences = after - before
    result = ps(name, differences)
    assert ps(name, -differences) == pytest.approx(result, rel=1e-9)
    assert ps(name, 8.0 * differences) == pytest.approx(result, rel=1e-9)
    assert ps(name, differences[:, ::-1]) == pytest.approx(result[::-1], rel=1e-9)


@pytest.mark.parametrize("name", TESTS)
def test_what_was_given_is_left_as_it_was(name: str) -> None:
    differences = np.array([[0.1, np.nan], [0.0, 0.2], [-0.3, 0.2]])
    kept_rows = differences.copy()
    ps(name, differences)
    assert np.array_equal(differences, kept_rows, equal_nan=True)


@quick
@given(COLUMNS, st.sampled_from(sorted(TESTS)))
def test_p_lies_between_0_and_1_and_is_never_0(values: list[float], name: str) -> None:
    (p,) = ps(name, np.array(values)[:, None])
    assert 0 < p <= 1


@pytest.mark.parametrize("name", TESTS)
def test_a_test_of_nothing_rejects_as_often_as_it_says(name: str) -> None:
    """1,000 comparisons of 40 queries without a difference, as columns of one table."""
    rng = np.random.default_rng(8)
    differences = np.round(rng.normal(0, 0.3, (40, 1000)), 1) * (rng.random((40, 1000)) < 0.7)
    result = np.mean(np.array(ps(name, differences)) <= 0.05)
    assert result <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)
    assert result >= 0.02


@pytest.mark.parametrize("name", TESTS)
def test_a_large_difference_is_found(name: str) -> None:
    rng = np.random.default_rng(8)
    assert ps(name, rng.normal(0.3, 0.3, (60, 1)))[0] <= 2 / 501


def test_moments_are_numpys() -> None:
    before, after = pairs(50)
    differences = after - before
    differences[7:, 1] = differences[:, 2] = np.nan
    mean, deviation = moments(differences)
    assert mean[:2] == pytest.approx(np.nanmean(differences[:, :2], axis=0), rel=1e-12)
    assert deviation[:2] == pytest.approx(np.nanstd(differences[:, :2], axis=0, ddof=1), rel=1e-12)
    assert np.isnan([mean[2], deviation[2]]).all()


def test_no_draw_makes_a_p_of_0() -> None:
    certain = np.full((40, 1), 0.5) + np.linspace(-0.01, 0.01, 40)[:, None]
    assert paired_tests.bootstrap(certain, 99, 0)[0] == pytest.approx(0.01)
    assert paired_tests.randomisation(certain, 99, 0)[0] == pytest.approx(0.01)
