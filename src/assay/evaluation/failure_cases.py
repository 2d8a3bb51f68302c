"""Failing queries with all that is known of them, in which causes are detected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Bools, Floats, Ints
from assay.core.tables import Qrels
from assay.evaluation import vocabulary
from assay.evaluation.corpus import Corpus, normalize_text
from assay.evaluation.matching import Matches
from assay.measures import Measure, Rankings

MAX_TEXTS_READ = 100  # the texts of a longer top are not all read


class FailureScope(NamedTuple):
    """The measure, the threshold and the corpus: what is the same for all queries."""

    measure: Measure
    below: float
    rel: int  # the lowest relevant grade
    k: int  # the number of documents that count as the top
    depth: int  # the number of documents that a reranker would read
    corpus: Corpus
    judging_is_informative: bool = True  # whether a missing judgment says something

    @property
    def query_measure(self) -> Measure:
        """The measure of a single query: for a quantile, the measure inside."""
        inner = self.measure.params.get("of", self.measure)
        return inner if isinstance(inner, Measure) else self.measure

    def fails(self, values: Floats) -> Bools:
        """Which values are on the wrong side of the threshold; undefined values are on neither side."""
        return values > self.below if self.measure.lower_is_better else values < self.below

    def passes(self, value: float) -> bool:
        """Whether a value is on the right side of the threshold."""
        return value == value and not self.fails(np.array(value))


@dataclass(frozen=True)
class FailureCase:
    """One failing query; what several causes ask for is computed once."""

    scope: FailureScope
    text: str | None
    grades: Mapping[str, int]  # of the judged documents
    ranks: Mapping[str, int]  # of the judged documents that were returned
    top: list[str]
    returned_count: int
    exact: Mapping[str, int]  # the ranks of the documents by exact search
    same_text_grades: Mapping[
        str, Mapping[str, int]
    ]  # by query, the grades of other queries with the same text
    value: float
    if_judged: float  # if the unjudged documents at the top were relevant
    if_ordered: float  # if the top were in the best order
    if_reranked: float  # if the first `depth` documents were in the best order
    if_best: float  # if all relevant documents were at the top

    @cached_property
    def relevant(self) -> list[str]:
        """The relevant documents, those with the highest grade first."""
        documents = [doc for doc, grade in self.grades.items() if grade >= self.scope.rel]
        return sorted(documents, key=lambda doc: -self.grades[doc])

    @cached_property
    def missing(self) -> list[str]:
        """The relevant documents that are not in the top."""
        return [doc for doc in self.relevant if not self.ranks.get(doc, np.inf) <= self.scope.k]

    @cached_property
    def unjudged(self) -> list[str]:
        """The unjudged documents at the top."""
        return [doc for doc in self.top if self.grades.get(doc, -1) < 0]

    @cached_property
    def first_by_text(self) -> Mapping[str, str]:
        """The first document, at the top or judged, of each text that is not judged relevant."""
        text, rel = self.scope.corpus.text, self.scope.rel
        first: dict[str, str] = {}
        for doc in self.top:
            if self.grades.get(doc, -1) < rel:
                first.setdefault(text(doc), doc)
        for doc, grade in self.grades.items():
            if 0 <= grade < rel:
                first.setdefault(text(doc), doc)
        first.pop("", None)  # of documents without a known text
        return first

    @cached_property
    def exact_terms(self) -> Sequence[str]:
        """The exact terms of the query."""
        return vocabulary.exact_terms(self.text or "")

    @cached_property
    def query_words(self) -> Mapping[str, str]:
        """The content words of the query: by folded word, the word as it was written."""
        return vocabulary.content_words(self.text or "")

    @cached_property
    def documents_with_text(self) -> list[str]:
        """The documents at the top whose texts are known."""
        return [doc for doc in self.top[:MAX_TEXTS_READ] if self.scope.corpus.text(doc)]

    @cached_property
    def median_shared_words(self) -> int:
        """The median number of query words in a document at the top."""
        words, query_words = self.scope.corpus.words, self.query_words.keys()
        counts = sorted(len(query_words & words(doc)) for doc in self.documents_with_text)
        return counts[len(counts) // 2] if counts else len(query_words)


class FailureCases:
    """The cases of a run, each built on access."""

    def __init__(
        self,
        scope: FailureScope,
        qrels: Qrels,
        matches: Matches,
        values: Floats,
        texts: Sequence[str | None],
        exact: Matches | None = None,
    ) -> None:
        self.scope, self.values, self.texts = scope, values, texts
        self._qrels, self._matches, self._exact = qrels, matches, exact
        rankings, compute = matches.rankings, scope.measure.compute
        highest = max(rankings.top_grade, scope.rel)
        self._hypothetical_values = {
            "if_judged": compute(rankings.with_unjudged_as(highest, scope.k)),
            "if_ordered": compute(best_order(rankings, scope.rel, scope.k)),
            "if_reranked": compute(best_order(rankings, scope.rel, scope.depth)),
            "if_best": compute(best_order(rankings, scope.rel, None)),
        }

    @property
    def if_reranked(self) -> Floats:
        """The values if the first documents were in the best possible order."""
        return self._hypothetical_values["if_reranked"]

    @property
    def if_best(self) -> Floats:
        """The values if all relevant documents were at the top."""
        return self._hypothetical_values["if_best"]

    def __getitem__(self, row: int) -> FailureCase:
        """The case of one of the judged queries."""
        return FailureCase(
            self.scope,
            self.texts[row],
            self._grades(row),
            self._ranks(self._matches, self._bounds, row),
            self._matches.top[row][: self.scope.k],
            int(self._matches.rankings.returned_counts[row]),
            self._ranks(self._exact, self._exact_bounds, row) if self._exact else {},
            self._same_text_grades(row),
            float(self.values[row]),
            **{name: float(values[row]) for name, values in self._hypothetical_values.items()},
        )

    def _grades(self, row: int) -> dict[str, int]:
        first, last = (int(self._qrels.groups.offsets[row + end]) for end in (0, 1))
        ids = self._qrels.groups.ids.slice(first, last).tolist()
        return dict(zip(ids, self._qrels.grades[first:last].tolist(), strict=True))

    def _ranks(self, matches: Matches, bounds: Ints, row: int) -> dict[str, int]:
        part = slice(int(bounds[row]), int(bounds[row + 1]))
        ids = self._qrels.groups.ids.take(matches.row[part]).tolist()
        return dict(zip(ids, matches.rankings.rank[part].tolist(), strict=True))

    @cached_property
    def _bounds(self) -> Ints:
        return np.searchsorted(self._matches.rankings.query, np.arange(len(self.values) + 1))

    @cached_property
    def _exact_bounds(self) -> Ints:
        query = self._exact.rankings.query if self._exact else np.zeros(0, np.int64)
        return np.searchsorted(query, np.arange(len(self.values) + 1))

    @cached_property
    def _rows_by_text(self) -> dict[str, list[int]]:
        """The rows of the queries that have the same text as another."""
        rows: dict[str, list[int]] = {}
        for row, text in enumerate(self.texts):
            rows.setdefault(normalize_text(text or ""), []).append(row)
        return {text: same for text, same in rows.items() if text and len(same) > 1}

    def _same_text_grades(self, row: int) -> dict[str, dict[str, int]]:
        same = self._rows_by_text.get(normalize_text(self.texts[row] or ""), [])
        return {self._qrels.query_ids[other]: self._grades(other) for other in same if other != row}


def best_order(rankings: Rankings, rel: int, depth: int | None) -> Rankings:
    """The rankings if the relevant ones of the first `depth` documents (None: of all) were at the top."""
    rows = rankings.judged_grade >= rel if depth is None else rankings.top(rel, depth)
    query = (rankings.judged_query if depth is None else rankings.query)[rows]
    grade = (rankings.judged_grade if depth is None else rankings.grade)[rows]
    order = np.lexsort((-grade, query))
    query, grade = query[order], grade[order]
    rank = np.arange(len(query)) - np.searchsorted(query, np.arange(len(rankings)))[query] + 1
    returned_counts = np.maximum(rankings.returned_counts, np.bincount(query, minlength=len(rankings)))
    return Rankings(returned_counts, query, rank, grade, rankings.judged_query, rankings.judged_grade)
