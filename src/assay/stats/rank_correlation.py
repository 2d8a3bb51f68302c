"""Rank correlations of few pairs, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from assay.core.arrays import Floats
from assay.stats.distributions import normal_quantile
from assay.stats.intervals import Estimate


def spearman(first: Floats, second: Floats, level: float = 0.95) -> Estimate:
    """Return Spearman's ρ with Fisher's interval; undefined without variation.

    The standard error is that of Bonett and Wright (2000): √((1 + ρ²/2) / (n − 3)). A perfect order has no
    standard error: its interval reaches from 1 to the end of that of the next to perfect order.

    >>> [round(end, 3) for end in spearman(np.arange(8.0), np.array([1.0, 0, 2, 3, 5, 4, 7, 6]))[:3]]
    [0.929, 0.537, 0.991]
    """
    n, rho = len(first), float(spearman_rows(first[None], second[None])[0])
    next_value = 1 - 12 / (n * (n**2 - 1)) if n > 1 else 0.0
    return _with_interval(rho, next_value, n, lambda r: (1 + r**2 / 2) / (n - 3) if n > 3 else None, level)


def kendall(first: Floats, second: Floats, level: float = 0.95) -> Estimate:
    """Return Kendall's τ-b with Fisher's interval; undefined without variation.

    The standard error is that of Fieller, Hartley and Pearson (1957): √(.437 / (n − 4)).

    >>> kendall(np.array([3.0, 2.0, 1.0]), np.array([1.0, 1.0, 1.0])).value
    """
    n = len(first)
    left, right = np.triu_indices(n, 1)
    a, b = (np.sign(side[left] - side[right]) for side in (first, second))
    scale = math.sqrt(float((a**2).sum()) * float((b**2).sum()))
    tau = float((a * b).sum()) / scale if scale else math.nan
    next_value = 1 - 4 / (n * (n - 1)) if n > 1 else 0.0
    return _with_interval(tau, next_value, n, lambda _: 0.437 / (n - 4) if n > 4 else None, level)


def spearman_rows(first: Floats, second: Floats) -> Floats:
    """Return Spearman's ρ of each row of two tables; NaN without variation.

    >>> spearman_rows(np.array([[1.0, 2.0, 3.0]]), np.array([[3.0, 2.0, 2.5]])).tolist()
    [-0.5]
    """
    from scipy.stats import rankdata

    a, b = (_centre(rankdata(side, axis=1)) for side in (first, second))
    with np.errstate(invalid="ignore", divide="ignore"):
        rho: Floats = (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.clip(rho, -1.0, 1.0)


def _centre(ranks: Floats) -> Floats:
    centred: Floats = ranks - ranks.mean(axis=1, keepdims=True)
    return centred


def _with_interval(
    value: float, next_value: float, n: int, variance: Callable[[float], float | None], level: float
) -> Estimate:
    """Return a correlation with the interval of its Fisher transform."""
    if math.isnan(value):
        return Estimate(None, None, None, level, n)
    inner = math.copysign(min(abs(value), next_value), value)
    squared = variance(inner)
    if squared is None:
        return Estimate(value, None, None, level, n)
    half = normal_quantile(0.5 + level / 2) * math.sqrt(squared)
    low, high = (math.tanh(math.atanh(inner) + sign * half) for sign in (-1, 1))
    is_perfect = abs(value) > next_value
    low, high = (-1.0 if is_perfect and value < 0 else low), (1.0 if is_perfect and value > 0 else high)
    return Estimate(value, low, high, level, n)
