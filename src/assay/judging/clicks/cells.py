"""Sufficient statistics of click models: how often each pair was shown and clicked at each rank."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from assay.core.arrays import Floats, Ints
from assay.core.result_pages import NO_DOCUMENT, Pages

_BLOCK_ROWS = 1 << 19  # pages that are counted at once


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
    groups = pages.ranks * (pages.ranks + 1) if by_last_click else pages.ranks
    parts = []
    for begin in range(0, len(pages.queries), _BLOCK_ROWS):
        parts.append(_count_block(pages.take(slice(begin, begin + _BLOCK_ROWS)), groups, by_last_click))
        if sum(map(len, parts)) > 4 * max(len(parts[0]), _BLOCK_ROWS):
            parts = [_sum_counts(parts)]
    return cells_of_counts(pages, _sum_counts(parts).sort("cell"), groups)


def _count_block(pages: Pages, groups: int, by_last_click: bool) -> pl.DataFrame:
    group = last_click_groups(pages) if by_last_click else np.arange(pages.ranks)[None, :]
    cells = pages.pair_keys * groups + group
    weights = np.broadcast_to(pages.row_weights[:, None], cells.shape)
    shown = pages.shown
    if shown.all():
        columns = {"cell": cells.ravel(), "click": pages.clicks.ravel()}
    else:
        columns = {"cell": cells[shown], "click": pages.clicks[shown]}
    if pages.weights is None:
        sums = [pl.len().cast(pl.Int64).alias("shown"), pl.col("click").sum().cast(pl.Int64)]
        return pl.DataFrame(columns).group_by("cell").agg(sums)
    columns |= {"shown": weights[shown], "click": weights[shown] * pages.clicks[shown]}
    return _sum_counts([pl.DataFrame(columns)])


def _sum_counts(parts: list[pl.DataFrame]) -> pl.DataFrame:
    if len(parts) == 1 and not parts[0]["cell"].is_duplicated().any():
        return parts[0]
    columns = [part.select("cell", "shown", "click") for part in parts]
    return pl.concat(columns).group_by("cell").agg(pl.col("shown", "click").sum())


def cells_of_counts(pages: Pages, counts: pl.DataFrame, groups: int) -> Cells:
    """Return cells of a table of counts that is sorted by cell."""
    cell = counts["cell"].to_numpy()
    keys, group = cell // groups, cell % groups
    is_first = np.diff(keys, prepend=-1) != 0
    starts = np.flatnonzero(is_first)
    shown, clicked = counts["shown"].to_numpy(), counts["click"].to_numpy()
    pairs = Pairs(pages, keys[starts], np.add.reduceat(shown, starts), np.add.reduceat(clicked, starts))
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
