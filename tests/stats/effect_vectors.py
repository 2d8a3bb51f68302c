"""Inputs and results of a public A/B engine."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from assay.stats.moments import Moments

VECTORS = "abtest/effect_vectors.json"
LEFT_OUT = {
    "EffectBayesianABTest": "a Bayesian test with a prior; Assay reports frequentist intervals",
    "p of SequentialOneSided…": "the engine reports .4999 for every p above it, Assay the p itself",
}
_COMPONENTS = {
    "m_statistic_post": "",
    "d_statistic_post": "denominator_",
    "m_statistic_pre": "covariate_",
    "d_statistic_pre": "covariate_denominator_",
}
_PRODUCTS = {
    "m_post_m_pre": "cross_covariate",
    "d_post_d_pre": "denominator_cross_covariate_denominator",
    "m_pre_d_pre": "covariate_cross",
    "m_post_d_post": "cross",
    "m_post_d_pre": "cross_covariate_denominator",
    "m_pre_d_post": "denominator_cross_covariate",
}


class Vector(NamedTuple):
    """One test of the engine."""

    test: str
    control: Moments
    treatment: Moments
    planned_n: float  # of a sequential test
    result: dict[str, Any]

    @property
    def alternative(self) -> str:
        return "greater" if "Greater" in self.test else "less" if "Lesser" in self.test else "two-sided"

    @property
    def ends(self) -> list[float | None]:
        """The interval; an infinite end is None."""
        return [None if abs(end) == float("inf") else end for end in self.result["ci"]]


@cache
def read_vectors(shared: Path) -> list[Vector]:
    """The vectors of the methods that Assay has."""
    rows = json.loads((shared / VECTORS).read_text())
    return [_read(row) for row in rows if row["test"] not in LEFT_OUT]


def _read(row: dict[str, Any]) -> Vector:
    control, treatment = (_sums(arm) for arm in row["stats"][0])
    planned = (row["config"] or {}).get("sequential_tuning_parameter", 5000.0)
    return Vector(row["test"], control, treatment, planned, row["result"])


def _sums(statistic: dict[str, Any]) -> Moments:
    fields: dict[str, float] = {
        name: statistic[name] for name in ("n", "sum", "sum_squares") if name in statistic
    }
    for name, prefix in _COMPONENTS.items():
        part = statistic.get(name, {})
        fields |= {prefix + key: part[key] for key in ("sum", "sum_squares") if key in part}
    names = {f"{old}_sum_of_products": new for old, new in _PRODUCTS.items()}
    return Moments.from_fields(fields | {names[k]: v for k, v in statistic.items() if k in names})
