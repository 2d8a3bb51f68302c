"""Rankings: for each judged query, the ranks of its judged documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np

from assay.core.arrays import Bools, Floats, Ints
from assay.core.groups import expand_ranges

Args = ParamSpec("Args")
Result = TypeVar("Result")


def _cache_result(
    method: Callable[Concatenate[Rankings, Args], Result],
) -> Callable[Concatenate[Rankings, Args], Result]:
    """Cache the result of a method by its arguments: many measures share it."""

    @wraps(method)
    def cached_method(self: Rankings, *args: Args.args, **kwargs: Args.kwargs) -> Result:
        key = (method.__name__, args)
        if key not in self.results:
            self.results[key] = method(self, *args, **kwargs)
        return self.results[key]  # type: ignore[return-value]

    return cached_method  # type: ignore[return-value]


class Rankings:
    """Judged queries with the documents that were returned for them.

    `query`, `rank` and `grade` are the judged documents that were returned, in order of rank inside
    each query. A grade below 0 means that a document was pooled but not judged.
    """

    def __init__(
        self,
        returned_counts: Ints,
        query: Ints,
        rank: Ints,
        grade: Ints,
        judged_query: Ints,
        judged_grade: Ints,
    ) -> None:
        self.returned_counts = returned_counts  # the number of documents returned for each query
        self.query, self.rank, self.grade = query, rank, grade
        self.judged_query, self.judged_grade = judged_query, judged_grade  # including those not returned
        self.results: dict[object, object] = {}

    def __len__(self) -> int:
        return len(self.returned_counts)

    def per_query(self, rows: Bools | None, weights: Floats | None = None) -> Floats:
        """The number (or the weight) of the returned judged documents, by query."""
        query = self.query if rows is None else self.query[rows]
        counts = np.bincount(query, weights, minlength=len(self))
        return counts.astype(np.float64)

    @_cache_result
    def relevant(self, rel: int) -> Floats:
        """How many judged documents reach the grade, by query."""
        hits = self.judged_query[self.judged_grade >= rel]
        return np.bincount(hits, minlength=len(self)).astype(np.float64)

    @_cache_result
    def irrelevant(self, rel: int) -> Floats:
        """How many documents were judged below the grade, by query."""
        below = (self.judged_grade >= 0) & (self.judged_grade < rel)
        return np.bincount(self.judged_query[below], minlength=len(self)).astype(np.float64)

    @_cache_result
    def hits(self, rel: int, cutoff: int | None) -> Floats:
        """How many documents in the top k reach the grade, by query."""
        return self.per_query(self.top(rel, cutoff))

    @_cache_result
    def top(self, rel: int, cutoff: int | None) -> Bools:
        """Which returned judged documents reach the grade within the cutoff."""
        reaches_grade: Bools = self.grade >= rel
        return reaches_grade if cutoff is None else reaches_grade & (self.rank <= cutoff)

    @_cache_result
    def running_hits(self, rel: int) -> Ints:
        """For each returned judged document, how many up to it reach the grade."""
        return self.running_sums(self.grade >= rel).astype(np.int64)

    def running_sums(self, values: Bools | Floats) -> Floats:
        """Running sums over the returned judged documents of a query, up to and including each."""
        total = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
        sums: Floats = total[1:] - total[self._first][self.query]
        return sums

    @cached_property
    def _first(self) -> Ints:
        """The row of each query's first returned judged document."""
        return np.searchsorted(self.query, np.arange(len(self)))

    @cached_property
    def judged_before(self) -> Ints:
        """For each returned judged document, how many of its query rank before it."""
        return np.arange(len(self.query)) - self._first[self.query]

    @cached_property
    def rows_by_place(self) -> list[Ints]:
        """The rows of all first returned judged documents, of all second ones, and so on."""
        return np.split(
            np.argsort(self.judged_before, kind="stable"), np.cumsum(np.bincount(self.judged_before))[:-1]
        )

    @cached_property
    def ideal(self) -> tuple[Ints, Ints, Ints]:
        """Query, rank and grade of the judged documents in the best possible order."""
        order = np.lexsort((-self.judged_grade, self.judged_query))
        query = self.judged_query[order]
        first = np.searchsorted(query, np.arange(len(self)))
        return query, np.arange(len(query)) - first[query] + 1, self.judged_grade[order]

    @cached_property
    def top_grade(self) -> int:
        """The highest grade of all judgments."""
        return int(self.judged_grade.max(initial=0))

    @cached_property
    def top_grades(self) -> Ints:
        """The highest grade of each query, at least 0."""
        highest = np.zeros(len(self), np.int64)
        np.maximum.at(highest, self.judged_query, self.judged_grade)
        return highest

    def unjudged(self, cutoff: int | None) -> Floats:
        """How many of the documents returned within the cutoff were not judged, by query."""
        depth = self.returned_counts if cutoff is None else np.minimum(self.returned_counts, cutoff)
        return depth - self.hits(0, cutoff)

    def with_unjudged_as(self, grade: int, cutoff: int | None) -> Rankings:
        """The same rankings if every unjudged document within the cutoff had this grade."""
        depth = self.returned_counts if cutoff is None else np.minimum(self.returned_counts, cutoff)
        rank, query = expand_ranges(np.ones_like(depth), depth), np.repeat(np.arange(len(self)), depth)
        start = np.cumsum(depth) - depth
        known_rows = (self.grade >= 0) & (self.rank <= depth[self.query])
        is_unjudged = np.ones(len(rank), np.bool_)
        is_unjudged[start[self.query[known_rows]] + self.rank[known_rows] - 1] = False
        query, rank = query[is_unjudged], rank[is_unjudged]
        is_judged = self.grade >= 0
        order = np.lexsort((np.append(self.rank[is_judged], rank), np.append(self.query[is_judged], query)))
        new_grades = np.full(len(query), grade)
        return Rankings(
            self.returned_counts,
            np.append(self.query[is_judged], query)[order],
            np.append(self.rank[is_judged], rank)[order],
            np.append(self.grade[is_judged], new_grades)[order],
            np.append(self.judged_query, query),
            np.append(self.judged_grade, new_grades),
        )


class Ranking(NamedTuple):
    """The ranking of one query, as passed to a user's own measure."""

    grades: tuple[int | None, ...]  # of the returned documents, the first rank first; None: not judged
    judged: tuple[int, ...]  # all grades of the query, highest first


def split_rankings(rankings: Rankings, cutoff: int | None) -> list[Ranking]:
    """The ranking of each query, cut at the cutoff."""
    bounds = np.append(rankings._first, len(rankings.query)).tolist()
    ideal_query, _, ideal_grade = rankings.ideal
    ideal = np.searchsorted(ideal_query, np.arange(len(rankings) + 1)).tolist()
    rankings_by_query = []
    for i, count in enumerate(rankings.returned_counts.tolist()):
        grades: list[int | None] = [None] * (count if cutoff is None else min(count, cutoff))
        for row in range(bounds[i], bounds[i + 1]):
            rank, grade = int(rankings.rank[row]), int(rankings.grade[row])
            if rank <= len(grades) and grade >= 0:
                grades[rank - 1] = grade
        judged = ideal_grade[ideal[i] : ideal[i + 1]].tolist()
        rankings_by_query.append(Ranking(tuple(grades), tuple(grade for grade in judged if grade >= 0)))
    return rankings_by_query
