"""How many users an interleaving and an A/B test of the same two rankers need for the same power."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from assay.core.arrays import Floats, Ints
from assay.core.errors import UndecidableError
from assay.core.events import Events
from assay.online.interleaving.preference import Interleaving, Preference
from assay.stats import Estimate
from assay.stats.distributions import normal_quantile
from assay.stats.power import POWER

ALPHA = 0.05
METRICS = ("clicks per query", "queries with a click", "reciprocal rank of the first click")
_RESAMPLES = 2_000
_CELLS = 4_000_000  # of a table of resamples and distinct users in memory


@dataclass(frozen=True)
class UnitSums:
    """The numerator and the denominator of a ratio for each user."""

    numerator: Floats
    denominator: Floats


@dataclass(frozen=True)
class ABSensitivity:
    """One metric of an A/B test beside an interleaving."""

    metric: str
    difference: Estimate  # candidate - baseline, by user (delta method)
    p: float | None
    users_needed: Estimate  # in both arms together
    times_as_many: Estimate  # users of the A/B test for one of the interleaving

    def to_dict(self) -> dict[str, Any]:
        """Return the sensitivity as plain data."""
        return {
            "metric": self.metric,
            "difference": self.difference.to_dict(),
            "p": self.p,
            "users_needed": self.users_needed.to_dict(),
            "times_as_many": self.times_as_many.to_dict(),
        }


@dataclass(frozen=True)
class Sensitivity:
    """The users that an interleaving needs, and those that an A/B test needs by each metric."""

    baseline: str
    candidate: str
    users: Mapping[str, int]  # of the interleaving and of the two arms
    interleaving: Estimate  # users needed, those without a credit included
    metrics: Sequence[ABSensitivity]
    power: float = POWER
    alpha: float = ALPHA

    def to_dict(self) -> dict[str, Any]:
        """Return the sensitivity as plain data."""
        return {
            "baseline": self.baseline,
            "candidate": self.candidate,
            "power": self.power,
            "alpha": self.alpha,
            "users": dict(self.users),
            "interleaving": {"users_needed": self.interleaving.to_dict()},
            "ab": [metric.to_dict() for metric in self.metrics],
        }


def compare_sensitivity(
    interleaving: Interleaving,
    events: Events,
    actions: Sequence[str] = ("click",),
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Sensitivity:
    """Return how many users each would need, from the differences that the two show.

    Users needed is the number at which a difference as large as the one measured is found with a power of
    0.8. The intervals are those of a bootstrap of users; an end is null if too many resamples show the
    opposite or no difference, which no number of users would find.
    """
    preference = interleaving.preferences[0]
    arms = [_user_sums(events, arm, actions) for arm in (preference.baseline, preference.candidate)]
    rng = np.random.default_rng(seed)
    values = _all_values(preference, interleaving.counts["users"])
    if len(values) < 2:
        raise UndecidableError(
            f"--beside-ab: expected two or more users of the interleaving, found {len(values)}"
        )
    needed = users_needed_interleaved(values)
    resampled = _unsigned(_resample_interleaved(values, rng), float(values.mean()))
    metrics = [
        _ab_sensitivity(name, arms[0][name], arms[1][name], (needed, resampled), level, rng)
        for name in METRICS
    ]
    users = {
        "interleaving": len(values),
        preference.baseline: len(arms[0][METRICS[0]].numerator),
        preference.candidate: len(arms[1][METRICS[0]].numerator),
    }
    estimate = _interval(needed, resampled, level, len(values))
    return Sensitivity(preference.baseline, preference.candidate, users, estimate, metrics)


def users_needed_interleaved(values: Floats) -> float:
    """Return how many users an interleaving needs; users without a credit have the value 0.

    >>> round(users_needed_interleaved(np.array([1.0, 1.0, -1.0, 0.0] * 100)))
    87
    """
    return _needed(float(values.mean()), float(values.var(ddof=1)))


def users_needed_ab(baseline: UnitSums, candidate: UnitSums) -> float:
    """Return how many users an A/B test of two equal arms needs, both arms together."""
    (before, before_variance), (after, after_variance) = (_ratio(arm) for arm in (baseline, candidate))
    return 2 * _needed(after - before, before_variance + after_variance)


def _needed(difference: float, variance: float) -> float:
    """Return n such that a difference with an error of √(variance / n) is found with the power (normal)."""
    if difference == 0 or not math.isfinite(difference):
        return math.inf
    return (normal_quantile(1 - ALPHA / 2) + normal_quantile(POWER)) ** 2 * variance / difference**2


def _ratio(sums: UnitSums) -> tuple[float, float]:
    """Return the ratio of the sums, and the variance of the linearised values of users (delta method)."""
    ratio = float(sums.numerator.sum() / sums.denominator.sum())
    linear = (sums.numerator - ratio * sums.denominator) / sums.denominator.mean()
    return ratio, float(linear.var(ddof=1))


def _ab_sensitivity(
    metric: str,
    baseline: UnitSums,
    candidate: UnitSums,
    interleaved: tuple[float, Floats],
    level: float,
    rng: np.random.Generator,
) -> ABSensitivity:
    (before, before_variance), (after, after_variance) = (_ratio(arm) for arm in (baseline, candidate))
    sizes = [len(arm.numerator) for arm in (baseline, candidate)]
    error = math.sqrt(before_variance / sizes[0] + after_variance / sizes[1])
    difference, n = after - before, sum(sizes)
    half = normal_quantile(0.5 + level / 2) * error
    p = math.erfc(abs(difference) / error / math.sqrt(2)) if error else None
    needed = users_needed_ab(baseline, candidate)
    resampled = _unsigned(_resample_ab(baseline, candidate, rng), difference)
    own, own_resampled = interleaved
    with np.errstate(invalid="ignore", divide="ignore"):  # if both have another sign, nothing follows
        times = resampled / own_resampled
    return ABSensitivity(
        metric,
        Estimate(difference, difference - half, difference + half, level, n),
        p,
        _interval(needed, resampled, level, n),
        _interval(needed / own if 0 < own < math.inf else math.inf, times, level, n),
    )


def _resample_ab(baseline: UnitSums, candidate: UnitSums, rng: np.random.Generator) -> Floats:
    """Return the users needed by resampled users, each with the sign of the difference."""
    (before, before_variance), (after, after_variance) = (_resample(a, rng) for a in (baseline, candidate))
    return 2 * _needed_signed(after - before, before_variance + after_variance)


def _resample(sums: UnitSums, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the ratios of resampled users, and the variances of their linearised values."""
    pairs = np.column_stack((sums.numerator, sums.denominator))
    distinct, counts = np.unique(pairs, axis=0, return_counts=True)
    y, d = distinct.T
    totals = _resampled_totals(np.column_stack((y, d, y * y, y * d, d * d)), counts, rng)
    ratio = totals[0] / totals[1]
    squares = totals[2] - 2 * ratio * totals[3] + ratio**2 * totals[4]
    n = len(pairs)
    return ratio, np.maximum(squares, 0.0) / (n - 1) / (totals[1] / n) ** 2


