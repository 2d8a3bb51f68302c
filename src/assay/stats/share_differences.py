"""The difference between two shares of units, and the chance of wins among trials.

`pooled` is the textbook test with one common share, `newcombe` joins two Wilson intervals (Newcombe
1998), `agresti-caffo` adds a hit and a miss to each arm; they differ in small samples only.
"""

from __future__ import annotations

import math
from dataclasses import replace

from assay.core.errors import InputError
from assay.stats.difference_intervals import IntervalEnds, NormalSpread, agresti_caffo
from assay.stats.distributions import normal_quantile
from assay.stats.intervals import estimate_share
from assay.stats.moments import Moments
from assay.stats.unit_differences import UnitDifference, difference, difference_of_estimates

METHODS = ("unpooled", "pooled", "newcombe", "agresti-caffo")


def share_difference(
    hits: int, n: int, other_hits: int, other_n: int, *, method: str = "newcombe", level: float = 0.95
) -> UnitDifference:
    """The second share minus the first, with an interval and p of this method.

    >>> result = share_difference(3785, 17293, 3423, 17260, method="pooled")
    >>> [round(end, 4) for end in result.estimate[:3]]
    [-0.0206, -0.0291, -0.012]
    """
    if method not in METHODS:
        raise InputError(f"expected a method of {', '.join(METHODS)}; found {method!r}")
    _check(hits, n)
    _check(other_hits, other_n)
    if method == "unpooled" or not n or not other_n:
        arms = Moments(n, float(hits), float(hits)), Moments(other_n, float(other_hits), float(other_hits))
        return difference(*arms, level=level)
    value = other_hits / other_n - hits / n
    spread = _spread(hits, n, other_hits, other_n, method)
    estimates = estimate_share(hits, n, level), estimate_share(other_hits, other_n, level)
    result = difference_of_estimates(estimates, spread, f"two shares, {method}", level, value=value)
    if method != "newcombe":
        return result
    low, high = newcombe_ends(hits, n, other_hits, other_n, level)
    return replace(result, estimate=result.estimate._replace(low=low, high=high))


def _check(hits: int, n: int) -> None:
    if not 0 <= hits <= n:
        raise InputError(f"expected hits between 0 and n, found {hits} of {n}")


def _spread(hits: int, n: int, other_hits: int, other_n: int, method: str) -> NormalSpread:
    """A normal difference; Newcombe's p is that of the pooled test, which its interval agrees with best."""
    if method == "agresti-caffo":
        return agresti_caffo(hits, n, other_hits, other_n)
    common = (hits + other_hits) / (n + other_n)
    error = math.sqrt(common * (1 - common) * (1 / n + 1 / other_n))
    return NormalSpread(other_hits / other_n - hits / n, error, math.inf)


def newcombe_ends(hits: int, n: int, other_hits: int, other_n: int, level: float = 0.95) -> IntervalEnds:
    """The interval of the difference of two shares from their Wilson intervals.

    >>> [round(end, 4) for end in newcombe_ends(48, 80, 56, 70)]
    [0.0524, 0.3339]
    """
    first, second = hits / n, other_hits / other_n
    first_ends, second_ends = wilson_ends(hits, n, level), wilson_ends(other_hits, other_n, level)
    below = math.hypot(second - second_ends[0], first_ends[1] - first)
    above = math.hypot(second_ends[1] - second, first - first_ends[0])
    return second - first - below, second - first + above


def wilson_ends(hits: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The interval of a share by inverting its normal test (Wilson 1927).

    >>> [round(end, 4) for end in wilson_ends(56, 70)]
    [0.6918, 0.877]
    """
    z2 = normal_quantile(0.5 + level / 2) ** 2
    centre = hits + z2 / 2
    half = math.sqrt(z2 * (hits * (n - hits) / n + z2 / 4))
    return (centre - half) / (n + z2), (centre + half) / (n + z2)


def binomial_p(wins: int, trials: int, share: float = 0.5) -> float | None:
    """Two-sided exact p of this many wins, as scipy.stats.binomtest; None without trials.

    >>> round(binomial_p(4, 23), 4), round(binomial_p(10, 23), 4)
    (0.0026, 0.6776)
    """
    from scipy.stats import binomtest

    _check(wins, trials)
    return float(binomtest(wins, trials, share).pvalue) if trials else None
