"""Who gave what grade to the documents that an experiment shows."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from assay.core.records import Experiment
from assay.core.tables import Queries
from assay.store.kept_judgments import find_judgments
from assay.store.rankings import read_queries, read_texts
from assay.store.store import Store
from assay.workflows.stores import open_existing_store

PAGE = 50


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
        rankings, labels = (_read(store, str(digest)) for digest in digests.values())
        return _collect(store, experiment, rankings, labels, request)


def _read(store: Store, digest: str) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(store.tables.read(digest)))


def _collect(
    store: Store,
    experiment: Experiment,
    rankings: pl.DataFrame,
    labels: pl.DataFrame,
    request: ShownJudgmentsRequest,
) -> ShownJudgments:
    key = ["query_id", "doc_id"]
    on_shown = labels.select(*key, "judge", "grade").join(rankings, on=key, how="semi")
    start, end = request.offset, request.offset + request.limit
    page = rankings.sort("query_id", "rank").slice(start, request.limit)
    return ShownJudgments(
        experiment,
        (),
        _count_judges(on_shown),
        _pairs(store, experiment, page, on_shown.join(page, on=key, how="semi")),
        len(rankings),
        on_shown.select(key).n_unique(),
        start,
        end if end < len(rankings) else None,
    )


def _count_judges(labels: pl.DataFrame) -> list[JudgeCount]:
    grade = pl.col("grade")
    counts = (
        labels.group_by("judge").agg(pl.len(), grade.mean().alias("mean"), grade.null_count()).sort("judge")
    )
    return [JudgeCount(*row) for row in counts.select("judge", "len", "mean", "grade").rows()]


def _pairs(store: Store, experiment: Experiment, page: pl.DataFrame, labels: pl.DataFrame) -> list[ShownPair]:
    """Return the pairs of a page, with what is kept of their texts and grades."""
    by_pair: dict[tuple[str, str], dict[str, float | None]] = {}
    for query, doc, judge, grade in (
        labels.select("query_id", "doc_id", "judge", "grade").sort("judge").rows()
    ):
        by_pair.setdefault((query, doc), {})[judge] = grade
    texts = _query_texts(read_queries(store, experiment))
    collection = experiment.digests.get("documents")
    documents = {} if collection is None else read_texts(store, collection, page["doc_id"].to_list())
    grades = _grades(store, experiment.digests.get("qrels"), page)
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


def _grades(store: Store, qrels: str | None, page: pl.DataFrame) -> dict[tuple[str, str], float]:
    """Return the grades of the pairs of a page; empty if the qrels are not kept."""
    if qrels is None or not store.tables.has(qrels):
        return {}
    rows = _read(store, qrels).join(page, on=["query_id", "doc_id"], how="semi")
    return {(query, doc): grade for query, doc, grade in rows.select("query_id", "doc_id", "grade").rows()}
