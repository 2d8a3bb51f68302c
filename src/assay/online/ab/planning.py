"""How many units a test needs: its effect, the spread of its metrics by unit, and the power."""

from __future__ import annotations

from collections.abc import Sequence

from assay.online.ab.cells import TestSums
from assay.online.ab.design import ABDesign, Margin
from assay.stats.experiment_power import Design, sequential_inflation, unit_deviation, units_needed
from assay.stats.moments import Moments, add_moments
from assay.stats.unit_differences import arm_estimate


def needed_units(sums: TestSums, design: ABDesign, control: str, variants: Sequence[str]) -> float | None:
    """Return the units of all variants that the goals need to show the smallest difference that matters.

    None if no such difference is named, or no goal has a known spread.
    """
    if design.mde is None:
        return None
    arms = sums.arms()
    total = sum(arm.n for arm in arms.values())
    pairs = [arms[name].n + arms[control].n for name in variants if name in arms]
    needed = []
    for metric in sums.metrics:
        if design.role_of(metric).role != "goal":
            continue
        before = arms[control].metrics.get(metric)
        share = arms[variants[0]].n / max(1, pairs[0]) if pairs else 0.5
        needed.append(pair_units(before, design.mde, plan_design(design, share)) if before else None)
    known = [n for n in needed if n is not None]
    if not known or not pairs or not min(pairs):
        return None
    inflation = sequential_inflation(design.looks, plan_design(design)) if design.looks else 1.0
    return max(known) * inflation * total / min(pairs)


def plan_design(design: ABDesign, treatment_share: float = 0.5) -> Design:
    """Return the level, power and shares of two variants."""
    return Design(1 - design.level, design.power, min(max(treatment_share, 1e-6), 1 - 1e-6))


def pair_units(moments: Moments, effect: Margin, plan: Design) -> int | None:
    """Return the units of two variants that show an effect on a metric with these sums."""
    deviation = unit_deviation(moments)
    size = absolute_effect(moments, effect)
    return units_needed(size, deviation, plan) if deviation and size else None


def absolute_effect(moments: Moments, effect: Margin) -> float | None:
    """Return an effect on the scale of the metric; None if it is relative to an unknown value or 0."""
    value = arm_estimate(moments).value
    if not effect.is_relative:
        return effect.value
    return abs(value) * effect.value if value else None


def pooled_moments(sums: TestSums, metric: str) -> Moments:
    """Return the sums of a metric over all variants."""
    return add_moments(arm.metrics[metric] for arm in sums.arms().values() if metric in arm.metrics)
