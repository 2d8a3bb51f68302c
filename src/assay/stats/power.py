"""What a set of queries can tell: power, the smallest difference it detects, and how many it takes."""

from __future__ import annotations

import math
from typing import NamedTuple

POWER = 0.8
STEPS = ("unreliable", "directional", "gates releases", "high confidence")
_COUNTS = (200, 1_000, 5_000)  # queries from which each next step holds, by the guides' table
_MARGINS = (3.0, 1.0, 0.5)  # a detectable difference of so many margins at most, for each next step


def power(difference: float, deviation: float, n: int, alpha: float = 0.05) -> float:
    """The chance that a paired t test of n queries finds this difference.

    `deviation` is the standard deviation of the per-query differences.

    >>> round(power(0.02, 0.2, 800), 3)
    0.806
    """
    from scipy.special import nctdtr, stdtrit

    if n < 2:
        return 0.0
    edge = float(stdtrit(n - 1, 1 - alpha / 2))
    shift = abs(difference) / deviation * math.sqrt(n) if deviation else math.inf
    missed = float(nctdtr(n - 1, shift, edge))
    other = float(nctdtr(n - 1, shift, -edge))  # found, with the wrong sign; NaN where too small to tell
    return 1.0 if missed != missed else 1.0 - missed + (0.0 if other != other else other)


def detectable(deviation: float, n: int, alpha: float = 0.05, wanted: float = POWER) -> float | None:
    """The smallest difference that a paired t test of n queries finds with the wanted power.

    >>> round(detectable(0.2, 800) or 0, 4)
    0.0198
    """
    if n < 2:
        return None
    from scipy.optimize import brentq

    if deviation == 0 or wanted <= alpha:
        return 0.0
    high = 1.0
    while power(high, 1.0, n, alpha) < wanted:
        high *= 2
    return deviation * float(brentq(lambda d: power(d, 1.0, n, alpha) - wanted, 0.0, high))


def needed(difference: float, deviation: float, alpha: float = 0.05, wanted: float = POWER) -> int | None:
    """How many queries a paired t test takes to find the difference with the wanted power.

    >>> needed(0.02, 0.2)
    787
    """
    if not difference:
        return None
    low, high = 1, 2
    while power(difference, deviation, high, alpha) < wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = power(difference, deviation, middle, alpha) >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return high


class Size(NamedTuple):
    """What a benchmark of this size is good for, by the number of its queries and by their spread."""

    n: int
    by_count: str
    by_spread: str
    detectable: float | None
    margin: float
    needed: int | None  # queries to detect the margin

    @property
    def verdict(self) -> str:
        """The more cautious of the two."""
        return STEPS[min(STEPS.index(self.by_count), STEPS.index(self.by_spread))]

    @property
    def words(self) -> str:
        """The verdict with what it rests on."""
        count = f"{self.n:,} {'query' if self.n == 1 else 'queries'}"
        if self.n < 2:
            return f"{self.verdict}: too few to say anything of a difference ({count})"
        if self.detectable is None:
            return f"{self.verdict} by count: {count}; their differences do not vary"
        count += "" if self.by_count == self.verdict else f" ({self.by_count} by count)"
        more = self.needed is not None and self.needed > self.n
        needed_ = f"; {self.margin:g} would take {self.needed:,}" if more else ""
        return (
            f"{self.verdict} for differences of {self.margin:g}: {count} detect {self.detectable:.4f} "
            f"at the smallest{needed_}"
        )


def size(n: int, deviation: float, margin: float = 0.01, alpha: float = 0.05) -> Size:
    """What n queries with this spread of their differences are good for.

    By count, from the guides: fewer than 200 unreliable, 200 directional, 1,000 gates releases,
    5,000 high confidence. By spread: what can be detected, against the margin that matters.

    >>> size(280, 0.2).verdict, size(2000, 0.1).verdict
    ('unreliable', 'gates releases')
    """
    smallest = detectable(deviation, n, alpha) if deviation else None
    by_count = STEPS[sum(n >= count for count in _COUNTS)]
    told = n > 1 and not deviation  # nothing varies, so nothing can be judged by how it does
    reached = sum(smallest <= margin * times for times in _MARGINS) if smallest is not None else 0
    reached = STEPS.index(by_count) if told else reached
    more = needed(margin, deviation, alpha) if deviation and smallest is not None else None
    return Size(n, by_count, STEPS[reached], smallest, margin, more)
