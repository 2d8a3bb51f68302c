"""Many questions asked of the same data: p corrected for how many there were."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from assay.core.texts import Floats

Ps = Sequence[float | None]


def holm(ps: Ps) -> list[float | None]:
    """Holm's step-down correction (1979): the chance of any false alarm is kept; None stays None.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    return _corrected(ps, lambda p: np.maximum.accumulate(p * np.arange(len(p), 0, -1)))


def benjamini_hochberg(ps: Ps) -> list[float | None]:
    """Benjamini and Hochberg's correction (1995): the share of false alarms among alarms is kept.

    >>> benjamini_hochberg([0.01, None, 0.04, 0.03])
    [0.03, None, 0.04, 0.04]
    """

    def stepped(p: Floats) -> Floats:
        raised = p * len(p) / np.arange(1, len(p) + 1)
        lowest: Floats = np.minimum.accumulate(raised[::-1])[::-1]
        return lowest

    return _corrected(ps, stepped)


def _corrected(ps: Ps, stepped: Callable[[Floats], Floats]) -> list[float | None]:
    """The p that are there, put in order, corrected and put back."""
    there = [i for i, p in enumerate(ps) if p is not None]
    given = np.array([ps[i] for i in there], np.float64)
    order = np.argsort(given, kind="stable")
    made: list[float | None] = [None] * len(ps)
    for i, p in zip(order.tolist(), stepped(given[order]).tolist() if there else [], strict=True):
        made[there[i]] = min(p, 1.0)
    return made


def two_families(first: Ps, second: Ps) -> tuple[list[float | None], list[float | None]]:
    """Holm's correction of two families, each with half of the error: any false alarm in either is kept.

    The few questions one came with do not pay for the many that slices ask.

    >>> two_families([0.01], [0.2, 0.02])
    ([0.02], [0.4, 0.08])
    """
    if not first or not second:
        return holm(first), holm(second)
    halved = ([None if p is None else min(1.0, 2 * p) for p in holm(family)] for family in (first, second))
    return next(halved), next(halved)


CORRECTIONS = ("holm", "bh", "none")


def corrected(whole: Ps, parts: Ps, how: str) -> tuple[list[float | None], list[float | None]]:
    """The p of the whole and of its parts, corrected together."""
    if how == "holm":
        return two_families(whole, parts)
    both = benjamini_hochberg([*whole, *parts]) if how == "bh" else [*whole, *parts]
    return both[: len(whole)], both[len(whole) :]


class Pair(NamedTuple):
    """Two systems of many: how far apart they are, and the chance of that among so many."""

    first: int
    second: int
    difference: float
    low: float
    high: float
    p: float


def tukey(values: Floats, level: float = 0.95, paired: bool = True) -> list[Pair]:
    """Tukey's honestly significant differences between all columns (systems) of n × m values.

    Paired: the rows are the same queries, and what a query does to all systems is taken out first
    (two-way layout without replication; Carterette 2012). Not paired: the one-way layout of
    scipy.stats.tukey_hsd, each column a sample of its own.
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
    flat = error <= 1e-12 * float(np.abs(values).max(initial=0))  # all queries agree, as in the paired t test
    reach = float(studentized_range.ppf(level, systems, df)) * error
    made = []
    for a, b in combinations(range(systems), 2):
        gap = float(means[b] - means[a])
        alike = 1.0 if abs(gap) <= n * error else 2.0 ** (1 - n)
        p = alike if flat else float(studentized_range.sf(abs(gap) / error, systems, df))
        made.append(Pair(a, b, gap, gap - reach, gap + reach, p))
    return made
