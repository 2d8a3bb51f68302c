"""Phases of a test: the days between which the shares of the variants changed, planned or detected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from assay.online.ab.cells import Arm, counts_of
from assay.online.ab.design import ABDesign
from assay.stats.phases import Phase, find_phases

Days = Mapping[str, Mapping[str, Arm]]


def phases_of_days(days: Days, names: Sequence[str], design: ABDesign) -> list[Phase]:
    """Return the planned phases, or those that the counts by day show; one if the shares did not change."""
    counts = [(day, dict(zip(names, counts_of(arms, names), strict=True))) for day, arms in days.items()]
    if len(counts) < 2:
        return []
    if len(design.phases) > 1:
        return _planned_phases(counts, [phase.start for phase in design.phases if phase.start is not None])
    return find_phases(counts)


def _planned_phases(counts: Sequence[tuple[str, Mapping[str, int]]], starts: Sequence[str]) -> list[Phase]:
    days = [day for day, _ in counts]
    places = {next((i for i, day in enumerate(days) if day >= start), len(days)) for start in starts}
    phases = []
    for first, last in pairwise(sorted({0, len(days), *places})):
        part = [units for _, units in counts[first:last]]
        totals = {name: sum(units[name] for units in part) for name in part[0]}
        phases.append(Phase(tuple(days[first:last]), totals))
    return phases


def phase_by_day(phases: Sequence[Phase]) -> dict[str, str]:
    """Return the name of the phase of each day."""
    return {day: phase.name for phase in phases for day in phase.periods}
