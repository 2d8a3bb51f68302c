"""Power of a set of queries: the smallest difference it detects, and how many queries are needed."""

from __future__ import annotations

import math
from typing import NamedTuple

POWER = 0.8
STEPS = ("unreliable", "directional", "gates releases", "high confidence")
_COUNTS = (200, 1_000, 5_000)  # the queries that each next step requires, by search guides
_MARGINS = (3.0, 1.0, 0.5)  # the largest detectable difference, in margins, for each next step


def power(difference: float, deviation: float, n: int, alpha: float = 0.05) -> float:
    """The chance that a paired t test of n queries detects this difference.

    `deviation` is the standard deviation of the per-query differences.

    >>> round(power(0.02, 0.2, 800), 3)
    0.806
    """
    from scipy.special import nctdtr, stdtrit

    if n < 2:
        return 0.0
    edge = float(stdtrit(n - 1, 1 - alpha / 2))
    shift = abs(difference) / deviation * math.sqrt(n) if deviation else math.inf
    miss_chance = float(nctdtr(n - 1, shift, edge))
    wrong_sign_chance = float(
        nctdtr(n - 1, shift, -edge)
    )  # detected with the wrong sign; NaN if too small to compute
    return (
        1.0
        if miss_chance != miss_chance
        else 1.0 - miss_chance + (0.0 if wrong_sign_chance != wrong_sign_chance else wrong_sign_chance)
    )


def detectable_difference(
    deviation: float, n: int, alpha: float = 0.05, target_power: float = POWER
) -> float | None:
    """The smallest difference that a paired t test of n queries detects with the target power.

    >>> round(detectable_difference(0.2, 800) or 0, 4)
    0.0198
    """
    if n < 2:
        return None
    from scipy.optimize import brentq

    if deviation == 0 or target_power <= alpha:
        return 0.0
    high = 1.0
    while power(high, 1.0, n, alpha) < target_power:
        high *= 2
    return deviation * float(brentq(lambda d: power(d, 1.0, n, alpha) - target_power, 0.0, high))


def queries_needed(
    difference: float, deviation: float, alpha: float = 0.05, target_power: float = POWER
) -> int | None:
    """The number of queries that a paired t test needs to detect the difference with the target power.

    >>> queries_needed(0.02, 0.2)
    787
    """
    if not difference:
        return None
    low, high = 1, 2
    while power(difference, deviation, high, alpha) < target_power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        is_enough = power(difference, deviation, middle, alpha) >= target_power
        low, high = (low, middle) if is_enough else (middle, high)
    return high


class BenchmarkSize(NamedTuple):
    """What a benchmark of this size can be used for, by the number of queries and by their deviation."""

    n: int
    by_count: str
    by_spread: str
    detectable_difference: float | None
    margin: float
    queries_needed: int | None  # to detect the margin

    @property
    def verdict(self) -> str:
        """The more cautious of the two steps."""
        return STEPS[min(STEPS.index(self.by_count), STEPS.index(self.by_spread))]

    def to_dict(self) -> dict[str, float | int | str | None]:
        """Return the size as plain data."""
        return {
            "n": self.n,
            "by_count": self.by_count,
            "by_spread": self.by_spread,
            "detectable": self.detectable_difference,
            "margin": self.margin,
            "needed": self.queries_needed,
            "verdict": self.verdict,
        }


def assess_size(n: int, deviation: float, margin: float = 0.01, alpha: float = 0.05) -> BenchmarkSize:
    """What n queries can be used for, given the standard deviation of their differences.

    By count, from search guides: fewer than 200 unreliable, 200 directional, 1,000 gates releases,
    5,000 high confidence. By spread: the detectable difference in relation to the margin that matters.

    >>> assess_size(280, 0.2).verdict, assess_size(2000, 0.1).verdict
    ('unreliable', 'gates releases')
    """
    smallest_difference = detectable_difference(deviation, n, alpha) if deviation else None
    by_count = STEPS[sum(n >= count for count in _COUNTS)]
    is_constant = n > 1 and not deviation  # without variation, the count alone decides
    step = (
        sum(smallest_difference <= margin * times for times in _MARGINS)
        if smallest_difference is not None
        else 0
    )
    step = STEPS.index(by_count) if is_constant else step
    more_queries = (
        queries_needed(margin, deviation, alpha) if deviation and smallest_difference is not None else None
    )
    return BenchmarkSize(n, by_count, STEPS[step], smallest_difference, margin, more_queries)
