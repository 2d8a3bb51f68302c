"""Means from few human labels and many model labels: prediction-powered inference.

The estimate is the mean of the model's values over all units plus the mean of what people corrected in
the units that they labelled, with the model's values scaled by a factor that is tuned on the labelled
units (PPI++: Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453, eq. 3 and 8). The same estimate is
known in survey sampling as the regression estimator (Cochran 1977, 7.4). Its variance is

    (1/n - 1/N) s²(residual) + s²(human) / N,

the first part because not all N units have a human label, the second because the N units are a sample.
The first part grows by the uncertainty of the scale, and Student's distribution has n - 2 degrees of
freedom, so that the interval also covers with few labels. Strata are combined by their sizes (Fisch et
al. 2024, arXiv 2406.04291). Units that were labelled with unequal chances count by the inverse of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.stats.bounded_means import Bounds
from assay.stats.difference_intervals import NormalSpread
from assay.stats.intervals import Estimate, estimate, estimate_mean, is_too_narrow
from assay.stats.paired_differences import TOLERANCE

FEWEST_TO_TUNE = 10  # with fewer labelled units the scale of the model's values is not tuned: it is 0
FEWEST_OF_STRATUM = 30  # with fewer, a stratum shares the scale of all strata
FEWEST_TO_CHOOSE = 50  # from here on, the narrower of the intervals with and without the model is used


@dataclass(frozen=True)
class LabelledUnits:
    """Units that people labelled, drawn at random from a population of units that a model labelled.

    The result is the mean over the population of the human values, plus `offset`.
    """

    human: Floats  # the value of each labelled unit, by the labels of people
    model: Floats  # the value of the same units, by the labels of the model
    population: Floats  # the value of every unit, labelled by people or not, by the labels of the model
    chances: Floats | None = None  # that each labelled unit is labelled; None: equal
    offset: float = 0.0
    model_offset: float = 0.0  # the same for the mean of the model's values
    weight: float | None = None  # in a combination of strata; None: the size of the population
    offsets: Floats | None = None  # of each unit of the population, of which `offset` is the mean
    rows: Ints | None = None  # the position of each labelled unit in the population, needed with clusters
    clusters: Ints | None = None  # the cluster (query) of each unit of the population; None: its own
    is_estimated: bool = False  # whether the values of labelled units are estimates from some of their pairs

    @property
    def n(self) -> int:
        """The number of labelled units."""
        return len(self.human)

    @property
    def size(self) -> int:
        """The number of units of the population."""
        return len(self.population)

    @cached_property
    def inclusion(self) -> Floats:
        """The chance of each labelled unit to be labelled."""
        return np.full(self.n, self.n / self.size) if self.chances is None else self.chances

    @cached_property
    def weights(self) -> Floats:
        """The weight of each labelled unit; their sum is 1."""
        weights: Floats = 1 / self.inclusion / float((1 / self.inclusion).sum())
        return weights

    @cached_property
    def share(self) -> float:
        """The weight of the population in a combination of strata."""
        return float(self.size if self.weight is None else self.weight)


@dataclass(frozen=True)
class PoweredEstimate:
    """A mean by labels of people and of a model together, by those of people alone, and of the model alone.

    `n` of the estimates is the number of units with the labels that they use. `scale` is λ of PPI++: 0 if
    the model's labels do not help. `effective_n` is the number of human labels that would give the same
    interval without the model.
    """

    combined: Estimate
    human_only: Estimate
    model_only: Estimate
    scale: float
    effective_n: float | None
    spread: NormalSpread | None  # of the combined value; None: no interval by Student's distribution
    reason: str = ""  # why there is no interval, or why the model's labels are not used

    @property
    def width_ratio(self) -> float | None:
        """The width of the combined interval over that of human labels alone."""
        widths = [_width(e) for e in (self.combined, self.human_only)]
        return None if widths[0] is None or not widths[1] else widths[0] / widths[1]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the estimate."""
        names = ("combined", "human_only", "model_only")
        estimates = dict(zip(names, (self.combined, self.human_only, self.model_only), strict=True))
        data: dict[str, Any] = {
            name: e.to_dict() | ({"too_narrow": True} if e.is_narrow else {}) for name, e in estimates.items()
        }
        data |= {"effective_n": self.effective_n, "lambda": self.scale, "width_ratio": self.width_ratio}
        return data | ({"reason": self.reason} if self.reason else {})


def _width(e: Estimate) -> float | None:
    return None if e.low is None or e.high is None else e.high - e.low


class _Fit(NamedTuple):
    """The mean of one stratum with its variances."""

    value: float
    label_variance: float  # of the mean, because not all units are labelled
    df: float
    unit_variance: float  # of the human values of units
    residuals: Floats


