"""One query over experiments: its scores in time, ranked lists side by side, grades and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from assay.core.errors import InputError
from assay.core.records import Experiment
from assay.store.kept_judgments import find_judgments, read_query_judgments
from assay.store.rankings import read_grades, read_queries, read_ranking, read_texts
from assay.store.store import Store
from assay.workflows.document_clicks import QueryClicks, read_query_clicks
from assay.workflows.stores import open_existing_store

DEFAULT_EXPERIMENTS = 200
MOST_CLICKED = 50  # documents of a log whose texts are read


@dataclass(frozen=True, kw_only=True)
class QueryRequest:
    """A query, and the experiments whose rankings stand side by side (default: the newest two systems)."""

    query_id: str
    experiments: Sequence[str] = ()
    measure: str = ""  # of the scores over time; empty: the first that there is
    limit: int = DEFAULT_EXPERIMENTS  # experiments in the history, the newest
    store: str | None = None


@dataclass(frozen=True)
class RankedDocument:
    """A document at a rank of one experiment."""

    rank: int
    doc_id: str
    grade: int | None  # None: not judged
    title: str = ""
    text: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the document as plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class RankedList:
    """The first documents of a query in one experiment; None: the experiment was saved without them."""

    experiment: str
    name: str
    scores: Mapping[str, float]
    documents: Sequence[RankedDocument] | None

    def rank_of(self, doc_id: str) -> int | None:
        """Return the rank of a document; None if it is not among the first."""
        return next((d.rank for d in self.documents or () if d.doc_id == doc_id), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the list as plain data."""
        documents = None if self.documents is None else [d.to_dict() for d in self.documents]
        fields = {"experiment": self.experiment, "name": self.name, "scores": dict(self.scores)}
        return {**fields, "documents": documents}


@dataclass(frozen=True)
class QueryScore:
    """The score of the query in one experiment."""

    experiment: str
    name: str
    at: datetime
    value: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the score as plain data."""
        return {**vars(self), "at": self.at.isoformat()}


@dataclass(frozen=True)
class QueryHistory:
    """What is known of one query."""

    query_id: str
    text: str | None
    columns: Mapping[str, Any]
    measure: str
    history: Sequence[QueryScore]  # the oldest first
    lists: Sequence[RankedList]
    grades: Mapping[str, int] | None  # by document; None: the judgments are not kept
    judgments: Sequence[tuple[str, str, float | None]] | None = None  # document, judge, grade; None: not kept
    titles: Mapping[str, str] = field(default_factory=dict)
    clicks: QueryClicks = field(default_factory=QueryClicks)

    @property
    def ideal(self) -> list[str]:
        """The relevant documents in the best order."""
        relevant = {doc: grade for doc, grade in (self.grades or {}).items() if grade > 0}
        return sorted(relevant, key=lambda doc: (-relevant[doc], doc))

    def to_dict(self) -> dict[str, Any]:
        """Return what is known as plain data."""
        return {
            "query_id": self.query_id,
            "text": self.text,
            "columns": dict(self.columns),
            "measure": self.measure,
            "history": [score.to_dict() for score in self.history],
            "lists": [ranked.to_dict() for ranked in self.lists],
            "grades": None if self.grades is None else dict(self.grades),
            "judgments": None if self.judgments is None else list(map(_label_dict, self.judgments)),
            "ideal": self.ideal,
            "clicks": self.clicks.to_dict(),
        }


def _label_dict(label: tuple[str, str, float | None]) -> dict[str, Any]:
    return dict(zip(("doc_id", "judge", "grade"), label, strict=True))


def show_query(request: QueryRequest) -> QueryHistory:
    """Return what the store knows of a query."""
    with open_existing_store(request.store) as store:
        experiments = [e for e in store.list(limit=request.limit, metrics_of=[]) if "scores" in e.digests]
        values = store.tables.row(
            [e.digests["scores"] for e in experiments if store.tables.has(e.digests["scores"])],
            request.query_id,
        )
        scored = [e for e in experiments if e.digests["scores"] in values]
        if not scored:
            raise InputError(f"no experiment in {store.url} has scores of the query {request.query_id!r}")
        chosen = [store.get(name) for name in request.experiments] or _newest_systems(scored)
        return _collect(store, request, scored[::-1], chosen, values)


def _newest_systems(experiments: Sequence[Experiment]) -> list[Experiment]:
    """Return the newest experiments of the two systems that were evaluated last, the older first."""
    newest: dict[str, Experiment] = {}
    for experiment in experiments:
        newest.setdefault(experiment.name, experiment)
    return list(newest.values())[:2][::-1]


def _collect(
    store: Store,
    request: QueryRequest,
    scored: Sequence[Experiment],
    chosen: Sequence[Experiment],
    values: Mapping[str, Mapping[str, float]],
) -> QueryHistory:
    first = chosen[0]
    measures = list(values[scored[-1].digests["scores"]])
    measure = request.measure or measures[0]
    queries = read_queries(store, first)
    columns = _columns_of(queries, request.query_id)
    text = columns.pop("text", None)
    grades = read_grades(store, first.digests.get("qrels"), request.query_id)
    clicks = read_query_clicks(store, text)
    clicked = [document.doc_id for document in clicks.documents[:MOST_CLICKED]]
    texts = _read_shown(store, chosen, request.query_id, [*(grades or {}), *clicked])
    lists = [_ranked_list(store, e, request.query_id, grades or {}, texts, values) for e in chosen]
    return QueryHistory(
        request.query_id,
        text,
        columns,
        measure,
        [QueryScore(e.id, e.name, e.at, values[e.digests["scores"]].get(measure)) for e in scored],
        lists,
        grades,
        read_query_judgments(store, find_judgments(store, first), request.query_id),
        {doc: _title(fields) for doc, fields in texts.items()},
        clicks,
    )


def _columns_of(queries: Any, query_id: str) -> dict[str, Any]:
    """Return the text and the columns of a query; empty if they are not kept."""
    if queries is None or query_id not in queries.ids:
        return {}
    row = queries.ids.index(query_id)
    return {name: values[row] for name, values in queries.columns.items() if name != queries.key}


def _read_shown(
    store: Store, experiments: Sequence[Experiment], query_id: str, others: Sequence[str]
) -> dict[str, Mapping[str, Any]]:
    """Return the stored fields of all documents that are shown."""
    shown: dict[str, Mapping[str, Any]] = {}
    for experiment in experiments:
        collection = experiment.digests.get("documents")
        if collection is not None:
            ids = [*(read_ranking(store, experiment, query_id) or ()), *others]
            shown |= read_texts(store, collection, ids)
    return shown


def _ranked_list(
    store: Store,
    experiment: Experiment,
    query_id: str,
    grades: Mapping[str, int],
    texts: Mapping[str, Mapping[str, Any]],
    values: Mapping[str, Mapping[str, float]],
) -> RankedList:
    ranking = read_ranking(store, experiment, query_id)
    documents = None
    if ranking is not None:
        documents = [
            RankedDocument(
                rank,
                doc,
                grades.get(doc),
                _title(texts.get(doc, {})),
                str(texts.get(doc, {}).get("text") or ""),
            )
            for rank, doc in enumerate(ranking, 1)
        ]
    scores = values.get(experiment.digests.get("scores", ""), {})
    return RankedList(experiment.id, experiment.name, scores, documents)


def _title(fields: Mapping[str, Any]) -> str:
    return str(fields.get("title") or "")
