"""The uncertainty of a relative difference on other scales than the delta method's."""

from __future__ import annotations

import math
from typing import NamedTuple

from assay.stats.difference_intervals import IntervalEnds, NormalSpread


class LogSpread(NamedTuple):
    """A quotient minus 1 whose logarithm is normal; its interval never goes below -1."""

    centre: float  # of the logarithm of the quotient
    log_error: float
    df: float
    is_narrow: bool = False

    @property
    def _normal(self) -> NormalSpread:
        return NormalSpread(self.centre, self.log_error, self.df)

    def interval(self, level: float) -> IntervalEnds:
        """The interval at this level."""
        low, high = self._normal.interval(level)
        return None if low is None else math.expm1(low), None if high is None else math.expm1(high)

    def p_at_most(self, margin: float) -> float | None:
        """One-sided p of the hypothesis that the true lift is at most the margin."""
        return 0.0 if margin <= -1 else self._normal.p_at_most(math.log1p(margin))

    def two_sided(self) -> float | None:
        """Two-sided p of the hypothesis that there is no lift."""
        return self._normal.two_sided()


class QuotientSpread(NamedTuple):
    """The quotient of two normal means by the method of Fieller (1954).

    A lift is in the interval if `numerator - lift * denominator` may be 0.
    """

    numerator: float
    denominator: float  # above 0
    variance: float
    denominator_variance: float
    covariance: float
    df: float
    is_narrow: bool = False

    def _excess(self, lift: float) -> NormalSpread:
        variance = self.variance - 2 * lift * self.covariance + lift**2 * self.denominator_variance
        return NormalSpread(self.numerator - lift * self.denominator, math.sqrt(max(variance, 0.0)), self.df)

    def interval(self, level: float) -> IntervalEnds:
        """The interval at this level; unknown if the denominator may be 0."""
        from scipy.special import stdtrit

        squared = float(stdtrit(self.df, 0.5 + level / 2)) ** 2
        a = self.denominator**2 - squared * self.denominator_variance
        b = self.numerator * self.denominator - squared * self.covariance
        c = self.numerator**2 - squared * self.variance
        if a <= 0:
            return None, None
        half = math.sqrt(max(b * b - a * c, 0.0))
        return (b - half) / a, (b + half) / a

    def p_at_most(self, margin: float) -> float | None:
        """One-sided p of the hypothesis that the true lift is at most the margin."""
        return self._excess(margin).p_at_most(0.0)

    def two_sided(self) -> float | None:
        """Two-sided p of the hypothesis that there is no lift."""
        return self._excess(0.0).two_sided()
