"""Whether an effect differs between slices, and whether it changes over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from assay.online.ab.cells import Arm, TestSums
from assay.online.ab.comparisons import MetricResult, Partition, compare_metric, correct_by_role
from assay.online.ab.design import ABDesign
from assay.stats.corrections import holm
from assay.stats.effect_heterogeneity import EffectTrend, Heterogeneity, check_heterogeneity, fit_trend
from assay.stats.unit_differences import UnitDifference

Days = Mapping[str, Mapping[str, Arm]]


@dataclass(frozen=True)
class PartResult:
    """One metric of one variant in one slice or on one day."""

    column: str
    value: str
    result: MetricResult

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {"column": self.column, "value": self.value, **self.result.to_dict()}


@dataclass(frozen=True)
class SliceContrast:
    """Whether the effect on a metric is the same in all slices of a column."""

    column: str
    metric: str
    variant: str
    test: Heterogeneity
    corrected_p: float | None = None  # for all metrics and variants

    def to_dict(self) -> dict[str, Any]:
        """Return the contrast as plain data."""
        deviations = [
            {"value": s.name, "deviation": s.deviation.to_dict(), "p": s.p, "corrected_p": s.corrected_p}
            for s in self.test.slices
        ]
        return {
            "column": self.column,
            "metric": self.metric,
            "variant": self.variant,
            "p": self.test.p,
            "corrected_p": self.corrected_p,
            "i_squared": self.test.i_squared,
            "deviations": deviations,
            "left_out": list(self.test.left_out),
            "reason": self.test.reason or None,
        }


@dataclass(frozen=True)
class DayTrend:
    """The change of the effect on a metric from day to day."""

    metric: str
    variant: str
    trend: EffectTrend
    corrected_p: float | None = None

    @property
    def is_shown(self) -> bool:
        """Whether a change is shown after correction for all metrics and variants."""
        return self.corrected_p is not None and self.corrected_p < 1 - self.trend.slope.level

    @property
    def is_fading(self) -> bool | None:
        """Whether the effect is shown to shrink over the days (novelty); None: unknown."""
        return self.trend.is_fading and self.is_shown

    @property
    def is_growing(self) -> bool | None:
        """Whether the effect is shown to grow over the days (learning); None: unknown."""
        return self.trend.is_growing and self.is_shown

    def to_dict(self) -> dict[str, Any]:
        """Return the trend as plain data."""
        return {
            "metric": self.metric,
            "variant": self.variant,
            "slope": self.trend.slope.to_dict(),
            "p": self.trend.p,
            "corrected_p": self.corrected_p,
            "first": self.trend.first,
            "last": self.trend.last,
            "is_fading": self.is_fading,
            "is_growing": self.is_growing,
            "reason": self.trend.reason or None,
        }


@dataclass(frozen=True)
class Comparers:
    """The control and the variants that are compared with it, in each part."""

    metrics: Sequence[str]
    control: str
    variants: Sequence[str]
    design: ABDesign

    def compare(self, parts: Mapping[str, Partition], column: str) -> list[PartResult]:
        """Return the differences in each part, as they are for one look."""
        once = replace(self.design, is_watched=False, looks=None, planned_days=None, planned_n=None)
        return [
            PartResult(column, value, compare_metric(partition, metric, (self.control, variant), once))
            for value, partition in parts.items()
            for variant in self.variants
            for metric in self.metrics
        ]

    def pairs(self) -> list[tuple[str, str]]:
        """Return each metric with each variant."""
        return [(metric, variant) for variant in self.variants for metric in self.metrics]


def compare_slices(
    sums: TestSums, column: str, comparers: Comparers, partition: Callable[[TestSums], Partition]
) -> tuple[list[PartResult], list[SliceContrast]]:
    """Return the differences in each slice, and whether they differ from slice to slice.

    `partition` divides the sums of a slice by phase and stratum.
    """
    parts = {value: partition(part) for value, part in sums.divide(column).items()}
    results = comparers.compare(parts, column)
    corrected = correct_by_role([part.result for part in results], comparers.design.correction)
    results = [replace(part, result=result) for part, result in zip(results, corrected, strict=True)]
    level = comparers.design.level
    contrasts = [
        SliceContrast(column, metric, variant, check_heterogeneity(_effects(results, metric, variant), level))
        for metric, variant in comparers.pairs()
    ]
    ps = holm([contrast.test.p for contrast in contrasts])
    return results, [replace(c, corrected_p=p) for c, p in zip(contrasts, ps, strict=True)]


def compare_days(days: Days, column: str, comparers: Comparers) -> tuple[list[PartResult], list[DayTrend]]:
    """Return the differences of the units that came on each day, and how they change."""
    results = comparers.compare({day: {"all": arms} for day, arms in days.items()}, column)
    number = _day_numbers(list(days))
    trends = []
    for metric, variant in comparers.pairs():
        effects = _effects(results, metric, variant)
        by_number = {number(day): effect for day, effect in effects.items()}
        trends.append(DayTrend(metric, variant, fit_trend(by_number, comparers.design.level)))
    ps = holm([trend.trend.p for trend in trends])
    return results, [replace(t, corrected_p=p) for t, p in zip(trends, ps, strict=True)] if days else []


def _effects(results: Sequence[PartResult], metric: str, variant: str) -> dict[str, UnitDifference]:
    own = [part for part in results if (part.result.metric, part.result.variant) == (metric, variant)]
    return {part.value: part.result.absolute for part in own}


def _day_numbers(days: Sequence[str]) -> Callable[[str], float]:
    """Return what turns a day into a number: dates by the calendar, numbers as they are, else the place."""
    try:
        dates = {day: float(date.fromisoformat(day[:10]).toordinal()) for day in days}
        return dates.__getitem__
    except ValueError:
        pass
    try:
        numbers = {day: float(day) for day in days}
        return numbers.__getitem__
    except ValueError:
        return lambda day: float(days.index(day))
