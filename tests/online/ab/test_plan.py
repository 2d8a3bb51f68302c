"""Plans of tests, beside statsmodels and simulation."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.power import TTestIndPower

from assay.core.errors import InputError
from assay.online.ab.cells import DAY, TestSums
from assay.online.ab.design import Margin
from assay.online.ab.plan import (
    ABPlan,
    PlanDesign,
    days_needed,
    plan_test,
    typed_sums,
    units_until,
    watching_inflation,
)
from assay.stats.clustered_quantiles import clustered_quantile
from assay.stats.experiment_power import Design
from tests.online.ab.tables import by_key, two_arms

TWO_PERCENT = Margin(0.02, True)


def typed(value: float = 10.0, deviation: float | None = 4.0, **design: object) -> ABPlan:
    return plan_test(typed_sums("x", value, deviation), PlanDesign(effects=[TWO_PERCENT], **design))  # type: ignore[arg-type]


def test_units_are_those_of_statsmodels() -> None:
    expected = 2 * TTestIndPower().solve_power(0.2 / 4, power=0.8, alpha=0.05)
    (effect,) = typed().metrics[0].effects
    assert effect.n == pytest.approx(expected, abs=2)
    assert effect.absolute == pytest.approx(0.2)
    assert effect.days is None


def test_the_effect_of_those_units_is_the_planned_one() -> None:
    n = typed().metrics[0].effects[0].n or 0
    (duration,) = typed(units=[n]).metrics[0].durations
    assert duration.relative == pytest.approx(0.02, rel=1e-4)


def test_a_share_needs_no_deviation_and_a_mean_does() -> None:
    assert typed(0.2, None).metrics[0].deviation == pytest.approx(0.4)
    with pytest.raises(InputError, match="--deviation"):
        typed(3.0, None)
    with pytest.raises(InputError, match="above 0"):
        typed(3.0, 0.0)


def test_looks_watching_and_arms_take_more_units() -> None:
    counts = [
        typed(**design).metrics[0].effects[0].n or 0
        for design in ({}, {"looks": 14}, {"is_watched": True}, {"arms": 3})
    ]
    assert counts[0] < counts[1] < 1.1 * counts[0] < counts[3] < counts[2] < 2 * counts[0]
    assert watching_inflation(Design()) == pytest.approx(((3.0351 + 0.8416) / 2.8016) ** 2, rel=1e-3)


def test_days_follow_from_the_days_of_the_data() -> None:
    days = {f"2026-01-{day:02d}": {"control": (600, 60), "candidate": (400, 41)} for day in range(1, 8)}
    plan = plan_test(by_key(DAY, days), PlanDesign(effects=[TWO_PERCENT, Margin(0.5, True)], coverage=0.5))
    slow, fast = plan.metrics[0].effects
    assert plan.units_by_day == [500.0] * 7
    assert fast.days == -(-(fast.n or 0) // 500)
    assert slow.days == -(-(slow.n or 0) // 500)
    assert [d.days for d in plan.metrics[0].durations] == [7, 14, 21, 28]
    assert plan.metrics[0].baseline.n == 7000


def test_a_gap_of_days_counts() -> None:
    days = {day: {"control": (100, 10)} for day in ("2026-01-01", "2026-01-05")}
    plan = plan_test(by_key(DAY, days), PlanDesign())
    assert plan.units_by_day == [100.0, 100.0, 0.0, 0.0, 0.0]


@given(st.lists(st.floats(1, 1000), max_size=20), st.integers(1, 50_000))
def test_the_days_needed_are_just_enough(by_day: list[float], n: int) -> None:
    days = days_needed(n, by_day)
    if not by_day:
        assert days is None
        return
    assert days is not None
    assert units_until(days, by_day) >= n * (1 - 1e-9)
    assert units_until(days - 1, by_day) < n


def test_a_quantile_is_planned_from_its_error() -> None:
    rng = np.random.default_rng(0)
    quantile = clustered_quantile(rng.exponential(100, 4000), np.arange(4000), 0.5)
    sums = TestSums((), quantiles={"p50": {"all": quantile}})
    (metric,) = plan_test(sums, PlanDesign()).metrics
    assert metric.deviation == pytest.approx(
        100, rel=0.25
    )  # 0.5 / density 0.005; the error is read from the data


def test_a_metric_without_spread_has_a_reason() -> None:
    (metric,) = plan_test(two_arms(hits=(0, 0)), PlanDesign()).metrics
    assert (metric.deviation, metric.effects) == (None, ())
    assert "the spread of units is unknown" in metric.reason


@pytest.mark.parametrize(
    "design",
    [{"level": 1.0}, {"power": 0.0}, {"arms": 1}, {"coverage": 0.0}, {"looks": 0}, {"days": [0]},
     {"units": [1]}, {"units_per_day": 0.0}, {"looks": 3, "is_watched": True}],
)  # fmt: skip
def test_designs_that_no_test_has_are_refused(design: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="expect"):
        typed(**design)
