"""Intervals of chances from the beta distribution with the same mean and variance."""

from __future__ import annotations

import numpy as np

from assay.core.arrays import Floats
from assay.judging.clicks.model import Relevance


def beta_intervals(mean: Floats, variance: Floats, level: float) -> Relevance:
    """Return central intervals of chances with these means and variances.

    >>> uniform = beta_intervals(np.array([0.5]), np.array([1 / 12]), 0.9)
    >>> round(float(uniform.low[0]), 3), round(float(uniform.high[0]), 3)
    (0.05, 0.95)
    """
    from scipy.special import betaincinv

    mean = np.clip(mean, 1e-12, 1 - 1e-12)
    weight = np.maximum(mean * (1 - mean) / np.maximum(variance, 1e-300) - 1, 1e-9)
    shapes = mean * weight, (1 - mean) * weight
    low, high = (betaincinv(*shapes, tail) for tail in ((1 - level) / 2, (1 + level) / 2))
    return Relevance(mean, low, high)


def share_variance(mean: Floats, n: Floats) -> Floats:
    """Return the variance of the beta distribution of a chance known from n trials.

    The mean of successes + 1 among trials + 2 is that of the uniform prior; n counts the prior.
    """
    return mean * (1 - mean) / (n + 1)


def product_variance(means: tuple[Floats, Floats], variances: tuple[Floats, Floats]) -> Floats:
    """Return the variance of the product of two independent chances."""
    first, second = means
    squares = (variances[0] + first**2) * (variances[1] + second**2)
    return np.maximum(squares - (first * second) ** 2, 0.0)
