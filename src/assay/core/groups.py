"""Rows grouped by query, and the one place where documents are ranked.

The order of a ranking is trec_eval's: higher score first, then the larger document id by its bytes.
Ranks are computed only for the documents that are looked up, and ids are compared only inside ties.
"""

from __future__ import annotations

import operator
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np

from assay.core.arrays import Bools, Floats, Ints, Words
from assay.core.errors import TableError
from assay.core.strings import StringColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Values = TypeVar("_Values", Floats, Words)


class ScoreChanges(NamedTuple):
    """How the scores of a run change inside its queries, from row to row or from rank to rank."""

    rises: int = 0
    falls: int = 0
    ranked_queries: int = 0  # queries with several documents
    varied_queries: int = 0  # those of them whose scores are not all equal

    def reversed(self) -> ScoreChanges:
        """Return the changes of the negated scores."""
        return self._replace(rises=self.falls, falls=self.rises)

    def __add__(self, other: ScoreChanges) -> ScoreChanges:  # type: ignore[override]
        return ScoreChanges(*map(operator.add, tuple(self), tuple(other)))


class Segments(ABC):
    """Values grouped by query: query i has the rows offsets[i] up to, not including, offsets[i + 1]."""

    def __init__(self, query_ids: Sequence[str], offsets: Ints, values: Floats) -> None:
        self.query_ids, self.offsets, self.values = query_ids, offsets, values

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def lengths(self) -> Ints:
        """The number of rows of each query."""
        return np.diff(self.offsets)

    @cached_property
    def _score_order(self) -> tuple[Ints | None, Floats]:
        """The rows sorted by score inside each query (None if they are already), and the sorted scores."""
        rises = np.flatnonzero(clear_segment_ends(self.values[1:] > self.values[:-1], self.offsets))
        unsorted_groups = unique_values(np.searchsorted(self.offsets, rises, "right") - 1)
        if not len(unsorted_groups):
            return None, self.values
        if len(unsorted_groups) == len(self.lengths):
            order = argsort_segments(-self.values, self.offsets)
            return order, self.values[order]
        order = np.arange(len(self.values))
        starts, lengths = self.offsets[unsorted_groups], self.lengths[unsorted_groups]
        rows = expand_ranges(starts, lengths)
        inner = argsort_segments(-self.values[rows], np.concatenate(([0], np.cumsum(lengths))))
        order[rows] = rows[inner]
        return order, self.values[order]

    def rank_documents(self, groups: Ints, docs: DocIds) -> tuple[Ints, Ints]:
        """Return which documents (one for each of `groups`) were retrieved, and their ranks from 1."""
        present, values = self.look_up(groups, docs)
        order, sorted_values = self._score_order
        start, stop = self.offsets[groups[present]], self.offsets[groups[present] + 1]
        first = bisect(sorted_values, start, stop, values, lambda value, goal: value > goal)
        last = bisect(sorted_values, first, stop, values, lambda value, goal: value >= goal)
        ties = np.flatnonzero(last - first > 1)
        if len(ties):
            rows = self.find_rows(groups[present[ties]], docs.take(present[ties]))
            first[ties] = self._places_among_ties(rows, first[ties], last[ties], order)
        return present, first - start + 1

    def _places_among_ties(self, rows: Ints, first: Ints, last: Ints, order: Ints | None) -> Ints:
        """Return the position of each row in the whole order, given the ties it is part of."""
        starts, index = np.unique(first, return_index=True)
        lengths = (last - first)[index]
        places = expand_ranges(starts, lengths)
        members = places if order is None else order[places]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        members = members[order_by_id(self.ids_at(members), offsets)]
        by_row = np.argsort(members)
        return places[by_row[np.searchsorted(members, rows, sorter=by_row)]]

    def top(self, groups: Ints, depth: int) -> tuple[Ints, StringColumn]:
        """Return how many of the first `depth` documents each query has, and their ids, best first."""
        order, sorted_values = self._score_order
        start, stop = self.offsets[groups], self.offsets[groups + 1]
        cut = np.minimum(start + depth, stop)
        last: Ints = cut.copy()
        cut_groups = np.flatnonzero((cut > start) & (cut < stop))  # a tie may cross the cutoff
        last[cut_groups] = bisect(
            sorted_values,
            cut[cut_groups],
            stop[cut_groups],
            sorted_values[cut[cut_groups] - 1],
            lambda value, goal: value >= goal,
        )
        lengths = last - start
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        places = expand_ranges(start, lengths)
        rows = places if order is None else order[places]
        rows = self._order_ties_by_id(rows, sorted_values[places], offsets)
        top_rows = expand_ranges(offsets[:-1], cut - start)
        return cut - start, self.ids_at(rows[top_rows])

    def _order_ties_by_id(self, rows: Ints, values: Floats, offsets: Ints) -> Ints:
        """Return rows, given in descending order of value, with rows of equal value sorted by id."""
        equals_next = clear_segment_ends(values[1:] == values[:-1], offsets)
        if not equals_next.any():
            return rows
        edges = np.diff(np.concatenate(([0], equals_next, [0])))
        first, after = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) + 1
        ties = expand_ranges(first, after - first)
        bounds = np.concatenate(([0], np.cumsum(after - first)))
        rows = rows.copy()
        rows[ties] = rows[ties][order_by_id(self.ids_at(rows[ties]), bounds)]
        return rows

    def ties_at(self, cutoffs: Sequence[int]) -> Bools:
        """Return for each query whether a tie crosses one of the cutoffs."""
        _, sorted_values = self._score_order
        has_tie = np.zeros(len(self.lengths), np.bool_)
        for cutoff in cutoffs:
            longer_groups = np.flatnonzero(self.lengths > cutoff)
            at = self.offsets[longer_groups] + cutoff
            has_tie[longer_groups] |= sorted_values[at] == sorted_values[at - 1]
        return has_tie

    @cached_property
    def score_changes(self) -> ScoreChanges:
        """How the scores change from row to row inside the queries."""
        rises = clear_segment_ends(self.values[1:] > self.values[:-1], self.offsets)
        falls = clear_segment_ends(self.values[1:] < self.values[:-1], self.offsets)
        starts = self.offsets[:-1][self.lengths > 0]
        highest, lowest = (extreme.reduceat(self.values, starts) for extreme in (np.maximum, np.minimum))
        counts = (rises, falls, self.lengths > 1, highest != lowest)
        return ScoreChanges(*(int(np.count_nonzero(flags)) for flags in counts))

    def with_values(self, values: Floats) -> Groups:
        """Return the same rows with other values."""
        return Groups(self.query_ids, self.offsets, self.ids_at(np.arange(len(self))), values)

    @abstractmethod
    def ids_at(self, rows: Ints) -> StringColumn:
        """Return the document ids of these rows."""

    @abstractmethod
    def find_rows(self, groups: Ints, docs: DocIds) -> Ints:
        """Return the row of each document in its query, -1 if there is none."""

    @abstractmethod
    def look_up(self, groups: Ints, docs: DocIds) -> tuple[Ints, Floats]:
        """Return which documents are present in their query, and their values."""


