"""The nearest rows of one part of the base: a pure function, whoever runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Neighbors, Vectors
from assay.indexes.candidates import Candidates, Pairs
from assay.indexes.score_limits import Rows, Sides, Singles, ruler, sides

BLOCK = 16384  # rows of the base that are made ready at once
_QUERIES = 1024  # of a tile
_ROWS = 2048  # of a tile, at least
_TILE = _QUERIES * _ROWS  # numbers of a product, so that they stay in the cache
_READY = 4 << 20  # bytes of rows made ready at once, so that they stay in the cache

Seen = Callable[[int], None]


class Task(NamedTuple):
    """Which part of the base to search, and for what."""

    start: int
    stop: int
    k: int
    metric: str
    block: int = BLOCK


def search(base: Vectors, queries: NDArray[Any], task: Task, seen: Seen | None = None) -> Neighbors:
    """The nearest k of the rows from start up to stop, by positions in the whole base.

    Of those at the same distance the first in the base come first, so the result is the same however
    the work is cut. `seen` is told the number of rows after each block.
    """
    found = Candidates(base, queries, task.k, task.metric)
    measure = ruler(base, queries, task.metric)
    tiles = list(_tiles(sides(measure, queries)))
    step = min(task.block, max(_ROWS, _READY // (4 * base.d + 4)))
    space = _Space(min(step, task.stop - task.start), base.d + 1)
    suspicious = True  # of copies, until a block has few
    for start in range(task.start, task.stop, step):
        block = base.block(start, min(start + step, task.stop))
        rows = measure.ready(start, block, space.ready[: len(block)])
        if suspicious or found.flooded:
            rows = _without_copies(rows, block, task.k)
            suspicious, found.flooded = len(rows.factor) < len(block), False
        for first, side in tiles:
            _sift(rows, side, first, found, start - task.start, space)
        if seen:
            seen(len(block))
    return found.nearest()


def _tiles(all_sides: Sides) -> Iterator[tuple[int, Sides]]:
    count = all_sides.factor.shape[1]
    pieces = max(1, -(-count // _QUERIES))
    cuts = np.linspace(0, count, pieces + 1).astype(int).tolist()
    for first, stop in pairwise(cuts):
        yield first, all_sides.part(first, stop)


class _Space:
    """Memory that is used again and again: to be given new memory takes longer than to fill it."""

    def __init__(self, rows: int, width: int) -> None:
        self.ready = np.empty((rows, width), np.float32)
        self._product, self._near = np.empty(_TILE, np.float32), np.empty(_TILE, np.bool_)

    def tile(self, rows: int, queries: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Places for a product, and for what is near."""
        size, shape = rows * queries, (rows, queries)
        return self._product[:size].reshape(shape), self._near[:size].reshape(shape)


def _sift(rows: Rows, side: Sides, first: int, found: Candidates, before: int, space: _Space) -> None:
    """Find which rows may be near to which queries; `before` them some rows were looked at."""
    count = side.factor.shape[1]
    limit = found.limit[first : first + count]
    for start, stop in _steps(len(rows.factor), _TILE // count, max(before, _ROWS)):
        part = rows.part(start, stop)
        product, near = space.tile(stop - start, count)
        np.matmul(part.factor, side.factor, out=product)
        if before + start == 0:
            _limit(limit, part, side, product, found.k)
        np.less_equal(product, limit, out=near)
        if len(part.wild):
            near[part.wild] = True
        flat = near.ravel().nonzero()[0]
        if len(flat):
            found.add(_pairs(part, side, first, flat, product))


def _limit(limit: Singles, part: Rows, side: Sides, product: NDArray[Any], k: int) -> None:
    """Draw the first limits from the first rows at once: without a limit every row is a candidate."""
    if len(product) < k:
        return
    upper = product + (side.fixed + part.factor[:, -1:] * side.slope)
    upper[part.wild] = np.inf
    np.minimum(limit, np.partition(upper, k - 1, axis=0)[k - 1], out=limit)


def _steps(rows: int, most: int, least: int) -> Iterator[tuple[int, int]]:
    """Steps through rows, short at first: while little is known of a limit, most rows are below it.

    >>> list(_steps(100, 40, 10)), list(_steps(100, 80, 1000))
    ([(0, 10), (10, 20), (20, 40), (40, 74), (74, 100)], [(0, 50), (50, 100)])
    """
    start, even = 0, -(-rows // -(-rows // most))  # as long as the others, as none is too short to be fast
    while start < rows:
        stop = min(rows, start + min(even, max(least, start)))
        yield start, stop
        start = stop


def _pairs(part: Rows, side: Sides, first: int, flat: NDArray[np.int64], product: NDArray[Any]) -> Pairs:
    count = product.shape[1]
    row, query = np.divmod(flat, count)
    lower = product.ravel()[flat]
    upper = lower + (side.fixed[query] + side.slope[query] * part.factor[row, -1])
    if len(part.wild):
        unknown = np.isin(row, part.wild)
        lower[unknown], upper[unknown] = -np.inf, np.inf
    return Pairs(query + first, part.positions[row], lower, upper)


def _without_copies(rows: Rows, block: NDArray[Any], k: int) -> Rows:
    """The rows without those of which k copies stand before them: these cannot be among the nearest."""
    few = np.ones(len(block), np.bool_)
    alike = _alike(rows, k)
    if len(alike):
        whole = np.ascontiguousarray(block[alike])
        _, same = np.unique(whole.view(f"V{whole.strides[0]}").ravel(), return_inverse=True)
        order = np.argsort(same, kind="stable")
        before = np.arange(len(order)) - np.searchsorted(same[order], same[order])
        few[alike[order[before >= k]]] = False
    kept = np.flatnonzero(few)
    wild = np.flatnonzero(np.isin(kept, rows.wild))
    return Rows(rows.factor[kept], rows.positions[kept], wild) if len(kept) < len(few) else rows


def _alike(rows: Rows, k: int) -> NDArray[np.int64]:
    """Rows that share with more than k others a sum that copies have in common, and few others."""
    weights = np.linspace(1, 2, rows.factor.shape[1], dtype=np.float32)
    sums = np.einsum("ij,j->i", rows.factor, weights)
    _, which, counts = np.unique(sums, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[which] > k)
