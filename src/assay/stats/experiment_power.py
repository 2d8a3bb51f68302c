"""Planning an experiment: power, sample size, smallest detectable effect and days left.

Effects are absolute differences per unit; divide by the control's mean for relative ones. Two arms are
compared by Student's t with unequal sizes; `treatment_share` is the treatment's share of all units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from assay.core.errors import InputError
from assay.stats.difference_intervals import NormalSpread
from assay.stats.distributions import normal_quantile
from assay.stats.moments import Moments
from assay.stats.sequential.group_sequential import Looks, group_sequential_power
from assay.stats.unit_differences import UnitDifference, difference

POWER = 0.8
_MOST_UNITS = 10**12


class Design(NamedTuple):
    """How two arms are compared."""

    alpha: float = 0.05
    power: float = POWER
    treatment_share: float = 0.5
    sides: int = 2

    def check(self) -> None:
        """Refuse a design that no experiment can have."""
        shares = (self.alpha, self.power, self.treatment_share)
        if not all(0 < share < 1 for share in shares) or self.sides not in (1, 2):
            raise InputError(
                f"expected alpha, power and treatment share in (0, 1) and 1 or 2 sides; found {self}"
            )


PLAIN = Design()


def unit_deviation(moments: Moments, use_covariate: bool = True) -> float | None:
    """The standard deviation per unit of a mean or ratio, after CUPED if there is a covariate.

    The error of one arm of n units is this / sqrt(n). None: unknown.
    """
    if moments.n < 2:
        return None
    result = difference(moments, moments, use_covariate=use_covariate)
    spread = result.spread
    if not isinstance(spread, NormalSpread):
        return None
    return spread.error * math.sqrt(moments.n / 2)


def power_of(effect: float, deviation: float, n: float, design: Design = PLAIN) -> float | None:
    """The chance to show an effect with n units in both arms together; None if nothing can be computed.

    >>> round(power_of(0.5, 1.0, 128), 4)
    0.8015
    """
    from scipy.special import nctdtr, stdtrit

    design.check()
    first, second = n * (1 - design.treatment_share), n * design.treatment_share
    if min(first, second) < 2 or deviation <= 0:
        return None
    freedom = n - 2
    shift = abs(effect) / deviation / math.sqrt(1 / first + 1 / second)
    edge = float(stdtrit(freedom, 1 - design.alpha / design.sides))
    shown = _complement(float(nctdtr(freedom, shift, edge)))
    wrong = float(nctdtr(freedom, shift, -edge)) if design.sides == 2 else 0.0
    return shown + (0.0 if wrong != wrong else wrong)


def _complement(chance: float) -> float:
    """1 - chance; NaN is a chance too small to compute."""
    return 1.0 if chance != chance else 1.0 - chance


def units_needed(effect: float, deviation: float, design: Design = PLAIN) -> int | None:
    """The units of both arms together that show an effect with the design's power.

    None: no number of units does (an effect of 0), or more than 10¹².

    >>> units_needed(0.5, 1.0)
    128
    """
    design.check()
    if not effect or not math.isfinite(effect) or deviation <= 0:
        return None
    low, high = 2, 4
    while not _is_enough(effect, deviation, high, design):
        low, high = high, high * 2
        if high > _MOST_UNITS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_enough(effect, deviation, middle, design) else (middle, high)
    return high


def _is_enough(effect: float, deviation: float, n: int, design: Design) -> bool:
    power = power_of(effect, deviation, n, design)
    return power is not None and power >= design.power


def detectable_effect(deviation: float, n: float, design: Design = PLAIN) -> float | None:
    """The smallest absolute effect that n units in both arms together show with the design's power.

    >>> round(detectable_effect(1.0, 128), 3)
    0.499
    """
    from scipy.optimize import brentq

    if power_of(1.0, deviation, n, design) is None:
        return None

    def excess(effect: float) -> float:
        return (power_of(effect * deviation, deviation, n, design) or 0.0) - design.power

    if excess(0.0) >= 0:
        return 0.0
    high = 1.0
    while excess(high) < 0:
        high *= 2
    return deviation * float(brentq(excess, 0.0, high))


def sequential_inflation(looks: int, design: Design = PLAIN, spending: str = "obrien-fleming") -> float:
    """How many times the units of a fixed test a group-sequential one needs for the same power.

    >>> round(sequential_inflation(14), 3)
    1.042
    """
    from scipy.optimize import brentq

    design.check()
    if looks < 1:
        raise InputError(f"expected at least one look, found {looks}")
    plan = Looks(tuple(float(i + 1) for i in range(looks)), float(looks), spending)

    def excess(drift: float, at: Looks) -> float:
        return group_sequential_power(at, drift, design.alpha, design.sides)[0] - design.power

    single = Looks((1.0,), 1.0, spending)
    drifts = [float(brentq(excess, 1e-3, 20.0, args=(at,))) for at in (plan, single)]
    return (drifts[0] / drifts[1]) ** 2


def days_left(units: float, needed: float | None, new_units_by_day: Sequence[float]) -> int | None:
    """The days until the needed units are there, at the mean rate of the last seven days.

    None: unknown, because nothing is needed or no units arrive.

    >>> days_left(4000, 10_000, [900, 1000, 1100]), days_left(10, 5, [1])
    (6, 0)
    """
    if needed is None:
        return None
    if units >= needed:
        return 0
    recent = list(new_units_by_day)[-7:]
    rate = sum(recent) / len(recent) if recent else 0.0
    return math.ceil((needed - units) / rate - 1e-9) if rate > 0 else None


def achieved_precision(result: UnitDifference, design: Design = PLAIN) -> float | None:
    """The smallest effect that the error reached so far would show with the design's power.

    It is on the scale of the result: relative for relative lift.
    """
    spread = result.spread
    if not isinstance(spread, NormalSpread) or spread.error <= 0:
        return None
    return spread.error * (normal_quantile(1 - design.alpha / design.sides) + normal_quantile(design.power))
