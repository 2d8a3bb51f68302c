"""Rows grouped by query, and the one place where documents are ranked.

The order of a ranking is trec_eval's: higher score first, then the larger document id by its bytes.
A rank is worked out only for the rows somebody asks about, and ids are compared only inside ties.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from assay.core.errors import TableError
from assay.core.texts import Bools, Floats, Ints, Texts, Words

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Values = TypeVar("_Values", Floats, Words)


class Segments(ABC):
    """Values grouped by query: query i has the rows offsets[i] to before offsets[i + 1]."""

    def __init__(self, query_ids: Sequence[str], offsets: Ints, values: Floats) -> None:
        self.query_ids, self.offsets, self.values = query_ids, offsets, values

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def lengths(self) -> Ints:
        """How many rows each query has."""
        return np.diff(self.offsets)

    @cached_property
    def _descending(self) -> tuple[Ints | None, Floats]:
        """The rows in order of score inside each query (None: as they stand), and the scores so."""
        rises = np.flatnonzero(within(self.values[1:] > self.values[:-1], self.offsets))
        broken = distinct(np.searchsorted(self.offsets, rises, "right") - 1)
        if not len(broken):
            return None, self.values
        if len(broken) == len(self.lengths):
            order = argsort_segments(-self.values, self.offsets)
            return order, self.values[order]
        order = np.arange(len(self.values))
        starts, lengths = self.offsets[broken], self.lengths[broken]
        rows = expand(starts, lengths)
        inner = argsort_segments(-self.values[rows], np.concatenate(([0], np.cumsum(lengths))))
        order[rows] = rows[inner]
        return order, self.values[order]

    def place(self, groups: Ints, wanted: Wanted) -> tuple[Ints, Ints]:
        """Which wanted documents (one for each of `groups`) are there, and their ranks from 1."""
        found, values = self.look_up(groups, wanted)
        order, ordered = self._descending
        start, stop = self.offsets[groups[found]], self.offsets[groups[found] + 1]
        first = bisect(ordered, start, stop, values, lambda value, goal: value > goal)
        last = bisect(ordered, first, stop, values, lambda value, goal: value >= goal)
        tied = np.flatnonzero(last - first > 1)
        if len(tied):
            rows = self.rows(groups[found[tied]], wanted.take(found[tied]))
            first[tied] = self._among_ties(rows, first[tied], last[tied], order)
        return found, first - start + 1

    def _among_ties(self, rows: Ints, first: Ints, last: Ints, order: Ints | None) -> Ints:
        """Where each row stands in the whole order, given the ties it is part of."""
        starts, index = np.unique(first, return_index=True)
        lengths = (last - first)[index]
        places = expand(starts, lengths)
        members = places if order is None else order[places]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        members = members[order_by_id(self.ids_at(members), offsets)]
        by_row = np.argsort(members)
        return places[by_row[np.searchsorted(members, rows, sorter=by_row)]]

    def top(self, groups: Ints, depth: int) -> tuple[Ints, Texts]:
        """How many of the first `depth` documents each of these queries has, and their ids, best first."""
        order, ordered = self._descending
        start, stop = self.offsets[groups], self.offsets[groups + 1]
        cut = np.minimum(start + depth, stop)
        last: Ints = cut.copy()
        full = np.flatnonzero((cut > start) & (cut < stop))  # a tie may cross the cutoff
        last[full] = bisect(
            ordered, cut[full], stop[full], ordered[cut[full] - 1], lambda value, goal: value >= goal
        )
        lengths = last - start
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        places = expand(start, lengths)
        rows = places if order is None else order[places]
        rows = self._by_id_in_ties(rows, ordered[places], offsets)
        kept = expand(offsets[:-1], cut - start)
        return cut - start, self.ids_at(rows[kept])

    def _by_id_in_ties(self, rows: Ints, values: Floats, offsets: Ints) -> Ints:
        """Rows in falling order of their values, with equal ones put in order of their ids."""
        same = within(values[1:] == values[:-1], offsets)
        if not same.any():
            return rows
        edges = np.diff(np.concatenate(([0], same, [0])))
        first, after = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) + 1
        tied = expand(first, after - first)
        bounds = np.concatenate(([0], np.cumsum(after - first)))
        rows = rows.copy()
        rows[tied] = rows[tied][order_by_id(self.ids_at(rows[tied]), bounds)]
        return rows

    def ties_at(self, cutoffs: Sequence[int]) -> Bools:
        """For each query, whether a tie crosses one of the cutoffs."""
        _, ordered = self._descending
        crossed = np.zeros(len(self.lengths), np.bool_)
        for cutoff in cutoffs:
            longer = np.flatnonzero(self.lengths > cutoff)
            at = self.offsets[longer] + cutoff
            crossed[longer] |= ordered[at] == ordered[at - 1]
        return crossed

    @abstractmethod
    def ids_at(self, rows: Ints) -> Texts:
        """The document ids of these rows."""

    @abstractmethod
    def rows(self, groups: Ints, wanted: Wanted) -> Ints:
        """The row of each wanted document in its query, -1 where there is none."""

    @abstractmethod
    def look_up(self, groups: Ints, wanted: Wanted) -> tuple[Ints, Floats]:
        """Which wanted documents there are, and their values."""


class Wanted:
    """Document ids to look for, in the forms that the kinds of rows look by."""

    def __init__(self, ids: Texts | list[str], rows: Ints | None = None, whole: Wanted | None = None) -> None:
        self._ids, self._rows, self._whole = ids, rows, whole

    def take(self, rows: Ints) -> Wanted:
        """Some of them, their forms taken over rather than made again."""
        return Wanted([], rows, self)

    @cached_property
    def texts(self) -> Texts:
        """The ids as a column."""
        if self._whole is not None and self._rows is not None:
            return self._whole.texts.take(self._rows)
        return self._ids if isinstance(self._ids, Texts) else _column(self._ids)

    @cached_property
    def keys(self) -> Words:
        """The ids as numbers."""
        return self.texts.keys() if self._whole is None else self._whole.keys[self._rows]

    @cached_property
    def strings(self) -> list[str]:
        """The ids as Python strings."""
        if self._whole is not None and self._rows is not None:
            return list(map(self._whole.strings.__getitem__, self._rows.tolist()))
        return self._ids.tolist() if isinstance(self._ids, Texts) else self._ids


class Groups(Segments):
    """Rows with document ids and one value each (a score or a grade), grouped by query."""

    def __init__(self, query_ids: Sequence[str], offsets: Ints, ids: Texts, values: Floats) -> None:
        super().__init__(query_ids, offsets, values)
        self.ids = ids

    @cached_property
    def _index(self) -> tuple[Words, Ints]:
        """The keys of the ids in order inside each query, and the rows they belong to."""
        keys = self.ids.keys()
        order = argsort_segments(keys, self.offsets)
        return keys[order], order

    def duplicate(self) -> tuple[str, str] | None:
        """A query and a document that stands twice in it, or None."""
        keys, order = self._index
        suspects = order[np.flatnonzero(within(keys[1:] == keys[:-1], self.offsets))]
        for group in distinct(np.searchsorted(self.offsets, suspects, "right") - 1).tolist():
            seen = set[str]()
            for doc in self.ids.slice(int(self.offsets[group]), int(self.offsets[group + 1])).tolist():
                if doc in seen:
                    return self.query_ids[group], doc
                seen.add(doc)
        return None

    def ids_at(self, rows: Ints) -> Texts:
        """The document ids of these rows."""
        return self.ids.take(rows)

    def look_up(self, groups: Ints, wanted: Wanted) -> tuple[Ints, Floats]:
        """Which wanted documents there are, and their values."""
        rows = self.rows(groups, wanted)
        found = np.flatnonzero(rows >= 0)
        return found, self.values[rows[found]]

    def rows(self, groups: Ints, wanted: Wanted) -> Ints:
        """The row of each wanted document in its query, -1 where there is none."""
        keys, order = self._index
        start, stop = self.offsets[groups], self.offsets[groups + 1]
        at = bisect(keys, start, stop, wanted.keys, lambda key, goal: key < goal)
        rows = np.full(len(groups), -1)
        there = np.flatnonzero(at < stop)
        there = there[keys[at[there]] == wanted.keys[there]]
        rows[there] = order[at[there]]
        same = self.ids.take(rows[there]).equal(wanted.texts.take(there))
        for stray in there[~same]:
            rows[stray] = self._find_slowly(int(groups[stray]), wanted.texts[int(stray)])
        return rows

    @cached_property
    def parts(self) -> list[Groups]:
        """The same rows in a few blocks of whole queries, each with its own index."""
        return list(self.split(1 << 20))

    def split(self, rows: int) -> Iterator[Groups]:
        """The same rows in blocks of whole queries, of about so many rows each."""
        marks = np.arange(0, len(self) + rows, rows)
        cuts = distinct(np.minimum(np.searchsorted(self.offsets, marks), len(self.query_ids)))
        for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            start, stop = int(self.offsets[first]), int(self.offsets[last])
            offsets = self.offsets[first : last + 1] - start
            ids, values = self.ids.slice(start, stop), self.values[start:stop]
            yield Groups(self.query_ids[first:last], offsets, ids, values)

    def _find_slowly(self, group: int, doc_id: str) -> int:
        """The row of a document whose key another document shares, -1 where there is none."""
        first, last = int(self.offsets[group]), int(self.offsets[group + 1])
        ids = self.ids.slice(first, last).tolist()
        return first + ids.index(doc_id) if doc_id in ids else -1


class MappedGroups(Segments):
    """The rows of nested Python dictionaries, whose ids are never copied."""

    def __init__(self, mapping: Mapping[str, Mapping[str, float]]) -> None:
        self.mapping = mapping
        lengths = np.fromiter(map(len, mapping.values()), np.int64, len(mapping))
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        super().__init__(list(mapping), offsets, _mapped_values(mapping, int(offsets[-1])))

    @property
    def strings(self) -> list[str]:
        """The document ids of all rows."""
        return list(chain.from_iterable(self.mapping.values()))

    def ids_at(self, rows: Ints) -> Texts:
        """The document ids of these rows."""
        groups = np.searchsorted(self.offsets, rows, "right") - 1
        chosen = {int(g): list(self.mapping[self.query_ids[g]]) for g in distinct(groups)}
        inside = (rows - self.offsets[groups]).tolist()
        return _column([chosen[g][i] for g, i in zip(groups.tolist(), inside, strict=True)])

    def look_up(self, groups: Ints, wanted: Wanted) -> tuple[Ints, Floats]:
        """Which wanted documents there are, and their values."""
        rankings, strings = list(self.mapping.values()), wanted.strings
        starts = np.flatnonzero(np.diff(groups, prepend=-1)).tolist()
        spans = pairwise([*starts, len(strings)])
        values = np.array(
            [value for a, b in spans for value in map(rankings[groups[a]].get, strings[a:b])], np.float64
        )  # None becomes NaN, which no score is
        found = np.flatnonzero(~np.isnan(values))
        return found, values[found]

    def rows(self, groups: Ints, wanted: Wanted) -> Ints:
        """The row of each wanted document in its query, -1 where there is none."""
        made, places, last = [], dict[str, int](), -1
        for group, doc in zip(groups.tolist(), wanted.strings, strict=True):
            if group != last:
                ranking, last = self.mapping[self.query_ids[group]], group
                places = {known: row for row, known in enumerate(ranking, int(self.offsets[group]))}
            made.append(places.get(doc, -1))
        return np.array(made, np.int64)


def _column(ids: list[str]) -> Texts:
    """The column of some ids, unless one of them cannot be an id."""
    try:
        return Texts.of(ids)
    except (TypeError, ValueError) as error:
        raise TableError(f"expected document ids as strings without NUL: {error}") from None


def _mapped_values(mapping: Mapping[str, Mapping[str, float]], count: int) -> Floats:
    """The scores of a nested dictionary, one after the other."""
    values, first = np.empty(count), 0
    for query, ranking in mapping.items():
        try:
            struct.pack_into(f"{len(ranking)}d", values.data, 8 * first, *ranking.values())
        except (TypeError, OverflowError, struct.error):
            raise TableError(_no_number(query, ranking)) from None
        first += len(ranking)
    return values


def _no_number(query: str, ranking: Mapping[str, object]) -> str:
    """What to say of a query with a value that is no number."""
    for doc, value in ranking.items():
        try:
            struct.pack("d", value)
        except (TypeError, OverflowError, struct.error):
            return f"expected a number for document {doc!r} of query {query!r}, found {value!r}"
    return f"expected {{document: number}} for query {query!r}"


class Scattered(Exception):  # noqa: N818 - a state of the data, not an error
    """A query's rows do not stand together, so a run cannot be gone through in pieces."""


