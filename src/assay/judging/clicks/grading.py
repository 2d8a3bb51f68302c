"""Grades from relevance by a named rule, so that clicks can serve as judgments."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Bools, Floats, Ints
from assay.core.errors import InputError

DEFAULT_RULE = "quantiles:0.5,0.8,0.95"
_EXPECTED = "--grade-rule expects thresholds:A,B,… or quantiles:A,B,… with increasing numbers"


class GradeRule(NamedTuple):
    """Grades 0, 1, 2, …: how many of the thresholds the relevance of a pair reaches.

    Quantiles are thresholds taken from the relevance of all pairs that have enough impressions.
    """

    kind: str
    steps: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> GradeRule:
        """Return the rule of a text.

        >>> GradeRule.parse("thresholds:0.1,0.3")
        GradeRule(kind='thresholds', steps=(0.1, 0.3))
        """
        kind, _, numbers = text.partition(":")
        try:
            steps = tuple(float(number) for number in numbers.split(","))
        except ValueError:
            raise InputError(f"{_EXPECTED}, found {text!r}") from None
        is_increasing = all(a < b for a, b in pairwise(steps))
        if kind not in ("thresholds", "quantiles") or not is_increasing:
            raise InputError(f"{_EXPECTED}, found {text!r}")
        if kind == "quantiles" and not 0 < min(steps) <= max(steps) < 1:
            raise InputError(f"{_EXPECTED}; quantiles lie between 0 and 1, found {text!r}")
        return cls(kind, steps)

    def __str__(self) -> str:
        return f"{self.kind}:{','.join(f'{step:g}' for step in self.steps)}"

    def thresholds(self, relevance: Floats) -> Floats:
        """Return the least relevance of each grade from 1 on.

        A quantile is the smallest relevance that at least this share of the pairs does not exceed; a grade
        begins above it, so pairs of equal relevance have equal grades.
        """
        if self.kind == "thresholds" or not len(relevance):
            return np.array(self.steps)
        quantiles = np.quantile(relevance, self.steps, method="inverted_cdf")
        return np.nextafter(quantiles, np.inf)

    def grades(self, relevance: Floats, is_used: Bools) -> Ints:
        """Return the grade of each pair; only used pairs shape the quantiles."""
        thresholds = self.thresholds(relevance[is_used])
        return np.searchsorted(thresholds, relevance, side="right").astype(np.int64)