def estimate_powered(
    strata: Sequence[LabelledUnits],
    level: float = 0.95,
    bounds: Bounds | None = None,
    *,
    is_fixed: bool = False,
    clusters: int = 0,
) -> PoweredEstimate:
    """Return the mean of the human values of a population in one or more strata.

    `bounds`: between which the mean lies; `is_fixed`: the units are all there are, not a sample of others;
    `clusters`: the number of clusters, if the units are parts of clusters that are the sample.

    >>> model = np.tile([0.0, 1.0], 500)
    >>> human = model[:40] * 0.8 + np.tile([0.0, 0.0, 0.1, 0.1], 10)
    >>> result = estimate_powered([LabelledUnits(human, model[:40], model)])
    >>> round(result.combined.value, 3), result.width_ratio < 0.5, result.effective_n > 100
    (0.45, True, True)
    """
    slopes = _slopes(strata)
    human_only = _combine(strata, [0.0] * len(strata), level, is_fixed, clusters)
    powered = _combine(strata, slopes, level, is_fixed, clusters) if any(slopes) else human_only
    reason = _reason(strata)
    if sum(units.n for units in strata) >= FEWEST_TO_CHOOSE and powered.half > human_only.half:
        powered, slopes = human_only, [0.0] * len(strata)
    if not any(slopes) and not reason:
        reason = "the model's labels do not make the interval narrower"
    human_estimate = human_only.to_estimate(strata, level, bounds)
    ratio = human_only.variance / powered.variance if powered.variance > 0 else 1.0
    return PoweredEstimate(
        human_estimate if powered is human_only else powered.to_estimate(strata, level, bounds),
        human_estimate,
        _model_estimate(strata, level, bounds),
        _mean_scale(strata, slopes),
        None if human_estimate.has_no_interval else human_estimate.n * ratio,
        NormalSpread(powered.value, math.sqrt(powered.variance), powered.df)
        if powered.variance > 0 and not human_estimate.has_no_interval
        else None,
        reason,
    )


def _reason(strata: Sequence[LabelledUnits]) -> str:
    n = sum(units.n for units in strata)
    if min(units.n for units in strata) < 2:
        return f"an interval needs 2 human labels or more, found {min(units.n for units in strata)}"
    if n < FEWEST_TO_TUNE:
        return f"the model's labels are used from {FEWEST_TO_TUNE} human labels on, found {n}"
    if all(units.n == units.size for units in strata):
        return "people labelled all of them"
    return ""


def _slopes(strata: Sequence[LabelledUnits]) -> list[float]:
    """Return the slope of the human values on the model's in each stratum; small strata share one."""
    if sum(units.n for units in strata) < FEWEST_TO_TUNE:
        return [0.0] * len(strata)
    products = [_products(units) for units in strata]
    common = _divide(sum(xy for xy, _ in products), sum(xx for _, xx in products))
    return [
        _divide(xy, xx) if units.n >= FEWEST_OF_STRATUM else common
        for units, (xy, xx) in zip(strata, products, strict=True)
    ]


def _divide(xy: float, xx: float) -> float:
    """Return a slope; 0 if it is negative or undefined."""
    return max(0.0, xy / xx) if xx > TOLERANCE else 0.0


def _products(units: LabelledUnits) -> tuple[float, float]:
    """Return the sums of products of deviations, weighted as in the variance of the mean."""
    weights = _variance_weights(units)
    x = units.model - float((units.weights * units.model).sum())
    y = units.human - float((units.weights * units.human).sum())
    return float((weights * x * y).sum()), float((weights * x * x).sum())


def _variance_weights(units: LabelledUnits) -> Floats:
    """Return the weights of squared residuals in the variance of the mean: (1 - π) / (π Σ 1/π)²."""
    is_certain = units.is_estimated and units.chances is None
    rest = np.ones(units.n) if is_certain else 1 - units.inclusion
    weights: Floats = rest * units.weights**2
    return weights


def _mean_scale(strata: Sequence[LabelledUnits], slopes: Sequence[float]) -> float:
    """Return λ of PPI++: the slope times the share of units without human labels (eq. 8)."""
    total = sum(units.share for units in strata)
    return sum(
        units.share / total * slope * (1 - units.n / units.size)
        for units, slope in zip(strata, slopes, strict=True)
    )


class _Combination(NamedTuple):
    """The mean over all strata."""

    value: float
    variance: float
    df: float
    half: float  # of the interval
    residuals: Floats

    def to_estimate(
        self, strata: Sequence[LabelledUnits], level: float, bounds: Bounds | None = None
    ) -> Estimate:
        """Return the mean with its interval, inside the bounds."""
        n = sum(units.n for units in strata)
        if min(units.n for units in strata) < 2:
            return Estimate(_clip(self.value, bounds), None, None, level, n)
        if self.variance <= TOLERANCE**2 and not all(units.n == units.size for units in strata):
            return _constant_estimate(strata, self.value, level, bounds)
        ends = (self.value - self.half, self.value + self.half)
        is_narrow = is_too_narrow(self.residuals) and n < sum(units.size for units in strata)
        value, low, high = (_clip(x, bounds) for x in (self.value, *ends))
        return Estimate(value, low, high, level, n, is_narrow)


def _constant_estimate(
    strata: Sequence[LabelledUnits], value: float, level: float, bounds: Bounds | None
) -> Estimate:
    """Return the interval of equal human values, which is known only between bounds."""
    values = np.concatenate([units.human + units.offset for units in strata])
    if bounds is None or len(strata) > 1:
        return Estimate(value, None, None, level, len(values))
    return estimate(values, "mean", level, bounds=bounds)


