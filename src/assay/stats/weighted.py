"""Estimates of a population from a sample of queries with unequal weights.

A mean is Hájek's ratio (1971) with its linearised variance (Särndal, Swensson and Wretman 1992, 5.5 and
5.11), as if queries were drawn with replacement: that is cautious for samples without. Strata narrow it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.stats.bounded_means import Bounds
from assay.stats.distributions import beta_quantile
from assay.stats.intervals import Estimate, is_too_narrow, logarithms


class SampleWeights(NamedTuple):
    """How many queries of the population each query stands for, and its stratum, if they are known."""

    weights: Floats
    strata: Ints | None = None

    def take(self, rows: Ints) -> SampleWeights:
        """Return the weights of the queries at these rows."""
        return SampleWeights(self.weights[rows], None if self.strata is None else self.strata[rows])

    @property
    def effective_n(self) -> float:
        """The number of equally weighted queries with the same variance (Kish 1965)."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())


def weighted_central_value(values: Floats, sample: SampleWeights, kind: str, q: float = 0.5) -> float | None:
    """Return the aggregate of values (NaN: undefined, ignored), without an interval."""
    values, sample = _defined(values, sample)
    if not len(values):
        return None
    if kind == "quantile":
        return _quantile(values, sample.weights, q)
    if kind == "geometric":
        return math.exp(_mean(logarithms(values), sample.weights))
    return _mean(values, sample.weights)


def weighted_estimate(
    values: Floats,
    sample: SampleWeights,
    kind: str,
    level: float = 0.95,
    q: float = 0.5,
    bounds: Bounds | None = None,
) -> Estimate:
    """Return the aggregate of values (NaN: undefined, ignored) by a measure's kind, with an interval.

    >>> sample = SampleWeights(np.array([1.0, 3.0, 1.0, 3.0]))
    >>> round(weighted_estimate(np.array([0.0, 1.0, 0.2, 0.8]), sample, "mean").value, 3)
    0.7
    """
    values, sample = _defined(values, sample)
    n = len(values)
    if not n:
        return Estimate(None, None, None, level, 0)
    if kind == "quantile":
        return _estimate_quantile(values, sample, q, level)
    if kind == "share":
        return _estimate_share(values, sample, level)
    if kind == "geometric":
        logs = _estimate_mean(logarithms(values), sample, level)
        ends = [None if end is None else math.exp(end) for end in (logs.value, logs.low, logs.high)]
        return logs._replace(value=ends[0], low=ends[1], high=ends[2])
    estimate = _estimate_mean(values, sample, level)
    if bounds is None or estimate.low is None or estimate.high is None:
        return estimate
    return estimate._replace(low=max(bounds[0], estimate.low), high=min(bounds[1], estimate.high))


def _defined(values: Floats, sample: SampleWeights) -> tuple[Floats, SampleWeights]:
    rows = np.flatnonzero(~np.isnan(values))
    return values[rows], sample.take(rows)


def _mean(values: Floats, weights: Floats) -> float:
    return float((weights * values).sum() / weights.sum())


def _error(values: Floats, sample: SampleWeights) -> tuple[float, int]:
    """Return the standard error of the weighted mean and its degrees of freedom."""
    weights = sample.weights
    parts = weights * (values - _mean(values, weights)) / weights.sum()
    strata = np.zeros(len(values), np.int64) if sample.strata is None else sample.strata
    _, codes = np.unique(strata, return_inverse=True)
    counts = np.bincount(codes)
    if (counts < 2).any():  # a stratum with one query has no variance of its own
        codes, counts = np.zeros(len(values), np.int64), np.array([len(values)])
    deviations = parts - (np.bincount(codes, parts) / counts)[codes]
    sums = np.bincount(codes, deviations**2) * counts / np.maximum(counts - 1, 1)
    return math.sqrt(float(sums.sum())), len(values) - len(counts)


def _half_width(error: float, freedom: int, level: float) -> float:
    from scipy.special import stdtrit

    return error * float(stdtrit(freedom, 0.5 + level / 2))


def _estimate_mean(values: Floats, sample: SampleWeights, level: float) -> Estimate:
    mean, n = _mean(values, sample.weights), len(values)
    error, freedom = _error(values, sample) if n > 1 else (0.0, 0)
    if not error or not freedom:
        return Estimate(mean, None, None, level, n)
    half = _half_width(error, freedom, level)
    return Estimate(mean, mean - half, mean + half, level, n, is_too_narrow(values))


def _estimate_share(values: Floats, sample: SampleWeights, level: float) -> Estimate:
    """Return a share with the exact interval of its effective number of queries (Korn and Graubard 1998)."""
    share, n = _mean(values, sample.weights), len(values)
    error, freedom = _error(values, sample) if n > 1 else (0.0, 0)
    effective = share * (1 - share) / error**2 if error and freedom else sample.effective_n
    effective = min(effective, n)
    hits = share * effective
    low = beta_quantile((1 - level) / 2, hits, effective - hits + 1) if share > 0 else 0.0
    high = beta_quantile((1 + level) / 2, hits + 1, effective - hits) if share < 1 else 1.0
    return Estimate(share, min(low, share), max(high, share), level, n)


def _quantile(values: Floats, weights: Floats, q: float) -> float:
    """Return the value that a share q of the population does not exceed."""
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(weights[order]) / weights.sum()
    return float(values[order[min(int(np.searchsorted(shares, q - 1e-12)), len(values) - 1)]])


def _estimate_quantile(values: Floats, sample: SampleWeights, q: float, level: float) -> Estimate:
    """Return a quantile with Woodruff's interval (1952): that of the share below it, read back as values."""
    value, n = _quantile(values, sample.weights, q), len(values)
    if n < 2 or q in (0.0, 1.0):
        return Estimate(value, None, None, level, n)
    below = _estimate_mean((values <= value).astype(np.float64), sample, level)
    if below.low is None or below.high is None or below.value is None:
        return Estimate(value, None, None, level, n)
    low, high = q - (below.value - below.low), q + (below.high - below.value)
    ends = [_quantile(values, sample.weights, end) if 0 < end < 1 else None for end in (low, high)]
    return Estimate(value, ends[0], ends[1], level, n)
