"""The definition of a hit, used wherever recall is computed.

The positions that an index returns for a query are compared with the K nearest of the exact truth, and
recall is the share of K that they contain. A position counts once, however often it was returned or occurs
in the truth; −1 and positions outside the base are misses; a list may be short. With the policy `ties`, a
position outside the truth also counts if its recomputed distance is within a relative ε of that of the
K-th nearest, because equally near vectors are equally good answers. With `strict`, only positions of the
truth count. A truth of fewer than K different vectors cannot be reached; the number of such queries is
reported. A query without truth has no recall; it is left out and counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vectors import Neighbors, Positions, Vectors
from assay.indexes.exact.candidates import measure_pairs
from assay.measures.formulas import reaches

POLICIES = ("ties", "strict")
EPSILON = 1e-6
_ROUNDING = 2.0**-43  # smallest cosine distance that vectors in single precision distinguish from 0


class Hits(NamedTuple):
    """The number of the K nearest neighbours that were returned for each query."""

    counts: NDArray[np.int64]
    out_of: NDArray[np.int64]  # K, or 0 if the query has no truth
    k: int
    policy: str

    @property
    def recall(self) -> NDArray[np.float64]:
        """The recall of each query; NaN if it is undefined."""
        has_truth = self.out_of > 0
        return np.where(has_truth, self.counts / np.maximum(self.out_of, 1), np.nan)

    def reaches(self, delta: float) -> NDArray[np.float64]:
        """Return 1 for each query whose recall reaches δ, 0 for the others, and NaN if recall is undefined.

        >>> Hits(np.array([7]), np.array([100]), 100, "strict").reaches(0.07).tolist()
        [1.0]
        """
        flags = reaches(self.counts.astype(np.float64), self.out_of.astype(np.float64), delta)
        return np.where(self.out_of > 0, flags, np.nan)


class HitRule:
    """The rule that decides which returned positions are hits, for one truth and one K."""

    def __init__(
        self,
        truth: Neighbors,
        k: int,
        base: Vectors | None = None,
        queries: Vectors | None = None,
        metric: str = "l2",
        policy: str = "ties",
    ) -> None:
        if policy not in POLICIES:
            raise InputError(f"the policy of ties must be one of {', '.join(POLICIES)}, found {policy!r}")
        if k > truth.k:
            raise InputError(
                f"the truth has {truth.k} neighbours per query, but hits among {k} were requested"
            )
        if policy == "ties" and (base is None or queries is None):
            raise InputError("ties are decided by distances: pass base and queries, or policy='strict'")
        self.k, self.policy, self.metric = k, policy, metric
        self._base, self._queries = base, queries
        self._truth = np.sort(truth.positions[:, :k], axis=1)
        distinct_counts = _first_of_equal(self._truth).sum(axis=1)
        self.out_of = np.where(distinct_counts > 0, k, 0)
        self.short_truths = int(
            ((distinct_counts > 0) & (distinct_counts < k)).sum()
        )  # queries whose truth has fewer than K different vectors
        self._bound = self._distance_bounds(truth.positions[:, :k]) if policy == "ties" else None

    def hits(self, returned: Positions) -> Hits:
        """Return the hits among the first K positions returned for each query."""
        if len(returned) != len(self._truth):
            raise InputError(f"expected answers to {len(self._truth)} queries, found {len(returned)}")
        counts = self.count_hits(np.arange(len(returned)), returned)
        return Hits(counts, self.out_of, self.k, self.policy)

    def count_hits(self, queries: NDArray[np.int64], returned: Positions) -> NDArray[np.int64]:
        """Return the number of hits of each request; `queries` holds the number of the query of each."""
        positions = returned[:, : self.k]
        is_first = first_occurrences(positions)
        in_truth = is_first & (ranks_in_truth(positions, self._truth[queries]) < self.k)
        counts = in_truth.sum(axis=1)
        if self._bound is not None:
            rows, columns = np.nonzero(is_first & ~in_truth & (positions < len(self._vectors)))
            is_tie = self._within_bound(queries[rows], positions[rows, columns])
            counts = counts + np.bincount(rows[is_tie], minlength=len(positions))
        capped_counts: NDArray[np.int64] = np.minimum(counts, self.out_of[queries])
        return capped_counts

    @property
    def _vectors(self) -> Vectors:
        assert self._base is not None
        return self._base

    def _distance_bounds(self, truth: Positions) -> NDArray[np.float64]:
        """Return the distance up to which a position counts: that of the K-th neighbour, plus a tolerance."""
        distances = np.full(truth.shape, -np.inf)
        in_base = (truth >= 0) & (truth < len(self._vectors))
        distances[in_base] = self._distances(np.nonzero(in_base)[0], truth[in_base])
        bounds: NDArray[np.float64] = distances.max(axis=1)
        is_finite = np.isfinite(bounds)
        bounds[is_finite] += EPSILON * np.abs(bounds[is_finite]) + _ROUNDING * (self.metric == "cosine")
        return bounds

    def _within_bound(self, rows: NDArray[Any], ids: NDArray[Any]) -> NDArray[np.bool_]:
        assert self._bound is not None
        is_within: NDArray[np.bool_] = self._distances(rows, ids) <= self._bound[rows]
        return is_within

    def _distances(self, rows: NDArray[Any], ids: NDArray[Any]) -> NDArray[np.float64]:
        assert self._queries is not None
        return measure_pairs(self._vectors, self._queries.to_matrix(), rows, ids, self.metric)


def _first_of_equal(sorted_positions: Positions) -> NDArray[np.bool_]:
    """Return a flag for the first of each run of equal positions in sorted rows; −1 is never flagged."""
    flags = sorted_positions >= 0
    flags[:, 1:] &= sorted_positions[:, 1:] != sorted_positions[:, :-1]
    return flags


def first_occurrences(positions: Positions) -> NDArray[np.bool_]:
    """Return a flag for the first occurrence of each position in its row; −1 is never flagged."""
    order = np.argsort(positions, axis=1, kind="stable")
    flags = np.empty(positions.shape, bool)
    np.put_along_axis(flags, order, _first_of_equal(np.take_along_axis(positions, order, axis=1)), axis=1)
    return flags


def ranks_in_truth(positions: Positions, truth: Positions) -> NDArray[np.int64]:
    """Return the rank of each position in its row of the truth, from 0; K if the truth does not have it.

    >>> ranks_in_truth(np.array([[9, 1, 5], [5, -1, 9]]), np.array([[0, 1], [5, -1]])).tolist()
    [[2, 1, 2], [0, 2, 2]]
    """
    limit = int(truth.max(initial=0)) + 1
    if limit >= 2**62 // max(1, len(truth)):
        positions, truth, limit = _compact_ids(positions, truth)
    rows = (
        np.arange(len(positions))[:, None] * (limit + 2) + 1
    )  # so that −1 matches no position of the row before
    order = np.argsort(truth, axis=1, kind="stable")
    keys = (rows + np.maximum(np.take_along_axis(truth, order, axis=1), -1)).ravel()
    wanted_keys = rows + np.clip(positions, -1, limit)
    at = np.minimum(np.searchsorted(keys, wanted_keys), keys.size - 1)
    return np.where((positions >= 0) & (keys[at] == wanted_keys), order.ravel()[at], truth.shape[1])


def _compact_ids(positions: Positions, truth: Positions) -> tuple[Positions, Positions, int]:
    """Replace positions that are too large for 64-bit keys by their rank among those of the truth."""
    ids = np.unique(truth[truth >= 0])
    at = np.minimum(np.searchsorted(ids, positions), len(ids) - 1)
    places = np.where(ids[at] == positions, at, len(ids))
    return np.where(positions < 0, -1, places), np.where(truth < 0, -1, np.searchsorted(ids, truth)), len(ids)
