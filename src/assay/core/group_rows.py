"""Grouping of rows in any order by their query.

Each batch of rows is sorted by itself (in a thread of its own, so that it fits the processor's cache);
then whole ranges of rows are moved, not single rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.core.groups import Groups, expand_ranges, stable_order
from assay.core.parallel import for_each, ordered_map
from assay.core.strings import StringColumn


class RowBatch(NamedTuple):
    """Rows in the order of the file, with the positions at which the query changes."""

    queries: StringColumn
    starts: Ints
    ids: StringColumn
    values: Floats


class _GroupedBatch(NamedTuple):
    """The rows of a batch, grouped by query."""

    queries: StringColumn
    first: Ints  # the row of the batch in which each query first appears
    lengths: Ints
    ids: StringColumn
    values: Floats


def group_rows(batches: Iterable[RowBatch]) -> Groups:
    """Return all rows in memory, grouped by query, with queries in the order they first appear."""
    parts = list(ordered_map(_group_batch, batches))
    lengths = np.concatenate([part.lengths for part in parts])
    names, label = _label_queries(parts)
    totals = np.bincount(label, lengths, len(names)).astype(np.int64)
    order = np.argsort(label, kind="stable")
    targets = np.empty_like(lengths)
    targets[order] = np.cumsum(lengths[order]) - lengths[order]
    cuts = np.cumsum([len(part.lengths) for part in parts])[:-1]
    rows = [expand_ranges(at, part.lengths) for at, part in zip(np.split(targets, cuts), parts, strict=True)]
    values = np.empty(int(totals.sum()))
    for_each(lambda part, at: values.__setitem__(at, part.values), parts, rows)
    ids = StringColumn.scatter([part.ids for part in parts], rows)
    return Groups(names, np.concatenate(([0], np.cumsum(totals))), ids, values)


def _group_batch(batch: RowBatch) -> _GroupedBatch:
    """Return the rows of one batch, grouped by query."""
    lengths = np.diff(np.append(batch.starts, len(batch.ids)))
    first, label = _label_strings(batch.queries)
    queries = StringColumn.concat([batch.queries.take(first)])
    total = np.bincount(label, lengths, len(first)).astype(np.int64)
    if len(first) == len(label):  # the rows are already grouped
        return _GroupedBatch(queries, batch.starts, total, StringColumn.concat([batch.ids]), batch.values)
    rows = stable_order(np.repeat(label.astype(np.int32), lengths))
    return _GroupedBatch(
        queries, batch.starts[first], total, StringColumn.concat([batch.ids.take(rows)]), batch.values[rows]
    )


def _label_strings(texts: StringColumn) -> tuple[Ints, Ints]:
    """Return the positions at which different strings first appear, and for each string which one it is."""
    keys = texts.keys()
    order = np.argsort(keys)
    is_first = np.ones(len(keys), np.bool_)
    is_first[1:] = keys[order[1:]] != keys[order[:-1]]
    label = np.empty(len(keys), np.int64)
    label[order] = np.cumsum(is_first) - 1
    first = _first_positions(label)
    if texts.word_count() > 1 and not texts.take(first[label]).equals(texts).all():  # two strings share a key
        labels: dict[str, int] = {}
        label = np.array([labels.setdefault(text, len(labels)) for text in texts.tolist()])
        first = _first_positions(label)
    appearance = np.argsort(first)
    return first[appearance], _inverse_order(appearance)[label]


def _first_positions(label: Ints) -> Ints:
    """Return the first position of each label."""
    first = np.empty(int(label.max(initial=-1)) + 1, np.int64)
    first[label[::-1]] = np.arange(len(label) - 1, -1, -1)  # NumPy keeps the last assignment
    return first


def _inverse_order(order: Ints) -> Ints:
    """Return the position of each number in an order."""
    positions = np.empty(len(order), np.int64)
    positions[order] = np.arange(len(order))
    return positions


def _label_queries(parts: Sequence[_GroupedBatch]) -> tuple[list[str], Ints]:
    """Return the queries of all parts in the order they first appear, and the query of each range of rows."""
    queries = StringColumn.concat([part.queries for part in parts])
    before = np.cumsum([0, *(len(part.values) for part in parts)])
    first = np.concatenate([part.first + at for part, at in zip(parts, before, strict=False)])
    at, label = _label_strings(queries)
    earliest = np.full(len(at), np.iinfo(np.int64).max)
    np.minimum.at(earliest, label, first)
    appearance = np.argsort(earliest)
    return queries.take(at[appearance]).tolist(), _inverse_order(appearance)[label]
