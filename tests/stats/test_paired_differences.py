"""Differences that are equal except for floating-point noise are equal everywhere."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import assay
from assay.core.tables import Scores
from assay.evaluation.compare import ComparisonOptions, compare_scores
from assay.stats.difference_intervals import NormalSpread, ResampledSpread
from assay.stats.paired_differences import TOLERANCE, equalize, subtract, subtract_means
from assay.stats.paired_tests import TESTS, sign, wilcoxon

TENTHS = np.arange(1, 10) / 10


def test_equal_tenths_have_equal_differences() -> None:
    before = TENTHS[:-1]
    assert len(np.unique(TENTHS[1:] - before)) > 1
    rises, falls = subtract(TENTHS[1:], before), subtract(before, TENTHS[1:])
    assert rises == pytest.approx(0.1, abs=1e-15)
    assert len(set(rises.tolist()) | set((-falls).tolist())) == 1
    assert subtract_means(0.1 + 0.2, 0.3) == 0.0


def test_undefined_values_have_undefined_differences() -> None:
    result = subtract(np.array([np.nan, 0.5, 0.5]), np.array([0.5, np.nan, 0.25]))
    assert np.isnan(result).tolist() == [True, True, False]
    assert subtract(np.array([]), np.array([])).tolist() == []


def test_the_tolerance_grows_with_values_above_one() -> None:
    before, after = np.array([[1e6, 1.0], [0.0, 0.0]]), np.array([[1e6 + 2e-10, 1.0 + 2e-10], [1.0, 1.0]])
    assert subtract(after, before)[:, 0].tolist() == [0.0, 1.0]
    assert subtract(after, before)[0, 1] > 0


def test_a_difference_above_the_tolerance_remains() -> None:
    assert equalize(np.array([0.4 * TOLERANCE, 3 * TOLERANCE])).tolist() == [0.0, 3 * TOLERANCE]


@pytest.mark.parametrize("n", [13, 40])
def test_ranks_of_tenths_are_midranks(n: int) -> None:
    rng = np.random.default_rng(n)
    tenths = rng.integers(0, 11, (n, 2))
    noisy = tenths[:, 1] / 10 - tenths[:, 0] / 10
    exact = (tenths[:, 1] - tenths[:, 0]).astype(np.float64)
    assert len(np.unique(np.abs(noisy))) > len(np.unique(np.abs(exact)))
    assert wilcoxon(noisy[:, None])[0] == pytest.approx(wilcoxon(exact[:, None])[0], rel=1e-12)


def test_the_sign_test_ignores_differences_of_noise() -> None:
    noisy = np.array([0.1 + 0.2 - 0.3] * 8 + [0.5, 0.25])
    assert sign(noisy[:, None]).tolist() == [0.5]


@pytest.mark.parametrize("test", list(TESTS))
def test_queries_that_differ_by_noise_are_ties(test: str) -> None:
    ids = [f"q{i}" for i in range(12)]
    before = Scores(ids, {"P@10": np.full(12, 0.3)})
    after = Scores(ids, {"P@10": np.array([0.1 + 0.2] * 10 + [0.4, 0.5])})
    comparisons = compare_scores(before, {"new": after}, options=ComparisonOptions(test, permutations=200))
    (row,) = comparisons.rows
    assert (row.wins, row.ties, row.losses) == (2, 10, 0)
    assert [mover.query_id for mover in comparisons.movers()[0]] == ["q11", "q10"]
    assert comparisons.movers()[0][1].difference == pytest.approx(0.1, abs=1e-15)


def test_identical_systems_but_for_noise_have_no_difference_and_no_effect() -> None:
    ids = ["a", "b", "c"]
    before, after = (Scores(ids, {"P@10": np.full(3, value)}) for value in (0.3, 0.1 + 0.2))
    (row,) = compare_scores(before, {"new": after}).rows
    assert (row.difference.value, row.p, row.effect, row.ties) == (0.0, 1.0, None, 3)


def test_a_margin_that_equals_the_difference_but_for_noise_is_at_the_margin() -> None:
    assert NormalSpread(0.1 + 0.2, 0.0, 4).p_at_most(0.3) == 0.5
    assert ResampledSpread(np.full(9, 0.1 + 0.2)).p_at_most(0.3) == 0.5


def test_precision_of_real_runs_has_the_ranks_of_whole_hits(shared: Path) -> None:
    folder = shared / "trec_dl2019"
    qrels = assay.read(folder / "2019qrels-pass.txt", "qrels")
    runs = [assay.read(folder / f"input.{name}.gz", "run") for name in ("ICT-BERT2", "p_bert")]
    comparisons = assay.compare(qrels, runs[0], runs[1], ["P(rel=2)@10"], test="wilcoxon")
    before, after = (scores["P(rel=2)@10"] for scores in comparisons.scores.values())
    hits = np.rint(10 * after) - np.rint(10 * before)
    (row,) = comparisons.rows
    assert row.p == pytest.approx(stats.wilcoxon(hits[hits != 0]).pvalue, rel=1e-12)
    assert (row.wins, row.losses) == (int((hits > 0).sum()), int((hits < 0).sum()))
