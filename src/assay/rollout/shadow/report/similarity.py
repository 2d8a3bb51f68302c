"""How similar two rankings are, request by request, and averaged over the requests of a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.evaluation.overlap import OVERLAP_DEPTH, rank_biased_overlap
from assay.stats import Estimate, estimate
from assay.stats.bounded_means import UNIT

Ranking = Sequence[str]


class Similarity(NamedTuple):
    """Values of each pair of rankings (NaN: both are empty), or of each query."""

    overlap: Floats  # documents in both top k, over the length of the longer one
    rbo: Floats  # rank-biased overlap, p = 0.9
    same_first: Floats  # 1 if the first document is the same
    same_order: Floats  # 1 if both top k are the same

    def by_query(self, queries: Ints, count: int) -> Similarity:
        """Return the means over the requests of each query (NaN: a query without any)."""
        return Similarity(*(mean_by_query(values, queries, count) for values in self))

    def estimates(self, level: float) -> dict[str, Estimate]:
        """Return the means over queries by name."""
        return {
            name: estimate(values, "mean", level, bounds=UNIT)
            for name, values in zip(self._fields, self, strict=True)
        }


def mean_by_query(values: Floats, queries: Ints, count: int) -> Floats:
    """Return the mean of the values of each query (NaN: ignored).

    >>> mean_by_query(np.array([1.0, 0.0, np.nan]), np.array([0, 0, 1]), 2).tolist()
    [0.5, nan]
    """
    known = ~np.isnan(values)
    sums = np.bincount(queries[known], values[known], minlength=count)
    sizes = np.bincount(queries[known], minlength=count)
    means: Floats = np.divide(sums, sizes, out=np.full(count, np.nan), where=sizes > 0)
    return means


def measure_similarity(first: Sequence[Ranking], second: Sequence[Ranking], k: int) -> Similarity:
    """Compare rankings pairwise.

    >>> [float(values[0]) for values in measure_similarity([["a", "b"]], [["b", "c"]], 2)]
    [0.5, 0.45..., 0.0, 0.0]
    """
    pairs = list(zip(first, second, strict=True))
    rows = np.array([_top_values(a[:k], b[:k]) for a, b in pairs], np.float64).reshape(-1, 3)
    return Similarity(rows[:, 0], _rbo(pairs), rows[:, 1], rows[:, 2])


def _top_values(a: Ranking, b: Ranking) -> tuple[float, float, float]:
    """Return the overlap, and whether the first and all documents are the same."""
    longer = max(len(a), len(b))
    if not longer:
        return (np.nan,) * 3
    return len(set(a) & set(b)) / longer, float(a[:1] == b[:1]), float(list(a) == list(b))


def _rbo(pairs: Sequence[tuple[Ranking, Ranking]]) -> Floats:
    tops = [(a[:OVERLAP_DEPTH], b[:OVERLAP_DEPTH]) for a, b in pairs]
    lengths = np.array([len(a) for a, _ in tops], np.int64)
    others = np.array([len(b) for _, b in tops], np.int64)
    query: list[int] = []
    deepest: list[int] = []
    for row, (a, b) in enumerate(tops):
        ranks = {doc: rank for rank, doc in enumerate(a, 1)}
        for rank, doc in enumerate(b, 1):
            if doc in ranks:
                query.append(row)
                deepest.append(max(rank, ranks[doc]))
    if not tops:
        return np.zeros(0)
    return rank_biased_overlap(np.array(query, np.int64), np.array(deepest, np.int64), lengths, others)
