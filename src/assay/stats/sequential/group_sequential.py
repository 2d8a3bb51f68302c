"""Group-sequential tests: bounds for a planned number of units with any looks in between.

Alpha is spent by a function of the share of the planned units (Lan and DeMets 1983), so that looks need
not be equally spaced nor fixed in advance. Intervals are repeated confidence intervals (Jennison and
Turnbull 1989): they hold at all looks together.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from assay.core.errors import InputError
from assay.stats.difference_intervals import IntervalEnds, NormalSpread
from assay.stats.sequential.boundary_crossing import FAR, Walk, check_times, crossing_chances
from assay.stats.sequential.spending import spend
from assay.stats.unit_differences import ALTERNATIVES, UnitDifference

_LEAST_SPENT = 1e-16  # less than this is kept for the next look
_SMALLEST_P = 1e-12


class Looks(NamedTuple):
    """How many units there were at each look until now, and how many are planned."""

    units: tuple[float, ...]
    planned: float
    spending: str = "obrien-fleming"
    is_final: bool = False  # whether the last look ends the test, also before the planned number

    @property
    def times(self) -> tuple[float, ...]:
        """The looks as shares of the planned units; above 1 if there are more than planned."""
        return tuple(n / self.planned for n in self.units)


def compute_bounds(looks: Looks, alpha: float = 0.05, sides: int = 2) -> tuple[float, ...]:
    """The bound of the statistic (difference / standard error) at each look; infinite: do not stop.

    >>> bounds = compute_bounds(Looks((1, 2, 3, 4, 5), 5))
    >>> [round(bound, 3) for bound in bounds]
    [4.877, 3.357, 2.68, 2.29, 2.031]
    """
    if sides not in (1, 2) or not 0 < alpha < 1 or looks.planned <= 0:
        found = f"{sides}, {alpha} and {looks.planned:g}"
        raise InputError(f"expected 1 or 2 sides, alpha in (0, 1) and planned units above 0; found {found}")
    check_times(looks.units)
    return _compute_bounds(looks, alpha, sides)


@lru_cache(maxsize=512)
def _compute_bounds(looks: Looks, alpha: float, sides: int) -> tuple[float, ...]:
    times, walk, spent, side_alpha = looks.times, Walk.start(), 0.0, alpha / sides
    bounds: list[float] = []
    for i, time in enumerate(times):
        is_last = i + 1 == len(times)
        due = side_alpha if is_last and looks.is_final else spend(time, side_alpha, looks.spending)
        bound = _find_bound(walk, time, max(due - spent, 0.0))
        bounds.append(bound)
        spent += 0.0 if math.isinf(bound) else walk.chance_above(bound, time)
        if not is_last:
            walk = walk.advance(time, -bound if sides == 2 else -math.inf, bound, times[i + 1] - time)
    return tuple(bounds)


def _find_bound(walk: Walk, time: float, chance: float) -> float:
    """The bound above which the walk is with this chance."""
    from scipy.optimize import brentq

    if chance < _LEAST_SPENT:
        return math.inf
    low = -FAR
    if walk.chance_above(low, time) <= chance:
        return low
    return float(brentq(lambda bound: walk.chance_above(bound, time) - chance, low, FAR, xtol=1e-12))


class GroupSequentialSpread(NamedTuple):
    """A normal difference at the last of several looks."""

    centre: float
    error: float
    looks: Looks
    sides: int = 2
    is_narrow: bool = False

    def interval(self, level: float) -> IntervalEnds:
        """The repeated confidence interval; unknown if the test does not stop at this look yet."""
        reach = self.error * compute_bounds(self.looks, 1 - level, self.sides)[-1]
        return (None, None) if math.isinf(reach) else (self.centre - reach, self.centre + reach)

    def p_at_most(self, margin: float) -> float | None:
        """One-sided p of the hypothesis that the true difference is at most the margin."""
        z = (self.centre - margin) / self.error
        p = repeated_p(self.looks, abs(z), self.sides) / self.sides
        return p if z > 0 else 1 - p

    def two_sided(self) -> float | None:
        """Two-sided p of the hypothesis that there is no difference."""
        return repeated_p(self.looks, abs(self.centre / self.error), 2)


@lru_cache(maxsize=512)
def repeated_p(looks: Looks, z: float, sides: int = 2) -> float:
    """The alpha at which the bound of the last look would be this statistic (1e-12 to 1).

    >>> round(repeated_p(Looks((5,), 5), 1.959964), 4)
    0.05
    """
    from scipy.optimize import brentq

    def excess(logit: float) -> float:
        alpha = 1 / (1 + math.exp(-logit))
        return min(compute_bounds(looks, alpha, sides)[-1], FAR) - z

    low, high = math.log(_SMALLEST_P), 7.0
    if excess(low) <= 0:
        return _SMALLEST_P
    if excess(high) >= 0:
        return 1.0
    return float(1 / (1 + math.exp(-brentq(excess, low, high, xtol=1e-7))))


def make_group_sequential(
    difference: UnitDifference,
    looks: Looks,
    *,
    alternative: str = "two-sided",
    level: float | None = None,
) -> UnitDifference:
    """The difference at the last look, with the interval and p that hold for all looks together."""
    if alternative not in ALTERNATIVES:
        raise InputError(f"expected an alternative of {', '.join(ALTERNATIVES)}; found {alternative!r}")
    level = difference.estimate.level if level is None else level
    normal = difference.spread
    if difference.reason:
        return difference
    if not isinstance(normal, NormalSpread):
        raise InputError("expected the delta method's interval for a group-sequential test")
    sides = 2 if alternative == "two-sided" else 1
    spread = GroupSequentialSpread(normal.centre, normal.error, looks, sides, normal.is_narrow)
    low, high = spread.interval(level)
    p = spread.two_sided() if sides == 2 else spread.p_at_most(0.0)
    return replace(
        difference,
        estimate=difference.estimate._replace(
            low=None if alternative == "less" else low,
            high=None if alternative == "greater" else high,
            level=level,
        ),
        p=1 - p if alternative == "less" and p is not None else p,
        method=f"{difference.method}, group sequential ({looks.spending})",
        alternative=alternative,
        spread=spread,
        reason="too early: no alpha may be spent at this look" if low is None else "",
    )


def group_sequential_power(
    looks: Looks, drift: float, alpha: float = 0.05, sides: int = 2
) -> tuple[float, float]:
    """The power for an expected statistic at the planned n, and the expected share of the planned units.

    >>> [round(x, 2) for x in group_sequential_power(Looks((1, 2, 3, 4), 4), 2.8016)]
    [0.79, 0.83]
    """
    bounds, times = compute_bounds(looks, alpha, sides), looks.times
    lows = [-bound for bound in bounds] if sides == 2 else [-math.inf] * len(bounds)
    chances = [low + high for low, high in crossing_chances(times, lows, bounds, drift)]
    power = sum(chances)
    stopped = sum(time * chance for time, chance in zip(times, chances, strict=True))
    return power, stopped + times[-1] * (1 - power)


def futility_bounds(
    looks: Looks, drift: float, beta: float = 0.2, alpha: float = 0.05, sides: int = 2
) -> tuple[float, ...]:
    """For each look, the statistic below which the planned effect is given up as out of reach.

    Beta is spent like alpha under the planned drift. The bounds do not bind: the test keeps its alpha
    if they are ignored.
    """
    bounds, times = _compute_bounds(looks, alpha, sides), looks.times
    walk, spent, lows = Walk.start(), 0.0, list[float]()
    for i, time in enumerate(times):
        chance = spend(time, beta, looks.spending) - spent
        # what lies below a bound with drift lies above its negative with the opposite drift
        mirrored = Walk(walk.time, -walk.nodes - drift * (time - walk.time), walk.masses)
        low = min(-_find_bound(mirrored, time, max(chance, 0.0)), bounds[i])
        lows.append(low)
        spent += walk.chance_below(low, time, drift)
        next_step = times[i + 1] - time if i + 1 < len(times) else time
        walk = walk.advance(time, low, bounds[i], next_step, drift)
    return tuple(lows)
