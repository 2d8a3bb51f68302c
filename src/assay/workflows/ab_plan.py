"""Plan an A/B test from past data or a typed baseline: what `assay online plan` does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from assay.core.errors import InputError
from assay.online.ab.plan import ABPlan, PlanDesign, plan_test, typed_sums, without_interval
from assay.workflows.ab_test import ABRequest, read_test_sums

__all__ = ["ABPlan", "PlanDesign", "PlanRequest", "plan_ab_test"]


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """Past data, or the baseline of one metric, and how the test will be looked at."""

    past: ABRequest | None = None
    baseline: float | None = None
    deviation: float | None = None
    name: str = "metric"  # of the typed baseline
    design: PlanDesign = field(default_factory=PlanDesign)

    def __post_init__(self) -> None:
        if (self.past is None) == (self.baseline is None):
            found = "neither" if self.past is None else "both"
            raise InputError(f"expected past data (a log, units or sums) or --baseline VALUE, found {found}")
        if self.deviation is not None and self.baseline is None:
            raise InputError("--deviation is of a typed baseline: give --baseline VALUE too")


def plan_ab_test(request: PlanRequest) -> ABPlan:
    """Return the units and days that a test needs, and the effects that it can show."""
    if request.baseline is not None:
        sums = typed_sums(request.name, request.baseline, request.deviation)
        return without_interval(plan_test(sums, request.design))
    assert request.past is not None
    summed = read_test_sums(replace(request.past, is_past=True))
    return plan_test(summed.sums, request.design)
