"""Intervals of coefficients that compare observed with expected disagreement."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.stats import Estimate

_NOISE = 1e-12  # of a ratio that is 1 except for the order of addition


class Coefficients(NamedTuple):
    """A coefficient of many tables with its intervals; NaN: undefined."""

    value: Floats
    low: Floats
    high: Floats
    n: Floats
    level: float

    def estimate(self, row: int) -> Estimate:
        """Return the coefficient of one table."""
        value, low, high = (
            None if np.isnan(column[row]) else float(column[row])
            for column in (self.value, self.low, self.high)
        )
        return Estimate(value, low, high, self.level, int(self.n[row]))


def unanimous_weight(grades: Ints | int) -> Any:
    """Return the part of an item that is added to a variance for each grade, as if raters agreed on it.

    A rare grade on which raters happen not to agree yet would else add nothing to the variance, although
    one such item would change the coefficient more than any other.
    """
    return np.minimum(1.0, 2 / np.maximum(grades, 1))


class Disagreement(NamedTuple):
    """Observed and expected disagreement of tables of n items; the coefficient is 1 - observed / expected.

    `variance` is that of the logarithm of their ratio. `unseen` is the disagreement, relative to the
    expected one, that a share of 1 of items with one dissenting label would be.
    """

    observed: Floats
    expected: Floats
    variance: Floats
    n: Floats
    unseen: Floats


def coefficient_intervals(tables: Disagreement, level: float) -> Coefficients:
    """Return 1 - observed / expected, with intervals of Student's t for the logarithm of the ratio.

    The logarithm keeps the upper end below 1 and follows the skewed distribution of a small ratio. The
    variance is that of the linearised ratio (for Cohen's κ that of Fleiss, Cohen and Everitt 1969; for
    several raters Gwet 2014, chapter 5). If no disagreement was seen, the lower end follows from the
    largest share of disagreeing items that can leave n items without one (Clopper and Pearson 1934); it
    does not rise when a mild disagreement is seen.
    """
    from scipy.special import stdtrit

    with np.errstate(all="ignore"):
        ratio = np.where(tables.expected > 0, tables.observed / tables.expected, np.nan)
        reach = stdtrit(tables.n - 1, 0.5 + level / 2) * np.sqrt(tables.variance)
        ratio = np.where(np.abs(ratio - 1) < _NOISE, 1.0, ratio)
        has_interval = (tables.n > 1) & (tables.variance > 0)
        low = np.where(has_interval, 1 - ratio * np.exp(np.minimum(reach, 700)), np.nan)
        high = np.where(has_interval, 1 - ratio * np.exp(-reach), np.nan)
        most = 1 - (0.5 - level / 2) ** (1 / tables.n)
        low_without_disagreement = 1 - most * tables.unseen
        low = np.where(ratio == 0, low_without_disagreement, np.minimum(low, low_without_disagreement))
        high = np.where(ratio == 0, 1.0, high)
    return Coefficients(1 - ratio, np.minimum(np.maximum(low, -1.0), 1 - ratio), high, tables.n, level)
