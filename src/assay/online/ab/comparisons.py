"""The difference of each metric between a variant and the control, by the method of the test's plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.online.ab.cells import Arm, TestSums
from assay.online.ab.design import ABDesign, MetricRole
from assay.stats import Estimate
from assay.stats.arms import Strata, merge_small_strata
from assay.stats.clustered_quantiles import ClusteredQuantile, quantile_difference
from assay.stats.corrections import Ps, benjamini_hochberg, holm
from assay.stats.moments import Moments
from assay.stats.sequential.always_valid import PLANNED_N, make_always_valid
from assay.stats.sequential.group_sequential import Looks, make_group_sequential
from assay.stats.unit_differences import UnitDifference, difference, relative_difference

Partition = Mapping[str, Mapping[str, Arm]]  # the sums of each variant by stratum, phase or both
_CORRECTIONS: Mapping[str, Callable[[Ps], list[float | None]]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    "none": list,
}


@dataclass(frozen=True)
class MetricResult:
    """One metric of one variant beside the control."""

    metric: str
    role: MetricRole
    variant: str
    absolute: UnitDifference
    relative: UnitDifference
    corrected_p: float | None = None  # for all metrics of the same role, and all variants

    @property
    def control(self) -> Estimate:
        """The mean or ratio of the control."""
        return self.absolute.control

    @property
    def treatment(self) -> Estimate:
        """The mean or ratio of the variant."""
        return self.absolute.treatment

    @property
    def improvement(self) -> float | None:
        """The difference, above 0 if the variant is better."""
        value = self.absolute.estimate.value
        return -value if value is not None and self.role.lower_is_better else value

    def direction(self) -> str | None:
        """`better` or `worse` if the variant is shown to be so after correction, else None."""
        alpha = 1 - self.absolute.estimate.level
        if self.corrected_p is None or self.corrected_p > alpha or not self.improvement:
            return None
        return "better" if self.improvement > 0 else "worse"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "metric": self.metric,
            "role": self.role.role,
            "variant": self.variant,
            "control": self.control.to_dict(),
            "treatment": self.treatment.to_dict(),
            "difference": self.absolute.estimate.to_dict(),
            "relative": self.relative.estimate.to_dict(),
            "p": self.absolute.p,
            "method": self.absolute.method,
            "relative_p": self.relative.p,
            "corrected_p": self.corrected_p,
            "direction": self.direction(),
            "lower_is_better": self.role.lower_is_better,
            "margin": {"value": self.role.margin.value, "is_relative": self.role.margin.is_relative},
            "variance_reduction": self.absolute.variance_reduction,
            "level": self.absolute.estimate.level,
            "reason": self.absolute.reason or None,
            "relative_reason": self.relative.reason or None,
        }


Inference = Callable[[UnitDifference], UnitDifference]


def choose_inference(design: ABDesign, role: str, n: int) -> Inference:
    """Return what turns a difference of n units into one that is valid for how the test is looked at.

    Guardrails of a planned test are watched: they may end it at any time.
    """
    if design.is_watched or (role == "guardrail" and design.has_planned_end):
        planned_n = design.planned_n or PLANNED_N
        return lambda change: make_always_valid(change, planned_n)
    if design.looks:
        looks = past_looks(design, n)
        return lambda change: make_group_sequential(change, looks)
    return lambda change: change


def past_looks(design: ABDesign, n: int) -> Looks:
    """Return the looks until now: the planned ones that have passed, and this one."""
    planned = float(design.planned_n or n)
    step = planned / (design.looks or 1)
    passed = [step * i for i in range(1, (design.looks or 1) + 1) if step * i < n * (1 - 1e-9)]
    is_final = n >= planned * (1 - 1e-9)
    return Looks((*[look for look in passed if look < planned], float(n)), planned, is_final=is_final)


def compare_metric(
    partition: Partition, metric: str, names: tuple[str, str], design: ABDesign
) -> MetricResult:
    """Return one metric of a variant beside the control; `names` are those of control and variant."""
    role = design.role_of(metric)
    control, treatment = _sums_of(partition, metric, names)
    absolute = difference(control, treatment, level=design.level)
    relative = relative_difference(control, treatment, level=design.level)
    inference = choose_inference(design, role.role, absolute.n)
    return MetricResult(metric, role, names[1], inference(absolute), inference(relative))


def _sums_of(
    partition: Partition, metric: str, names: tuple[str, str]
) -> tuple[Moments | Strata, Moments | Strata]:
    """Return the sums of control and variant, by stratum if there are several."""
    arms: list[dict[str, Moments]] = [
        {
            label: arm.metrics[metric]
            for label, by_variant in partition.items()
            if (arm := by_variant.get(name)) is not None and metric in arm.metrics
        }
        for name in names
    ]
    if len(partition) == 1:
        control, treatment = (next(iter(arm.values()), Moments()) for arm in arms)
        return control, treatment
    return merge_small_strata(arms[0], arms[1])


def compare_quantile(
    quantiles: Mapping[str, ClusteredQuantile], metric: str, names: tuple[str, str], design: ABDesign
) -> MetricResult:
    """Return a quantile of a variant beside the control."""
    role = design.role_of(metric)
    control, treatment = (quantiles.get(name) or _NO_QUANTILE for name in names)
    absolute = quantile_difference(control, treatment, level=design.level)
    relative = quantile_difference(control, treatment, level=design.level, is_relative=True)
    inference = choose_inference(design, role.role, absolute.n)
    return MetricResult(metric, role, names[1], inference(absolute), inference(relative))


_NO_QUANTILE = ClusteredQuantile(0.5, None, None, (None, None), 0.95, 0, 0, "no values")


def compare_all(
    sums: TestSums, partition: Partition, control: str, variants: Sequence[str], design: ABDesign
) -> list[MetricResult]:
    """Return all metrics of all variants, with p corrected within each role."""
    results = []
    for variant in variants:
        for metric in sums.metrics:
            names = (control, variant)
            if metric in sums.quantiles:
                quantiles = sums.quantiles[metric]
                results.append(compare_quantile(quantiles, metric, names, design))
            else:
                results.append(compare_metric(partition, metric, names, design))
    return correct_by_role(results, design.correction)


def correct_by_role(results: Sequence[MetricResult], correction: str) -> list[MetricResult]:
    """Return the results with p corrected for all metrics of the same role, and all variants."""
    correct = _CORRECTIONS[correction]
    corrected_ps: dict[int, float | None] = {}
    for role in dict.fromkeys(result.role.role for result in results):
        own = [result for result in results if result.role.role == role]
        ps = correct([result.absolute.p for result in own])
        corrected_ps |= {id(result): p for result, p in zip(own, ps, strict=True)}
    return [replace(result, corrected_p=corrected_ps[id(result)]) for result in results]