def _clip(value: float, bounds: Bounds | None) -> float:
    return value if bounds is None else min(bounds[1], max(bounds[0], value))


def _combine(
    strata: Sequence[LabelledUnits], slopes: Sequence[float], level: float, is_fixed: bool, clusters: int
) -> _Combination:
    """Return the mean over strata for given slopes."""
    from scipy.special import stdtrit

    fits = [_fit(units, slope) for units, slope in zip(strata, slopes, strict=True)]
    total = sum(units.share for units in strata)
    shares = [units.share / total for units in strata]
    value = sum(share * fit.value for share, fit in zip(shares, fits, strict=True))
    parts = [share * share * fit.label_variance for share, fit in zip(shares, fits, strict=True)]
    variance, df = sum(parts), _degrees_of_freedom(parts, [fit.df for fit in fits])
    if clusters and not is_fixed:
        variance, df = _cluster_variance(strata, slopes, shares, clusters), clusters - 1.0
    elif not is_fixed:
        variance += sum(
            share * (fit.unit_variance + (fit.value - value) ** 2) / sum(units.size for units in strata)
            for share, fit in zip(shares, fits, strict=True)
        )
    half = math.sqrt(variance) * float(stdtrit(max(df, 1.0), 0.5 + level / 2))
    return _Combination(value, variance, df, half, np.concatenate([fit.residuals for fit in fits]))


def _degrees_of_freedom(parts: Sequence[float], dfs: Sequence[float]) -> float:
    """Return the degrees of freedom of a sum of variances (Satterthwaite 1946)."""
    bottom = sum(part * part / df for part, df in zip(parts, dfs, strict=True))
    return sum(parts) ** 2 / bottom if bottom else sum(dfs)


def _fit(units: LabelledUnits, slope: float) -> _Fit:
    """Return the mean of one stratum for a given slope."""
    x, y, weights = units.model, units.human, units.weights
    fitted = slope != 0.0
    values = y - slope * x
    centre = float((weights * values).sum())
    residuals = values - centre
    value = slope * float(units.population.mean()) + centre + units.offset
    kish = 1 / float((weights**2).sum())
    df = max(1.0, kish - 1 - fitted)
    unit_variance = float((weights * (y - float((weights * y).sum())) ** 2).sum()) * kish / max(1.0, kish - 1)
    squares = float((_variance_weights(units) * residuals**2).sum()) * kish / df
    # as if one of n units had a residual as large as the deviation of the human values: with few units,
    # a model that agrees with people on all of them may disagree on others
    least = unit_variance / units.n * float(_variance_weights(units).sum())
    label_variance = max(squares, least) if fitted else squares
    if fitted:
        label_variance *= 1 + _leverage(units) * kish
    return _Fit(value, label_variance, df, unit_variance, residuals)


def _leverage(units: LabelledUnits) -> float:
    """Return by how much the uncertainty of the slope moves the mean, in units of the residual variance."""
    mean = float((units.weights * units.model).sum())
    spread = float((units.weights * (units.model - mean) ** 2).sum()) / float((units.weights**2).sum())
    return (mean - float(units.population.mean())) ** 2 / spread if spread > TOLERANCE else 0.0


def _cluster_variance(
    strata: Sequence[LabelledUnits], slopes: Sequence[float], shares: Sequence[float], clusters: int
) -> float:
    """Return the variance of the mean over clusters, each with its share of the estimate.

    It has both the differences between clusters and the labels that were not drawn (Cochran 1977, 11.5).
    """
    totals = np.zeros(clusters)
    for units, slope, share in zip(strata, slopes, shares, strict=True):
        assert units.clusters is not None
        assert units.rows is not None
        values = units.human - slope * units.model
        centre = float((units.weights * values).sum())
        spread_values = slope * units.population + centre
        spread_values += units.offset if units.offsets is None else units.offsets
        totals += share * np.bincount(units.clusters, spread_values / units.size, clusters)
        corrections = units.weights * (values - centre)
        totals += share * np.bincount(units.clusters[units.rows], corrections, clusters)
    return clusters * float(totals.var(ddof=1)) if clusters > 1 else 0.0


def _model_estimate(strata: Sequence[LabelledUnits], level: float, bounds: Bounds | None) -> Estimate:
    """Return the mean of the model's values with the interval that ignores its errors."""
    total = sum(units.share for units in strata)
    values = np.concatenate([units.population for units in strata])
    centre = sum(u.share / total * (float(u.population.mean()) + u.model_offset) for u in strata)
    plain = estimate_mean(values, level)
    low, high = (
        None if end is None or plain.value is None else _clip(centre + end - plain.value, bounds)
        for end in (plain.low, plain.high)
    )
    return Estimate(_clip(centre, bounds), low, high, level, len(values), plain.is_narrow)


def undefined_estimate(level: float) -> PoweredEstimate:
    """Return the estimate of units none of which people labelled."""
    nothing = Estimate(None, None, None, level, 0)
    return PoweredEstimate(nothing, nothing, nothing, 0.0, None, None, "people labelled none of these units")
