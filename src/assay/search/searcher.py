"""What is asked, what is answered, and what can go wrong: the protocol of every search.

A searcher answers one query at a time, from any thread. It never times, repeats or scores itself: that is
done from outside (`assay.search.running`), the same for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from assay.core.errors import AssayError, InputError
from assay.core.tables import Queries, Run

Ranked = list[tuple[str, float]]  # documents with their scores, best first


class Query(NamedTuple):
    """One query as it is asked."""

    id: str
    text: str
    columns: Mapping[str, Any] = {}  # what else is known of it, for templates


class Stage(NamedTuple):
    """What one stage of a pipeline gave for a query."""

    name: str
    documents: Ranked
    nanoseconds: int


class Answer(NamedTuple):
    """What was returned for one query."""

    documents: Ranked
    stages: tuple[Stage, ...] = ()  # of a pipeline, in their order
    tokens: int = 0  # that somebody is paid for
    cost: float = 0.0  # in the currency of the prices that were given


KINDS = ("timeout", "connection", "status", "limited", "malformed", "too large", "failed")


class SearchError(AssayError):
    """A search failed: `kind` (of KINDS) says how, `again` whether asking again may help, `after` when."""

    def __init__(self, kind: str, said: str, *, again: bool = False, after: float | None = None) -> None:
        self.kind, self.said, self.again, self.after = kind, said, again, after
        super().__init__(f"{kind}: {said}")


class Searcher:
    """Anything that can be asked for the best documents of a query: subclass it, in one file each."""

    name: str

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        """The k best documents of a query, best first; a SearchError where there is no answer.

        An empty list is an answer: nothing was found. What takes longer than the timeout (seconds) is a
        SearchError of kind `timeout`, as far as the searcher can tell; whoever asks watches as well.
        """
        raise NotImplementedError

    def search(self, queries: Queries, k: int) -> Run:
        """The k best documents of each query."""
        return Run({query.id: dict(self.ask(query, k).documents) for query in asked(queries)}, name=self.name)

    def configuration(self) -> Mapping[str, Any]:
        """What makes it this search and no other, without secrets: it is shown, stored and hashed."""
        return {"name": self.name}

    def identity(self) -> Mapping[str, Any]:
        """What tells its answers from those of any other search: hashed only, and without secrets as well."""
        return self.configuration()

    def wanted(self) -> set[str]:
        """The columns without which no query can be asked."""
        return set()

    def refuse(self, queries: Queries) -> None:
        """Refuse queries that have not what every one of them is asked with."""
        if missing := sorted(self.wanted() - set(queries.columns)):
            there = ", ".join(name for name in queries.columns if name not in ("query_id", "text"))
            raise InputError(
                f"{self.name} puts {{{missing[0]}}} in what it asks; expected {{query}}, {{k}}, {{id}} "
                f"or a column of the queries ({there or 'they have no other'})"
            )

    def close(self) -> None:
        """Let go of what is held: connections, processes."""


def in_order(found: Iterable[tuple[str, float]]) -> Ranked:
    """Documents by the rule that ranks a Run: the higher score first, of equals the larger id.

    >>> in_order([("a", 1.0), ("b", 1.0), ("c", 2.0)])
    [('c', 2.0), ('b', 1.0), ('a', 1.0)]
    """
    return sorted(found, key=lambda pair: (pair[1], pair[0]), reverse=True)


def asked(queries: Queries) -> Iterator[Query]:
    """Queries as they are asked, one after another.

    >>> [query.text for query in asked(Queries({"query_id": ["q1"], "text": ["how"]}))]
    ['how']
    """
    names = [name for name in queries.columns if name not in ("query_id", "text")]
    for row, key in enumerate(queries.ids):
        columns = {name: queries.columns[name][row] for name in names}
        yield Query(key, str(queries.columns["text"][row] or ""), columns)
