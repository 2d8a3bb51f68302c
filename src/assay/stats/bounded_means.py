"""Intervals and tests of the mean of values between known bounds, such as 0 and 1.

The upper end is a quantile of the mean that the values and one more value at the upper bound have
under random weights, uniform on all weights that sum to 1; the lower end likewise (Gaffke 2005, "Three
test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable";
Learned-Miller and Thomas 2020, arXiv 1905.06208). No sample of any distribution between the bounds is
known for which it covers less often than its level. For values of 0 and 1 it is the interval of Clopper
and Pearson. With more values it approaches the interval of the normal distribution.

The chance that such a mean exceeds a value m is that of a weighted sum of exponential variables
exceeding 0. It is computed by a saddlepoint approximation (Lugannani and Rice 1980, in the form of
Barndorff-Nielsen 1986), not by resampling: the ends depend on no seed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats
from assay.stats.distributions import find_root, normal_cdf, normal_quantile
from assay.stats.paired_differences import TOLERANCE

Bounds = tuple[float, float]
UNIT: Bounds = (0.0, 1.0)
_LEAST_SPREAD = 1e-9  # values that are nearer to the bound lie at the bound


def has_values_within(values: Floats, bounds: Bounds) -> bool:
    """Whether all values lie between the bounds, but for rounding."""
    slack = TOLERANCE * (bounds[1] - bounds[0])
    return bool(values.min() >= bounds[0] - slack and values.max() <= bounds[1] + slack)


def bounded_mean_interval(values: Floats, level: float, bounds: Bounds = UNIT) -> Bounds:
    """The interval of the mean of values (no NaN) between the bounds.

    >>> [round(end, 4) for end in bounded_mean_interval(np.array([0.0] * 47 + [1.0] * 3), 0.95)]
    [0.0125, 0.1656]
    """
    scaled, width = _scale(values, bounds), bounds[1] - bounds[0]
    z = normal_quantile(0.5 + level / 2)
    return bounds[0] + width * (1 - _upper_end(1 - scaled, z)), bounds[0] + width * _upper_end(scaled, z)


def p_mean_at_least(values: Floats, threshold: float, bounds: Bounds = UNIT) -> float:
    """One-sided p of the hypothesis that the mean is at least the threshold; small: it is shown to be less.

    >>> round(p_mean_at_least(np.zeros(50), 0.0711), 3)  # 0.025 without the approximation
    0.026
    """
    position = (threshold - bounds[0]) / (bounds[1] - bounds[0])
    return _upper_tail(_scale(values, bounds), position)


def p_mean_at_most(values: Floats, threshold: float, bounds: Bounds = UNIT) -> float:
    """One-sided p of the hypothesis that the mean is at most the threshold; small: it is shown to be more."""
    return p_mean_at_least(-values, -threshold, (-bounds[1], -bounds[0]))


def _scale(values: Floats, bounds: Bounds) -> Floats:
    """The values on a scale from 0 to 1."""
    scaled: Floats = np.clip((values - bounds[0]) / (bounds[1] - bounds[0]), 0.0, 1.0)
    return scaled


class _TiltedMean(NamedTuple):
    """The mean at a tilt of the weights, and the normal deviate of the chance that a mean exceeds it."""

    mean: float
    deviate: float


class _RandomMean:
    """The mean of values from 0 to 1 and one more value at 1, under random weights."""

    def __init__(self, values: Floats) -> None:
        distinct, counts = np.unique(np.append(values, 1.0), return_counts=True)
        self.values, self.counts = distinct, counts.astype(np.float64)
        self.spread = math.sqrt(self._sum((distinct - self._sum(distinct) / counts.sum()) ** 2))

    def _sum(self, terms: Floats) -> float:
        return float((self.counts * terms).sum())  # BLAS would start threads

    def tilt(self, tilt: float) -> _TiltedMean:
        """The saddlepoint approximation at exp(tilt) times the weight of 1 compared with that of 0."""
        scale, gaps = math.exp(-tilt), 1 - self.values
        factors = gaps + self.values * scale
        weights = self.counts / factors
        gap = float((weights * gaps).sum() / weights.sum())  # 1 - mean, precise also near 0
        centre = gap + (1 - gap) * scale
        shifts = (gap - gaps) * (centre / factors)
        variance = self._sum(shifts**2)
        root = math.copysign(math.sqrt(max(0.0, 2 * self._sum(np.log(factors / centre)))), tilt)
        score = (1 - scale) / centre * math.sqrt(variance)
        if abs(root) < 1e-3 or score * root <= 0:  # the limit
            return _TiltedMean(1 - gap, root + self._sum(shifts**3) / 3 / variance**1.5)
        return _TiltedMean(1 - gap, root + math.log(score / root) / root)


def _upper_end(values: Floats, z: float) -> float:
    """The mean that the random mean exceeds with the chance of a normal deviate above z."""
    random_mean = _RandomMean(values)
    if random_mean.spread < _LEAST_SPREAD:
        return 1.0
    tilt = find_root(lambda tilt: random_mean.tilt(tilt).deviate - z, z / random_mean.spread)
    return random_mean.tilt(tilt).mean


def _upper_tail(values: Floats, threshold: float) -> float:
    """The chance that the random mean is at least the threshold."""
    random_mean = _RandomMean(values)
    if threshold <= random_mean.values[0] or random_mean.spread < _LEAST_SPREAD:
        return float(threshold <= 1)
    if threshold >= 1:
        return 0.0
    tilt = find_root(lambda tilt: random_mean.tilt(tilt).mean - threshold, 0.0)
    return normal_cdf(-random_mean.tilt(tilt).deviate)
