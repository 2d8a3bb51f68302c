"""What the formulas see: for each judged query, where the judged documents stand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np

from assay.core.groups import expand
from assay.core.texts import Bools, Floats, Ints

Args = ParamSpec("Args")
Result = TypeVar("Result")


def _kept(
    method: Callable[Concatenate[Rankings, Args], Result],
) -> Callable[Concatenate[Rankings, Args], Result]:
    """Work a result out once for the same arguments: many measures share it."""

    @wraps(method)
    def once(self: Rankings, *args: Args.args, **kwargs: Args.kwargs) -> Result:
        key = (method.__name__, args)
        if key not in self.results:
            self.results[key] = method(self, *args, **kwargs)
        return self.results[key]  # type: ignore[return-value]

    return once  # type: ignore[return-value]


class Rankings:
    """Judged queries with what was returned for them.

    `query`, `rank` and `grade` are the judged documents that were returned, in order of rank inside
    each query. A grade below 0 says that a document was pooled but not judged.
    """

    def __init__(
        self, returned: Ints, query: Ints, rank: Ints, grade: Ints, judged_query: Ints, judged_grade: Ints
    ) -> None:
        self.returned = returned  # how many documents each query got
        self.query, self.rank, self.grade = query, rank, grade
        self.judged_query, self.judged_grade = judged_query, judged_grade  # whether returned or not
        self.results: dict[object, object] = {}

    def __len__(self) -> int:
        return len(self.returned)

    def per_query(self, rows: Bools | None, weights: Floats | None = None) -> Floats:
        """The number (or the weight) of the returned judged documents, by query."""
        query = self.query if rows is None else self.query[rows]
        counts = np.bincount(query, weights, minlength=len(self))
        return counts.astype(np.float64)

    @_kept
    def relevant(self, rel: int) -> Floats:
        """How many judged documents reach the grade, by query."""
        hits = self.judged_query[self.judged_grade >= rel]
        return np.bincount(hits, minlength=len(self)).astype(np.float64)

    @_kept
    def irrelevant(self, rel: int) -> Floats:
        """How many documents were judged below the grade, by query."""
        below = (self.judged_grade >= 0) & (self.judged_grade < rel)
        return np.bincount(self.judged_query[below], minlength=len(self)).astype(np.float64)

    @_kept
    def hits(self, rel: int, cutoff: int | None) -> Floats:
        """How many documents in the top k reach the grade, by query."""
        return self.per_query(self.top(rel, cutoff))

    @_kept
    def top(self, rel: int, cutoff: int | None) -> Bools:
        """Which returned judged documents reach the grade within the cutoff."""
        good: Bools = self.grade >= rel
        return good if cutoff is None else good & (self.rank <= cutoff)

    @_kept
    def so_far(self, rel: int) -> Ints:
        """For each returned judged document, how many up to it reach the grade."""
        return self.running(self.grade >= rel).astype(np.int64)

    def running(self, values: Bools | Floats) -> Floats:
        """Sums over the returned judged documents of a query, up to and with each."""
        total = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
        sums: Floats = total[1:] - total[self._first][self.query]
        return sums

    @cached_property
    def _first(self) -> Ints:
        """The row of each query's first returned judged document."""
        return np.searchsorted(self.query, np.arange(len(self)))

    @cached_property
    def place(self) -> Ints:
        """For each returned judged document, how many of its query stand before it."""
        return np.arange(len(self.query)) - self._first[self.query]

    @cached_property
    def by_place(self) -> list[Ints]:
        """The rows of all first returned judged documents, of all second ones, and so on."""
        return np.split(np.argsort(self.place, kind="stable"), np.cumsum(np.bincount(self.place))[:-1])

    @cached_property
    def ideal(self) -> tuple[Ints, Ints, Ints]:
        """Query, rank and grade of the judged documents in the best order there is."""
        order = np.lexsort((-self.judged_grade, self.judged_query))
        query = self.judged_query[order]
        first = np.searchsorted(query, np.arange(len(self)))
        return query, np.arange(len(query)) - first[query] + 1, self.judged_grade[order]

    @cached_property
    def top_grade(self) -> int:
        """The highest grade anybody gave."""
        return int(self.judged_grade.max(initial=0))

    @cached_property
    def top_grades(self) -> Ints:
        """The highest grade of each query, at least 0."""
        highest = np.zeros(len(self), np.int64)
        np.maximum.at(highest, self.judged_query, self.judged_grade)
        return highest

    def unjudged(self, cutoff: int | None) -> Floats:
        """How many of the documents returned within the cutoff nobody judged, by query."""
        depth = self.returned if cutoff is None else np.minimum(self.returned, cutoff)
        return depth - self.hits(0, cutoff)

    def supposing(self, grade: int, cutoff: int | None) -> Rankings:
        """The same, supposing that every unjudged document within the cutoff had this grade."""
        depth = self.returned if cutoff is None else np.minimum(self.returned, cutoff)
        rank, query = expand(np.ones_like(depth), depth), np.repeat(np.arange(len(self)), depth)
        start = np.cumsum(depth) - depth
        known = (self.grade >= 0) & (self.rank <= depth[self.query])
        free = np.ones(len(rank), np.bool_)
        free[start[self.query[known]] + self.rank[known] - 1] = False
        query, rank = query[free], rank[free]
        kept = self.grade >= 0
        order = np.lexsort((np.append(self.rank[kept], rank), np.append(self.query[kept], query)))
        given = np.full(len(query), grade)
        return Rankings(
            self.returned,
            np.append(self.query[kept], query)[order],
            np.append(self.rank[kept], rank)[order],
            np.append(self.grade[kept], given)[order],
            np.append(self.judged_query, query),
            np.append(self.judged_grade, given),
        )


class Ranking(NamedTuple):
    """One query, as a measure of the user's own sees it."""

    grades: tuple[int | None, ...]  # of the documents returned, best first; None: not judged
    judged: tuple[int, ...]  # all grades given for the query, highest first


def each(rankings: Rankings, cutoff: int | None) -> list[Ranking]:
    """The rankings one by one, cut at the cutoff."""
    bounds = np.append(rankings._first, len(rankings.query)).tolist()
    ideal_query, _, ideal_grade = rankings.ideal
    ideal = np.searchsorted(ideal_query, np.arange(len(rankings) + 1)).tolist()
    made = []
    for i, returned in enumerate(rankings.returned.tolist()):
        grades: list[int | None] = [None] * (returned if cutoff is None else min(returned, cutoff))
        for row in range(bounds[i], bounds[i + 1]):
            rank, grade = int(rankings.rank[row]), int(rankings.grade[row])
            if rank <= len(grades) and grade >= 0:
                grades[rank - 1] = grade
        judged = ideal_grade[ideal[i] : ideal[i + 1]].tolist()
        made.append(Ranking(tuple(grades), tuple(grade for grade in judged if grade >= 0)))
    return made
