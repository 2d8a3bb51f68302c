"""Which measure of retrieval predicts the accuracy of answers, across configurations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.core.arrays import Floats
from assay.stats.intervals import Estimate
from assay.stats.linear_correlation import fit_line, pearson
from assay.stats.rank_correlation import spearman

MINIMUM_CONFIGURATIONS = 3  # a line fits two points always


@dataclass(frozen=True)
class ConfigurationScores:
    """What the retrieval of one configuration is worth by each measure, and the accuracy of its answers."""

    name: str
    family: str  # graph, partition, …: the error is that of families which were left out
    accuracy: float
    measures: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Predictor:
    """How closely the accuracy follows one measure."""

    measure: str
    pearson: Estimate
    spearman: Estimate
    family_error: float | None  # mean absolute error for families that the line was not fitted to

    @property
    def r2(self) -> float | None:
        """The share of the variance of the accuracy that a line explains."""
        return None if self.pearson.value is None else self.pearson.value**2

    def to_dict(self) -> dict[str, Any]:
        """Return the predictor as plain data."""
        intervals = {
            name: {"low": estimate.low, "high": estimate.high}
            for name, estimate in (("pearson", self.pearson), ("spearman", self.spearman))
        }
        return {
            "measure": self.measure,
            "n": self.pearson.n,
            "pearson": self.pearson.value,
            "spearman": self.spearman.value,
            "r2": self.r2,
            "family_error": self.family_error,
            "intervals": intervals,
        }


def rank_predictors(configurations: Sequence[ConfigurationScores], level: float = 0.95) -> list[Predictor]:
    """Return the measures, the one that the accuracy follows most closely first, undefined ones last."""
    names = dict.fromkeys(name for configuration in configurations for name in configuration.measures)
    predictors = [_predictor(name, configurations, level) for name in names]
    return sorted(predictors, key=lambda p: -1.0 if p.r2 is None else p.r2, reverse=True)


def _predictor(measure: str, configurations: Sequence[ConfigurationScores], level: float) -> Predictor:
    rows = [c for c in configurations if c.measures.get(measure) is not None]
    x = np.array([c.measures[measure] for c in rows], np.float64)
    y = np.array([c.accuracy for c in rows], np.float64)
    if len(rows) < MINIMUM_CONFIGURATIONS:
        nothing = Estimate(None, None, None, level, len(rows))
        return Predictor(measure, nothing, nothing, None)
    errors = family_error(x, y, [c.family for c in rows])
    return Predictor(measure, pearson(x, y, level), spearman(x, y, level), errors)


def family_error(x: Floats, y: Floats, families: Sequence[str]) -> float | None:
    """Return the mean absolute error of each family's accuracy by a line fitted to the other families.

    None if there is one family only, or a family whose others have no variation.

    >>> family_error(np.array([0.0, 1, 0, 1]), np.array([0.0, 1, 0.5, 1.5]), ["graph"] * 2 + ["tree"] * 2)
    0.5
    """
    names = np.array(families)
    errors = []
    for family in dict.fromkeys(families):
        is_left_out = names == family
        line = fit_line(x[~is_left_out], y[~is_left_out])
        if line is None:
            return None
        errors.append(np.abs(line.at(x[is_left_out]) - y[is_left_out]))
    return float(np.concatenate(errors).mean())


def best_predictor(predictors: Iterable[Predictor]) -> Predictor | None:
    """Return the measure with the highest r², None if it is defined for none."""
    ranked = [predictor for predictor in predictors if predictor.r2 is not None]
    return max(ranked, key=lambda p: p.r2 or 0.0, default=None)
