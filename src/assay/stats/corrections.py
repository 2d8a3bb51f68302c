"""Corrections of p for the number of tests on the same data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats
from assay.stats.paired_differences import TOLERANCE, subtract_means

Ps = Sequence[float | None]


def holm(ps: Ps) -> list[float | None]:
    """Holm's step-down correction (1979), which controls the chance of any false alarm; None stays None.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    return _correct_in_order(ps, lambda p: np.maximum.accumulate(p * np.arange(len(p), 0, -1)))


def benjamini_hochberg(ps: Ps) -> list[float | None]:
    """Benjamini and Hochberg's correction (1995), which controls the share of false alarms among alarms.

    >>> benjamini_hochberg([0.01, None, 0.04, 0.03])
    [0.03, None, 0.04, 0.04]
    """

    def step_up(p: Floats) -> Floats:
        scaled_ps = p * len(p) / np.arange(1, len(p) + 1)
        minima: Floats = np.minimum.accumulate(scaled_ps[::-1])[::-1]
        return minima

    return _correct_in_order(ps, step_up)


def _correct_in_order(ps: Ps, step: Callable[[Floats], Floats]) -> list[float | None]:
    """The defined p values, sorted, corrected and returned to their places."""
    places = [i for i, p in enumerate(ps) if p is not None]
    known_ps = np.array([ps[i] for i in places], np.float64)
    order = np.argsort(known_ps, kind="stable")
    corrected_ps: list[float | None] = [None] * len(ps)
    for i, p in zip(order.tolist(), step(known_ps[order]).tolist() if places else [], strict=True):
        corrected_ps[places[i]] = min(p, 1.0)
    return corrected_ps


def two_families(first: Ps, second: Ps) -> tuple[list[float | None], list[float | None]]:
    """Holm's correction of two families, each with half of the error.

    The many tests of slices do not weaken the few tests over all queries.

    >>> two_families([0.01], [0.2, 0.02])
    ([0.02], [0.4, 0.08])
    """
    if not first or not second:
        return holm(first), holm(second)
    adjusted_families = (
        [None if p is None else min(1.0, 2 * p) for p in holm(family)] for family in (first, second)
    )
    return next(adjusted_families), next(adjusted_families)


CORRECTIONS = ("holm", "bh", "none")


def correct_p_values(
    overall: Ps, parts: Ps, correction: str
) -> tuple[list[float | None], list[float | None]]:
    """The p values over all queries and of the slices, corrected together."""
    if correction == "holm":
        return two_families(overall, parts)
    all_ps = benjamini_hochberg([*overall, *parts]) if correction == "bh" else [*overall, *parts]
    return all_ps[: len(overall)], all_ps[len(overall) :]


class PairDifference(NamedTuple):
    """The difference between two of many systems, with its interval and p for all pairs together."""

    first: int
    second: int
    difference: float
    low: float
    high: float
    p: float


def tukey(values: Floats, level: float = 0.95, paired: bool = True) -> list[PairDifference]:
    """Tukey's honestly significant differences between all columns (systems) of n × m values.

    If paired, the rows are the same queries, and the effect of a query on all systems is removed first
    (two-way layout without replication; Carterette 2012). If not, the one-way layout of
    scipy.stats.tukey_hsd is used, with each column as a separate sample.
    """
    from scipy.stats import studentized_range

    n, systems = values.shape
    means = values.mean(axis=0)
    residuals = values - means
    df = n * systems - systems
    if paired:
        residuals = residuals - residuals.mean(axis=1, keepdims=True)
        df = (n - 1) * (systems - 1)
    error = math.sqrt(float((residuals**2).sum()) / df / n)
    is_constant = error <= TOLERANCE * float(
        np.abs(values).max(initial=0)
    )  # all differences are equal, as in the paired t test
    reach = float(studentized_range.ppf(level, systems, df)) * error
    pairs = []
    for a, b in combinations(range(systems), 2):
        gap = subtract_means(means[b], means[a])
        constant_p = 1.0 if abs(gap) <= n * error else 2.0 ** (1 - n)
        p = constant_p if is_constant else float(studentized_range.sf(abs(gap) / error, systems, df))
        pairs.append(PairDifference(a, b, gap, gap - reach, gap + reach, p))
    return pairs
