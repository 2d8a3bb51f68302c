"""Prediction-powered means against ppi_py, against the regression of statsmodels, and by their coverage."""

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.core.arrays import Floats
from assay.stats.prediction_powered import LabelledUnits, estimate_powered
from tests.reference_measures import quick


@pytest.fixture(scope="module")
def ppi_py() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("ppi_py")


def draw(n: int, size: int, seed: int = 0, slope: float = 0.8, noise: float = 0.5) -> LabelledUnits:
    """Units whose human values follow the model's with noise; the first n are labelled."""
    rng = np.random.default_rng(seed)
    model = rng.normal(1.5, 1.0, size)
    return LabelledUnits(slope * model[:n] + rng.normal(0, noise, n), model[:n], model)


@pytest.mark.parametrize(("n", "size"), [(200, 800), (400, 20_000), (1000, 4000)])
def test_value_scale_and_interval_are_those_of_ppi_py(ppi_py: Any, n: int, size: int) -> None:
    units = draw(n, size)
    result = estimate_powered([units])
    rest = units.population[n:]
    value = ppi_py.ppi_mean_pointestimate(units.human, units.model, rest, lam=result.scale)
    low, high = ppi_py.ppi_mean_ci(units.human, units.model, rest, alpha=0.05, lam=result.scale)
    assert result.combined.value == pytest.approx(float(np.ravel(value)[0]), abs=1e-12)
    ends = [result.combined.low, result.combined.high]
    half = float(np.ravel(high)[0] - np.ravel(low)[0]) / 2
    assert ends == pytest.approx([float(np.ravel(low)[0]), float(np.ravel(high)[0])], abs=0.02 * half)
    tuned = ppi_py.ppi_mean_pointestimate(units.human, units.model, rest)
    assert result.combined.value == pytest.approx(float(np.ravel(tuned)[0]), abs=0.05 * half)


def test_unequal_weights_give_the_value_of_ppi_py(ppi_py: Any) -> None:
    units, rng = draw(300, 5000), np.random.default_rng(3)
    chances = rng.uniform(0.02, 0.2, 300)
    result = estimate_powered([LabelledUnits(units.human, units.model, units.population, chances)])
    slope = result.scale / (1 - 300 / 5000)
    value = ppi_py.ppi_mean_pointestimate(
        units.human, units.model, units.population, lam=slope, w=1 / chances / (1 / chances).mean()
    )
    assert result.combined.value == pytest.approx(float(np.ravel(value)[0]), abs=1e-12)


def test_with_a_large_population_it_is_the_prediction_of_a_regression() -> None:
    statsmodels = pytest.importorskip("statsmodels.api")
    units = draw(15, 2_000_000, seed=4)
    fit = statsmodels.OLS(units.human, np.column_stack([np.ones(15), units.model])).fit()
    expected = fit.get_prediction([[1.0, units.population.mean()]]).conf_int(alpha=0.05)[0]
    combined = estimate_powered([units]).combined
    assert [combined.low, combined.high] == pytest.approx(expected.tolist(), abs=1e-4)


def test_human_labels_alone_give_students_interval() -> None:
    units = draw(25, 400)
    human = estimate_powered([units]).human_only
    expected = stats.t.interval(0.95, 24, units.human.mean(), stats.sem(units.human))
    assert human.value == pytest.approx(units.human.mean())
    assert human.n == 25
    assert [human.low, human.high] == pytest.approx(list(expected))


def test_all_units_labelled_leave_only_the_uncertainty_of_the_units() -> None:
    units = draw(60, 60)
    result, fixed = estimate_powered([units]), estimate_powered([units], is_fixed=True)
    assert result.combined[:3] == pytest.approx(result.human_only[:3], rel=1e-2)
    assert (fixed.combined.low, fixed.combined.high) == pytest.approx((units.human.mean(),) * 2)


def test_a_model_that_says_nothing_is_not_used() -> None:
    units = draw(200, 5000, slope=0.0)
    shuffled = LabelledUnits(units.human, -abs(units.human), np.random.default_rng(1).normal(size=5000))
    result = estimate_powered([shuffled])
    assert (result.scale, result.combined) == (0.0, result.human_only)
    assert (result.effective_n, result.width_ratio) == (200, 1.0)
    assert "do not make the interval narrower" in result.reason


