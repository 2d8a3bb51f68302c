"""The rows of the base that may still be among the nearest k of each query."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Neighbors, Vectors
from assay.indexes.exact.distances import Doubles, pair_distances
from assay.indexes.exact.score_limits import Places, Singles

_SPARE_PLACES = 128  # beyond k, at least
_PRUNED_QUERIES = 256  # queries pruned at once
_PAIRS_PER_PART = 1 << 20  # measured at once in the end
_WAITING_PAIRS = 8  # per query, before they are absorbed
_NO_POSITION = np.iinfo(np.int64).max  # larger than any position
_MEASURED_NUMBERS = 1 << 18  # measured at once, so that they stay in the cache


Flags = NDArray[np.bool_]


class Pairs(NamedTuple):
    """Pairs of a query and a row of the base that may be near, with bounds of their scores."""

    queries: Places  # ascending, once they are absorbed
    positions: Places
    lower: Singles
    upper: Singles

    def take(self, which: NDArray[Any] | slice) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.queries[which], self.positions[which], self.lower[which], self.upper[which])

    @staticmethod
    def concatenate(parts: Sequence[Pairs]) -> Pairs:
        """Return several sets of pairs as one, in the order of their queries."""
        pairs = Pairs(*map(np.concatenate, zip(*parts, strict=True)))
        is_short = pairs.queries.max(initial=0) < 1 << 16  # short integers are sorted faster, by radix
        return pairs.take(
            np.argsort(pairs.queries.astype(np.uint16 if is_short else np.int64), kind="stable")
        )


def ranks(queries: Places) -> Places:
    """Return for each pair the number of pairs of the same query before it; queries are ascending.

    >>> ranks(np.array([2, 2, 5, 7, 7, 7])).tolist()
    [0, 1, 0, 0, 1, 2]
    """
    changes = np.flatnonzero(np.diff(queries, prepend=-1))
    return np.arange(len(queries)) - np.repeat(changes, np.diff(changes, append=len(queries)))


class Candidates:
    """A bounded set of pairs for each query; when it is full, pairs that are certainly too far are removed.

    The limit of a query is a score that at least k rows certainly do not exceed: a row whose lower bound is
    above it is not among the nearest. Any thread may add pairs; if it misses a limit that another thread has
    just lowered, this costs time but changes no result.
    """

    def __init__(self, base: Vectors, queries: NDArray[Any], k: int, metric: str) -> None:
        self.base, self.queries, self.k, self.metric = base, queries, k, metric
        self.places = k + max(k, _SPARE_PLACES)
        shape = (len(queries), self.places)
        self.limit = np.full(len(queries), np.inf, np.float32)
        self.has_overflowed = False  # more rows were equally near than there are places
        self._lock = Lock()
        self._waiting: list[Pairs] = []
        self._capacity_left = _WAITING_PAIRS * len(queries)
        self._count = np.zeros(len(queries), np.int64)
        self._positions = np.empty(shape, np.int64)
        self._lower, self._upper = np.empty(shape, np.float32), np.empty(shape, np.float32)

    def add(self, pairs: Pairs) -> None:
        """Add pairs that are below the limits; they are absorbed when there are enough of them."""
        with self._lock:
            self._waiting.append(pairs)
            self._capacity_left -= len(pairs.queries)
            if self._capacity_left <= 0:
                self.absorb_waiting()

    def absorb_waiting(self) -> None:
        """Absorb the pairs that wait."""
        if not self._waiting:
            return
        pairs = Pairs.concatenate(self._waiting)
        self._waiting, self._capacity_left = [], _WAITING_PAIRS * len(self._count)
        while len(pairs.queries):
            pairs = self._append(pairs)
            full_queries = np.flatnonzero(np.bincount(pairs.queries, minlength=len(self._count)))
            for start in range(0, len(full_queries), _PRUNED_QUERIES):
                self._prune(full_queries[start : start + _PRUNED_QUERIES])
            pairs = pairs.take(pairs.lower <= self.limit[pairs.queries])

    def _append(self, pairs: Pairs) -> Pairs:
        """Store pairs in free places, and return those for which there is none."""
        slots = self._count[pairs.queries] + ranks(pairs.queries)
        inside = slots < self.places
        if not inside.all():
            pairs, slots, rest = pairs.take(inside), slots[inside], pairs.take(~inside)
        else:
            rest = pairs.take(slice(0, 0))
        places = pairs.queries * self.places + slots
        self._positions.ravel()[places] = pairs.positions
        self._lower.ravel()[places], self._upper.ravel()[places] = pairs.lower, pairs.upper
        self._count += np.bincount(pairs.queries, minlength=len(self._count))
        return rest

    def _prune(self, queries: Places) -> None:
        """Lower the limits of queries and remove the pairs beyond them."""
        upper, lower = self._upper[queries], self._lower[queries]
        bounds = np.partition(upper, self.k - 1, axis=1)[:, self.k - 1]
        self.limit[queries] = np.minimum(self.limit[queries], bounds)
        is_kept = lower <= self.limit[queries][:, None]
        count = np.count_nonzero(is_kept, axis=1)
        is_crowded = count > (self.k + self.places) // 2
        if is_crowded.any():
            self.has_overflowed = True
            is_kept[is_crowded] = self._best(queries[is_crowded])
            count[is_crowded] = self.k
        self._count[queries] = count
        front = np.arange(self.places) < count[:, None]
        self._positions[queries] = _move_to_front(self._positions[queries], is_kept, front)
        self._lower[queries], self._upper[queries] = (
            _move_to_front(lower, is_kept, front),
            _move_to_front(upper, is_kept, front),
        )

    def _best(self, queries: Places) -> Flags:
        """Return a flag for the nearest k pairs of each query, by measuring their distances."""
        positions = self._positions[queries]
        query_of_pair = np.repeat(queries, self.places)
        distances = measure_pairs(self.base, self.queries, query_of_pair, positions.ravel(), self.metric)
        order = np.lexsort((positions, distances.reshape(positions.shape)))
        flags = np.zeros(positions.shape, np.bool_)
        np.put_along_axis(flags, order[:, : self.k], True, axis=1)
        return flags

    def query_parts(self, threads: int) -> list[Places]:
        """Return the queries in parts that threads can finish independently."""
        n = len(self._count)
        return np.array_split(np.arange(n), min(n, max(threads, -(-n * self.places // _PAIRS_PER_PART))))

    def write_nearest(self, queries: Places, result: Neighbors, first: int) -> None:
        """Measure the remaining pairs of some queries and write the nearest k of each to `result`.

        Row `first` of the result is that of query 0. Neighbours are sorted by distance, then by position.
        """
        assert result.distances is not None
        positions = self._near_positions(queries)
        is_used = positions < _NO_POSITION
        distances = np.full(positions.shape, np.inf)
        query_of_pair = np.repeat(queries, np.count_nonzero(is_used, axis=1))
        distances[is_used] = measure_pairs(
            self.base, self.queries, query_of_pair, positions[is_used], self.metric
        )
        order = np.argsort(distances, axis=1, kind="stable")[:, : self.k]
        rows, columns = np.take_along_axis(is_used, order, 1).nonzero()
        at = first + queries[rows], columns
        result.positions[at] = positions[rows, order[rows, columns]]
        result.distances[at] = distances[rows, order[rows, columns]]

    def _near_positions(self, queries: Places) -> Places:
        """Return the positions that may be near some queries by the final limits, ascending and padded."""
        is_used = np.arange(self.places) < self._count[queries][:, None]
        upper = np.where(is_used, self._upper[queries], np.inf)
        bounds = np.partition(upper, self.k - 1, axis=1)[:, self.k - 1]
        limit = np.minimum(self.limit[queries], bounds)
        is_near = is_used & (self._lower[queries] <= limit[:, None])
        width = int(np.count_nonzero(is_near, axis=1).max(initial=0))
        return np.sort(np.where(is_near, self._positions[queries], _NO_POSITION), axis=1)[:, :width]


def _move_to_front(column: NDArray[Any], is_kept: Flags, is_front: Flags) -> NDArray[Any]:
    """Move the kept values of each row to its front; the values behind them are undefined."""
    column[is_front] = column[is_kept]
    return column


def measure_pairs(
    base: Vectors, queries: NDArray[Any], query_of_pair: Places, positions: Places, metric: str
) -> Doubles:
    """Return the distance of each pair of a query and a row of the base, reading the base in its order."""
    distances, order = np.empty(len(query_of_pair)), np.argsort(positions, kind="stable")
    step = min(len(order), max(1, _MEASURED_NUMBERS // max(1, base.d))) or 1
    space = np.empty((step, base.d))
    for start in range(0, len(order), step):
        part = order[start : start + step]
        rows = base.take(positions[part])
        distances[part] = pair_distances(metric, queries[query_of_pair[part]], rows, space[: len(part)])
    return distances
