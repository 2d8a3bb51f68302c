"""The plan of an A/B test from past data: units and days for an effect, and the effect that days can show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.core.errors import InputError
from assay.online.ab.cells import DAY, Cell, TestSums
from assay.online.ab.design import Margin
from assay.online.ab.planning import pooled_moments
from assay.online.ab.progress import count_days
from assay.stats import Estimate
from assay.stats.distributions import normal_quantile
from assay.stats.experiment_power import (
    Design,
    detectable_effect,
    sequential_inflation,
    unit_deviation,
    units_needed,
)
from assay.stats.moments import Moments
from assay.stats.sequential.always_valid import half_width_ratio
from assay.stats.unit_differences import arm_estimate

DAYS = (7, 14, 21, 28)
EFFECTS = (Margin(0.01, True), Margin(0.02, True), Margin(0.05, True), Margin(0.1, True))
_RECENT_DAYS = 7


@dataclass(frozen=True, kw_only=True)
class PlanDesign:
    """How a test is planned."""

    effects: Sequence[Margin] = EFFECTS
    days: Sequence[int] = ()  # empty: DAYS, if the data say how many units come on a day
    units: Sequence[int] = ()  # of all arms together
    units_per_day: float | None = None  # None: those of the data
    level: float = 0.95
    power: float = 0.8
    arms: int = 2  # the control and its variants, with equal shares
    coverage: float = 1.0  # the share of the units that take part
    looks: int | None = None
    is_watched: bool = False

    def __post_init__(self) -> None:
        problems = [
            (0 < self.level < 1, f"--level expects a number between 0 and 1, found {self.level:g}"),
            (0 < self.power < 1, f"--power expects a number between 0 and 1, found {self.power:g}"),
            (self.arms >= 2, f"--arms expects 2 or more, found {self.arms}"),
            (0 < self.coverage <= 1, f"--coverage expects a share above 0, found {self.coverage:g}"),
            (self.looks is None or self.looks >= 1, f"--looks expects 1 or more, found {self.looks}"),
            (not (self.looks and self.is_watched), "expected --looks or --watch, found both"),
            (all(day >= 1 for day in self.days), "--days expects 1 or more"),
            (all(n >= 4 for n in self.units), "--units expects 4 or more"),
            (all(e.value > 0 for e in self.effects), "--mde expects a difference above 0"),
            (
                self.units_per_day is None or self.units_per_day > 0,
                "--units-per-day expects a number above 0",
            ),
        ]
        for is_valid, message in problems:
            if not is_valid:
                raise InputError(message)

    @property
    def pair(self) -> Design:
        """The comparison of one variant with the control: the best of several variants is chosen."""
        return Design((1 - self.level) / (self.arms - 1), self.power)

    @property
    def inflation(self) -> float:
        """How many times the units of a fixed test are needed."""
        if self.is_watched:
            return watching_inflation(self.pair)
        return sequential_inflation(self.looks, self.pair) if self.looks else 1.0

    @property
    def method(self) -> str:
        """How the test will be looked at."""
        return "always-valid" if self.is_watched else "group-sequential" if self.looks else "fixed"


def watching_inflation(design: Design) -> float:
    """Return how many times the units of a fixed test an always-valid one needs; one look, a safe number.

    >>> round(watching_inflation(Design()), 2)
    1.91
    """
    power = normal_quantile(design.power)
    watched = half_width_ratio(1000, 1000, design.alpha) + power
    return (watched / (normal_quantile(1 - design.alpha / 2) + power)) ** 2


@dataclass(frozen=True)
class PlannedEffect:
    """The units and the days that show an effect; None: unknown, or no number does."""

    effect: Margin
    absolute: float | None
    n: int | None
    days: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the effect as plain data."""
        effect = {"value": self.effect.value, "is_relative": self.effect.is_relative}
        return {"effect": effect, "absolute": self.absolute, "n": self.n, "days": self.days}


@dataclass(frozen=True)
class PlannedDuration:
    """The smallest effect that a number of units shows."""

    n: int
    days: int | None
    detectable: float | None
    relative: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the duration as plain data."""
        return {"days": self.days, "n": self.n, "detectable": self.detectable, "relative": self.relative}


@dataclass(frozen=True)
class PlannedMetric:
    """One metric: its value and spread in the past, and what a test can show of it."""

    metric: str
    baseline: Estimate
    deviation: float | None  # of one unit, after CUPED
    variance_reduction: float | None
    effects: Sequence[PlannedEffect]
    durations: Sequence[PlannedDuration]
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the metric as plain data."""
        return {
            "metric": self.metric,
            "baseline": self.baseline.to_dict(),
            "deviation": self.deviation,
            "variance_reduction": self.variance_reduction,
            "effects": [effect.to_dict() for effect in self.effects],
            "durations": [duration.to_dict() for duration in self.durations],
            "reason": self.reason or None,
        }


