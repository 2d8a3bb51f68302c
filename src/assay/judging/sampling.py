"""Samples of queries with known inclusion probabilities.

The unit is the family: every family has one probability to be drawn, and its most frequent query stands
for it. A mean over all families of the frame is estimated without bias by weights of 1 / probability
(Horvitz and Thompson 1952; Hájek 1971).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.core.errors import InputError
from assay.core.tables import Queries

_BAND_ORDER = {"head": 0, "torso": 1, "tail": 2}
ALLOCATIONS = ("equal", "proportional")


class QueryFrame(NamedTuple):
    """The families that a sample is drawn from, each with the query that stands for it."""

    queries: Queries  # one for each family: the most frequent, or the first of several
    frequencies: Floats  # of all queries of the family together
    sizes: Ints  # how many different queries the family has

    def __len__(self) -> int:
        return len(self.sizes)

    def take(self, rows: Ints) -> QueryFrame:
        """Return the families at these rows."""
        return QueryFrame(take_rows(self.queries, rows), self.frequencies[rows], self.sizes[rows])


class Draw(NamedTuple):
    """The rows that were drawn from a frame, in its order, each with its probability and its stratum."""

    rows: Ints
    probabilities: Floats
    strata: list[str]


def take_rows(queries: Queries, rows: Ints) -> Queries:
    """Return the queries at these rows."""
    places = rows.tolist()
    return Queries({name: [values[row] for row in places] for name, values in queries.columns.items()})


def build_frame(queries: Queries, frequencies: Floats, families: Ints) -> QueryFrame:
    """Return one row for each family.

    >>> queries = Queries({"query_id": ["a", "b", "c"], "text": ["vpn", "dns", "VPN"]})
    >>> build_frame(queries, np.array([1.0, 5.0, 9.0]), np.array([0, 1, 0])).queries.ids
    ['b', 'c']
    """
    order = np.lexsort((np.arange(len(families)), -frequencies, families))
    is_first = np.concatenate(([True], families[order][1:] != families[order][:-1]))
    representatives = order[is_first]
    in_order = np.argsort(representatives)
    sizes = np.bincount(families, minlength=len(representatives))
    totals = np.bincount(families, frequencies, minlength=len(representatives)).astype(np.float64)
    return QueryFrame(take_rows(queries, representatives[in_order]), totals[in_order], sizes[in_order])


def draw_strata(labels: Sequence[str], n: int, rng: np.random.Generator, allocation: str = "equal") -> Draw:
    """Draw n rows, a simple random sample without replacement in each stratum."""
    check_count(n, len(labels))
    names, codes = np.unique(np.array(labels, dtype=object).astype(str), return_inverse=True)
    counts = allocate(n, np.bincount(codes), allocation)
    rows, probabilities = [], []
    for stratum, count in enumerate(counts.tolist()):
        members = np.flatnonzero(codes == stratum)
        rows.append(rng.choice(members, count, replace=False))
        probabilities.append(np.full(count, count / len(members)))
    return _in_frame_order(np.concatenate(rows), np.concatenate(probabilities), names[codes])


def _in_frame_order(rows: Ints, probabilities: Floats, labels: Any) -> Draw:
    order = np.argsort(rows)
    return Draw(rows[order], probabilities[order], [str(label) for label in labels[rows[order]]])


def check_count(n: int, available: int) -> None:
    """Raise InputError if n rows cannot be drawn from those that are there."""
    if not 1 <= n <= available:
        raise InputError(
            f"-n must be from 1 to {available:,}, the number of families to draw from; found {n:,}"
        )


def allocate(n: int, sizes: Ints, allocation: str = "equal") -> Ints:
    """Return how many rows of each stratum are drawn: the same of each, or in proportion to its size.

    No stratum gives more than it has. In proportion, every stratum gives one if n allows.

    >>> allocate(10, np.array([2, 50, 50])).tolist()
    [2, 4, 4]
    >>> allocate(10, np.array([2, 40, 58]), "proportional").tolist()
    [1, 4, 5]
    """
    if allocation not in ALLOCATIONS:
        raise InputError(f"the allocation must be one of {', '.join(ALLOCATIONS)}, found {allocation!r}")
    shares = np.ones(len(sizes)) if allocation == "equal" else sizes.astype(np.float64)
    wanted = _fill(n, shares, sizes)
    if allocation == "proportional" and n >= len(sizes):
        wanted = 1 + _fill(n - len(sizes), np.maximum(wanted - 1, 0), sizes - 1)
    return _round_to_total(wanted, n, sizes)


def _fill(n: float, shares: Floats, sizes: Ints) -> Floats:
    """Return n divided by shares, where what exceeds the size of a stratum goes to the others."""
    wanted = np.zeros(len(sizes))
    is_open = sizes > 0
    while n - wanted.sum() > 1e-9 and is_open.any():
        total = shares[is_open].sum()
        parts = np.where(is_open, shares / total if total else is_open / is_open.sum(), 0.0)
        wanted = np.minimum(wanted + (n - wanted.sum()) * parts, sizes)
        is_open = wanted < sizes - 1e-9
    return wanted


def _round_to_total(wanted: Floats, n: int, sizes: Ints) -> Ints:
    """Return whole numbers with this total, rounded by largest remainders within the sizes."""
    counts = np.floor(wanted + 1e-9).astype(np.int64)
    remainders = np.where(counts < sizes, wanted - counts, -1.0)
    counts[np.argsort(-remainders, kind="stable")[: n - int(counts.sum())]] += 1
    return counts


def inclusion_probabilities(sizes: Floats, n: int) -> Floats:
    """Return probabilities proportional to size with the sum n; large rows are drawn for certain.

    >>> inclusion_probabilities(np.array([8.0, 1.0, 1.0, 2.0]), 2).tolist()
    [1.0, 0.25, 0.25, 0.5]
    """
    if not (np.isfinite(sizes) & (sizes > 0)).all():
        raise InputError("--method proportional needs a frequency above 0 for every query")
    is_certain = np.zeros(len(sizes), np.bool_)
    while True:
        left = n - int(is_certain.sum())
        total = float(sizes[~is_certain].sum())
        chances = np.where(is_certain, 1.0, sizes * (left / total if total else 0.0))
        if not (chances > 1.0 + 1e-12).any():
            clipped: Floats = np.minimum(chances, 1.0)
            return clipped
        is_certain |= chances >= 1.0


def draw_proportional(sizes: Floats, n: int, rng: np.random.Generator) -> Draw:
    """Draw n rows with probabilities proportional to size: systematically in a random order (Madow 1949)."""
    check_count(n, len(sizes))
    chances = inclusion_probabilities(sizes, n)
    certain, others = np.flatnonzero(chances >= 1), rng.permutation(np.flatnonzero(chances < 1))
    sums = np.cumsum(chances[others])
    ticks = rng.random() + np.arange(n - len(certain))
    places = np.minimum(np.searchsorted(sums, ticks, "right"), len(others) - 1)
    rows = np.sort(np.concatenate([certain, others[places]]))
    return Draw(rows, chances[rows], ["certain" if chance >= 1 else "by size" for chance in chances[rows]])


def design_effect(probabilities: Floats) -> float:
    """Return how many times unequal weights multiply the variance of a mean (Kish 1965, 11.7).

    >>> design_effect(np.array([0.5, 0.5])), round(design_effect(np.array([0.9, 0.1])), 2)
    (1.0, 1.64)
    """
    weights = 1.0 / probabilities
    return float(len(weights) * (weights**2).sum() / weights.sum() ** 2)


def select_below(scores: Sequence[float | None], limit: float | None) -> tuple[Ints, float]:
    """Return the rows with a score of at most the limit (the lower quartile, if none is given), and it."""
    values = np.array([math.nan if score is None else score for score in scores], np.float64)
    defined = values[~np.isnan(values)]
    if not len(defined):
        raise InputError("none of the queries has a score: check that both files use the same query ids")
    threshold = float(np.quantile(defined, 0.25)) if limit is None else limit
    with np.errstate(invalid="ignore"):
        return np.flatnonzero(values <= threshold), threshold


class Stratum(NamedTuple):
    """One stratum of a sample: its families, the size of its sample, and its share of all issued queries."""

    name: str
    families: int
    sample_size: int
    traffic: float | None  # of the frame's frequency
    lowest: float | None  # inclusion probability of those drawn
    highest: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the stratum as plain data."""
        return self._asdict()


def describe_strata(
    labels: Sequence[str], frequencies: Floats, probabilities: Mapping[int, float]
) -> list[Stratum]:
    """Return the strata of a frame: head, torso, tail, else by name; `probabilities` are of rows drawn."""
    total = float(frequencies.sum())
    rows: dict[str, list[int]] = {}
    for row, label in enumerate(labels):
        rows.setdefault(label, []).append(row)
    strata = []
    for name in sorted(rows, key=lambda name: (_BAND_ORDER.get(name, 0), name)):
        chances = [probabilities[row] for row in rows[name] if row in probabilities]
        traffic = float(frequencies[rows[name]].sum()) / total if total else None
        ends = (min(chances), max(chances)) if chances else (None, None)
        strata.append(Stratum(name, len(rows[name]), len(chances), traffic, *ends))
    return strata
