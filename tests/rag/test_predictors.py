"""Which measure predicts the accuracy: planted, and against SciPy and NumPy."""

import numpy as np
import pytest
from scipy.stats import pearsonr
from scipy.stats import spearmanr as scipy_spearman

from assay.rag.predictors import ConfigurationScores, family_error, rank_predictors
from assay.stats.linear_correlation import fit_line, pearson


def _configurations(n: int = 12) -> list[ConfigurationScores]:
    random = np.random.default_rng(3)
    rows = []
    for number in range(n):
        recall, robustness = random.uniform(0.85, 0.95), random.uniform(0.8, 1.0)
        accuracy = 0.2 + 0.5 * robustness + random.normal(0, 0.005)
        family = "graph" if number % 2 else "partition"
        rows.append(
            ConfigurationScores(
                f"c{number}", family, accuracy, {"R@10": recall, "Robustness-0.2@10": robustness}
            )
        )
    return rows


def test_the_planted_predictor_is_ranked_first_with_the_smallest_error() -> None:
    first, second = rank_predictors(_configurations())
    assert (first.measure, second.measure) == ("Robustness-0.2@10", "R@10")
    assert first.family_error is not None
    assert second.family_error is not None
    assert first.family_error < 0.01 < second.family_error


def test_correlations_and_their_interval_are_those_of_scipy() -> None:
    rows = _configurations()
    x = np.array([row.measures["R@10"] for row in rows], np.float64)
    y = np.array([row.accuracy for row in rows])
    predictor = next(p for p in rank_predictors(rows) if p.measure == "R@10")
    expected = pearsonr(x, y)
    interval = expected.confidence_interval(0.95)
    assert predictor.pearson[:3] == pytest.approx((expected.statistic, interval.low, interval.high))
    assert predictor.r2 == pytest.approx(expected.statistic**2)
    assert predictor.spearman.value == pytest.approx(scipy_spearman(x, y).statistic)


def test_the_family_error_is_that_of_lines_fitted_without_the_family() -> None:
    x, y = np.array([1.0, 2, 3, 4, 5, 6]), np.array([1.0, 3, 2, 5, 4, 7])
    families = ["a", "a", "b", "b", "c", "c"]
    errors = []
    for family in "abc":
        other = np.array([name != family for name in families])
        slope, intercept = np.polyfit(x[other], y[other], 1)
        errors += list(np.abs(intercept + slope * x[~other] - y[~other]))
    assert family_error(x, y, families) == pytest.approx(np.mean(errors))


def test_one_family_has_no_error_and_two_configurations_no_correlation() -> None:
    rows = [ConfigurationScores(f"c{n}", "graph", n / 10, {"R@10": n / 10}) for n in range(4)]
    assert rank_predictors(rows)[0].family_error is None
    assert rank_predictors(rows[:2])[0].to_dict()["pearson"] is None


def test_without_variation_nothing_is_defined() -> None:
    constant, rising = np.ones(5), np.arange(5.0)
    assert pearson(constant, rising).value is None
    assert fit_line(constant, rising) is None


def test_a_perfect_correlation_stays_within_bounds() -> None:
    estimate = pearson(np.arange(6.0), 2 * np.arange(6.0))
    assert estimate.value == 1.0
    assert estimate.low is not None
    assert 0.99 < estimate.low <= 1.0
