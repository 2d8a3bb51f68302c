"""Whether an effect differs between slices, and whether it changes over days."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from assay.stats.corrections import holm
from assay.stats.difference_intervals import NormalSpread
from assay.stats.intervals import Estimate
from assay.stats.unit_differences import UnitDifference


class SliceDeviation(NamedTuple):
    """How far the effect in one slice lies from the effect in all others."""

    name: str
    deviation: Estimate
    p: float
    corrected_p: float


class Heterogeneity(NamedTuple):
    """Cochran's test (1954) that the effect is the same in all slices; p None: `reason` says why."""

    statistic: float | None
    df: int
    p: float | None
    i_squared: float | None  # the share of the variation that chance does not explain (Higgins 2003)
    slices: tuple[SliceDeviation, ...] = ()
    left_out: tuple[str, ...] = ()  # slices whose effect or error is unknown
    reason: str = ""


def check_heterogeneity(effects: Mapping[str, UnitDifference], level: float = 0.95) -> Heterogeneity:
    """Test whether slices of different units have the same effect, and which deviate (Holm)."""
    known = {name: e.spread for name, e in effects.items() if _is_known(e)}
    normal = {name: s for name, s in known.items() if isinstance(s, NormalSpread)}
    left_out = tuple(name for name in effects if name not in normal)
    if len(normal) < 2:
        return Heterogeneity(None, 0, None, None, (), left_out, "fewer than two slices with an interval")
    centres = np.array([s.centre for s in normal.values()])
    weights = np.array([s.error**-2.0 for s in normal.values()])
    from scipy.special import chdtrc

    pooled = float(weights @ centres / weights.sum())
    statistic, df = float(weights @ (centres - pooled) ** 2), len(normal) - 1
    i_squared = max(0.0, (statistic - df) / statistic) if statistic else 0.0
    slices = _deviations(list(normal), centres, weights, [effects[n].n for n in normal], level)
    return Heterogeneity(statistic, df, float(chdtrc(df, statistic)), i_squared, slices, left_out)


def _is_known(effect: UnitDifference) -> bool:
    return isinstance(effect.spread, NormalSpread) and effect.spread.error > 0


def _deviations(
    names: Sequence[str], centres: np.ndarray, weights: np.ndarray, counts: Sequence[int], level: float
) -> tuple[SliceDeviation, ...]:
    total, sums = weights.sum(), float(weights @ centres)
    spreads = []
    for centre, weight in zip(centres, weights, strict=True):
        rest = total - weight
        others = (sums - weight * centre) / rest
        spreads.append(NormalSpread(float(centre - others), math.sqrt(1 / weight + 1 / rest), math.inf))
    ps = [spread.two_sided() or 0.0 for spread in spreads]
    rows = zip(names, spreads, counts, ps, holm(ps), strict=True)
    return tuple(
        SliceDeviation(name, Estimate(s.centre, *s.interval(level), level, n), p, c if c is not None else p)
        for name, s, n, p, c in rows
    )


class EffectTrend(NamedTuple):
    """The change of the effect per day, by weighted regression; p None: `reason` says why."""

    slope: Estimate
    p: float | None
    first: float | None  # the fitted effect of the first day
    last: float | None
    reason: str = ""

    @property
    def is_fading(self) -> bool | None:
        """Whether the effect is shown to shrink over the days (novelty); None: unknown."""
        if self.p is None or self.first is None or self.last is None:
            return None
        return self.p < 1 - self.slope.level and abs(self.last) < abs(self.first)

    @property
    def is_growing(self) -> bool | None:
        """Whether the effect is shown to grow over the days (primacy, learning); None: unknown."""
        if self.p is None or self.first is None or self.last is None:
            return None
        return self.p < 1 - self.slope.level and abs(self.last) > abs(self.first)


def fit_trend(effects: Mapping[float, UnitDifference], level: float = 0.95) -> EffectTrend:
    """The trend of effects by day, each of different units (grouped by the day of their first exposure).

    Days are weighted by the precision of their effect, whose errors are taken as known.
    """
    days = sorted(day for day, effect in effects.items() if _is_known(effect))
    n = sum(effects[day].n for day in days)
    if len(days) < 3:
        empty = Estimate(None, None, None, level, n)
        return EffectTrend(empty, None, None, None, "fewer than three days with an interval")
    spreads = [s for s in (effects[day].spread for day in days) if isinstance(s, NormalSpread)]
    centres, weights = np.array([s.centre for s in spreads]), np.array([s.error**-2.0 for s in spreads])
    times = np.array(days, dtype=np.float64)
    middle, mean = (float(weights @ column / weights.sum()) for column in (times, centres))
    information = float(weights @ (times - middle) ** 2)
    slope = float(weights @ ((times - middle) * (centres - mean))) / information
    spread = NormalSpread(slope, information**-0.5, math.inf)
    fitted = [mean + slope * (day - middle) for day in (days[0], days[-1])]
    estimate = Estimate(slope, *spread.interval(level), level, n)
    return EffectTrend(estimate, spread.two_sided(), fitted[0], fitted[1])
