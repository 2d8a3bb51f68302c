"""Whether the traffic of a test can be analysed: sample ratio, phases and multiple exposure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.online.ab.cells import DAY, PHASE, Arm, TestSums, counts_of
from assay.online.ab.design import ABDesign, Phase
from assay.online.ab.phases import Days, phase_by_day, phases_of_days
from assay.stats import phases as shares
from assay.stats.sample_ratio import (
    SRM_ALPHA,
    ExposureCheck,
    SampleRatio,
    check_exposures,
    check_sample_ratio,
    watch_sample_ratio,
)

IN_SEVERAL = "in several variants"  # the reason for which such units are left out


@dataclass(frozen=True)
class PartRatio:
    """The sample ratio of one day, stratum or slice."""

    column: str
    value: str
    ratio: SampleRatio

    def to_dict(self) -> dict[str, Any]:
        """Return the ratio as plain data."""
        return {"column": self.column, "value": self.value, **self.ratio.to_dict()}


@dataclass(frozen=True)
class Traffic:
    """The units of each variant beside the planned shares, by phase and by part."""

    ratio: SampleRatio
    exposures: ExposureCheck
    parts: Sequence[PartRatio] = ()
    phases: Sequence[shares.Phase] = ()
    has_unplanned_phases: bool = False
    phase_of: Mapping[str, str] = field(default_factory=dict)  # by day, if there are several phases

    @property
    def mismatches(self) -> list[PartRatio]:
        """The parts whose shares contradict the plan, with alpha divided by the number of parts."""
        tested = [part for part in self.parts if part.ratio.p is not None]
        alpha = SRM_ALPHA / max(1, len(tested))
        return [part for part in self.parts if part.ratio.is_mismatch(alpha)]

    @property
    def is_healthy(self) -> bool:
        """Whether nothing contradicts the plan."""
        has_fault = self.ratio.is_mismatch() or self.mismatches or self.has_unplanned_phases
        return not has_fault and not self.exposures.has_too_many_in_several_arms

    @property
    def faults(self) -> list[str]:
        """What contradicts the plan, in words."""
        several = 100 * (self.exposures.several_share or 0)
        changes = ", ".join(phase.periods[0] for phase in self.phases[1:])
        hint = "if that was planned, say so with --shares DAY:VARIANT=SHARE,…"
        faults = {
            "the units of the variants do not have the planned shares": self.ratio.is_mismatch(),
            f"the shares differ from the plan in {self._name_mismatches()}": self.mismatches,
            f"the shares of the variants changed on {changes}; {hint}": self.has_unplanned_phases,
            f"{several:.1f} % of the units were in several variants": (
                self.exposures.has_too_many_in_several_arms
            ),
        }
        return [fault for fault, is_there in faults.items() if is_there]

    def _name_mismatches(self) -> str:
        names = [f"{part.column} {part.value}" for part in self.mismatches]
        return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the test of the sample ratio as plain data."""
        return {
            **self.ratio.to_dict(),
            "alpha": SRM_ALPHA,
            "is_mismatch": self.ratio.is_mismatch(),
            "parts": [part.to_dict() for part in self.parts],
            "mismatches": [{"column": part.column, "value": part.value} for part in self.mismatches],
        }


def check_traffic(sums: TestSums, names: Sequence[str], design: ABDesign) -> Traffic:
    """Return the sample ratio of a test, in all and by part, and its phases."""
    arms = sums.arms()
    days = sums.split(DAY) if sums.has(DAY) else {}
    plan = list(design.phases) or [Phase(dict.fromkeys(names, 1.0))]
    phases = phases_of_days(days, names, design)
    phase_of = phase_by_day(phases) if len(phases) > 1 else {}
    return Traffic(
        _total_ratio(days, arms, names, plan, phases, design.is_watched),
        check_exposures(
            {name: arm.n for name, arm in arms.items()},
            sums.excluded.get(IN_SEVERAL, 0),
            least_units=design.min_n,
        ),
        [] if len(plan) > 1 or phase_of else _part_ratios(sums, names, plan[0]),
        phases,
        len(phases) > 1 and len(plan) == 1,
        phase_of,
    )


def _total_ratio(
    days: Days,
    arms: Mapping[str, Arm],
    names: Sequence[str],
    plan: Sequence[Phase],
    phases: Sequence[shares.Phase],
    is_watched: bool,
) -> SampleRatio:
    """Return the sample ratio of all units; with several planned phases, that of the worst of them."""
    if len(plan) == 1 or len(phases) < 2:
        weights = {name: plan[0].shares.get(name, 0.0) for name in dict.fromkeys([*plan[0].shares, *names])}
        steps = [_counts(day, names) for day in days.values()] or [_counts(arms, names)]
        return _ratio(steps, weights, is_watched)
    ratios = []
    for phase in phases:
        planned = _plan_of(phase.periods[0], plan).shares
        steps = [_counts(days[day], names) for day in phase.periods]
        ratios.append(_ratio(steps, {name: planned.get(name, 0.0) for name in names}, is_watched))
    ps = [ratio.p for ratio in ratios if ratio.p is not None]
    return SampleRatio(
        {name: sum(ratio.observed.get(name, 0) for ratio in ratios) for name in names},
        {name: sum(ratio.expected.get(name, 0.0) for ratio in ratios) for name in names},
        min(1.0, len(ps) * min(ps)) if ps else None,
        f"{ratios[0].method}, by phase",
        "" if ps else ratios[0].reason,
        sum(ratio.unplanned for ratio in ratios),
    )


def _plan_of(day: str, plan: Sequence[Phase]) -> Phase:
    """Return the plan that holds on a day."""
    begun = [phase for phase in plan if phase.start is None or phase.start <= day]
    return max(begun or plan, key=lambda phase: phase.start or "")


def _counts(arms: Mapping[str, Arm], names: Sequence[str]) -> dict[str, int]:
    return dict(zip(names, counts_of(arms, names), strict=True))


def _ratio(steps: Sequence[Mapping[str, int]], weights: Mapping[str, float], is_watched: bool) -> SampleRatio:
    if not weights:
        return SampleRatio({}, {}, None, "chi-squared", "no units")
    if is_watched:
        return watch_sample_ratio(steps, weights)
    totals = {name: sum(step.get(name, 0) for step in steps) for name in weights}
    return check_sample_ratio(totals, weights)


def _part_ratios(sums: TestSums, names: Sequence[str], plan: Phase) -> list[PartRatio]:
    """Return the sample ratio of each day, stratum and slice."""
    weights = {name: plan.shares.get(name, 0.0) for name in names}
    return [
        PartRatio(column, value, check_sample_ratio(_counts(arms, names), weights))
        for column in sums.columns
        if column != PHASE
        for value, arms in sums.split(column).items()
    ]
