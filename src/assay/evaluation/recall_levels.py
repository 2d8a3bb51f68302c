"""Levels of recall to aim for, as search guides give them, and where a score lies among them."""

from __future__ import annotations

from typing import NamedTuple

from assay.measures import Measure
from assay.stats import Estimate

LOW, TUNED, HYBRID = 0.70, 0.80, 0.88
RERANKING = (0.02, 0.05)  # what a reranker usually adds
_NOISE = 1e-9  # a mean of 0.8 may be summed to slightly less
_LEVEL_NAMES = {HYBRID: "hybrid", TUNED: "tuned", LOW: "below tuned"}


class Standing(NamedTuple):
    """Where a score lies among the levels."""

    measure: str
    value: float
    level: str  # hybrid, tuned, below tuned, low, or out of reach
    next_level: float | None = None  # None at the highest
    distance: float | None = None  # to the next level
    uncertain_levels: tuple[float, ...] = ()  # levels inside the interval: both sides of them are possible
    ceiling: float | None = None  # the value of the best possible ranking, if no level is within reach


def recall_standing(measure: Measure, estimate: Estimate, ceiling: float | None = None) -> Standing | None:
    """Return where recall in the top 10 lies; None for other measures, which have no levels.

    The ceiling is the value of the best possible ranking: a level above it says nothing.

    >>> from assay import R
    >>> recall_standing(R @ 10, Estimate(0.83, 0.81, 0.85, 0.95, 300)).level
    'tuned'
    """
    if measure.name not in ("R", "RCap") or measure.cutoff != 10 or estimate.value is None:
        return None
    name, value = str(measure), estimate.value
    if ceiling is not None and not _is_at_least(ceiling, TUNED):
        return Standing(name, value, "out of reach", ceiling=ceiling)
    level = next((label for bound, label in _LEVEL_NAMES.items() if _is_at_least(value, bound)), "low")
    above = next((bound for bound in (TUNED, HYBRID) if not _is_at_least(value, bound)), None)
    uncertain_levels = tuple(bound for bound in sorted(_LEVEL_NAMES) if _is_inside(bound, estimate))
    return Standing(name, value, level, above, None if above is None else above - value, uncertain_levels)


def _is_at_least(value: float, level: float) -> bool:
    return value >= level - _NOISE


def _is_inside(level: float, estimate: Estimate) -> bool:
    """Whether a level lies inside the interval."""
    if estimate.low is None or estimate.high is None:
        return False
    return _is_at_least(estimate.high, level) and not _is_at_least(estimate.low, level)
