"""The ratio of two sums over queries, and how sure it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.stats.intervals import RESAMPLES, Estimate


def ratio_of_sums(top: NDArray[Any], bottom: NDArray[Any], level: float = 0.95, seed: int = 0) -> Estimate:
    """The sum of one count over that of another, with its bootstrap interval over the queries.

    An end that lies beyond every number, since a sample had nothing to divide by, is unknown.

    >>> ratio_of_sums(np.array([2, 2]), np.array([1, 1]))[:3]
    (2.0, 2.0, 2.0)
    """
    n = len(top)
    if not bottom.sum():
        return Estimate(None, None, None, level, n)
    if n < 2:
        return Estimate(float(top.sum() / bottom.sum()), None, None, level, n)
    # Queries of the same two counts are one kind: so many kinds are drawn, however many queries there are.
    kinds, counts = np.unique(np.stack((top, bottom)), axis=1, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(n, counts / n, RESAMPLES) @ kinds.T
    some = drawn[:, 1] > 0
    ratios = np.where(some, drawn[:, 0] / np.where(some, drawn[:, 1], 1), np.inf)
    ends = np.quantile(ratios, [0.5 - level / 2, 0.5 + level / 2], method="inverted_cdf")
    low, high = (float(end) if np.isfinite(end) else None for end in ends)
    return Estimate(float(top.sum() / bottom.sum()), low, high, level, n)
