"""How much of alpha may be spent by which share of the planned information (Lan and DeMets 1983)."""

from __future__ import annotations

import math

from assay.core.errors import InputError
from assay.stats.distributions import normal_cdf, normal_quantile

SPENDING = ("obrien-fleming", "pocock")


def spend(share: float, alpha: float = 0.05, spending: str = "obrien-fleming") -> float:
    """The part of alpha that may be spent once this share of the planned units is there.

    `obrien-fleming` keeps nearly all for the end, `pocock` spends evenly. A two-sided test spends half of
    its alpha on each side.

    >>> [round(spend(share), 4) for share in (0.2, 0.5, 1.0)]
    [0.0, 0.0056, 0.05]
    """
    if spending not in SPENDING:
        raise InputError(f"expected spending of {', '.join(SPENDING)}; found {spending!r}")
    if share <= 0:
        return 0.0
    if share >= 1:
        return alpha
    if spending == "pocock":
        return alpha * math.log1p((math.e - 1) * share)
    return 2 * normal_cdf(normal_quantile(alpha / 2) / math.sqrt(share))
