"""How sure a summary of per-query values is."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from assay.core.texts import Floats
from assay.stats.resampling import resampled_means

RESAMPLES = 4000


class Estimate(NamedTuple):
    """A value with its interval, and the number of queries it rests on."""

    value: float | None
    low: float | None
    high: float | None
    level: float
    n: int

    def to_dict(self) -> dict[str, float | None]:
        """The estimate as plain data; the level stands once, beside all that have it."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


def normal_cdf(z: float) -> float:
    """The share of a standard normal distribution below z."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_quantile(share: float) -> float:
    """The point with this share of a standard normal distribution below it, by Newton's method.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    z = 0.0
    for _ in range(60):
        slope = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        step = max(-1.0, min(1.0, (normal_cdf(z) - share) / max(slope, 1e-300)))
        z -= step
        if abs(step) < 1e-14:
            break
    return z


def central(values: Floats, kind: str, q: float = 0.5) -> float | None:
    """Per-query values (NaN: undefined, left out) summed up as a measure's kind asks, without an interval.

    >>> central(np.array([0.0, 1.0, np.nan]), "mean")
    0.5
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    if kind == "quantile":
        return float(np.sort(known)[place(len(known), q)])
    if kind == "geometric":
        return math.exp(logarithms(known).mean())
    return float(known.mean())


def place(n: int, q: float) -> int:
    """The place of the quantile among n ordered values."""
    return max(0, math.ceil(q * n - 1e-9) - 1)


def logarithms(values: Floats) -> Floats:
    """Logarithms for a geometric mean; 0.00001 stands for anything smaller, as in trec_eval."""
    logs: Floats = np.log(np.maximum(values, 1e-5))
    return logs


def estimate(values: Floats, kind: str, level: float = 0.95, seed: int = 0, q: float = 0.5) -> Estimate:
    """Sum up per-query values (NaN: undefined, left out) as a measure's kind asks.

    >>> estimate(np.array([1.0, 0.0, 1.0, 1.0]), "share").n
    4
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return Estimate(None, None, None, level, 0)
    if kind == "share":
        return wilson(float(known.sum()), len(known), level)
    if kind == "quantile":
        return order_statistic(known, q, level)
    if kind == "geometric":
        logs = bca(logarithms(known), level, seed)
        value, low, high = (None if x is None else math.exp(x) for x in (logs.value, logs.low, logs.high))
        return Estimate(value, low, high, level, logs.n)
    return bca(known, level, seed)


def wilson(count: float, n: int, level: float = 0.95) -> Estimate:
    """A share, as so many of n, with Wilson's score interval (Wilson 1927); of nothing it is undefined.

    >>> [round(end, 4) for end in wilson(8, 10)[:3]], wilson(0, 0).value
    ([0.8, 0.4902, 0.9433], None)
    """
    if not n:
        return Estimate(None, None, None, level, 0)
    share = count / n
    z = normal_quantile(0.5 + level / 2)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = 0.0 if share == 0 else max(0.0, middle - half)
    high = 1.0 if share == 1 else min(1.0, middle + half)
    return Estimate(share, low, high, level, n)


def order_statistic(values: Floats, q: float, level: float) -> Estimate:
    """The value that a share q of the values does not exceed, with a distribution-free interval.

    How many values lie at or below the true quantile is binomial, so two of the ordered values
    bracket it (Conover 1999, 3.2). An end that would lie outside the sample is unknown.
    """
    ordered, n = np.sort(values), len(values)
    at = place(n, q)
    if q in (0.0, 1.0):
        return Estimate(float(ordered[at]), None, None, level, n)
    below = np.cumsum(_binomial(n, q))
    first = int(np.searchsorted(below, (1 - level) / 2, "right"))
    last = int(np.searchsorted(below, (1 + level) / 2, "left"))
    low = float(ordered[first - 1]) if first > 0 else None
    high = float(ordered[last]) if last < n else None
    return Estimate(float(ordered[at]), low, high, level, n)


def _binomial(n: int, p: float) -> Floats:
    """The chances of 0 … n successes in n trials."""
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
    k = np.arange(n + 1)
    chances: Floats = np.exp(logs[n] - logs - logs[::-1] + k * math.log(p) + (n - k) * math.log1p(-p))
    return chances


def bca(values: Floats, level: float = 0.95, seed: int = 0) -> Estimate:
    """The mean with its bias-corrected and accelerated bootstrap interval (Efron 1987)."""
    n, mean = len(values), float(values.mean())
    if n < 2:
        return Estimate(mean, None, None, level, n)
    if (values == values[0]).all():
        return Estimate(mean, mean, mean, level, n)
    means = np.sort(resampled_means(values[:, None], RESAMPLES, seed)[:, 0])
    noise = 1e-12 * float(np.abs(values).max())  # means that are equal but for how they were summed
    below = np.searchsorted(means, mean - noise) + np.searchsorted(means, mean + noise)
    bias = normal_quantile(min(max(below / (2 * len(means)), 1 / len(means)), 1 - 1 / len(means)))
    spread = values - mean  # the jackknife's deviations, up to a factor that cancels
    acceleration = float((spread**3).sum() / (6 * (spread**2).sum() ** 1.5))
    z = normal_quantile(0.5 + level / 2)
    low, high = (normal_cdf(bias + (bias + end) / (1 - acceleration * (bias + end))) for end in (-z, z))
    places = (len(means) - 1) * np.array([low, high])
    ends = np.interp(places, np.arange(len(means)), means).tolist()
    return Estimate(mean, ends[0], ends[1], level, n)
