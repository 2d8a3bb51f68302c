"""Phases of an experiment with constant shares of the arms.

If the treatment's share changes while the metric moves, a pooled comparison shows an effect that is not
there (Simpson's paradox). Differences are then computed within phases and weighted by their units:
pass `{phase: moments}` as each arm to `assay.stats.unit_differences.difference`. A unit belongs to the
phase of its first exposure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

PHASE_ALPHA = 0.001


class Phase(NamedTuple):
    """Consecutive periods (days) in which the arms had the same shares."""

    periods: tuple[str, ...]
    counts: Mapping[str, int]

    @property
    def name(self) -> str:
        """The first and the last period."""
        first, last = self.periods[0], self.periods[-1]
        return first if first == last else f"{first} to {last}"


def find_phases(counts: Sequence[tuple[str, Mapping[str, int]]], alpha: float = PHASE_ALPHA) -> list[Phase]:
    """Group periods in the order of time; a new phase begins where the shares of the arms change.

    A period joins the running phase unless a chi-squared test of their shares is below
    alpha / (number of periods).

    >>> days = [("d1", {"a": 950, "b": 50}), ("d2", {"a": 940, "b": 60}), ("d3", {"a": 500, "b": 510})]
    >>> [phase.name for phase in find_phases(days)]
    ['d1 to d2', 'd3']
    """
    phases: list[Phase] = []
    for period, units in counts:
        if phases and not _has_changed(phases[-1].counts, units, alpha / len(counts)):
            last = phases[-1]
            joint = {arm: last.counts.get(arm, 0) + units.get(arm, 0) for arm in {**last.counts, **units}}
            phases[-1] = Phase((*last.periods, period), joint)
        else:
            phases.append(Phase((period,), dict(units)))
    return phases


def _has_changed(before: Mapping[str, int], after: Mapping[str, int], alpha: float) -> bool:
    p = homogeneity_p(before, after)
    return p is not None and p < alpha


def homogeneity_p(first: Mapping[str, int], second: Mapping[str, int]) -> float | None:
    """p of the chi-squared test that two periods have the same shares of arms; None: no units."""
    from scipy.special import chdtrc

    totals = sum(first.values()), sum(second.values())
    joint = {arm: first.get(arm, 0) + second.get(arm, 0) for arm in {**first, **second}}
    arms = [arm for arm, count in joint.items() if count]
    if not all(totals):
        return None
    if len(arms) < 2:
        return 1.0
    n, statistic = sum(totals), 0.0
    for period, total in zip((first, second), totals, strict=True):
        for arm in arms:
            expected = total * joint[arm] / n
            statistic += (period.get(arm, 0) - expected) ** 2 / expected
    return float(chdtrc(len(arms) - 1, statistic))
