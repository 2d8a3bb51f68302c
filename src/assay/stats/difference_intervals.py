"""The uncertainty of a difference: its interval, and the p value of a margin."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from assay.core.arrays import Floats
from assay.stats.intervals import RESAMPLES, is_too_narrow, logarithms, order_statistic, quantile_position
from assay.stats.paired_differences import TOLERANCE, subtract
from assay.stats.resampling import resample_summary

IntervalEnds = tuple[float | None, float | None]


def clip_ends(ends: IntervalEnds) -> IntervalEnds:
    """The ends of the interval of a difference of values between 0 and 1.

    >>> clip_ends((-0.4, 1.2)), clip_ends((None, None))
    ((-0.4, 1.0), (None, None))
    """
    low, high = (None if end is None else min(1.0, max(-1.0, end)) for end in ends)
    return low, high


class Spread(Protocol):
    """The uncertainty of a difference."""

    @property
    def is_narrow(self) -> bool:
        """Whether its interval may cover less often than its level says."""
        ...

    def interval(self, level: float) -> IntervalEnds:
        """The interval at this level."""
        ...

    def p_at_most(self, margin: float) -> float | None:
        """One-sided p of the hypothesis that the true difference is at most the margin.

        Small: the difference is shown to lie above the margin.
        """
        ...

    def two_sided(self) -> float | None:
        """Two-sided p of the hypothesis that there is no difference."""
        ...


class NormalSpread(NamedTuple):
    """A centre with a standard error, by Student's distribution (df infinite: the normal one)."""

    centre: float
    error: float
    df: float
    is_narrow: bool = False  # whether the values are too few or too skewed for Student's distribution

    @property
    def is_constant(self) -> bool:
        """Whether all queries agree."""
        return self.error <= TOLERANCE * max(1e-3, abs(self.centre))

    def interval(self, level: float) -> IntervalEnds:
        """The interval at this level; unknown if all queries agree and could do so by chance."""
        from scipy.special import stdtrit

        if self.is_constant and 0.5 ** (self.df + 1) > (1 - level) / 2:
            return None, None
        half = self.error * float(stdtrit(self.df, 0.5 + level / 2))
        return self.centre - half, self.centre + half

    def p_at_most(self, margin: float) -> float | None:
        """One-sided p of the hypothesis that the true difference is at most the margin."""
        from scipy.special import stdtr

        if self.is_constant:
            chance = 0.5 ** (self.df + 1)  # that all queries agree if their signs are random
            is_equal = abs(self.centre - margin) <= TOLERANCE
            return 0.5 if is_equal else chance if self.centre > margin else 1 - chance
        return float(stdtr(self.df, (margin - self.centre) / self.error))

    def two_sided(self) -> float | None:
        """Two-sided p of the hypothesis that there is no difference."""
        p = NormalSpread(abs(self.centre), self.error, self.df).p_at_most(0.0)
        return None if p is None else 2 * p


class ResampledSpread(NamedTuple):
    """The sorted differences of samples drawn with replacement."""

    values: Floats
    is_narrow: bool = False

    def interval(self, level: float) -> IntervalEnds:
        """The percentile interval."""
        ends = np.quantile(self.values, [0.5 - level / 2, 0.5 + level / 2]).tolist()
        return ends[0], ends[1]

    def p_at_most(self, margin: float) -> float | None:
        """The share of samples with a difference of at most the margin, ties counted half."""
        first, last = (int(np.searchsorted(self.values, margin + gap)) for gap in (-TOLERANCE, TOLERANCE))
        return ((first + last) / 2 + 0.5) / (len(self.values) + 1)

    def two_sided(self) -> float | None:
        """Twice the smaller share on one side of 0."""
        p = self.p_at_most(0.0)
        return None if p is None else 2 * min(p, 1 - p)


class UnknownSpread(NamedTuple):
    """The spread of too few queries: nothing is known."""

    is_narrow: bool = False

    def interval(self, level: float) -> IntervalEnds:
        """None."""
        return None, None

    def p_at_most(self, margin: float) -> float | None:
        """None."""
        return None

    def two_sided(self) -> float | None:
        """None."""
        return None


