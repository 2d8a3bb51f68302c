"""The one definition of a hit.

What an index returned for a query is held against the K nearest of the exact truth, and recall is the
share of K that it has. An id counts once, however often it was returned, or is in the truth; −1 and ids
outside the base are misses; a list may be short. Under the
policy `ties` an id that is not in the truth counts too when its own distance, computed anew, is within a
relative ε of the K-th nearest: which of two equally near vectors is returned is nobody's mistake. Under
`strict` only ids count. A truth of fewer than K different vectors cannot be reached; how many there are is
told. A query without truth has no recall: it is left out and counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vectors import Neighbors, Positions, Vectors
from assay.indexes.exact.candidates import measured
from assay.measures.formulas import reaches

POLICIES = ("ties", "strict")
EPSILON = 1e-6
_ROUNDING = 2.0**-43  # of a cosine distance: of numbers in single precision no less can be told from 0


class Hits(NamedTuple):
    """How many of the K nearest were returned for each query."""

    counts: NDArray[np.int64]
    out_of: NDArray[np.int64]  # K; 0: no truth
    k: int
    policy: str

    @property
    def recall(self) -> NDArray[np.float64]:
        """The recall of each query; NaN where it is undefined."""
        known = self.out_of > 0
        return np.where(known, self.counts / np.maximum(self.out_of, 1), np.nan)

    def reaching(self, delta: float) -> NDArray[np.float64]:
        """1 where the recall of a query reaches δ, 0 where not, NaN where it is undefined.

        >>> Hits(np.array([7]), np.array([100]), 100, "strict").reaching(0.07).tolist()
        [1.0]
        """
        made = reaches(self.counts.astype(np.float64), self.out_of.astype(np.float64), delta)
        return np.where(self.out_of > 0, made, np.nan)


class Judge:
    """What is needed to say whether a returned id is a hit."""

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
            raise InputError(f"the policy of ties is one of {', '.join(POLICIES)}, found {policy!r}")
        if k > truth.k:
            raise InputError(
                f"the truth has {truth.k} neighbours of each query, and hits among {k} are asked"
            )
        if policy == "ties" and (base is None or queries is None):
            raise InputError("ties are told by distances: give base and queries, or ask for policy='strict'")
        self.k, self.policy, self.metric = k, policy, metric
        self._base, self._queries = base, queries
        self._truth = np.sort(truth.positions[:, :k], axis=1)
        there = _distinct(self._truth).sum(axis=1)
        self.out_of = np.where(there > 0, k, 0)
        self.short = int(((there > 0) & (there < k)).sum())  # queries of which not all K can be found
        self._farthest = self._bounds(truth.positions[:, :k]) if policy == "ties" else None

    def hits(self, returned: Positions) -> Hits:
        """The hits among the first K returned for each query."""
        if len(returned) != len(self._truth):
            raise InputError(f"expected answers to {len(self._truth)} queries, found {len(returned)}")
        counts = self.of_requests(np.arange(len(returned)), returned)
        return Hits(counts, self.out_of, self.k, self.policy)

    def of_requests(self, queries: NDArray[np.int64], returned: Positions) -> NDArray[np.int64]:
        """The hits of each request, which was for the query of this number."""
        found = returned[:, : self.k]
        new = first(found)
        member = new & (where_in(found, self._truth[queries]) < self.k)
        counts = member.sum(axis=1)
        if self._farthest is not None:
            rows, columns = np.nonzero(new & ~member & (found < len(self._vectors)))
            near = self._near(queries[rows], found[rows, columns])
            counts = counts + np.bincount(rows[near], minlength=len(found))
        made: NDArray[np.int64] = np.minimum(counts, self.out_of[queries])
        return made

    @property
    def _vectors(self) -> Vectors:
        assert self._base is not None
        return self._base

    def _bounds(self, truth: Positions) -> NDArray[np.float64]:
        """How far an id may be to count: the farthest of the truth, computed anew, and a little more."""
        far = np.full(truth.shape, -np.inf)
        there = (truth >= 0) & (truth < len(self._vectors))
        far[there] = self._distances(np.nonzero(there)[0], truth[there])
        made: NDArray[np.float64] = far.max(axis=1)
        known = np.isfinite(made)
        made[known] += EPSILON * np.abs(made[known]) + _ROUNDING * (self.metric == "cosine")
        return made

    def _near(self, rows: NDArray[Any], ids: NDArray[Any]) -> NDArray[np.bool_]:
        assert self._farthest is not None
        near: NDArray[np.bool_] = self._distances(rows, ids) <= self._farthest[rows]
        return near

    def _distances(self, rows: NDArray[Any], ids: NDArray[Any]) -> NDArray[np.float64]:
        assert self._queries is not None
        return measured(self._vectors, self._queries.whole(), rows, ids, self.metric)


def _distinct(ordered: Positions) -> NDArray[np.bool_]:
    """The first of each id in rows that are sorted; what is not an id is left out."""
    made = ordered >= 0
    made[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    return made


def first(found: Positions) -> NDArray[np.bool_]:
    """Where an id stands for the first time in its row; what is not an id stands nowhere."""
    order = np.argsort(found, axis=1, kind="stable")
    made = np.empty(found.shape, bool)
    np.put_along_axis(made, order, _distinct(np.take_along_axis(found, order, axis=1)), axis=1)
    return made


def where_in(found: Positions, truth: Positions) -> NDArray[np.int64]:
    """The place of each id in its row of the truth, 0 the first; where it is not there, their number.

    >>> where_in(np.array([[9, 1, 5], [5, -1, 9]]), np.array([[0, 1], [5, -1]])).tolist()
    [[2, 1, 2], [0, 2, 2]]
    """
    beyond = int(truth.max(initial=0)) + 1
    if beyond >= 2**62 // max(1, len(truth)):
        found, truth, beyond = _renamed(found, truth)
    rows = np.arange(len(found))[:, None] * (beyond + 2) + 1  # −1 is nobody's id in the row before
    order = np.argsort(truth, axis=1, kind="stable")
    keys = (rows + np.maximum(np.take_along_axis(truth, order, axis=1), -1)).ravel()
    wanted = rows + np.clip(found, -1, beyond)
    at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where((found >= 0) & (keys[at] == wanted), order.ravel()[at], truth.shape[1])


def _renamed(found: Positions, truth: Positions) -> tuple[Positions, Positions, int]:
    """Ids that are too large to be counted with, as their places among those of the truth."""
    ids = np.unique(truth[truth >= 0])
    at = np.minimum(np.searchsorted(ids, found), len(ids) - 1)
    known = np.where(ids[at] == found, at, len(ids))
    return np.where(found < 0, -1, known), np.where(truth < 0, -1, np.searchsorted(ids, truth)), len(ids)