class DocIds:
    """Document ids to look up, as a column, as keys and as strings."""

    def __init__(
        self, ids: StringColumn | list[str], rows: Ints | None = None, parent: DocIds | None = None
    ) -> None:
        self._ids, self._rows, self._parent = ids, rows, parent

    def take(self, rows: Ints) -> DocIds:
        """Return the ids at these rows; their forms are taken from this object, not computed again."""
        return DocIds([], rows, self)

    @cached_property
    def column(self) -> StringColumn:
        """The ids as a column."""
        if self._parent is not None and self._rows is not None:
            return self._parent.column.take(self._rows)
        return self._ids if isinstance(self._ids, StringColumn) else _id_column(self._ids)

    @cached_property
    def keys(self) -> Words:
        """The ids as hashed numbers."""
        return self.column.keys() if self._parent is None else self._parent.keys[self._rows]

    @cached_property
    def strings(self) -> list[str]:
        """The ids as Python strings."""
        if self._parent is not None and self._rows is not None:
            return list(map(self._parent.strings.__getitem__, self._rows.tolist()))
        return self._ids.tolist() if isinstance(self._ids, StringColumn) else self._ids


class Groups(Segments):
    """Rows with document ids and one value each (a score or a grade), grouped by query."""

    def __init__(self, query_ids: Sequence[str], offsets: Ints, ids: StringColumn, values: Floats) -> None:
        super().__init__(query_ids, offsets, values)
        self.ids = ids

    @cached_property
    def _index(self) -> tuple[Words, Ints]:
        """The keys of the ids, sorted inside each query, and their rows."""
        keys = self.ids.keys()
        order = argsort_segments(keys, self.offsets)
        return keys[order], order

    def find_duplicate(self) -> tuple[str, str] | None:
        """Return a query and a document that appears twice in it, or None."""
        keys, order = self._index
        suspects = order[np.flatnonzero(clear_segment_ends(keys[1:] == keys[:-1], self.offsets))]
        for group in unique_values(np.searchsorted(self.offsets, suspects, "right") - 1).tolist():
            ids = set[str]()
            for doc in self.ids.slice(int(self.offsets[group]), int(self.offsets[group + 1])).tolist():
                if doc in ids:
                    return self.query_ids[group], doc
                ids.add(doc)
        return None

    def ids_at(self, rows: Ints) -> StringColumn:
        """Return the document ids of these rows."""
        return self.ids.take(rows)

    def look_up(self, groups: Ints, docs: DocIds) -> tuple[Ints, Floats]:
        """Return which documents are present in their query, and their values."""
        rows = self.find_rows(groups, docs)
        present = np.flatnonzero(rows >= 0)
        return present, self.values[rows[present]]

    def find_rows(self, groups: Ints, docs: DocIds) -> Ints:
        """Return the row of each document in its query, -1 if there is none."""
        keys, order = self._index
        start, stop = self.offsets[groups], self.offsets[groups + 1]
        at = bisect(keys, start, stop, docs.keys, lambda key, goal: key < goal)
        rows = np.full(len(groups), -1)
        matches = np.flatnonzero(at < stop)
        matches = matches[keys[at[matches]] == docs.keys[matches]]
        rows[matches] = order[at[matches]]
        is_same = self.ids.take(rows[matches]).equals(docs.column.take(matches))
        for mismatch in matches[~is_same]:
            rows[mismatch] = self._find_by_string(int(groups[mismatch]), docs.column[int(mismatch)])
        return rows

    @cached_property
    def parts(self) -> list[Groups]:
        """The same rows in a few blocks of complete queries, each with its own index."""
        return list(self.split(1 << 20))

    def split(self, rows: int) -> Iterator[Groups]:
        """Yield the same rows in blocks of complete queries, each of about so many rows."""
        marks = np.arange(0, len(self) + rows, rows)
        cuts = unique_values(np.minimum(np.searchsorted(self.offsets, marks), len(self.query_ids)))
        for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            start, stop = int(self.offsets[first]), int(self.offsets[last])
            offsets = self.offsets[first : last + 1] - start
            ids, values = self.ids.slice(start, stop), self.values[start:stop]
            yield Groups(self.query_ids[first:last], offsets, ids, values)

    def _find_by_string(self, group: int, doc_id: str) -> int:
        """Return the row of a document whose key is that of another document, -1 if there is none."""
        first, last = int(self.offsets[group]), int(self.offsets[group + 1])
        ids = self.ids.slice(first, last).tolist()
        return first + ids.index(doc_id) if doc_id in ids else -1


