"""Who gave what grade to the documents that an experiment shows."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from assay.core.recent_values import RecentValues
from assay.core.records import Experiment
from assay.core.tables import Queries
from assay.store.kept_judgments import find_judgments
from assay.store.rankings import read_queries, read_texts
from assay.store.store import Store
from assay.workflows.stores import open_existing_store

PAGE = 50
_KEY = ("query_id", "doc_id")


@dataclass(frozen=True, kw_only=True)
class ShownJudgmentsRequest:
    """An experiment, and which of its pairs of a query and a shown document to return."""

    experiment: str
    offset: int = 0
    limit: int = PAGE
    store: str | None = None


@dataclass(frozen=True)
class JudgeCount:
    """What a judge said about the documents that are shown."""

    judge: str
    labels: int
    mean: float | None  # grade; None: every label says that the pair cannot be rated
    cannot_rate: int

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class ShownPair:
    """A document at a rank of a query, its grade in the qrels, and the grade of each judge."""

    query_id: str
    query: str
    rank: int
    doc_id: str
    title: str
    grade: float | None  # None: not judged, or the qrels are not kept
    labels: Mapping[str, float | None]  # by judge; None: cannot be rated

    def to_dict(self) -> dict[str, Any]:
        """Return the pair as plain data."""
        return {**vars(self), "labels": dict(self.labels)}


@dataclass(frozen=True)
class ShownJudgments:
    """The labels by judge of the documents that an experiment shows."""

    experiment: Experiment
    lacks: Sequence[str]  # what was not kept: rankings, or labels by judge
    judges: Sequence[JudgeCount]
    pairs: Sequence[ShownPair]
    total: int  # pairs of a query and a shown document
    judged: int  # of these, with a label by a judge
    offset: int
    next: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the labels as plain data."""
        lists = {name: [one.to_dict() for one in getattr(self, name)] for name in ("judges", "pairs")}
        plain = {**vars(self), **lists, "lacks": list(self.lacks)}
        return {**plain, "experiment": self.experiment.id, "name": self.experiment.name}


@dataclass(frozen=True)
class _Summary:
    """What is the same on every page: it follows from the content of the two tables."""

    judges: Sequence[JudgeCount]
    judged: int
    total: int
    queries: pl.DataFrame  # query_id, and the numbers of its first pair and of the one after its last


_summaries = RecentValues[_Summary](8)  # by the digests of the tables


def show_judgments(request: ShownJudgmentsRequest) -> ShownJudgments:
    """Return who gave what grade to the first documents of each query of an experiment."""
    with open_existing_store(request.store) as store:
        experiment = store.get(request.experiment)
        digests = {
            "rankings": experiment.digests.get("rankings"),
            "labels by judge": find_judgments(store, experiment),
        }
        lacks = [name for name, digest in digests.items() if digest is None or not store.tables.has(digest)]
        if lacks:
            return ShownJudgments(experiment, lacks, (), (), 0, 0, 0, None)
        rankings, labels = map(str, digests.values())
        summary = _summaries.get((rankings, labels), partial(_summarise, store, rankings, labels))
        end = request.offset + request.limit
        return ShownJudgments(
            experiment,
            (),
            summary.judges,
            _pairs(store, experiment, _read_page(store, rankings, summary, request), labels),
            summary.total,
            summary.judged,
            request.offset,
            end if end < summary.total else None,
        )


def _summarise(store: Store, rankings_digest: str, labels_digest: str) -> _Summary:
    """Count the labels of the documents that are shown."""
    rankings, labels = _read(store, rankings_digest), _read(store, labels_digest)
    on_shown = labels.select(*_KEY, "judge", "grade").join(rankings, on=_KEY, how="semi")
    grade = pl.col("grade")
    counts = on_shown.group_by("judge").agg(
        pl.len().alias("labels"), grade.mean().alias("mean"), grade.null_count().alias("cannot_rate")
    )
    queries = rankings.group_by("query_id").len().sort("query_id")
    return _Summary(
        [JudgeCount(**row) for row in counts.sort("judge").iter_rows(named=True)],
        on_shown.select(_KEY).n_unique(),
        len(rankings),
        queries.select(
            "query_id", start=pl.col("len").cum_sum() - pl.col("len"), end=pl.col("len").cum_sum()
        ),
    )


def _read(store: Store, digest: str) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(store.tables.read(digest)))


def _read_page(
    store: Store, rankings: str, summary: _Summary, request: ShownJudgmentsRequest
) -> pl.DataFrame:
    """Return the ranked documents of a page, by query and rank."""
    end = request.offset + request.limit
    shown = summary.queries.filter((pl.col("end") > request.offset) & (pl.col("start") < end))
    rows = store.tables.rows_of_all(rankings, shown["query_id"].to_list()).sort("query_id", "rank")
    return rows.slice(request.offset - (shown["start"][0] if len(shown) else 0), request.limit)


def _pairs(store: Store, experiment: Experiment, page: pl.DataFrame, labels: str) -> list[ShownPair]:
    """Return the pairs of a page, with what is kept of their texts and grades."""
    ids = page["query_id"].unique().to_list()
    by_pair: dict[tuple[str, str], dict[str, float | None]] = {}
    rows = store.tables.rows_of_all(labels, ids).select(*_KEY, "judge", "grade").sort("judge")
    for query, doc, judge, grade in rows.rows():
        by_pair.setdefault((query, doc), {})[judge] = grade
    texts = _query_texts(read_queries(store, experiment))
    collection = experiment.digests.get("documents")
    documents = {} if collection is None else read_texts(store, collection, page["doc_id"].to_list())
    grades = _grades(store, experiment.digests.get("qrels"), ids)
    return [
        ShownPair(
            query,
            texts.get(query, ""),
            rank,
            doc,
            str(documents.get(doc, {}).get("title") or ""),
            grades.get((query, doc)),
            by_pair.get((query, doc), {}),
        )
        for query, rank, doc in page.select("query_id", "rank", "doc_id").rows()
    ]


def _query_texts(queries: Queries | None) -> dict[str, str]:
    if queries is None or "text" not in queries.columns:
        return {}
    return {query: str(text or "") for query, text in zip(queries.ids, queries.columns["text"], strict=True)}


def _grades(store: Store, qrels: str | None, queries: Sequence[str]) -> dict[tuple[str, str], float]:
    """Return the grades of some queries; empty if the qrels are not kept."""
    if qrels is None or not store.tables.has(qrels):
        return {}
    rows = store.tables.rows_of_all(qrels, queries)
    return {(query, doc): grade for query, doc, grade in rows.select(*_KEY, "grade").rows()}
