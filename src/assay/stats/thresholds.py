"""Whether a value over all queries lies above or below a threshold, and how sure that is."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from assay.core.texts import Floats
from assay.stats.intervals import logarithms
from assay.stats.spreads import Normal


class Sides(NamedTuple):
    """One-sided p; None where too few queries can say anything."""

    above: float | None  # small: shown to reach the threshold
    below: float | None  # small: shown to fall short of it


def sides(values: Floats, kind: str, threshold: float, q: float = 0.5, *, past: bool = False) -> Sides:
    """On which side of the threshold the mean (share, quantile) of the values lies (NaN: left out).

    `past`: a quantile that equals the threshold does not count as above it; only what lies past it does.
    """
    known = values[~np.isnan(values)]
    if kind == "share":
        return share_sides(int(known.sum()), len(known), threshold)
    if kind == "quantile":  # it is above the threshold where at most a share q of the values lies below it
        under = known <= threshold if past else known < threshold
        within = share_sides(int(under.sum()), len(known), q)
        return Sides(within.below, within.above)
    if len(known) < 2:
        return Sides(None, None)
    if kind == "geometric":
        known, threshold = logarithms(known), math.log(max(threshold, 1e-5))
    spread = Normal(float(known.mean()), float(known.std(ddof=1)) / math.sqrt(len(known)), len(known) - 1)
    p = spread.below(threshold)
    return Sides(p, None if p is None else 1 - p)


def share_sides(hits: int, n: int, threshold: float) -> Sides:
    """On which side of the threshold a share lies, exact by the binomial distribution.

    >>> [round(p, 4) for p in share_sides(280, 280, 0.99) if p is not None]
    [0.06, 1.0]
    """
    from scipy.special import bdtr, bdtrc

    if not n:
        return Sides(None, None)
    at_least = 1.0 if hits == 0 else float(bdtrc(hits - 1, n, threshold))
    return Sides(at_least, float(bdtr(hits, n, threshold)))