def _resample_interleaved(values: Floats, rng: np.random.Generator) -> Floats:
    distinct, counts = np.unique(values, return_counts=True)
    total, squares = _resampled_totals(np.column_stack((distinct, distinct**2)), counts, rng)
    n = len(values)
    return _needed_signed(total / n, np.maximum(squares - total**2 / n, 0.0) / (n - 1))


def _resampled_totals(rows: Floats, counts: Ints, rng: np.random.Generator) -> Floats:
    """Return the sums of each column over resampled users, from the distinct rows and how many have each."""
    shares, size = counts / counts.sum(), max(_CELLS // len(counts), 1)
    sizes = [min(size, _RESAMPLES - begin) for begin in range(0, _RESAMPLES, size)]
    totals = [rng.multinomial(int(counts.sum()), shares, n) @ rows for n in sizes]
    return np.concatenate(totals).T


def _needed_signed(difference: Floats, variance: Floats) -> Floats:
    """Return the users needed, below 0 if the difference is; infinite without a difference."""
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = _needed(1.0, 1.0) * variance / difference**2
    return np.copysign(np.where(difference == 0, np.inf, needed), difference)


def _unsigned(resampled: Floats, difference: float) -> Floats:
    needed: Floats = np.where(np.sign(resampled) == np.sign(difference), np.abs(resampled), np.inf)
    return needed


def _interval(value: float, resampled: Floats, level: float, n: int) -> Estimate:
    """Return a value with the quantiles of its resamples; what is infinite is None."""
    if not math.isfinite(value):
        return Estimate(None, None, None, level, n)
    known = resampled[~np.isnan(resampled)]
    shares = [(1 - level) / 2, (1 + level) / 2]
    ends = np.quantile(known, shares, method="closest_observation").tolist() if len(known) else [math.inf] * 2
    low, high = (end if math.isfinite(end) else None for end in ends)
    return Estimate(value, low, high, level, n, is_resampled=True)


def _all_values(preference: Preference, users: int) -> Floats:
    """Return the preferences of all users, 0 for those without a credit."""
    missing = max(users - len(preference.values), 0)
    return np.concatenate((preference.values, np.zeros(missing)))


def _user_sums(events: Events, arm: str, actions: Sequence[str]) -> dict[str, UnitSums]:
    """Return the sums of the metrics of each user of an arm."""
    queries = events.queries.filter(pl.col("variant") == arm, pl.col("query_id").is_not_null()).select(
        "query_id", user=pl.coalesce("client_id", "user_id")
    )
    queries = queries.filter(pl.col("user").is_not_null())
    if queries["user"].n_unique() < 2:
        found = (
            ", ".join(map(str, events.queries["variant"].drop_nulls().unique().sort().to_list())) or "none"
        )
        raise UndecidableError(
            f"--beside-ab: expected users of the variant {arm!r} of an A/B test, found variants: {found}"
        )
    clicks = (
        events.frame.filter(pl.col("action").is_in(list(actions)), pl.col("is_repeated").not_())
        .group_by("query_id")
        .agg(clicks=pl.len(), first=pl.col("rank").min())
    )
    joined = queries.join(clicks, on="query_id", how="left").with_columns(pl.col("clicks").fill_null(0))
    sums = joined.group_by("user", maintain_order=True).agg(
        queries=pl.len(),
        clicks=pl.col("clicks").sum(),
        clicked=(pl.col("clicks") > 0).sum(),
        reciprocal=(1.0 / pl.col("first")).fill_null(0.0).sum(),
    )
    n = sums["queries"].to_numpy().astype(float)
    names = ("clicks", "clicked", "reciprocal")
    return {
        metric: UnitSums(sums[name].to_numpy().astype(float), n)
        for metric, name in zip(METRICS, names, strict=True)
    }