class Blocks(Protocol):
    """A run that can be gone through piece by piece, every query whole in one piece."""

    name: str

    def blocks(self) -> Iterable[Segments]:
        """The pieces; Scattered is raised, at any time, when a query comes back."""
        ...

    def gathered(self) -> Iterable[Segments]:
        """The pieces of a scattered run, which takes the whole run in memory."""
        ...


def stable_order(codes: NDArray[np.int32]) -> Ints:
    """The rows in order of their code, rows of one code as they stood (a radix sort).

    >>> stable_order(np.array([2, 0, 70000, 0], np.int32)).tolist()
    [1, 3, 0, 2]
    """
    order = np.argsort(codes.astype(np.uint16), kind="stable")
    if codes.max(initial=0) >= 1 << 16:
        order = order[np.argsort((codes[order] >> 16).astype(np.uint16), kind="stable")]
    return order


def distinct(values: Ints) -> Ints:
    """The different values in order (np.unique loads masked arrays, which takes longer than this).

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values)
    fresh = np.ones(len(ordered), np.bool_)
    fresh[1:] = ordered[1:] != ordered[:-1]
    return ordered[fresh]


def expand(starts: Ints, lengths: Ints) -> Ints:
    """The numbers starts[i], starts[i] + 1, … (lengths[i] of them), for every i.

    >>> expand(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    shift = starts - (np.cumsum(lengths) - lengths)
    return np.repeat(shift, lengths) + np.arange(int(lengths.sum()))


def argsort_segments(keys: NDArray[np.generic], offsets: Ints) -> Ints:
    """The rows in ascending order of their keys inside each segment.

    >>> argsort_segments(np.array([3, 1, 2, 9, 8]), np.array([0, 3, 5])).tolist()
    [1, 2, 0, 4, 3]
    """
    lengths = np.diff(offsets)
    order = np.empty(len(keys), np.int64)
    for length in distinct(lengths[lengths > 0]).tolist():
        starts = offsets[:-1][lengths == length]
        if len(starts) * length == len(keys):  # all alike: no need to gather
            inner = np.argsort(keys.reshape(-1, length), axis=1)
            return np.asarray(inner + starts[:, None], np.int64).ravel()
        rows = starts[:, None] + np.arange(length)
        order[rows] = np.take_along_axis(rows, np.argsort(keys[rows], axis=1), axis=1)
    return order


def order_by_id(ids: Texts, offsets: Ints) -> Ints:
    """The rows of each segment with the largest id (by bytes) first."""
    order, rows, number = np.arange(len(ids)), np.arange(len(ids)), 0
    while len(rows):
        word = ~ids.take(order[rows]).word(number).byteswap()
        inner = argsort_segments(word, offsets)
        order[rows] = order[rows[inner]]
        word, number = word[inner], number + 1
        rows, offsets = _unresolved(rows, offsets, word, number < ids.word_count())
    return order


def _unresolved(rows: Ints, offsets: Ints, word: Words, more: bool) -> tuple[Ints, Ints]:
    """The rows that share all words so far with a neighbour, as new segments."""
    if not more or not len(rows):
        return rows[:0], offsets[:1]
    fresh = np.ones(len(rows), np.bool_)
    fresh[1:] = word[1:] != word[:-1]
    fresh[offsets[:-1][offsets[:-1] < len(rows)]] = True
    starts = np.flatnonzero(fresh)
    lengths = np.diff(np.append(starts, len(rows)))
    starts, lengths = starts[lengths > 1], lengths[lengths > 1]
    return rows[expand(starts, lengths)], np.concatenate(([0], np.cumsum(lengths)))


def within(flags: Bools, offsets: Ints) -> Bools:
    """Flags between neighbouring rows, cleared where the neighbours are of two segments."""
    inner = offsets[(offsets > 0) & (offsets <= len(flags))]
    flags[inner - 1] = False
    return flags


def bisect(
    values: _Values, first: Ints, last: Ints, goals: _Values, before: Callable[[_Values, _Values], Bools]
) -> Ints:
    """For each goal the first place in first … last whose value does not stand before it."""
    low, high = first.copy(), last.copy()
    if not len(values):
        return low
    for _ in range(int((last - first).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        right = before(values[np.minimum(middle, len(values) - 1)], goals) & (low < high)
        low = np.where(right, middle + 1, low)
        high = np.where(right, high, middle)
    return low
