"""The rows of the base that may still be among the nearest k of each query."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Neighbors, Vectors
from assay.indexes.exact.distances import Doubles, of_pairs
from assay.indexes.exact.score_limits import Places, Singles

_SPARE = 128  # places beyond k, at least
_PRUNED = 256  # queries at once
_AT_ONCE = 1 << 20  # pairs measured at once, in the end
_PATIENCE = 8  # pairs for each query that may wait to be taken in
_NOWHERE = np.iinfo(np.int64).max  # beyond any position
_MEASURED = 1 << 18  # numbers of rows measured at once: they stay in the cache


Flags = NDArray[np.bool_]


class Pairs(NamedTuple):
    """Queries and rows of the base that may be near, with the limits of their score."""

    queries: Places  # ascending, once they are taken in
    positions: Places
    lower: Singles
    upper: Singles

    def take(self, which: NDArray[Any] | slice) -> Pairs:
        """Some of the pairs."""
        return Pairs(self.queries[which], self.positions[which], self.lower[which], self.upper[which])

    @staticmethod
    def of(parts: Sequence[Pairs]) -> Pairs:
        """Some pairs and others as one, in the order of their queries."""
        made = Pairs(*map(np.concatenate, zip(*parts, strict=True)))
        few = made.queries.max(initial=0) < 1 << 16  # short numbers are sorted faster, by radix
        return made.take(np.argsort(made.queries.astype(np.uint16 if few else np.int64), kind="stable"))


def ranks(queries: Places) -> Places:
    """For each pair how many of its query stand before it; queries are ascending.

    >>> ranks(np.array([2, 2, 5, 7, 7, 7])).tolist()
    [0, 1, 0, 0, 1, 2]
    """
    changes = np.flatnonzero(np.diff(queries, prepend=-1))
    return np.arange(len(queries)) - np.repeat(changes, np.diff(changes, append=len(queries)))


class Candidates:
    """For each query a few places for pairs; when they are full, those that are certainly too far leave.

    The limit of a query is such that k rows certainly are as near: a row whose lower limit is beyond
    it is not among the nearest. Any thread may add pairs; a limit that another one has just drawn closer
    may be missed, which costs time and changes nothing.
    """

    def __init__(self, base: Vectors, queries: NDArray[Any], k: int, metric: str) -> None:
        self.base, self.queries, self.k, self.metric = base, queries, k, metric
        self.places = k + max(k, _SPARE)
        shape = (len(queries), self.places)
        self.limit = np.full(len(queries), np.inf, np.float32)
        self.flooded = False  # more rows were equally near than there are places
        self._lock = Lock()
        self._waiting: list[Pairs] = []
        self._patience = _PATIENCE * len(queries)
        self._count = np.zeros(len(queries), np.int64)
        self._positions = np.empty(shape, np.int64)
        self._lower, self._upper = np.empty(shape, np.float32), np.empty(shape, np.float32)

    def add(self, pairs: Pairs) -> None:
        """Take in pairs that are below the limits; a few of them wait for others."""
        with self._lock:
            self._waiting.append(pairs)
            self._patience -= len(pairs.queries)
            if self._patience <= 0:
                self.take_in()

    def take_in(self) -> None:
        """Take in what waits."""
        if not self._waiting:
            return
        pairs = Pairs.of(self._waiting)
        self._waiting, self._patience = [], _PATIENCE * len(self._count)
        while len(pairs.queries):
            pairs = self._append(pairs)
            full = np.flatnonzero(np.bincount(pairs.queries, minlength=len(self._count)))
            for start in range(0, len(full), _PRUNED):
                self._prune(full[start : start + _PRUNED])
            pairs = pairs.take(pairs.lower <= self.limit[pairs.queries])

    def _append(self, pairs: Pairs) -> Pairs:
        """Put pairs in their places; what is given back has none."""
        slots = self._count[pairs.queries] + ranks(pairs.queries)
        inside = slots < self.places
        if not inside.all():
            pairs, slots, left = pairs.take(inside), slots[inside], pairs.take(~inside)
        else:
            left = pairs.take(slice(0, 0))
        at = pairs.queries * self.places + slots
        self._positions.ravel()[at] = pairs.positions
        self._lower.ravel()[at], self._upper.ravel()[at] = pairs.lower, pairs.upper
        self._count += np.bincount(pairs.queries, minlength=len(self._count))
        return left

    def _prune(self, full: Places) -> None:
        """Draw the limits of queries closer, and let go of what is beyond."""
        upper, lower = self._upper[full], self._lower[full]
        found = np.partition(upper, self.k - 1, axis=1)[:, self.k - 1]
        self.limit[full] = np.minimum(self.limit[full], found)
        kept = lower <= self.limit[full][:, None]
        count = np.count_nonzero(kept, axis=1)
        crowded = count > (self.k + self.places) // 2
        if crowded.any():
            self.flooded = True
            kept[crowded] = self._best(full[crowded])
            count[crowded] = self.k
        self._count[full] = count
        front = np.arange(self.places) < count[:, None]
        self._positions[full] = _moved(self._positions[full], kept, front)
        self._lower[full], self._upper[full] = _moved(lower, kept, front), _moved(upper, kept, front)

    def _best(self, full: Places) -> Flags:
        """Which pairs of queries without a free place are the nearest k, by measuring them."""
        positions = self._positions[full]
        which = np.repeat(full, self.places)
        far = measured(self.base, self.queries, which, positions.ravel(), self.metric)
        order = np.lexsort((positions, far.reshape(positions.shape)))
        made = np.zeros(positions.shape, np.bool_)
        np.put_along_axis(made, order[:, : self.k], True, axis=1)
        return made

    def shares(self, threads: int) -> list[Places]:
        """The queries in parts that are settled at once, for some threads."""
        n = len(self._count)
        return np.array_split(np.arange(n), min(n, max(threads, -(-n * self.places // _AT_ONCE))))

    def settle(self, some: Places, made: Neighbors, first: int) -> None:
        """Measure what may be near to some queries, and write the nearest k of each from a row on.

        They stand nearest first, then in the base's order.
        """
        assert made.distances is not None
        positions = self._near(some)
        held = positions < _NOWHERE
        far = np.full(positions.shape, np.inf)
        which = np.repeat(some, np.count_nonzero(held, axis=1))
        far[held] = measured(self.base, self.queries, which, positions[held], self.metric)
        order = np.argsort(far, axis=1, kind="stable")[:, : self.k]
        rows, columns = np.take_along_axis(held, order, 1).nonzero()
        at = first + some[rows], columns
        made.positions[at] = positions[rows, order[rows, columns]]
        made.distances[at] = far[rows, order[rows, columns]]

    def _near(self, some: Places) -> Places:
        """The positions that may be near to some queries, by the last limits: ascending, then nowhere."""
        held = np.arange(self.places) < self._count[some][:, None]
        upper = np.where(held, self._upper[some], np.inf)
        found = np.partition(upper, self.k - 1, axis=1)[:, self.k - 1]
        limit = np.minimum(self.limit[some], found)
        near = held & (self._lower[some] <= limit[:, None])
        most = int(np.count_nonzero(near, axis=1).max(initial=0))
        return np.sort(np.where(near, self._positions[some], _NOWHERE), axis=1)[:, :most]


def _moved(column: NDArray[Any], kept: Flags, front: Flags) -> NDArray[Any]:
    """What is kept of each row, at its front; what stands behind it is left over."""
    column[front] = column[kept]
    return column


def measured(base: Vectors, queries: NDArray[Any], which: Places, positions: Places, metric: str) -> Doubles:
    """How far queries are from rows of the base, pair by pair, the base gone through in its order."""
    made, order = np.empty(len(which)), np.argsort(positions, kind="stable")
    step = min(len(order), max(1, _MEASURED // max(1, base.d))) or 1
    space = np.empty((step, base.d))
    for start in range(0, len(order), step):
        some = order[start : start + step]
        rows = base.take(positions[some])
        made[some] = of_pairs(metric, queries[which[some]], rows, space[: len(some)])
    return made