def test_few_labels_are_not_tuned_and_one_has_no_interval() -> None:
    nine = estimate_powered([draw(9, 500)])
    assert (nine.scale, nine.combined) == (0.0, nine.human_only)
    assert "from 10 human labels on, found 9" in nine.reason
    one = estimate_powered([draw(1, 500)])
    assert one.combined.has_no_interval
    assert one.combined.value is not None
    assert (one.effective_n, one.spread) == (None, None)
    assert "needs 2 human labels" in one.reason


def test_perfect_agreement_on_few_units_does_not_mean_certainty() -> None:
    model = np.tile([0.0, 1.0], 500)
    narrow = estimate_powered([LabelledUnits(model[:20], model[:20], model)], is_fixed=True)
    assert narrow.combined.low is not None
    assert narrow.combined.high is not None
    assert 0.05 < narrow.combined.high - narrow.combined.low < 0.3


def test_equal_human_values_have_an_interval_only_between_bounds() -> None:
    units = LabelledUnits(np.ones(30), np.ones(30), np.ones(900))
    unknown, known = estimate_powered([units]), estimate_powered([units], bounds=(0.0, 1.0))
    assert unknown.combined.has_no_interval
    assert known.combined[:3] == pytest.approx((1.0, 0.8843, 1.0), abs=1e-3)


def test_strata_are_combined_by_their_sizes_and_correct_unequal_sampling() -> None:
    rng = np.random.default_rng(7)
    easy, hard = rng.normal(0.8, 0.1, 3000), rng.normal(0.3, 0.1, 1000)
    strata = [LabelledUnits(v[:n] + 0.05, v[:n], v) for v, n in ((easy, 40), (hard, 200))]
    stratified = estimate_powered(strata).combined
    human, model = (np.concatenate([getattr(s, name) for s in strata]) for name in ("human", "model"))
    pooled = estimate_powered([LabelledUnits(human, model, np.concatenate([easy, hard]))]).human_only
    truth = float(np.concatenate([easy, hard]).mean()) + 0.05
    assert stratified.value == pytest.approx(truth, abs=0.01)
    assert abs((pooled.value or 0) - truth) > 0.1


def test_clusters_of_units_widen_the_interval_by_their_differences() -> None:
    rng = np.random.default_rng(2)
    means = rng.normal(0, 1, 40)
    cluster = np.repeat(np.arange(40), 10)
    model = means[cluster] + rng.normal(0, 0.1, 400)
    rows = np.arange(0, 400, 2)
    units = LabelledUnits(model[rows] + 0.2, model[rows], model, rows=rows, clusters=cluster)
    spread = estimate_powered([units], clusters=40).spread
    assert spread is not None
    assert spread.error == pytest.approx(means.std(ddof=1) / math.sqrt(40), rel=0.05)
    fixed = estimate_powered([units], clusters=40, is_fixed=True).spread
    assert fixed is not None
    assert fixed.error < 0.2 * spread.error


def coverage(n: int, size: int, sims: int, human: Floats, model: Floats) -> tuple[float, float]:
    """The share of intervals that cover, and their mean width over that of human labels alone."""
    covered, widths = 0, []
    for seed in range(sims):
        rng = np.random.default_rng(seed)
        drawn = rng.choice(len(human), size)
        units = LabelledUnits(human[drawn[:n]], model[drawn[:n]], model[drawn])
        result = estimate_powered([units])
        low, high = result.combined.low, result.combined.high
        covered += low is not None and high is not None and low <= human.mean() <= high
        widths.append(result.width_ratio or math.nan)
    return covered / sims, float(np.nanmean(widths))


@pytest.mark.parametrize("n", [10, 20, 60])
def test_intervals_cover_also_with_few_labels(n: int) -> None:
    rng = np.random.default_rng(0)
    model = rng.integers(0, 4, 20_000).astype(np.float64)
    human = np.clip(model + rng.integers(-1, 2, 20_000), 0, 4).astype(np.float64)
    covering, width = coverage(n, 600, 400, human, model)
    assert 0.92 <= covering <= 0.98
    assert width < 0.85


@quick
@given(st.floats(0.1, 10), st.floats(-5, 5), st.integers(0, 50))
def test_scaling_and_shifting_the_values_does_the_same_to_the_estimate(a: float, b: float, seed: int) -> None:
    units = draw(40, 300, seed)
    moved = LabelledUnits(a * units.human + b, a * units.model + b, a * units.population + b)
    first, second = (estimate_powered([u]) for u in (units, moved))
    expected = [a * (end or 0.0) + b for end in first.combined[:3]]
    assert list(second.combined[:3]) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert second.scale == pytest.approx(first.scale)
