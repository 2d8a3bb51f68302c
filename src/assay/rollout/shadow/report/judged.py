"""What judgments say of the answers in a shadow log, and which documents to judge next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.core.tables import Qrels
from assay.evaluation.compare import Comparisons, compare
from assay.rollout.shadow.records import CANDIDATE, PRIMARY
from assay.rollout.shadow.report.differences import QueryDifference
from assay.rollout.shadow.report.exchanges import LoggedExchange


@dataclass(frozen=True)
class Judged:
    """Judgments, and the ids under which they have the queries of a log."""

    qrels: Qrels
    ids_by_text: Mapping[str, str] = field(default_factory=dict)  # from a table of queries

    def __post_init__(self) -> None:
        known = {normalise(text): query for text, query in self.ids_by_text.items()}
        known = {**{normalise(query): query for query in self.qrels.query_ids}, **known}
        object.__setattr__(self, "_ids", known)

    def query_id(self, query: str) -> str | None:
        """Return the id of a query: of its text in the table of queries, or equal to its text."""
        ids: Mapping[str, str] = self._ids  # type: ignore[attr-defined]
        return ids.get(normalise(query))


def normalise(text: str) -> str:
    """Return a text without differences of case and space.

    >>> normalise("  Reset  VPN ")
    'reset vpn'
    """
    return " ".join(text.casefold().split())


def compare_judged(
    exchanges: Sequence[LoggedExchange], judged: Judged, measures: Sequence[str], level: float
) -> Comparisons | None:
    """Score the last answers to each judged query; None if the log has no judged query."""
    runs: dict[str, dict[str, list[str]]] = {PRIMARY: {}, CANDIDATE: {}}
    judged_ids = set(judged.qrels.query_ids)
    for exchange in exchanges:
        query = judged.query_id(exchange.query)
        if query in judged_ids and query is not None and exchange.is_compared:
            for role, run in runs.items():
                run[query] = list(exchange.hits(role) or ())
    if not runs[PRIMARY]:
        return None
    qrels = {
        query: documents for query, documents in judged.qrels.to_dict().items() if query in runs[PRIMARY]
    }
    return compare(qrels, runs[PRIMARY], runs[CANDIDATE], measures, level=level)


@dataclass(frozen=True)
class PairToJudge:
    """A document that only one system shows, at a query whose answers differ."""

    query: str
    query_id: str | None  # in the judgments; None: they do not have the query
    doc_id: str
    shown_by: str  # the role
    rank: int
    weight: float  # requests × difference × discount of the rank

    def to_dict(self) -> dict[str, Any]:
        """Return the pair as plain data."""
        return dict(vars(self))


def choose_pairs(queries: Sequence[QueryDifference], judged: Judged | None, count: int) -> list[PairToJudge]:
    """Return the pairs whose judgment says most about the difference, the most important first."""
    grades = judged.qrels.to_dict() if judged else {}
    pairs = [pair for entry in queries for pair in _open_pairs(entry, judged, grades)]
    return sorted(pairs, key=lambda pair: (-pair.weight, pair.query, pair.rank, pair.doc_id))[:count]


def _open_pairs(
    entry: QueryDifference, judged: Judged | None, grades: Mapping[str, Mapping[str, float]]
) -> Iterator[PairToJudge]:
    """Yield the documents of a query that one system shows alone and nobody has judged."""
    difference = entry.difference if entry.excess is None else entry.excess
    if difference <= 0:
        return
    query = judged.query_id(entry.query) if judged else None
    known = grades.get(query or "", {})
    lists = ((PRIMARY, entry.primary, entry.candidate), (CANDIDATE, entry.candidate, entry.primary))
    for role, own, other in lists:
        for rank, doc in enumerate(own, 1):
            if doc not in other and doc not in known:
                weight = entry.requests * difference / math.log2(1 + rank)
                yield PairToJudge(entry.query, query, doc, role, rank, weight)
