"""The mean recall of queries, and how sure it is."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from assay.stats.intervals import Estimate, estimate, normal_quantile, wilson

_MANY = 10_000  # values from which on the mean is as good as normal, and drawing them again takes seconds


def mean_recall(values: NDArray[np.float64], level: float = 0.95) -> Estimate:
    """The mean recall of queries (NaN: undefined, left out) with its interval."""
    known = values[~np.isnan(values)]
    if len(known) <= _MANY:
        return unsure(estimate(known, "mean", level))
    mean, apart = float(known.mean()), float(known.std(ddof=1)) if np.ptp(known) else 0.0
    half = normal_quantile(0.5 + level / 2) * apart / math.sqrt(len(known))
    return unsure(Estimate(mean, max(0.0, mean - half), min(1.0, mean + half), level, len(known)))


def unsure(found: Estimate) -> Estimate:
    """A mean recall whose interval is no point: that all queries are alike does not make it sure.

    Where all have 1 or all have 0, so many of them bound the share of others; between, nothing is known.

    >>> [round(unsure(Estimate(1.0, 1.0, 1.0, 0.95, n)).low, 4) for n in (30, 300)]
    [0.8865, 0.9874]
    >>> unsure(Estimate(0.9, 0.9, 0.9, 0.95, 30))[:3]
    (0.9, None, None)
    """
    if found.value is None or found.low is None or found.low != found.high:
        return found
    if found.value in (0.0, 1.0):
        return wilson(found.value * found.n, found.n, found.level)
    return found._replace(low=None, high=None)
