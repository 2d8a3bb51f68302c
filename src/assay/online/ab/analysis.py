"""The analysis of an A/B test: its differences, its traffic, its progress and its status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.core.errors import InputError
from assay.core.events import Problem
from assay.core.suggestions import did_you_mean
from assay.online.ab.cells import DAY, PHASE, STRATUM, TestSums
from assay.online.ab.comparisons import MetricResult, Partition, compare_all
from assay.online.ab.design import ABDesign
from assay.online.ab.over_time import compare_until_each_day
from assay.online.ab.parts import Comparers, DayTrend, PartResult, SliceContrast, compare_days, compare_slices
from assay.online.ab.planning import needed_units
from assay.online.ab.progress import Progress, count_days, measure_progress
from assay.online.ab.status import (
    NO_DATA,
    UNHEALTHY,
    Status,
    VariantVerdict,
    decide_variant,
    join_statuses,
)
from assay.online.ab.traffic import Traffic, check_traffic


@dataclass(frozen=True)
class ABTest:
    """An A/B test with its verdict and what that rests on."""

    status: Status
    design: ABDesign
    control: str | None
    units: Mapping[str, int]  # by variant
    traffic: Traffic
    progress: Progress
    metrics: Sequence[MetricResult] = ()
    verdicts: Sequence[VariantVerdict] = ()
    slices: Sequence[PartResult] = ()
    heterogeneity: Sequence[SliceContrast] = ()
    days: Sequence[PartResult] = ()
    novelty: Sequence[DayTrend] = ()
    over_time: Sequence[PartResult] = ()  # of all units until each day, always valid
    excluded: Mapping[str, int] | None = None
    notes: Sequence[str] = ()
    problems: Sequence[Problem] = ()  # of the log of events

    @property
    def exit_code(self) -> int:
        """0, 1 if a guardrail fails, 3 if the data cannot decide."""
        return self.status.exit_code

    def to_dict(self) -> dict[str, Any]:
        """Return the test as plain data, as `assay online ab --format json` prints it."""
        return {
            "status": self.status.label,
            "reasons": list(self.status.reasons),
            "srm": self.traffic.to_dict(),
            "metrics": [result.to_dict() for result in self.metrics],
            "control": self.control,
            "variants": [{"name": name, "n": n} for name, n in self.units.items()],
            "inference": self.design.method,
            "level": self.design.level,
            "correction": self.design.correction,
            "days_left": self.status.days_left,
            "progress": self.progress.to_dict(),
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "phases": [
                {"first": phase.periods[0], "last": phase.periods[-1], "observed": dict(phase.counts)}
                for phase in self.traffic.phases
            ],
            "slices": [part.to_dict() for part in self.slices],
            "heterogeneity": [contrast.to_dict() for contrast in self.heterogeneity],
            "days": [part.to_dict() for part in self.days],
            "novelty": [contrast.to_dict() for contrast in self.novelty],
            "over_time": [part.to_dict() for part in self.over_time],
            "excluded": dict(self.excluded or {}),
            "notes": list(self.notes),
            "problems": [problem.to_dict() for problem in self.problems],
        }


def analyse_sums(sums: TestSums, design: ABDesign) -> ABTest:
    """Return the analysis of the sums of all variants."""
    _check_roles(sums, design)
    planned = [name for phase in design.phases for name, share in phase.shares.items() if share > 0]
    names = list(dict.fromkeys([*sums.variants, *planned]))
    arms = sums.arms()
    units = {name: arms[name].n if name in arms else 0 for name in names}
    traffic = check_traffic(sums, names, design)
    days = list(sums.split(DAY)) if sums.has(DAY) else []
    problem = _find_obstacle(units, sums)
    if problem:
        progress = Progress(sum(units.values()), count_days(days) if days else None)
        control = design.control if design.control in names else None
        status = Status(NO_DATA, [problem])
        return ABTest(
            status,
            design,
            control,
            units,
            traffic,
            progress,
            excluded=sums.excluded,
            notes=sums.notes,
        )
    control = design.find_control(names)
    variants = [name for name in names if name != control]
    return _analyse(sums, design, control, variants, traffic, units)


def _check_roles(sums: TestSums, design: ABDesign) -> None:
    """Refuse roles of metrics that are not there."""
    for name in design.roles:
        if sums.cells and name not in sums.metrics:
            hint = did_you_mean(name, sums.metrics) or f"metrics: {', '.join(sums.metrics)}"
            raise InputError(f"there is no metric {name}; {hint}")


def _find_obstacle(units: Mapping[str, int], sums: TestSums) -> str:
    """Return why no difference can be computed at all, or nothing."""
    present = [name for name, n in units.items() if n]
    if not present:
        return "there are no units"
    if len(present) == 1:
        return f"only one variant has units: {present[0]}"
    return "" if sums.metrics else "there are no metrics"


def _analyse(
    sums: TestSums,
    design: ABDesign,
    control: str,
    variants: Sequence[str],
    traffic: Traffic,
    units: Mapping[str, int],
) -> ABTest:
    days = sums.split(DAY) if sums.has(DAY) else {}
    needed = needed_units(sums, design, control, variants)
    new_units = {day: sum(arm.n for arm in arms.values()) for day, arms in days.items()}
    progress = measure_progress(design, sum(units.values()), new_units, needed)
    plan = _resolve_plan(design, progress)
    if traffic.phase_of or sums.has(PHASE):
        sums = _without_pooled_quantiles(sums)
    results = compare_all(sums, _partition(sums, traffic), control, variants, plan)
    verdicts = [
        decide_variant(v, [r for r in results if r.variant == v], plan, progress, len(variants))
        for v in variants
    ]
    comparers = Comparers(sums.summed_metrics, control, variants, design)
    slices = [
        compare_slices(sums, column, comparers, lambda part: _partition(part, traffic))
        for column in sums.columns
        if column not in (DAY, STRATUM, PHASE)
    ]
    by_day = compare_days(days, DAY, comparers)
    return ABTest(
        status=_join_status(verdicts, traffic),
        design=plan,
        control=control,
        units=units,
        traffic=traffic,
        progress=progress,
        metrics=results,
        verdicts=verdicts,
        slices=[part for parts, _ in slices for part in parts],
        heterogeneity=[contrast for _, contrasts in slices for contrast in contrasts],
        days=by_day[0],
        novelty=by_day[1],
        over_time=compare_until_each_day(sums, comparers, lambda part: _partition(part, traffic))
        if days
        else [],
        excluded=sums.excluded,
        notes=sums.notes,
    )


def _resolve_plan(design: ABDesign, progress: Progress) -> ABDesign:
    """Return the design with the number of units that its end means."""
    if progress.planned_n is None:
        return design
    return replace(design, planned_n=max(2, round(progress.planned_n)))


def _without_pooled_quantiles(sums: TestSums) -> TestSums:
    """Return sums whose quantiles are unknown: they are of all phases together."""
    reason = "the shares of the variants changed, and a quantile is not computed by phase"
    unknown = {
        metric: {name: arm._replace(reason=arm.reason or reason) for name, arm in arms.items()}
        for metric, arms in sums.quantiles.items()
    }
    return replace(sums, quantiles=unknown)


def _partition(sums: TestSums, traffic: Traffic) -> Partition:
    """Return the sums by stratum and phase, within which the variants are compared."""
    columns = [column for column in (PHASE, STRATUM) if sums.has(column)]
    if not columns and not traffic.phase_of:
        return {"all": sums.arms()}
    return sums.split_by(columns, traffic.phase_of)


def _join_status(verdicts: Sequence[VariantVerdict], traffic: Traffic) -> Status:
    if traffic.is_healthy:
        return join_statuses(verdicts)
    return Status(UNHEALTHY, traffic.faults)