class DictGroups(Segments):
    """The rows of nested Python dictionaries, without a copy of their ids."""

    def __init__(self, mapping: Mapping[str, Mapping[str, float]]) -> None:
        self.mapping = mapping
        lengths = np.fromiter(map(len, mapping.values()), np.int64, len(mapping))
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        super().__init__(list(mapping), offsets, _dict_values(mapping, int(offsets[-1])))

    @property
    def strings(self) -> list[str]:
        """The document ids of all rows."""
        return list(chain.from_iterable(self.mapping.values()))

    def ids_at(self, rows: Ints) -> StringColumn:
        """Return the document ids of these rows."""
        groups = np.searchsorted(self.offsets, rows, "right") - 1
        ids_by_group = {int(g): list(self.mapping[self.query_ids[g]]) for g in unique_values(groups)}
        positions = (rows - self.offsets[groups]).tolist()
        return _id_column([ids_by_group[g][i] for g, i in zip(groups.tolist(), positions, strict=True)])

    def look_up(self, groups: Ints, docs: DocIds) -> tuple[Ints, Floats]:
        """Return which documents are present in their query, and their values."""
        rankings, strings = list(self.mapping.values()), docs.strings
        starts = np.flatnonzero(np.diff(groups, prepend=-1)).tolist()
        spans = pairwise([*starts, len(strings)])
        values = np.array(
            [value for a, b in spans for value in map(rankings[groups[a]].get, strings[a:b])], np.float64
        )  # None becomes NaN, which no score is
        present = np.flatnonzero(~np.isnan(values))
        return present, values[present]

    def find_rows(self, groups: Ints, docs: DocIds) -> Ints:
        """Return the row of each document in its query, -1 if there is none."""
        rows, places, last = [], dict[str, int](), -1
        for group, doc in zip(groups.tolist(), docs.strings, strict=True):
            if group != last:
                ranking, last = self.mapping[self.query_ids[group]], group
                places = {doc_id: row for row, doc_id in enumerate(ranking, int(self.offsets[group]))}
            rows.append(places.get(doc, -1))
        return np.array(rows, np.int64)


