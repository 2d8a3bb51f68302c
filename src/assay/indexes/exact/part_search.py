"""The nearest rows of one part of the base; the result does not depend on the number of threads."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Neighbors, Vectors
from assay.indexes.exact.candidates import Candidates, Pairs
from assay.indexes.exact.score_limits import (
    Places,
    QueryFactors,
    ScoreRows,
    ScoreScale,
    Singles,
    choose_scale,
    query_factors,
)
from assay.indexes.exact.thread_pool import run_in_threads

BLOCK_ROWS = 16384  # of the base prepared at once, at most
_BLOCK_BYTES = 4 << 20  # so that a block stays in the cache
_TILE_QUERIES, _TILE_ROWS = (
    1024,
    1024,
)  # of one matrix product, which is scanned while it is in the cache
_FIRST_ROWS = 4096  # of the first product, which gives the first limits
_GROUPS_PER_NEIGHBOR = 4  # groups of rows for the first limits are this times k
_UNBUFFERED_QUERIES = 256  # from this number on NumPy is faster without buffering their limits

RowCallback = Callable[[int], None]


class Task(NamedTuple):
    """A part of the base to search, with k and the metric."""

    start: int
    stop: int
    k: int
    metric: str
    block: int = BLOCK_ROWS


def search_part(
    base: Vectors, queries: NDArray[Any], task: Task, report: RowCallback | None = None, threads: int = 1
) -> Neighbors:
    """Return the nearest k of the rows from start up to stop, as positions in the whole base.

    Each thread takes the next block of rows; near rows that one thread finds lower the limits for all.
    Rows at the same distance are ordered by position, so the result does not depend on how the work is
    divided. `report` is called with the number of rows after each block.
    """
    scale = choose_scale(base, queries, task.metric)
    tiles = _query_tiles(base, queries, task, scale, threads)
    max_rows = min(task.block, max(_TILE_ROWS, _BLOCK_BYTES // (4 * base.d + 4)))
    step = _balanced_rows(task.stop - task.start, max_rows, threads)
    buffers = [_Buffers(step, base.d + 1) for _ in range(threads)]
    expects_copies = True  # of rows, until a block has few

    def sift(start: int) -> None:
        nonlocal expects_copies
        buffer = buffers.pop()
        block = base.block(start, min(start + step, task.stop))
        rows = scale.prepare(start, block, buffer.factor[: len(block)])
        if expects_copies or any(tile.candidates.has_overflowed for tile in tiles):
            rows = _without_copies(rows, block, task.k)
            expects_copies = len(rows.factor) < len(block)
            for tile in tiles:
                tile.candidates.has_overflowed = False
        first_tile = start // step % len(tiles)  # so that threads rarely wait for each other
        for tile in tiles[first_tile:] + tiles[:first_tile]:
            _collect_near_pairs(rows, tile, buffer)
        buffers.append(buffer)
        if report:
            report(len(block))

    run_in_threads(sift, range(task.start, task.stop, step), threads)
    result = Neighbors(*(np.full((len(queries), task.k), filler) for filler in (-1, np.nan)))
    run_in_threads(lambda tile: tile.candidates.absorb_waiting(), tiles, threads)
    parts = [(tile, part) for tile in tiles for part in tile.candidates.query_parts(threads)]
    run_in_threads(
        lambda share: share[0].candidates.write_nearest(share[1], result, share[0].first), parts, threads
    )
    return result


class _QueryTile(NamedTuple):
    """Some consecutive queries with their factors and candidates."""

    first: int
    factors: QueryFactors
    candidates: Candidates


def _query_tiles(
    base: Vectors, queries: NDArray[Any], task: Task, scale: ScoreScale, threads: int
) -> list[_QueryTile]:
    n, tiles = len(queries), list[_QueryTile]()
    cuts = np.linspace(0, n, -(-n // _TILE_QUERIES) + 1).astype(int).tolist()

    def make(cut: tuple[int, int]) -> None:
        part = queries[slice(*cut)]
        tiles.append(
            _QueryTile(cut[0], query_factors(scale, part), Candidates(base, part, task.k, task.metric))
        )

    run_in_threads(make, pairwise(cuts), threads)
    return sorted(tiles, key=lambda tile: tile.first)


def _balanced_rows(rows: int, max_rows: int, threads: int = 1) -> int:
    """Return the rows per block such that all threads get the same number of rows.

    >>> _balanced_rows(100, 30, 2), _balanced_rows(100, 1000, 2)
    (25, 50)
    """
    return -(-rows // (threads * -(-rows // (threads * max_rows))))


class _Buffers:
    """Arrays that are reused, because allocating memory takes longer than filling it."""

    def __init__(self, rows: int, width: int) -> None:
        self.factor, size = np.empty((rows, width), np.float32), _FIRST_ROWS * _TILE_QUERIES
        self._product, self._flags = np.empty(size, np.float32), np.empty(size, np.bool_)
        self._word_flags = np.empty(size >> 3, np.bool_)

    def product(self, part: ScoreRows, side: QueryFactors) -> Singles:
        """Return the product of rows and queries; −∞ for unbounded rows, which are below any limit."""
        shape = len(part.factor), side.factor.shape[1]
        product = self._product[: shape[0] * shape[1]].reshape(shape)
        np.matmul(part.factor, side.factor, out=product)
        product[part.unbounded] = -np.inf
        return product

    def near_places(self, product: Singles, limit: Singles) -> Places:
        """Return the flat places at which a product is within the limit of its query."""
        is_near = self._flags[: product.size].reshape(product.shape)
        with np.errstate():  # restores the buffer size
            if len(limit) >= _UNBUFFERED_QUERIES:
                np.setbufsize(16)
            np.less_equal(product, limit, out=is_near)
        return self.true_places(is_near.ravel())

    def true_places(self, flags: NDArray[np.bool_]) -> Places:
        """Return the places of the flags that are set, scanning eight at a time because few are.

        >>> _Buffers(1, 1).true_places(np.array([0, 1, 0, 0, 0, 0, 0, 1, 0, 1], np.bool_)).tolist()
        [1, 7, 9]
        """
        whole = len(flags) & ~7
        words = flags[:whole].view(np.uint64)
        nonzero = np.not_equal(words, 0, out=self._word_flags[: len(words)]).nonzero()[0]
        inside = words[nonzero].view(np.bool_).nonzero()[0]
        return np.concatenate([nonzero[inside >> 3] * 8 + (inside & 7), whole + flags[whole:].nonzero()[0]])


def _collect_near_pairs(rows: ScoreRows, tile: _QueryTile, buffers: _Buffers) -> None:
    """Add the pairs that may be near to the candidates; the first product has more rows, for good limits."""
    _, factors, candidates = tile
    limit, start, total = candidates.limit, 0, len(rows.factor)
    step = _balanced_rows(
        total, _TILE_ROWS * _TILE_QUERIES // len(limit)
    )  # so that no product is too small to be fast
    while start < total:
        has_limits = not np.isinf(limit).any()
        stop = min(total, start + (step if has_limits else _FIRST_ROWS * _TILE_QUERIES // len(limit)))
        part = rows.part(start, stop)
        product = buffers.product(part, factors)
        if not has_limits:
            _set_first_limits(limit, part, factors, product, candidates.k)
        places = buffers.near_places(product, limit)
        if len(places):
            candidates.add(_pairs(part, factors, places, product))
        start = stop


def _set_first_limits(limit: Singles, part: ScoreRows, side: QueryFactors, product: Singles, k: int) -> None:
    """Set the first limits from the first rows, because without a limit every row is a candidate.

    The nearest row of each group suffices: at least k rows are then as near as the limit.
    """
    group_size = len(product) // (_GROUPS_PER_NEIGHBOR * k) or 1
    whole = len(product) // group_size * group_size
    if whole < k:
        return
    nearest = product[:whole].reshape(-1, group_size, len(limit)).min(axis=1)
    size = part.factor[:whole, -1].reshape(-1, group_size).max(axis=1)
    upper = nearest + (side.fixed + size[:, None] * side.slope)
    upper[part.unbounded[part.unbounded < whole] // group_size] = np.inf
    np.minimum(limit, np.partition(upper, k - 1, axis=0)[k - 1], out=limit)


def _pairs(part: ScoreRows, side: QueryFactors, places: Places, product: Singles) -> Pairs:
    row = places // product.shape[1]
    query = places - row * product.shape[1]
    lower = product.ravel()[places]
    upper = lower + (side.fixed[query] + side.slope[query] * part.factor[row, -1])
    upper[np.isneginf(lower)] = np.inf
    return Pairs(query, part.positions[row], lower, upper)


def _without_copies(rows: ScoreRows, block: NDArray[Any], k: int) -> ScoreRows:
    """Return the rows without those that have k copies before them, which cannot be among the nearest."""
    is_kept = np.ones(len(block), np.bool_)
    possible_copies = _possible_copies(rows, k)
    if len(possible_copies):
        whole = np.ascontiguousarray(block[possible_copies])
        _, group = np.unique(whole.view(f"V{whole.strides[0]}").ravel(), return_inverse=True)
        order = np.argsort(group, kind="stable")
        copies_before = np.arange(len(order)) - np.searchsorted(group[order], group[order])
        is_kept[possible_copies[order[copies_before >= k]]] = False
    rows_kept = np.flatnonzero(is_kept)
    wild = np.flatnonzero(np.isin(rows_kept, rows.unbounded))
    return (
        ScoreRows(rows.factor[rows_kept], rows.positions[rows_kept], wild)
        if len(rows_kept) < len(is_kept)
        else rows
    )


def _possible_copies(rows: ScoreRows, k: int) -> NDArray[np.int64]:
    """Return rows that share a weighted sum with more than k others, as copies do."""
    weights = np.linspace(1, 2, rows.factor.shape[1], dtype=np.float32)
    sums = np.einsum("ij,j->i", rows.factor, weights)
    _, group, counts = np.unique(sums, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[group] > k)