def paired_spread(baseline: Floats, candidate: Floats, kind: str, seed: int = 0, q: float = 0.5) -> Spread:
    """The spread of the difference candidate - baseline over the same queries (no NaN)."""
    n = len(baseline)
    if n < 2:
        return UnknownSpread()
    if kind == "share":
        differences = subtract(candidate, baseline)
        return bonett_price(int((differences > 0).sum()), int((differences < 0).sum()), n)
    if kind == "quantile":
        return _quantile_spread(baseline, candidate, (seed, seed), q)
    differences = subtract(candidate, baseline)
    centre = float(differences.mean())
    if kind == "geometric":
        centre, baseline, candidate = _geometric_influences(baseline, candidate)
        differences = candidate - baseline
    error = float(differences.std(ddof=1)) / math.sqrt(n)
    return NormalSpread(centre, error, n - 1, is_too_narrow(differences))


def bonett_price(gained: int, lost: int, n: int) -> NormalSpread:
    """The difference of two paired shares, with one gained and one lost query added
    (Bonett and Price 2012, Laplace-adjusted Wald)."""
    up, down = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    return NormalSpread(up - down, math.sqrt((up + down - (up - down) ** 2) / (n + 2)), math.inf)


def unpaired_spread(baseline: Floats, candidate: Floats, kind: str, seed: int = 0, q: float = 0.5) -> Spread:
    """The spread of the difference between the means of two samples of different queries (no NaN)."""
    if min(len(baseline), len(candidate)) < 2:
        return UnknownSpread()
    if kind == "share":
        return agresti_caffo(baseline.sum(), len(baseline), candidate.sum(), len(candidate))
    if kind == "quantile":
        return _quantile_spread(baseline, candidate, (seed, seed + 1), q)
    if kind == "geometric":
        centre, baseline, candidate = _geometric_influences(baseline, candidate)
        return welch(baseline, candidate)._replace(centre=centre)
    return welch(baseline, candidate)


def welch(baseline: Floats, candidate: Floats) -> NormalSpread:
    """The difference of two means with unequal variances (Welch 1947)."""
    errors = [sample.var(ddof=1) / len(sample) for sample in (baseline, candidate)]
    total = sum(errors)
    freedom = [e * e / (len(s) - 1) for e, s in zip(errors, (baseline, candidate), strict=True)]
    df = total * total / sum(freedom) if total else len(baseline) + len(candidate) - 2
    is_narrow = is_too_narrow(baseline) or is_too_narrow(candidate)
    return NormalSpread(float(candidate.mean() - baseline.mean()), math.sqrt(total), float(df), is_narrow)


def agresti_caffo(hits: float, n: int, other_hits: float, other_n: int) -> NormalSpread:
    """The difference of two shares, with a hit and a miss added to each (Agresti and Caffo 2000)."""
    first, second = (hits + 1) / (n + 2), (other_hits + 1) / (other_n + 2)
    error = first * (1 - first) / (n + 2) + second * (1 - second) / (other_n + 2)
    return NormalSpread(second - first, math.sqrt(error), math.inf)


def _geometric_influences(baseline: Floats, candidate: Floats) -> tuple[float, Floats, Floats]:
    """The difference of two geometric means, and the influence of each value (the delta method)."""
    means, influences = [], []
    for values in (baseline, candidate):
        logs = logarithms(values)
        means.append(math.exp(float(logs.mean())))
        influences.append(means[-1] * (logs - logs.mean()))
    return means[1] - means[0], influences[0], influences[1]


def _quantile_spread(baseline: Floats, candidate: Floats, seeds: tuple[int, int], q: float) -> Spread:
    """The spread of a difference of quantiles by resampling; equal seeds draw the same queries.

    If there are too few values for an interval around the quantile, resampling does not help.
    """
    ends = [end for values in (baseline, candidate) for end in order_statistic(values, q, 0.95)[1:3]]
    if None in ends:
        return UnknownSpread()
    before, after = (_resample_quantiles(v, s, q) for v, s in zip((baseline, candidate), seeds, strict=True))
    return ResampledSpread(np.sort(subtract(after, before)))


def _resample_quantiles(values: Floats, seed: int, q: float) -> Floats:
    """The quantiles of samples of the values, drawn with replacement."""
    position = quantile_position(len(values), q)
    return resample_summary(
        lambda rows: np.partition(rows, position, axis=1)[:, position], values, RESAMPLES, seed
    )
