"""How far a difference may lie from the one observed: its interval, and whether it lies past a margin."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from assay.core.texts import Floats
from assay.stats.intervals import RESAMPLES, logarithms, order_statistic, place
from assay.stats.resampling import resampled

Ends = tuple[float | None, float | None]


class Spread(Protocol):
    """What is known of a difference."""

    def interval(self, level: float) -> Ends:
        """The interval at this level."""
        ...

    def below(self, margin: float) -> float | None:
        """How plausible it is that the true difference is at most the margin (a one-sided p).

        Small: the difference is shown to lie above the margin.
        """
        ...

    def two_sided(self) -> float | None:
        """How plausible it is that there is no difference."""
        ...


class Normal(NamedTuple):
    """A centre with a standard error, by Student's distribution (df infinite: the normal one)."""

    centre: float
    error: float
    df: float

    def interval(self, level: float) -> Ends:
        """The interval at this level."""
        from scipy.special import stdtrit

        half = self.error * float(stdtrit(self.df, 0.5 + level / 2))
        return self.centre - half, self.centre + half

    def below(self, margin: float) -> float | None:
        """How plausible it is that the true difference is at most the margin."""
        from scipy.special import stdtr

        if self.error <= max(
            1e-15, 1e-12 * abs(self.centre)
        ):  # all queries agree: the chance that they would, by signs thrown at random
            chance = 0.5 ** (self.df + 1)
            return 0.5 if self.centre == margin else chance if self.centre > margin else 1 - chance
        return float(stdtr(self.df, (margin - self.centre) / self.error))

    def two_sided(self) -> float | None:
        """How plausible it is that there is no difference."""
        p = Normal(abs(self.centre), self.error, self.df).below(0.0)
        return None if p is None else 2 * p


class Resampled(NamedTuple):
    """Differences of samples drawn with replacement, in order."""

    values: Floats

    def interval(self, level: float) -> Ends:
        """The percentile interval."""
        ends = np.quantile(self.values, [0.5 - level / 2, 0.5 + level / 2]).tolist()
        return ends[0], ends[1]

    def below(self, margin: float) -> float | None:
        """The share of samples with a difference of at most the margin, ties counted half."""
        first, last = (int(np.searchsorted(self.values, margin, side)) for side in ("left", "right"))
        return ((first + last) / 2 + 0.5) / (len(self.values) + 1)

    def two_sided(self) -> float | None:
        """Twice the smaller share on one side of 0."""
        p = self.below(0.0)
        return None if p is None else 2 * min(p, 1 - p)


class Unknown(NamedTuple):
    """Too few queries to say anything."""

    def interval(self, level: float) -> Ends:
        """None."""
        return None, None

    def below(self, margin: float) -> float | None:
        """None."""
        return None

    def two_sided(self) -> float | None:
        """None."""
        return None


def paired(baseline: Floats, candidate: Floats, kind: str, seed: int = 0, q: float = 0.5) -> Spread:
    """The spread of the difference candidate - baseline over the same queries (no NaN)."""
    n = len(baseline)
    if n < 2:
        return Unknown()
    if kind == "share":
        return bonett_price(int((candidate > baseline).sum()), int((candidate < baseline).sum()), n)
    if kind == "quantile":
        return _resampled(baseline, candidate, (seed, seed), q)
    centre = float((candidate - baseline).mean())
    if kind == "geometric":
        centre, baseline, candidate = _pulled(baseline, candidate)
    return Normal(centre, float((candidate - baseline).std(ddof=1)) / math.sqrt(n), n - 1)


def bonett_price(gained: int, lost: int, n: int) -> Normal:
    """The difference of two paired shares: one query more counted as gained and one as lost, of n + 2
    (Bonett and Price 2012, Laplace-adjusted Wald)."""
    up, down = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    return Normal(up - down, math.sqrt((up + down - (up - down) ** 2) / (n + 2)), math.inf)


def unpaired(baseline: Floats, candidate: Floats, kind: str, seed: int = 0, q: float = 0.5) -> Spread:
    """The spread of the difference between the means of two samples of different queries (no NaN)."""
    if min(len(baseline), len(candidate)) < 2:
        return Unknown()
    if kind == "share":
        return agresti_caffo(baseline.sum(), len(baseline), candidate.sum(), len(candidate))
    if kind == "quantile":
        return _resampled(baseline, candidate, (seed, seed + 1), q)
    if kind == "geometric":
        centre, baseline, candidate = _pulled(baseline, candidate)
        return welch(baseline, candidate)._replace(centre=centre)
    return welch(baseline, candidate)


def welch(baseline: Floats, candidate: Floats) -> Normal:
    """The difference of two means with unequal variances (Welch 1947)."""
    errors = [sample.var(ddof=1) / len(sample) for sample in (baseline, candidate)]
    total = sum(errors)
    freedom = [e * e / (len(s) - 1) for e, s in zip(errors, (baseline, candidate), strict=True)]
    df = total * total / sum(freedom) if total else len(baseline) + len(candidate) - 2
    return Normal(float(candidate.mean() - baseline.mean()), math.sqrt(total), float(df))


def agresti_caffo(hits: float, n: int, other_hits: float, other_n: int) -> Normal:
    """The difference of two shares: a hit and a miss more counted in each (Agresti and Caffo 2000)."""
    first, second = (hits + 1) / (n + 2), (other_hits + 1) / (other_n + 2)
    error = first * (1 - first) / (n + 2) + second * (1 - second) / (other_n + 2)
    return Normal(second - first, math.sqrt(error), math.inf)


def _pulled(baseline: Floats, candidate: Floats) -> tuple[float, Floats, Floats]:
    """The difference of two geometric means, and how far each value pulls at its own (the delta method)."""
    means, pulls = [], []
    for values in (baseline, candidate):
        logs = logarithms(values)
        means.append(math.exp(float(logs.mean())))
        pulls.append(means[-1] * (logs - logs.mean()))
    return means[1] - means[0], pulls[0], pulls[1]


def _resampled(baseline: Floats, candidate: Floats, seeds: tuple[int, int], q: float) -> Spread:
    """Differences of quantiles in samples drawn again; the same seed for both draws the same queries.

    Too few values have no interval around their quantile, and drawing them again makes them no more.
    """
    ends = [end for values in (baseline, candidate) for end in order_statistic(values, q, 0.95)[1:3]]
    if None in ends:
        return Unknown()
    before, after = (_quantiles(v, s, q) for v, s in zip((baseline, candidate), seeds, strict=True))
    return Resampled(np.sort(after - before))


def _quantiles(values: Floats, seed: int, q: float) -> Floats:
    """The quantiles of samples of the values, drawn with replacement."""
    at = place(len(values), q)
    return resampled(lambda rows: np.partition(rows, at, axis=1)[:, at], values, RESAMPLES, seed)
