"""A straight line between two quantities that are both measured with errors of known size."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats
from assay.stats.intervals import Estimate

LEAST_RELIABILITY = 0.5  # below it, the interval of the slope covers too rarely


class MeasuredLine(NamedTuple):
    """The line y = intercept + slope · x of the true values."""

    slope: Estimate
    intercept: Estimate
    reliability: float | None  # the share of the variance of the measured x that is not measurement error
    scatter: float | None  # the standard deviation of y around the line beyond all measurement error


def fit_line(x: Floats, y: Floats, x_errors: Floats, y_errors: Floats, level: float = 0.95) -> MeasuredLine:
    """Fit a line by moments (Fuller 1987, 1.2): the variance of x without that of its standard errors.

    Least squares would understate the slope, because the errors of x widen it without moving y. Undefined
    if the x hardly differ by more than their errors.

    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> line = fit_line(x, 1 + 2 * x, np.zeros(4), np.zeros(4))
    >>> round(line.slope.value, 9), round(line.intercept.value, 9)
    (2.0, 1.0)
    """
    n = len(x)
    reliability = _reliability(x, x_errors)
    if reliability is None or reliability < LEAST_RELIABILITY:
        nothing = Estimate(None, None, None, level, n)
        return MeasuredLine(nothing, nothing, reliability, None)
    from scipy.special import stdtrit

    error = float((x_errors**2).mean())
    total = float(x.var(ddof=1))
    slope = float(np.cov(x, y)[0, 1]) / (total - error)
    intercept = float(y.mean()) - slope * float(x.mean())
    around = float(((y - intercept - slope * x) ** 2).sum()) / (n - 2)
    slope_variance = (total * around + (slope * error) ** 2) / ((n - 1) * (total - error) ** 2)
    intercept_variance = around / n + float(x.mean()) ** 2 * slope_variance
    t = float(stdtrit(n - 2, 0.5 + level / 2))
    beyond = around - slope**2 * error - float((y_errors**2).mean())
    return MeasuredLine(
        _around(slope, t * math.sqrt(slope_variance), level, n),
        _around(intercept, t * math.sqrt(intercept_variance), level, n),
        reliability,
        math.sqrt(max(beyond, 0.0)),
    )


def _reliability(x: Floats, x_errors: Floats) -> float | None:
    total = float(x.var(ddof=1)) if len(x) > 2 else 0.0
    return None if total == 0 else max(0.0, 1 - float((x_errors**2).mean()) / total)


def _around(value: float, half: float, level: float, n: int) -> Estimate:
    return Estimate(value, value - half, value + half, level, n)
