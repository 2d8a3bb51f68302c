"""Quantiles (p50, p95, p99) of values of which a user has many, with variance clustered by user.

The share of values at or below the quantile is a ratio over users, so its error follows from sums over
users (Deng, Knoblich and Lu 2018, arXiv 1803.06336; Liu, Sun, Varshney and Xu 2019, arXiv 1903.08762).
The interval of the share is read back as values (Woodruff 1952), so no density has to be estimated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.core.errors import InputError
from assay.stats.difference_intervals import NormalSpread, UnknownSpread
from assay.stats.distributions import normal_quantile
from assay.stats.intervals import Estimate
from assay.stats.moments import Moments
from assay.stats.unit_differences import UnitDifference, difference_of_estimates

LEAST_USERS = 20  # below this many users the error of a share is not trusted


class ClusteredQuantile(NamedTuple):
    """A quantile, its standard error, and the users and values that it is computed from."""

    q: float
    value: float | None
    error: float | None
    interval: tuple[float | None, float | None]
    level: float
    users: int
    values: int
    reason: str = ""

    @property
    def estimate(self) -> Estimate:
        """The quantile with its interval; n counts users."""
        return Estimate(self.value, *self.interval, self.level, self.users)


def share_error(below: Moments) -> float | None:
    """The standard error of a share, from each user's number of hits (value) and of values (denominator)."""
    if below.n < 2 or not below.is_ratio or not below.denominator_sum:
        return None
    means = below.means()
    gradient = np.array([1.0, -means[0] / means[1], 0.0, 0.0]) / means[1]
    return math.sqrt(float(gradient @ below.covariance() @ gradient) / below.n)


def levels_to_read(below: Moments, q: float, level: float = 0.95) -> tuple[float, float] | None:
    """The quantiles that end the interval: the data must still be asked for their values.

    >>> below = Moments.from_values([1.0, 2.0, 0.0, 1.0] * 10, denominator=[2.0] * 40)
    >>> [round(end, 3) for end in levels_to_read(below, 0.5)]
    [0.389, 0.611]
    """
    error = share_error(below)
    if error is None:
        return None
    reach = normal_quantile(0.5 + level / 2) * error
    return q - reach, q + reach


def estimate_clustered_quantile(
    below: Moments, q: float, read: Callable[[float], float | None], level: float = 0.95
) -> ClusteredQuantile:
    """A quantile with its interval and error.

    `below` has, for each user, how many values are at or below the quantile (value) and how many there
    are (denominator); `read` returns the quantile of all values at any level between 0 and 1.
    """
    if not 0 < q < 1:
        raise InputError(f"expected a quantile between 0 and 1, found {q}")
    count = int(below.denominator_sum or 0)
    value = read(q) if count else None
    ends = levels_to_read(below, q, level)
    reason = _find_obstacle(below, ends)
    if reason or ends is None or value is None:
        return ClusteredQuantile(q, value, None, (None, None), level, below.n, count, reason or "no values")
    low, high = read(ends[0]), read(ends[1])
    if low is None or high is None:
        reason = "the quantile's neighbours are unknown"
        return ClusteredQuantile(q, value, None, (low, high), level, below.n, count, reason)
    error = (high - low) / (ends[1] - ends[0]) * (share_error(below) or 0.0)
    return ClusteredQuantile(q, value, error, (low, high), level, below.n, count)


def _find_obstacle(below: Moments, ends: tuple[float, float] | None) -> str:
    if ends is None:
        return "no values" if not below.n else "fewer than 2 users"
    if below.n < LEAST_USERS:
        return f"fewer than {LEAST_USERS} users"
    if ends[0] <= 0 or ends[1] >= 1:
        return "the interval reaches beyond the data: too few users for this quantile"
    return "" if ends[1] > ends[0] else "all users have the same share below it"


def clustered_quantile(values: Floats, users: Ints, q: float, level: float = 0.95) -> ClusteredQuantile:
    """A quantile of values (NaN: ignored) with the user of each value.

    >>> rng = np.random.default_rng(0)
    >>> result = clustered_quantile(rng.exponential(100, 5000), np.arange(5000) % 500, 0.95)
    >>> result.users, 280 < result.value < 320
    (500, True)
    """
    defined = ~np.isnan(values)
    ordered_at = np.argsort(values[defined], kind="stable")
    ordered, owners = values[defined][ordered_at], users[defined][ordered_at]
    if not len(ordered):
        return estimate_clustered_quantile(Moments(), q, lambda at: None, level)
    _, codes = np.unique(owners, return_inverse=True)
    cut = int(np.searchsorted(ordered, _read(ordered, q), "right"))
    hits = np.bincount(codes[:cut], minlength=int(codes.max()) + 1).astype(np.float64)
    below = Moments.from_values(hits, denominator=np.bincount(codes).astype(np.float64))
    return estimate_clustered_quantile(below, q, lambda at: _read(ordered, at), level)


def _read(ordered: Floats, at: float) -> float:
    """The value that a share `at` of the sorted values does not exceed."""
    return float(ordered[min(len(ordered) - 1, max(0, math.ceil(at * len(ordered) - 1e-9) - 1))])


def quantile_difference(
    control: ClusteredQuantile,
    treatment: ClusteredQuantile,
    *,
    level: float = 0.95,
    alternative: str = "two-sided",
    is_relative: bool = False,
) -> UnitDifference:
    """treatment - control of a quantile, or that divided by the control's (delta method)."""
    reason = control.reason or treatment.reason
    if is_relative and not reason and (control.value or 0.0) <= 0:
        reason = "relative to a control that is not above 0"
    method = f"p{100 * control.q:g}, clustered by user" + (", relative" if is_relative else "")
    spread = UnknownSpread() if reason else _spread(control, treatment, is_relative)
    value = _subtract(control.value, treatment.value, is_relative)
    estimates = (control.estimate, treatment.estimate)
    return difference_of_estimates(
        estimates, spread, method if not reason else "none", level, alternative, value, reason, is_relative
    )


def _subtract(before: float | None, after: float | None, is_relative: bool) -> float | None:
    if before is None or after is None or (is_relative and before <= 0):
        return None
    return (after - before) / before if is_relative else after - before


def _spread(control: ClusteredQuantile, treatment: ClusteredQuantile, is_relative: bool) -> NormalSpread:
    before, after = control.value or 0.0, treatment.value or 0.0
    errors = (control.error or 0.0, treatment.error or 0.0)
    if not is_relative:
        return NormalSpread(after - before, math.hypot(*errors), math.inf)
    lift = after / before - 1
    return NormalSpread(lift, math.hypot(errors[0] * (1 + lift), errors[1]) / before, math.inf)
