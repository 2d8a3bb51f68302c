"""The Searcher protocol: a query becomes a ranked list of documents.

A searcher answers one query at a time, from any thread. It does not time, repeat or score itself: that
is done in the same way for all searchers, by `assay.search.run_queries`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from assay.core.errors import InputError
from assay.core.tables import Queries, Run

RankedDocuments = list[tuple[str, float]]  # documents with their scores, best first
_SINGLE_MAX = float(np.finfo(np.float32).max)


class Query(NamedTuple):
    """One query."""

    id: str
    text: str
    columns: Mapping[str, Any] = {}  # the other columns of its row, for templates


class Stage(NamedTuple):
    """What one stage of a pipeline returned for a query."""

    name: str
    documents: RankedDocuments
    nanoseconds: int


class Answer(NamedTuple):
    """What was returned for one query."""

    documents: RankedDocuments
    stages: tuple[Stage, ...] = ()  # of a pipeline, in order
    tokens: int = 0  # billed tokens
    cost: float = 0.0  # in the currency of the configured prices
    repeated: int = 0  # documents that were returned again, which count once


class Searcher:
    """Returns the best documents of a query: subclass it, in one file each."""

    name: str
    price_per_query: float = 0.0  # added to the cost of each answer

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        """Return the k best documents of a query, best first; a RemoteError if there is no answer.

        An empty list is an answer: no document was found. A search that takes longer than the timeout
        (in seconds) raises a RemoteError of kind `timeout` if the searcher can detect that; the caller
        checks the time as well.
        """
        raise NotImplementedError

    def search(self, queries: Queries, k: int) -> Run:
        """Return the k best documents of each query."""
        rankings = {query.id: self.ask(query, k).documents for query in iterate_queries(queries)}
        return build_run(self.name, rankings)

    @property
    def total_price_per_query(self) -> float:
        """The price of a query, with those of other searchers that are asked for it."""
        return self.price_per_query

    def configuration(self) -> Mapping[str, Any]:
        """Return the settings that define this search, without secrets: they are shown, stored and hashed."""
        return {"name": self.name}

    def identity(self) -> Mapping[str, Any]:
        """Return what distinguishes its answers from those of any other search; hashed, without secrets."""
        return self.configuration()

    def required_columns(self) -> set[str]:
        """Return the columns that every query must have."""
        return set()

    def check_queries(self, queries: Queries) -> None:
        """Refuse queries that lack a required column."""
        if missing := sorted(self.required_columns() - set(queries.columns)):
            other_columns = ", ".join(name for name in queries.columns if name not in ("query_id", "text"))
            raise InputError(
                f"{self.name} uses {{{missing[0]}}} in its request; expected {{query}}, {{k}}, {{id}} "
                f"or a column of the queries ({other_columns or 'they have no other'})"
            )

    def close(self) -> None:
        """Release connections and processes."""


def sort_ranking(documents: Iterable[tuple[str, float]]) -> RankedDocuments:
    """Return documents with the higher score first; documents of equal score keep their order.

    >>> sort_ranking([("a", 1.0), ("b", 1.0), ("c", 2.0)])
    [('c', 2.0), ('a', 1.0), ('b', 1.0)]
    """
    return sorted(documents, key=lambda pair: -pair[1])


def build_run(name: str, rankings: Mapping[str, RankedDocuments]) -> Run:
    """Return the run of rankings by query; a query without documents is not in it.

    A run is ordered by score, then by id. So that documents of equal score keep the order in which they
    were returned, each is scored below the one before it, by the least step of single precision: the
    order is then the same for tools that read scores as single precision.

    >>> build_run("mine", {"q": [("a", 1.0), ("z", 1.0), ("y", 0.5)]}).to_dict()
    {'q': {'a': 1.0, 'z': 0.9999999403953552, 'y': 0.5}}
    """
    rows = {query: dict(_separate_ties(documents)) for query, documents in rankings.items() if documents}
    return Run(rows, name=name)


def _separate_ties(documents: RankedDocuments) -> Iterator[tuple[str, float]]:
    last = math.inf
    for doc_id, score in documents:
        last = _next_lower(last) if score >= last and math.isfinite(score) else score
        yield doc_id, last


def _next_lower(score: float) -> float:
    """Return the next lower number of single precision; of double precision if it is out of range."""
    if abs(score) > _SINGLE_MAX:
        return math.nextafter(score, -math.inf)
    return float(np.nextafter(np.float32(score), np.float32(-math.inf)))


def iterate_queries(queries: Queries) -> Iterator[Query]:
    """Yield the rows of a table of queries.

    >>> [query.text for query in iterate_queries(Queries({"query_id": ["q1"], "text": ["how"]}))]
    ['how']
    """
    names = [name for name in queries.columns if name not in ("query_id", "text")]
    for row, key in enumerate(queries.ids):
        columns = {name: queries.columns[name][row] for name in names}
        yield Query(key, str(queries.columns["text"][row] or ""), columns)