def _id_column(ids: list[str]) -> StringColumn:
    """Return the column of some ids; raise TableError if one of them is not an id."""
    try:
        return StringColumn.from_strings(ids)
    except (TypeError, ValueError) as error:
        raise TableError(f"expected document ids as strings without NUL: {error}") from None


def _dict_values(mapping: Mapping[str, Mapping[str, float]], count: int) -> Floats:
    """Return the values of a nested dictionary as one array."""
    values, first = np.empty(count), 0
    for query, ranking in mapping.items():
        try:
            struct.pack_into(f"{len(ranking)}d", values.data, 8 * first, *ranking.values())
        except (TypeError, OverflowError, struct.error):
            raise TableError(_number_problem(query, ranking)) from None
        first += len(ranking)
    return values


def _number_problem(query: str, ranking: Mapping[str, object]) -> str:
    """Return the message about a query with a value that is not a number."""
    for doc, value in ranking.items():
        try:
            struct.pack("d", value)
        except (TypeError, OverflowError, struct.error):
            return f"expected a number for document {doc!r} of query {query!r}, found {value!r}"
    return f"expected {{document: number}} for query {query!r}"


class ScatteredQueryError(Exception):
    """The rows of a query are not contiguous, so the run cannot be read block by block."""


class RunBlocks(Protocol):
    """A run that can be read block by block, each block with complete queries."""

    name: str
    tag: str  # the name that the system gave its run, in the last field of a TREC file; empty without one
    rank_changes: ScoreChanges  # from rank to rank, if its file has ranks

    def blocks(self) -> Iterable[Segments]:
        """Return the blocks; ScatteredQueryError is raised, at any time, if a query appears again."""
        ...

    def blocks_in_memory(self) -> Iterable[Segments]:
        """Return the blocks of a run whose queries are scattered, which needs the whole run in memory."""
        ...


