"""Asymptotic confidence sequences: intervals that hold at all sample sizes at once.

Equation 9 of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (arXiv 2103.06476), its one-sided form
(equation 111 there, B.1), and rho chosen so that the interval is narrowest at the planned n (B.2).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from assay.core.errors import InputError
from assay.stats.difference_intervals import IntervalEnds, NormalSpread
from assay.stats.distributions import normal_cdf
from assay.stats.unit_differences import ALTERNATIVES, UnitDifference

PLANNED_N = 5000  # units at which intervals are narrowest if no number is planned


def choose_rho(planned_n: float, alpha: float = 0.05, alternative: str = "two-sided") -> float:
    """rho² with which the interval is narrowest at `planned_n` units.

    >>> round(choose_rho(5000), 7)
    0.0015872
    """
    if planned_n <= 0 or not 0 < alpha < 1:
        raise InputError(f"expected a planned n above 0 and alpha in (0, 1); found {planned_n} and {alpha}")
    alpha = alpha if alternative == "two-sided" else min(2 * alpha, 1 - 1e-9)
    logarithm = -2 * math.log(alpha)
    return (logarithm + math.log(logarithm + 1)) / planned_n


class AlwaysValidSpread(NamedTuple):
    """An asymptotically normal difference of n units whose intervals hold at every n at once."""

    centre: float
    error: float
    n: int
    rho_squared: float
    is_narrow: bool = False

    @property
    def _mixture(self) -> float:
        return self.n * self.rho_squared

    def _reach(self, logarithm: float) -> float:
        return self.error * math.sqrt(2 * (self._mixture + 1) / self._mixture * logarithm)

    def interval(self, level: float) -> IntervalEnds:
        """The two-sided interval at this level."""
        reach = self._reach(math.log(math.sqrt(self._mixture + 1) / (1 - level)))
        return self.centre - reach, self.centre + reach

    def bound_reach(self, level: float) -> float:
        """How far a one-sided bound lies from the centre."""
        return self._reach(math.log1p(math.sqrt(self._mixture + 1) / (2 * (1 - level))))

    def _exponent(self, margin: float) -> float:
        z = (self.centre - margin) / self.error
        return z * z / 2 * self._mixture / (self._mixture + 1)

    def p_at_most(self, margin: float) -> float | None:
        """One-sided p that the true difference is at most the margin; 1 - p is that of at least.

        Only p below 1/2 says something: a sequence never shows that a difference is on one side
        because it is not on the other.
        """
        exponent = self._exponent(margin)
        odds = math.exp(-exponent) / -math.expm1(-exponent) if exponent else math.inf
        p = min(0.5, math.sqrt(self._mixture + 1) / 2 * odds)
        return p if self.centre > margin else 1 - p

    def two_sided(self) -> float | None:
        """Two-sided p of the hypothesis that there is no difference, valid whenever one stops."""
        return min(1.0, math.sqrt(self._mixture + 1) * math.exp(-self._exponent(0.0)))


def make_always_valid(
    difference: UnitDifference,
    planned_n: float = PLANNED_N,
    *,
    alternative: str = "two-sided",
    level: float | None = None,
) -> UnitDifference:
    """The difference with an interval and p that stay valid however often one looks.

    Absolute and relative differences, ratios and CUPED are treated alike: only the difference's
    standard error and the number of units count.
    """
    if alternative not in ALTERNATIVES:
        raise InputError(f"expected an alternative of {', '.join(ALTERNATIVES)}; found {alternative!r}")
    level = difference.estimate.level if level is None else level
    normal = difference.spread
    if difference.reason:
        return difference
    if not isinstance(normal, NormalSpread):
        raise InputError("expected the delta method's interval for a confidence sequence")
    rho = choose_rho(planned_n, 1 - level, alternative)
    spread = AlwaysValidSpread(normal.centre, normal.error, difference.n, rho, normal.is_narrow)
    low, high = _ends(spread, level, alternative)
    return replace(
        difference,
        estimate=difference.estimate._replace(low=low, high=high, level=level),
        p=_p(spread, alternative),
        method=f"{difference.method}, always valid",
        alternative=alternative,
        spread=spread,
    )


def _ends(spread: AlwaysValidSpread, level: float, alternative: str) -> IntervalEnds:
    if alternative == "two-sided":
        return spread.interval(level)
    reach = spread.bound_reach(level)
    return (spread.centre - reach, None) if alternative == "greater" else (None, spread.centre + reach)


def _p(spread: AlwaysValidSpread, alternative: str) -> float | None:
    if alternative == "two-sided":
        return spread.two_sided()
    p = spread.p_at_most(0.0)
    return p if alternative == "greater" or p is None else 1 - p


def half_width_ratio(n: float, planned_n: float, alpha: float = 0.05) -> float:
    """How many standard errors wide one half of the always-valid interval is at n units.

    >>> round(half_width_ratio(5000, 5000), 3)
    3.035
    """
    mixture = n * choose_rho(planned_n, alpha)
    return math.sqrt(2 * (mixture + 1) / mixture * math.log(math.sqrt(mixture + 1) / alpha))


def power_at(n: float, planned_n: float, drift: float, alpha: float = 0.05) -> float:
    """The chance that one look after n units shows an effect of `drift` standard errors at n.

    It is a lower limit of the power with many looks.
    """
    edge = half_width_ratio(n, planned_n, alpha)
    return normal_cdf(drift - edge) + normal_cdf(-drift - edge)
