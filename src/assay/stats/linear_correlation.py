"""Pearson's correlation with its interval, and lines fitted to few points."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats
from assay.stats.distributions import normal_quantile
from assay.stats.intervals import Estimate

_LARGEST = 1 - 1e-12  # of the correlations whose Fisher transform is finite


class Line(NamedTuple):
    """A line fitted by least squares."""

    intercept: float
    slope: float

    def at(self, x: Floats) -> Floats:
        """Return the values of the line."""
        values: Floats = self.intercept + self.slope * x
        return values


def fit_line(x: Floats, y: Floats) -> Line | None:
    """Return the line of least squares; None without variation of x.

    >>> fit_line(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))
    Line(intercept=1.0, slope=2.0)
    """
    if len(x) < 2 or float(np.ptp(x)) <= 0:
        return None
    centred = x - x.mean()
    slope = float((centred * (y - y.mean())).sum() / (centred**2).sum())
    return Line(float(y.mean()) - slope * float(x.mean()), slope)


def pearson(x: Floats, y: Floats, level: float = 0.95) -> Estimate:
    """Return Pearson's r with Fisher's interval; undefined without variation or with fewer than 3 points.

    The standard error of the Fisher transform is 1 / √(n − 3) (Fisher 1921); 3 points have no interval.

    >>> [round(end, 3) for end in pearson(np.arange(10.0), np.array([0, 2, 1, 3, 5, 4, 6, 8, 7, 9.0]))[:3]]
    [0.964, 0.849, 0.992]
    """
    n = len(x)
    if n < 3 or float(np.ptp(x)) <= 0 or float(np.ptp(y)) <= 0:
        return Estimate(None, None, None, level, n)
    value = float(np.clip(np.corrcoef(x, y)[0, 1], -1.0, 1.0))
    if n == 3:
        return Estimate(value, None, None, level, n)
    centre = math.atanh(max(-_LARGEST, min(_LARGEST, value)))
    half = normal_quantile(0.5 + level / 2) / math.sqrt(n - 3)
    return Estimate(value, math.tanh(centre - half), math.tanh(centre + half), level, n)
