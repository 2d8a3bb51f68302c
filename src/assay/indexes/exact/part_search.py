"""The nearest rows of one part of the base: the same, whoever looks for them and in however many threads."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Neighbors, Vectors
from assay.indexes.exact.candidates import Candidates, Pairs
from assay.indexes.exact.score_limits import Places, Rows, Ruler, Sides, Singles, ruler, sides
from assay.indexes.exact.together import together

BLOCK = 16384  # rows of the base that are made ready at once, at most
_READY = 4 << 20  # bytes of them, so that they stay in the cache
_QUERIES, _ROWS = 1024, 1024  # of a product of matrices: it is looked through while it is in the cache
_FIRST = 4096  # rows of the first, from which limits are drawn
_GROUPS = 4  # times k groups of rows, of which the nearest each is looked at for that
_WIDE = 256  # queries from which on NumPy is faster when it does not copy their limits aside

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
    tiles = _tiles(base, queries, task, measure, threads)
    most = min(task.block, max(_ROWS, _READY // (4 * base.d + 4)))
    step = _even(task.stop - task.start, most, threads)
    spaces = [_Space(step, base.d + 1) for _ in range(threads)]
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
            _sift(rows, tile, space)
        spaces.append(space)
        if seen:
            seen(len(block))

    together(sift, range(task.start, task.stop, step), threads)
    made = Neighbors(*(np.full((len(queries), task.k), nothing) for nothing in (-1, np.nan)))
    together(lambda tile: tile.found.take_in(), tiles, threads)
    shares = [(tile, some) for tile in tiles for some in tile.found.shares(threads)]
    together(lambda share: share[0].found.settle(share[1], made, share[0].first), shares, threads)
    return made


class _Tile(NamedTuple):
    """Some of the queries, from a number on."""

    first: int
    side: Sides
    found: Candidates


def _tiles(base: Vectors, queries: NDArray[Any], task: Task, measure: Ruler, threads: int) -> list[_Tile]:
    n, made = len(queries), list[_Tile]()
    cuts = np.linspace(0, n, -(-n // _QUERIES) + 1).astype(int).tolist()

    def make(cut: tuple[int, int]) -> None:
        some = queries[slice(*cut)]
        made.append(_Tile(cut[0], sides(measure, some), Candidates(base, some, task.k, task.metric)))

    together(make, pairwise(cuts), threads)
    return sorted(made, key=lambda tile: tile.first)


def _even(rows: int, most: int, threads: int = 1) -> int:
    """Rows of a block such that all threads have as many to do.

    >>> _even(100, 30, 2), _even(100, 1000, 2)
    (25, 50)
    """
    return -(-rows // (threads * -(-rows // (threads * most))))


class _Space:
    """Memory that is used again and again: to be given new memory takes longer than to fill it."""

    def __init__(self, rows: int, width: int) -> None:
        self.ready, size = np.empty((rows, width), np.float32), _FIRST * _QUERIES
        self._product, self._near = np.empty(size, np.float32), np.empty(size, np.bool_)
        self._some = np.empty(size >> 3, np.bool_)

    def product(self, part: Rows, side: Sides) -> Singles:
        """The product of rows and queries; of wild rows nothing is known, so they are below any limit."""
        shape = len(part.factor), side.factor.shape[1]
        made = self._product[: shape[0] * shape[1]].reshape(shape)
        np.matmul(part.factor, side.factor, out=made)
        made[part.wild] = -np.inf
        return made

    def near(self, product: Singles, limit: Singles) -> Places:
        """Where a product is within the limit of its query, row by row told by one number."""
        near = self._near[: product.size].reshape(product.shape)
        with np.errstate():  # what is set ends with it
            if len(limit) >= _WIDE:
                np.setbufsize(16)
            np.less_equal(product, limit, out=near)
        return self.marked(near.ravel())

    def marked(self, flags: NDArray[np.bool_]) -> Places:
        """Where few of many flags are set: looked through by eights.

        >>> _Space(1, 1).marked(np.array([0, 1, 0, 0, 0, 0, 0, 1, 0, 1], np.bool_)).tolist()
        [1, 7, 9]
        """
        whole = len(flags) & ~7
        words = flags[:whole].view(np.uint64)
        some = np.not_equal(words, 0, out=self._some[: len(words)]).nonzero()[0]
        inside = words[some].view(np.bool_).nonzero()[0]
        return np.concatenate([some[inside >> 3] * 8 + (inside & 7), whole + flags[whole:].nonzero()[0]])


def _sift(rows: Rows, tile: _Tile, space: _Space) -> None:
    """Find which rows may be near to which queries: many rows at first, for limits that few are below."""
    _, side, found = tile
    limit, start, total = found.limit, 0, len(rows.factor)
    step = _even(total, _ROWS * _QUERIES // len(limit))  # none is too short to be fast
    while start < total:
        known = not np.isinf(limit).any()
        stop = min(total, start + (step if known else _FIRST * _QUERIES // len(limit)))
        part = rows.part(start, stop)
        product = space.product(part, side)
        if not known:
            _limit(limit, part, side, product, found.k)
        flat = space.near(product, limit)
        if len(flat):
            found.add(_pairs(part, side, flat, product))
        start = stop


def _limit(limit: Singles, part: Rows, side: Sides, product: Singles, k: int) -> None:
    """Draw the first limits from the first rows at once: without a limit every row is a candidate.

    The nearest of each few rows are enough: there are k among them that are as near as the limit.
    """
    few = len(product) // (_GROUPS * k) or 1
    whole = len(product) // few * few
    if whole < k:
        return
    nearest = product[:whole].reshape(-1, few, len(limit)).min(axis=1)
    size = part.factor[:whole, -1].reshape(-1, few).max(axis=1)
    upper = nearest + (side.fixed + size[:, None] * side.slope)
    upper[part.wild[part.wild < whole] // few] = np.inf
    np.minimum(limit, np.partition(upper, k - 1, axis=0)[k - 1], out=limit)


def _pairs(part: Rows, side: Sides, flat: Places, product: Singles) -> Pairs:
    row = flat // product.shape[1]
    query = flat - row * product.shape[1]
    lower = product.ravel()[flat]
    upper = lower + (side.fixed[query] + side.slope[query] * part.factor[row, -1])
    upper[np.isneginf(lower)] = np.inf
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
