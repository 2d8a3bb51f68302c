"""The nearest rows of one part of the base: the same, whoever looks for them and in however many threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Neighbors, Vectors
from assay.indexes.exact.candidates import Candidates, Pairs
from assay.indexes.exact.score_limits import Rows, Ruler, Sides, Singles, ruler, sides
from assay.indexes.exact.together import together

BLOCK = 16384  # rows of the base that are made ready at once
_MANY = 512  # dimensions from which on a product takes much longer than to look through it
_READY = 4 << 20  # bytes of rows made ready at once, so that they stay in the cache

Seen = Callable[[int], None]


class Task(NamedTuple):
    """Which part of the base to search, and for what."""

    start: int
    stop: int
    k: int
    metric: str
    block: int = BLOCK


def search(
    base: Vectors, queries: NDArray[Any], task: Task, seen: Seen | None = None, threads: int = 1
) -> Neighbors:
    """The nearest k of the rows from start up to stop, by positions in the whole base.

    Each thread takes the next block of rows; what any of them finds near draws the limits of all closer.
    Of those at the same distance the first in the base come first, so the result is the same however
    the work is cut. `seen` is told the number of rows after each block.
    """
    measure = ruler(base, queries, task.metric)
    shape = _shape(base.d)
    tiles = _tiles(base, queries, task, measure, shape, threads)
    most = min(task.block, max(shape.rows, _READY // (4 * base.d + 4)))
    step = _even(task.stop - task.start, most, threads)
    spaces = [_Space(step, base.d + 1, shape) for _ in range(threads)]
    suspicious = True  # of copies, until a block has few

    def sift(start: int) -> None:
        nonlocal suspicious
        space = spaces.pop()
        block = base.block(start, min(start + step, task.stop))
        rows = measure.ready(start, block, space.ready[: len(block)])
        if suspicious or any(tile.found.flooded for tile in tiles):
            rows = _without_copies(rows, block, task.k)
            suspicious = len(rows.factor) < len(block)
            for tile in tiles:
                tile.found.flooded = False
        turn = start // step % len(tiles)  # so that threads seldom wait for each other
        for tile in tiles[turn:] + tiles[:turn]:
            _sift(rows, tile, start - task.start, space)
        spaces.append(space)
        if seen:
            seen(len(block))

    together(sift, range(task.start, task.stop, step), threads)
    made = Neighbors(*(np.full((len(queries), task.k), nothing) for nothing in (-1, np.nan)))
    together(lambda tile: tile.found.take_in(), tiles, threads)
    shares = [(tile, some) for tile in tiles for some in tile.found.shares(threads)]
    together(lambda share: share[0].found.settle(share[1], made, share[0].first), shares, threads)
    return made


class _Shape(NamedTuple):
    """Of a product of matrices, at most."""

    queries: int
    rows: int


def _shape(d: int) -> _Shape:
    """Small enough to be looked through in the cache, or large, where that matters less than the product."""
    return _Shape(2560, 2048) if d >= _MANY else _Shape(1024, 1024)


class _Tile(NamedTuple):
    """Some of the queries, from a number on."""

    first: int
    side: Sides
    found: Candidates


def _tiles(
    base: Vectors, queries: NDArray[Any], task: Task, measure: Ruler, shape: _Shape, threads: int
) -> list[_Tile]:
    n, made = len(queries), list[_Tile]()
    cuts = np.linspace(0, n, -(-n // shape.queries) + 1).astype(int).tolist()

    def make(cut: tuple[int, int]) -> None:
        some = queries[slice(*cut)]
        made.append(_Tile(cut[0], sides(measure, some), Candidates(base, some, task.k, task.metric)))

    together(make, pairwise(cuts), threads)
    return sorted(made, key=lambda tile: tile.first)


def _even(rows: int, most: int, threads: int) -> int:
    """Rows of a block such that all threads have as many to do.

    >>> _even(100, 30, 2), _even(100, 1000, 2)
    (25, 50)
    """
    return -(-rows // (threads * -(-rows // (threads * most))))


class _Space:
    """Memory that is used again and again: to be given new memory takes longer than to fill it."""

    def __init__(self, rows: int, width: int, shape: _Shape) -> None:
        self.ready, self.shape = np.empty((rows, width), np.float32), shape
        size = shape.rows * shape.queries
        self._product, self._near = np.empty(size, np.float32), np.empty(size, np.bool_)

    def tile(self, rows: int, queries: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Places for a product, and for what is near."""
        size, shape = rows * queries, (rows, queries)
        return self._product[:size].reshape(shape), self._near[:size].reshape(shape)


def _sift(rows: Rows, tile: _Tile, before: int, space: _Space) -> None:
    """Find which rows may be near to which queries; `before` them some rows were looked at."""
    _, side, found = tile
    limit, count = found.limit, len(found.limit)
    most, least = space.shape.rows * space.shape.queries // count, max(before, space.shape.rows)
    for start, stop in _steps(len(rows.factor), most, least):
        part = rows.part(start, stop)
        product, near = space.tile(stop - start, count)
        np.matmul(part.factor, side.factor, out=product)
        if np.isinf(limit).any():
            _limit(limit, part, side, product, found.k)
        np.less_equal(product, limit, out=near)
        if len(part.wild):
            near[part.wild] = True
        flat = _marked(near.ravel())
        if len(flat):
            found.add(_pairs(part, side, flat, product))


def _marked(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Where few of many flags are set: looked through by eights.

    >>> _marked(np.array([0, 1, 0, 0, 0, 0, 0, 1, 0, 1], np.bool_)).tolist()
    [1, 7, 9]
    """
    whole = len(flags) & ~7
    words = flags[:whole].view(np.uint64)
    some = (words != 0).nonzero()[0]
    inside = words[some].view(np.bool_).nonzero()[0]
    return np.concatenate([some[inside >> 3] * 8 + (inside & 7), whole + flags[whole:].nonzero()[0]])


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


def _pairs(part: Rows, side: Sides, flat: NDArray[np.int64], product: NDArray[Any]) -> Pairs:
    count = product.shape[1]
    row, query = np.divmod(flat, count)
    lower = product.ravel()[flat]
    upper = lower + (side.fixed[query] + side.slope[query] * part.factor[row, -1])
    if len(part.wild):
        unknown = np.isin(row, part.wild)
        lower[unknown], upper[unknown] = -np.inf, np.inf
    return Pairs(query, part.positions[row], lower, upper)


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