@dataclass(frozen=True)
class ABPlan:
    """The plan of a test for each metric."""

    design: PlanDesign
    metrics: Sequence[PlannedMetric]
    units_by_day: Sequence[float] = ()
    notes: Sequence[str] = ()

    @property
    def is_decidable(self) -> bool:
        """Whether there is a metric with a known spread."""
        return any(metric.deviation is not None for metric in self.metrics)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data, as `assay online plan --format json` prints it."""
        design = self.design
        return {
            "metrics": [metric.to_dict() for metric in self.metrics],
            "level": design.level,
            "power": design.power,
            "arms": design.arms,
            "coverage": design.coverage,
            "inference": design.method,
            "looks": design.looks,
            "inflation": design.inflation,
            "units_by_day": list(self.units_by_day),
            "notes": list(self.notes),
        }


def plan_test(sums: TestSums, design: PlanDesign) -> ABPlan:
    """Return the plan of a test from the sums of past units of all variants together."""
    by_day = _units_by_day(sums, design)
    metrics = [_plan_metric(sums, name, design, by_day) for name in sums.metrics]
    if not metrics:
        raise InputError("expected metrics in the past data, found none")
    return ABPlan(design, metrics, by_day, sums.notes)


def _units_by_day(sums: TestSums, design: PlanDesign) -> list[float]:
    """Return the new units of each day that would take part."""
    if design.units_per_day is not None:
        return [design.units_per_day * design.coverage]
    if not sums.has(DAY):
        return []
    days = sums.split(DAY)
    counts = [sum(arm.n for arm in arms.values()) * design.coverage for arms in days.values()]
    empty = count_days(list(days)) - len(days)  # days on which no unit came are at the end: the safe order
    return counts + [0.0] * max(0, empty)


def units_until(day: int, by_day: Sequence[float]) -> float:
    """Return the units of the first days; after the data, at the mean of their last seven days.

    >>> units_until(3, [100.0, 50.0]), units_until(1, [100.0, 50.0])
    (225.0, 100.0)
    """
    known = sum(by_day[:day])
    return known + max(0, day - len(by_day)) * _recent_mean(by_day)


def _recent_mean(by_day: Sequence[float]) -> float:
    recent = list(by_day)[-_RECENT_DAYS:]
    return sum(recent) / len(recent) if recent else 0.0


def days_needed(n: int, by_day: Sequence[float]) -> int | None:
    """Return the days until n units have come; None if that is unknown.

    >>> days_needed(120, [100.0, 50.0]), days_needed(1000, [])
    (2, None)
    """
    total = 0.0
    for day, units in enumerate(by_day, 1):
        total += units
        if total >= n:
            return day
    rate = _recent_mean(by_day)
    return len(by_day) + math.ceil((n - total) / rate - 1e-9) if rate > 0 else None


def _plan_metric(sums: TestSums, metric: str, design: PlanDesign, by_day: Sequence[float]) -> PlannedMetric:
    if metric in sums.quantiles:
        quantile = max(sums.quantiles[metric].values(), key=lambda q: q.users)
        deviation = quantile.error * math.sqrt(quantile.users) if quantile.error else None
        return _plan(metric, quantile.estimate, (deviation, None), design, by_day, quantile.reason)
    moments = pooled_moments(sums, metric)
    baseline = arm_estimate(moments, design.level)
    return _plan(metric, baseline, _spread(moments), design, by_day)


def _spread(moments: Moments) -> tuple[float | None, float | None]:
    """Return the deviation of a unit, and the share of the variance that the covariate explains."""
    deviation = unit_deviation(moments)
    plain = unit_deviation(moments, use_covariate=False)
    if not moments.has_covariate or not deviation or not plain:
        return deviation, None
    return deviation, 1 - (deviation / plain) ** 2


def _plan(
    metric: str,
    baseline: Estimate,
    spread: tuple[float | None, float | None],
    design: PlanDesign,
    by_day: Sequence[float],
    reason: str = "",
) -> PlannedMetric:
    deviation, reduction = spread
    if not deviation:
        reason = reason or "the spread of units is unknown: fewer than 2 units, or all units are alike"
        return PlannedMetric(metric, baseline, None, None, (), (), reason)
    effects = [_plan_effect(baseline, deviation, effect, design, by_day) for effect in design.effects]
    sizes: list[tuple[int, int | None]] = [(n, days_needed(n, by_day)) for n in design.units]
    days = design.days or (DAYS if by_day and not design.units else ())
    sizes += [(round(units_until(day, by_day)), day) for day in days if by_day]
    durations = [_plan_duration(baseline, deviation, size, design) for size in sizes]
    return PlannedMetric(metric, baseline, deviation, reduction, effects, durations)


def _plan_effect(
    baseline: Estimate, deviation: float, effect: Margin, design: PlanDesign, by_day: Sequence[float]
) -> PlannedEffect:
    size = abs(baseline.value or 0.0) * effect.value if effect.is_relative else effect.value
    pair = units_needed(size, deviation, design.pair) if size else None
    if pair is None:
        return PlannedEffect(effect, size or None, None)
    n = math.ceil(pair * design.inflation * design.arms / 2)
    return PlannedEffect(effect, size, n, days_needed(n, by_day))


def _plan_duration(
    baseline: Estimate, deviation: float, size: tuple[int, int | None], design: PlanDesign
) -> PlannedDuration:
    n, days = size
    pair = n * 2 / design.arms / design.inflation
    effect = detectable_effect(deviation, pair, design.pair)
    value = baseline.value
    return PlannedDuration(n, days, effect, effect / abs(value) if effect is not None and value else None)


def typed_sums(name: str, value: float, deviation: float | None) -> TestSums:
    """Return the sums of a baseline that was typed: a share, or a mean with its standard deviation."""
    if deviation is None:
        if not 0 < value < 1:
            raise InputError(
                f"--baseline {value:g} is no share between 0 and 1: give the standard deviation of a unit "
                "with --deviation"
            )
        deviation = math.sqrt(value * (1 - value))
    if not deviation > 0:
        raise InputError(f"--deviation expects a number above 0, found {deviation:g}")
    n = 1_000_000  # enough for the sums to stand for the values as they are
    squares = deviation**2 * (n - 1) + n * value**2
    return TestSums([Cell("all", (), n, {name: Moments(n, n * value, squares)})])


def without_interval(plan: ABPlan) -> ABPlan:
    """Return a plan whose baselines were typed: they have no n and no interval."""
    metrics = [
        replace(m, baseline=Estimate(m.baseline.value, None, None, m.baseline.level, 0)) for m in plan.metrics
    ]
    return replace(plan, metrics=metrics)
