"""Tests of whether a value over all queries lies above or below a threshold."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats
from assay.stats.bounded_means import Bounds, has_values_within, p_mean_at_least, p_mean_at_most
from assay.stats.difference_intervals import NormalSpread
from assay.stats.intervals import logarithms
from assay.stats.paired_differences import TOLERANCE


class Sides(NamedTuple):
    """One-sided p values; None if there are too few queries."""

    above: float | None  # small: shown to reach the threshold
    below: float | None  # small: shown to fall short of it


def sides(
    values: Floats,
    kind: str,
    threshold: float,
    q: float = 0.5,
    *,
    past: bool = False,
    bounds: Bounds | None = None,
) -> Sides:
    """Test on which side of the threshold the mean (share, quantile) of the values lies (NaN: ignored).

    `past`: a quantile that equals the threshold does not count as above it. `bounds`: between which all
    values of a mean must lie; a mean is tested by the method of its interval.
    """
    defined = values[~np.isnan(values)]
    if kind == "share":
        return share_sides(int(defined.sum()), len(defined), threshold)
    if kind == "quantile":  # it is above the threshold if at most a share q of the values lies below it
        under = defined < threshold + (TOLERANCE if past else -TOLERANCE)
        within = share_sides(int(under.sum()), len(defined), q)
        return Sides(within.below, within.above)
    if len(defined) < 2:
        return Sides(None, None)
    if kind == "geometric":
        defined, threshold = logarithms(defined), math.log(max(threshold, 1e-5))
    elif bounds is not None and has_values_within(defined, bounds):
        return Sides(p_mean_at_most(defined, threshold, bounds), p_mean_at_least(defined, threshold, bounds))
    spread = NormalSpread(
        float(defined.mean()), float(defined.std(ddof=1)) / math.sqrt(len(defined)), len(defined) - 1
    )
    p = spread.p_at_most(threshold)
    return Sides(p, None if p is None else 1 - p)


def share_sides(hits: int, n: int, threshold: float) -> Sides:
    """Test on which side of the threshold a share lies, exactly by the binomial distribution.

    >>> [round(p, 4) for p in share_sides(280, 280, 0.99) if p is not None]
    [0.06, 1.0]
    """
    from scipy.special import bdtr, bdtrc

    if not n:
        return Sides(None, None)
    at_least = 1.0 if hits == 0 else float(bdtrc(hits - 1, n, threshold))
    return Sides(at_least, float(bdtr(hits, n, threshold)))