def stable_order(codes: NDArray[np.int32]) -> Ints:
    """Return the rows sorted by code, rows of equal code in their present order (a radix sort).

    >>> stable_order(np.array([2, 0, 70000, 0], np.int32)).tolist()
    [1, 3, 0, 2]
    """
    order = np.argsort(codes.astype(np.uint16), kind="stable")
    if codes.max(initial=0) >= 1 << 16:
        order = order[np.argsort((codes[order] >> 16).astype(np.uint16), kind="stable")]
    return order


def unique_values(values: Ints) -> Ints:
    """Return the different values in order (np.unique loads masked arrays, which takes longer).

    >>> unique_values(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    sorted_values = np.sort(values)
    is_first = np.ones(len(sorted_values), np.bool_)
    is_first[1:] = sorted_values[1:] != sorted_values[:-1]
    return sorted_values[is_first]


def expand_ranges(starts: Ints, lengths: Ints) -> Ints:
    """Return the numbers starts[i], starts[i] + 1, … (lengths[i] of them) for every i.

    >>> expand_ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    shift = starts - (np.cumsum(lengths) - lengths)
    return np.repeat(shift, lengths) + np.arange(int(lengths.sum()))


def argsort_segments(keys: NDArray[np.generic], offsets: Ints) -> Ints:
    """Return the rows in ascending order of their keys inside each segment.

    >>> argsort_segments(np.array([3, 1, 2, 9, 8]), np.array([0, 3, 5])).tolist()
    [1, 2, 0, 4, 3]
    """
    lengths = np.diff(offsets)
    order = np.empty(len(keys), np.int64)
    for length in unique_values(lengths[lengths > 0]).tolist():
        starts = offsets[:-1][lengths == length]
        if len(starts) * length == len(keys):  # all segments have one length
            inner = np.argsort(keys.reshape(-1, length), axis=1)
            return np.asarray(inner + starts[:, None], np.int64).ravel()
        rows = starts[:, None] + np.arange(length)
        order[rows] = np.take_along_axis(rows, np.argsort(keys[rows], axis=1), axis=1)
    return order


def order_by_id(ids: StringColumn, offsets: Ints) -> Ints:
    """Return the rows of each segment with the largest id (by bytes) first."""
    order, rows, number = np.arange(len(ids)), np.arange(len(ids)), 0
    while len(rows):
        word = ~ids.take(order[rows]).word(number).byteswap()
        inner = argsort_segments(word, offsets)
        order[rows] = order[rows[inner]]
        word, number = word[inner], number + 1
        rows, offsets = _tied_rows(rows, offsets, word, number < ids.word_count())
    return order


def _tied_rows(rows: Ints, offsets: Ints, word: Words, more: bool) -> tuple[Ints, Ints]:
    """Return the rows whose words so far equal those of an adjacent row, as new segments."""
    if not more or not len(rows):
        return rows[:0], offsets[:1]
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = word[1:] != word[:-1]
    is_first[offsets[:-1][offsets[:-1] < len(rows)]] = True
    starts = np.flatnonzero(is_first)
    lengths = np.diff(np.append(starts, len(rows)))
    starts, lengths = starts[lengths > 1], lengths[lengths > 1]
    return rows[expand_ranges(starts, lengths)], np.concatenate(([0], np.cumsum(lengths)))


def clear_segment_ends(flags: Bools, offsets: Ints) -> Bools:
    """Clear the flags between adjacent rows that belong to two segments, and return the flags."""
    inner = offsets[(offsets > 0) & (offsets <= len(flags))]
    flags[inner - 1] = False
    return flags


def bisect(
    values: _Values, first: Ints, last: Ints, goals: _Values, precedes: Callable[[_Values, _Values], Bools]
) -> Ints:
    """Return for each goal the first position in first … last whose value does not precede it."""
    low, high = first.copy(), last.copy()
    if not len(values):
        return low
    for _ in range(int((last - first).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        go_right = precedes(values[np.minimum(middle, len(values) - 1)], goals) & (low < high)
        low = np.where(go_right, middle + 1, low)
        high = np.where(go_right, high, middle)
    return low
