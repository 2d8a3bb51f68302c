"""The mean recall of queries with its interval."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.stats.bounded_means import UNIT
from assay.stats.intervals import Estimate, estimate, estimate_share


def mean_recall(values: NDArray[np.float64], level: float = 0.95) -> Estimate:
    """Return the mean recall of queries with its interval; NaN is undefined and left out."""
    return estimate(values, "mean", level, bounds=UNIT)


def widen_point_interval(recall: Estimate) -> Estimate:
    """Return an imported mean recall whose interval is not a point, as it is if all recalls are equal.

    If all queries have recall 0 or 1, the interval is that of a share; otherwise it is unknown.

    >>> [round(widen_point_interval(Estimate(1.0, 1.0, 1.0, 0.95, n)).low, 4) for n in (30, 300)]
    [0.8843, 0.9878]
    >>> widen_point_interval(Estimate(0.9, 0.9, 0.9, 0.95, 30))[:3]
    (0.9, None, None)
    """
    if recall.value is None or recall.low is None or recall.low != recall.high:
        return recall
    if recall.value in (0.0, 1.0):
        return estimate_share(recall.value * recall.n, recall.n, recall.level)
    return recall._replace(low=None, high=None)
