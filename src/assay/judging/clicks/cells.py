"""Sufficient statistics of click models: how often each pair was shown and clicked at each rank."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from assay.core.arrays import Bools, Floats, Ints
from assay.core.result_pages import NO_DOCUMENT, Pages

_BLOCK_ROWS = 1 << 19  # pages that are counted at once
_SMALL_TABLE = 1 << 22  # cells
_MOST_EMPTY = 4  # cells for each impression in a table with a place for each cell


@dataclass(frozen=True)
class Pairs:
    """The pairs of a query and a document that pages showed, with their impressions and clicks."""

    pages: Pages  # only its ids are used
    keys: Ints  # sorted
    impressions: Ints
    clicks: Ints

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def query_codes(self) -> Ints:
        """The code of the query of each pair."""
        return self.keys // len(self.pages.doc_ids)

    def find(self, pages: Pages) -> Ints:
        """Return the position of the pair at each rank of pages whose ids begin with those; −1: unknown."""
        keys = pages.queries[:, None].astype(np.int64) * len(self.pages.doc_ids) + pages.documents
        positions = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        is_known = (pages.documents >= 0) & (pages.documents < len(self.pages.doc_ids))
        return np.where(is_known & (self.keys[positions] == keys), positions, NO_DOCUMENT)

    def ids(self) -> pl.DataFrame:
        """Return the query and the document of each pair."""
        return pl.DataFrame(
            {
                "query_id": self.pages.query_ids.gather(self.query_codes),
                "doc_id": self.pages.doc_ids.gather(self.keys % len(self.pages.doc_ids)),
            }
        )


@dataclass(frozen=True)
class Cells:
    """Impressions and clicks of each pair in each group of positions, sorted by pair.

    A group is a rank, or a rank together with the rank of the last click above it.
    """

    pairs: Pairs
    pair: Ints
    group: Ints
    shown: Floats
    clicked: Floats
    groups: int

    @property
    def not_clicked(self) -> Floats:
        """Impressions without a click."""
        return self.shown - self.clicked

    @cached_property
    def starts(self) -> Ints:
        """The first cell of each pair."""
        return np.searchsorted(self.pair, np.arange(len(self.pairs)))

    def sum_by_pair(self, values: Floats) -> Floats:
        """Return the sum of the values of each pair."""
        return np.add.reduceat(values, self.starts)

    def sum_by_group(self, values: Floats) -> Floats:
        """Return the sum of the values of each group."""
        return np.bincount(self.group, values, self.groups).astype(np.float64, copy=False)


def count_cells(pages: Pages, by_last_click: bool = False) -> Cells:
    """Count impressions and clicks of each pair by rank, or by rank and last click above it."""
    pages = pages.encode_pairs()
    assert pages.pairs is not None
    groups = pages.ranks * (pages.ranks + 1) if by_last_click else pages.ranks
    size = len(pages.pairs.keys) * groups
    blocks = (
        _Impressions.of(pages.take(slice(begin, begin + _BLOCK_ROWS)), groups, by_last_click)
        for begin in range(0, len(pages.queries), _BLOCK_ROWS)
    )
    is_dense = size <= max(_SMALL_TABLE, _MOST_EMPTY * pages.documents.size)
    counts = _count_dense(blocks, size) if is_dense else _count_sparse(blocks)
    return _cells_of_counts(pages, *counts, groups)


class _Impressions(NamedTuple):
    """The cell of each impression, whether it was clicked, and how often it occurs (None: once)."""

    cell: Ints
    is_clicked: Bools
    weight: Ints | None

    @classmethod
    def of(cls, pages: Pages, groups: int, by_last_click: bool) -> _Impressions:
        """Return the impressions of a block of pages."""
        assert pages.pairs is not None
        group = last_click_groups(pages) if by_last_click else np.arange(pages.ranks)[None, :]
        cells = pages.pairs.codes.astype(np.int64) * groups + group
        shown = pages.shown
        is_full = bool(shown.all())
        weights = None
        if pages.weights is not None:
            weights = np.broadcast_to(pages.row_weights[:, None], cells.shape)[shown]
        if is_full:
            return cls(cells.ravel(), pages.clicks.ravel(), weights)
        return cls(cells[shown], pages.clicks[shown], weights)


_Counts = tuple[Ints, Ints, Ints]  # cells in ascending order, their impressions, their clicks


def _count_dense(blocks: Iterable[_Impressions], size: int) -> _Counts:
    """Count in a table with a place for each cell."""
    shown, clicked = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for cell, is_clicked, weight in blocks:
        if weight is None:
            shown += np.bincount(cell, minlength=size)
            clicked += np.bincount(cell[is_clicked], minlength=size)
        else:
            np.add.at(shown, cell, weight)
            np.add.at(clicked, cell[is_clicked], weight[is_clicked])
    cells = np.flatnonzero(shown)
    return cells, shown[cells], clicked[cells]


def _count_sparse(blocks: Iterable[_Impressions]) -> _Counts:
    """Count in a hash table, where a table with a place for each cell would be mostly empty."""
    parts = [pl.DataFrame(schema={"cell": pl.Int64, "shown": pl.Int64, "clicked": pl.Int64})]
    for cell, is_clicked, weight in blocks:
        ones = np.ones(len(cell), np.int64) if weight is None else weight
        frame = pl.DataFrame({"cell": cell, "shown": ones, "clicked": ones * is_clicked})
        parts.append(_sum_counts([frame]))
    counts = _sum_counts(parts).sort("cell")
    return counts["cell"].to_numpy(), counts["shown"].to_numpy(), counts["clicked"].to_numpy()


def _sum_counts(parts: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts).group_by("cell").agg(pl.col("shown", "clicked").sum())


def _cells_of_counts(pages: Pages, cell: Ints, shown: Ints, clicked: Ints, groups: int) -> Cells:
    """Return cells of counts that are sorted by cell; every pair of the pages has one at least."""
    assert pages.pairs is not None
    code, group = cell // groups, cell % groups
    is_first = np.diff(code, prepend=-1) != 0
    starts = np.flatnonzero(is_first)
    keys = pages.pairs.keys[code[starts]]
    pairs = Pairs(pages, keys, np.add.reduceat(shown, starts), np.add.reduceat(clicked, starts))
    return Cells(
        pairs, np.cumsum(is_first) - 1, group, shown.astype(np.float64), clicked.astype(np.float64), groups
    )


def last_clicks(pages: Pages) -> Ints:
    """Return the rank (from 1) of the last click above each rank; 0: none."""
    ranks = np.where(pages.clicks, np.arange(1, pages.ranks + 1), 0)
    above: Ints = np.zeros_like(ranks)
    above[:, 1:] = np.maximum.accumulate(ranks, axis=1)[:, :-1]
    return above


def last_click_groups(pages: Pages) -> Ints:
    """Return the number of each combination of a rank and the last click above it."""
    return np.arange(pages.ranks)[None, :] * (pages.ranks + 1) + last_clicks(pages)
