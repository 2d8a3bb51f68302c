"""How many queries an evaluation needs, before anyone judges: topic set size design (Sakai 2016).

T. Sakai, Topic set size design, Information Retrieval Journal 19 (2016) 256-283: by the expected width of a
confidence interval (after Nagata), and by the power of a paired t test for the least difference that matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from assay.core.arrays import Floats
from assay.core.errors import InputError, UndecidableError
from assay.stats.power import POWER, detectable_difference, queries_needed

DEFAULT_DEVIATION = 0.3  # of the scores of queries; nDCG@10 has 0.2 to 0.35 in most collections
WIDTHS = (0.2, 0.1, 0.05, 0.02)
DIFFERENCES = (0.1, 0.05, 0.02, 0.01)
_LARGEST = 1 << 40


def expected_width(n: int, deviation: float, level: float = 0.95) -> float:
    """Return the expected width of Student's interval of the mean of n values (Sakai 2016, section 3.3).

    The expectation of the sample's deviation is below the true one: Γ(n/2) / Γ((n − 1)/2) · √(2/(n − 1)).

    >>> round(expected_width(100, 0.3), 4)
    0.1188
    """
    from scipy.special import gammaln, stdtrit

    shrinkage = math.exp(float(gammaln(n / 2) - gammaln((n - 1) / 2))) * math.sqrt(2 / (n - 1))
    return 2 * float(stdtrit(n - 1, 0.5 + level / 2)) * shrinkage * deviation / math.sqrt(n)


def queries_for_width(width: float, deviation: float, level: float = 0.95) -> int:
    """Return the number of queries with which the expected interval is at most this wide.

    >>> queries_for_width(0.1, 0.3)
    141
    """
    return _least_count(lambda n: expected_width(n, deviation, level) <= width)


def _least_count(is_enough: Callable[[int], bool]) -> int:
    """Return the least number from 2 on that is enough, if every larger one is, too."""
    low, high = 1, 2
    while not is_enough(high) and high < _LARGEST:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class Spread:
    """How much the scores of queries vary, and where that is known from."""

    scores: float  # the standard deviation of the scores of one system
    differences: float  # of the differences between two systems
    source: str  # given, pilot or default
    n: int = 0  # the queries of the pilot
    systems: int = 0  # the systems of the pilot


def spread_of_variance(variance: float | None) -> Spread:
    """Return the spread of a variance of scores that was given, or the default one.

    The variance of differences is twice that of scores, as if two systems were independent (Sakai 2016,
    section 3.4): similar systems need fewer queries.
    """
    if variance is not None and not 0 < variance <= 1:
        raise InputError(f"the variance of scores must be above 0, at most 1; found {variance}")
    deviation = DEFAULT_DEVIATION if variance is None else math.sqrt(variance)
    return Spread(deviation, deviation * math.sqrt(2), "default" if variance is None else "given")


def spread_of_pilot(scores: Mapping[str, Mapping[str, float]]) -> Spread:
    """Return the spread of the scores of a pilot, {system: {query: score}}.

    The variance is pooled within systems. With several systems the variance of differences is the mean
    over pairs of systems, each over the queries that both answered.
    """
    columns = {name: np.array(list(values.values()), np.float64) for name, values in scores.items()}
    freedom = sum(len(values) - 1 for values in columns.values())
    if freedom < 1 or max(map(len, columns.values())) < 2:
        raise UndecidableError("the pilot has scores of fewer than 2 queries: its spread is unknown")
    variance = sum(float(((v - v.mean()) ** 2).sum()) for v in columns.values()) / freedom
    pairs = [_differences(scores[a], scores[b]) for a, b in combinations(scores, 2)]
    variances = [float(values.var(ddof=1)) for values in pairs if len(values) > 1]
    between = float(np.mean(variances)) if variances else 2 * variance
    if not variance:
        raise UndecidableError("the scores of the pilot are all equal: their spread is unknown")
    return Spread(
        math.sqrt(variance), math.sqrt(between), "pilot", max(map(len, columns.values())), len(columns)
    )


def _differences(first: Mapping[str, float], second: Mapping[str, float]) -> Floats:
    return np.array([first[query] - second[query] for query in first if query in second], np.float64)


@dataclass(frozen=True)
class TopicSetSize:
    """How many queries different precisions need, and what the planned number of queries reaches."""

    spread: Spread
    level: float
    power: float
    by_width: Mapping[float, int]  # the width of the interval of a mean, and the queries for it
    by_difference: Mapping[float, int | None]  # the least difference between two systems to be detected
    n: int | None = None  # the planned number
    design_effect: float = 1.0  # how many times the variance grows by unequal weights

    @property
    def effective_n(self) -> float | None:
        """The number of equally weighted queries with the same variance (Kish 1965)."""
        return None if self.n is None else self.n / self.design_effect

    @property
    def width(self) -> float | None:
        """The expected width of the interval of a mean with the planned number."""
        if self.n is None or self.n < 2:
            return None
        return expected_width(self.n, self.spread.scores * math.sqrt(self.design_effect), self.level)

    @property
    def difference(self) -> float | None:
        """The least difference that the planned number detects with the power."""
        if self.n is None:
            return None
        deviation = self.spread.differences * math.sqrt(self.design_effect)
        return detectable_difference(deviation, self.n, 1 - self.level, self.power)

    def to_dict(self) -> dict[str, Any]:
        """Return the sizes as plain data, as `assay dataset sample --plan --format json` prints them."""
        return {
            "deviation": {
                "scores": self.spread.scores,
                "differences": self.spread.differences,
                "source": self.spread.source,
            },
            "level": self.level,
            "power": self.power,
            "by_width": [{"width": width, "n": n} for width, n in self.by_width.items()],
            "by_difference": [{"difference": d, "n": n} for d, n in self.by_difference.items()],
            "planned": {
                "n": self.n,
                "design_effect": self.design_effect,
                "effective_n": self.effective_n,
                "width": self.width,
                "difference": self.difference,
            },
        }


def plan_topic_set(
    spread: Spread,
    *,
    widths: Sequence[float] = WIDTHS,
    differences: Sequence[float] = DIFFERENCES,
    level: float = 0.95,
    power: float = POWER,
    n: int | None = None,
    design_effect: float = 1.0,
) -> TopicSetSize:
    """Return how many queries these widths and differences need.

    >>> plan_topic_set(spread_of_variance(0.09), widths=[0.1], differences=[0.1]).by_difference
    {0.1: 144}
    """
    for name, values in (("width", widths), ("difference", differences)):
        wrong = next((value for value in values if not 0 < value < 1), None)
        if wrong is not None:
            raise InputError(f"a {name} must be above 0 and below 1, found {wrong}")
    if not 0 < level < 1 or not 0 < power < 1:
        raise InputError(f"level and power must lie between 0 and 1, found {level} and {power}")
    return TopicSetSize(
        spread,
        level,
        power,
        {width: queries_for_width(width, spread.scores, level) for width in widths},
        {d: queries_needed(d, spread.differences, 1 - level, power) for d in differences},
        n,
        design_effect,
    )
