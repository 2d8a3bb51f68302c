"""Rows in any order, brought together by query.

Each piece of a file is put in order by itself (in a thread of its own, where it fits the processor's
cache); then whole stretches of rows are moved, not single ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from assay.core.groups import Groups, expand, stable_order
from assay.core.parallel import for_each, ordered_map
from assay.core.texts import Floats, Ints, Texts


class Piece(NamedTuple):
    """Rows as they stand in the file, with the places where the query changes."""

    queries: Texts
    starts: Ints
    ids: Texts
    values: Floats


class _Sorted(NamedTuple):
    """The rows of a piece, each query's together."""

    queries: Texts
    first: Ints  # the row of the piece in which each query first appears
    lengths: Ints
    ids: Texts
    values: Floats


def gathered(pieces: Iterable[Piece]) -> Groups:
    """All rows in memory, each query's together, queries in the order they first appear."""
    parts = list(ordered_map(_sorted, pieces))
    lengths = np.concatenate([part.lengths for part in parts])
    names, label = _labelled(parts)
    totals = np.bincount(label, lengths, len(names)).astype(np.int64)
    stretch = np.argsort(label, kind="stable")
    goal = np.empty_like(lengths)
    goal[stretch] = np.cumsum(lengths[stretch]) - lengths[stretch]
    cuts = np.cumsum([len(part.lengths) for part in parts])[:-1]
    rows = [expand(at, part.lengths) for at, part in zip(np.split(goal, cuts), parts, strict=True)]
    values = np.empty(int(totals.sum()))
    for_each(lambda part, at: values.__setitem__(at, part.values), parts, rows)
    ids = Texts.scatter([part.ids for part in parts], rows)
    return Groups(names, np.concatenate(([0], np.cumsum(totals))), ids, values)


def _sorted(piece: Piece) -> _Sorted:
    """The rows of one piece, each query's together."""
    lengths = np.diff(np.append(piece.starts, len(piece.ids)))
    first, label = _distinct(piece.queries)
    queries = Texts.concat([piece.queries.take(first)])
    total = np.bincount(label, lengths, len(first)).astype(np.int64)
    if len(first) == len(label):  # every query stands together already
        return _Sorted(queries, piece.starts, total, Texts.concat([piece.ids]), piece.values)
    rows = stable_order(np.repeat(label.astype(np.int32), lengths))
    return _Sorted(
        queries, piece.starts[first], total, Texts.concat([piece.ids.take(rows)]), piece.values[rows]
    )


def _distinct(texts: Texts) -> tuple[Ints, Ints]:
    """Where each different text first stands, in that order, and which of them every text is."""
    keys = texts.keys()
    order = np.argsort(keys)
    fresh = np.ones(len(keys), np.bool_)
    fresh[1:] = keys[order[1:]] != keys[order[:-1]]
    label = np.empty(len(keys), np.int64)
    label[order] = np.cumsum(fresh) - 1
    first = _first(label)
    if texts.word_count() > 1 and not texts.take(first[label]).equal(texts).all():  # two ids share a key
        known: dict[str, int] = {}
        label = np.array([known.setdefault(text, len(known)) for text in texts.tolist()])
        first = _first(label)
    appearance = np.argsort(first)
    return first[appearance], _places(appearance)[label]


def _first(label: Ints) -> Ints:
    """Where each label first stands: the last of several assignments holds, so from the end."""
    first = np.empty(int(label.max(initial=-1)) + 1, np.int64)
    first[label[::-1]] = np.arange(len(label) - 1, -1, -1)
    return first


def _places(order: Ints) -> Ints:
    """The place of each number in an order."""
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


def _labelled(parts: Sequence[_Sorted]) -> tuple[list[str], Ints]:
    """The queries of all parts in the order they first appear, and which one each stretch is of."""
    queries = Texts.concat([part.queries for part in parts])
    before = np.cumsum([0, *(len(part.values) for part in parts)])
    first = np.concatenate([part.first + at for part, at in zip(parts, before, strict=False)])
    at, label = _distinct(queries)
    earliest = np.full(len(at), np.iinfo(np.int64).max)
    np.minimum.at(earliest, label, first)
    appearance = np.argsort(earliest)
    return queries.take(at[appearance]).tolist(), _places(appearance)[label]
