"""The labels that a store holds: versions of evaluation sets and annotation projects, by judge."""

from __future__ import annotations

import io
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from assay.core.errors import InputError
from assay.core.judgments import Judgments
from assay.core.recent_values import RecentValues
from assay.core.records import DatasetVersion, Experiment
from assay.core.suggestions import did_you_mean
from assay.core.tables import Qrels, Queries
from assay.judging.aggregation.adjudicated import PREFIX as ADJUDICATOR
from assay.judging.aggregation.aggregate import Rule, aggregate
from assay.judging.annotation.project import AnnotationProject, Grade
from assay.store.annotation import AnnotationProjects, Fields
from assay.store.annotation_decisions import read_project_texts, read_raters
from assay.store.annotation_frames import read_label_state
from assay.store.datasets import DatasetTable, DatasetVersions
from assay.store.rankings import read_queries, read_texts
from assay.store.store import Store
from assay.workflows.annotation import read_project_judgments
from assay.workflows.judgment_inputs import DATASET, PROJECT

JUDGE_MARK = "#"  # between a source and the name of one judge of it
_MOST_VERSIONS = 30
_MOST_EXPERIMENTS = 20
_judges = RecentValues[dict[str, int]](200)  # of tables of judgments, by their digest
_raters = RecentValues[dict[str, int]](200)  # of projects, by the state of their labels
_qrels = RecentValues[Qrels](6)  # of sets of labels, by the state of the source and the judge


@dataclass(frozen=True)
class LabelSource:
    """An annotation project, or a version of an evaluation set, with the judges whose labels it has."""

    reference: str  # project:NAME or dataset:NAME@DIGEST
    name: str
    judges: Mapping[str, int]  # labels by judge; without adjudicators
    has_qrels: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the source as plain data."""
        return {**vars(self), "judges": dict(self.judges)}


def find_label_sources(store: Store) -> list[LabelSource]:
    """Return the annotation projects and the newest versions of evaluation sets."""
    projects = AnnotationProjects(store).find()
    sources = [
        LabelSource(f"{PROJECT}{p.name}", p.name, _without_adjudicators(_count_raters(store, p)))
        for p in projects
    ]
    versions = DatasetVersions(store).find(limit=_MOST_VERSIONS)
    return sources + [_dataset_source(store, version) for version in versions]


def _count_raters(store: Store, project: AnnotationProject) -> dict[str, int]:
    """Return how many pairs each rater labelled, counted once for the labels that there are."""
    state = read_label_state(store.database, project)
    return _raters.get(state, lambda: read_raters(store.database, project))


def _dataset_source(store: Store, version: DatasetVersion) -> LabelSource:
    digest = version.digests.get("judgments")
    judges: dict[str, int] = {}
    if digest is not None and store.tables.has(digest):
        judges = _judges.get(digest, lambda: _count_judges(store.tables.read(digest)))
    has_qrels = "qrels" in version.digests
    return LabelSource(f"{DATASET}{version.label}", version.label, _without_adjudicators(judges), has_qrels)


def _count_judges(content: bytes) -> dict[str, int]:
    frame = pl.read_parquet(io.BytesIO(content), columns=["judge"])
    return dict(frame.group_by("judge").len().sort("judge").rows())


def _without_adjudicators(judges: Mapping[str, int]) -> dict[str, int]:
    return {name: n for name, n in judges.items() if not f"{name} ".startswith(ADJUDICATOR)}


@dataclass(frozen=True)
class Source:
    """An annotation project or a version of an evaluation set."""

    reference: str
    name: str
    project: AnnotationProject | None = None
    version: DatasetVersion | None = None

    @property
    def grades(self) -> tuple[Grade, ...]:
        """The grades that raters of a project can give; empty for a version."""
        return () if self.project is None else self.project.grades


def find_source(store: Store, reference: str) -> Source:
    """Return project:NAME or dataset:NAME; InputError if there is none."""
    if reference.startswith(PROJECT):
        project = AnnotationProjects(store).get(reference.removeprefix(PROJECT))
        return Source(f"{PROJECT}{project.name}", project.name, project=project)
    if not reference.startswith(DATASET):
        raise InputError(f"expected project:NAME or dataset:NAME, found {reference!r}")
    version = DatasetVersions(store).get(reference.removeprefix(DATASET))
    return Source(f"{DATASET}{version.label}", version.label, version=version)


def label_state(store: Store, source: Source) -> Hashable:
    """Return what is equal as long as the source has the same labels."""
    if source.project is not None:
        return read_label_state(store.database, source.project)
    return None if source.version is None else source.version.digest


def read_judgments_of(store: Store, source: Source) -> Judgments | None:
    """Return what each judge of a source said; None if that is not stored."""
    if source.project is not None:
        return read_project_judgments(store, source.project)
    table = _read_table(store, source, "judgments")
    assert table is None or isinstance(table, Judgments)
    return table


def read_qrels_of(store: Store, source: Source) -> Qrels | None:
    """Return the qrels of a version; None if it has none, or for a project."""
    table = _read_table(store, source, "qrels")
    assert table is None or isinstance(table, Qrels)
    return table


def read_queries_of(store: Store, source: Source) -> Queries | None:
    """Return the query table of a version; None if it has none, or for a project."""
    table = _read_table(store, source, "queries")
    assert table is None or isinstance(table, Queries)
    return table


def _read_table(store: Store, source: Source, role: str) -> DatasetTable | None:
    return None if source.version is None else DatasetVersions(store).table(source.version, role)


def _fields_of(frame: pl.DataFrame, key: str, names: Sequence[str]) -> dict[str, Fields]:
    kept = [name for name in names if name in frame.columns]
    return {
        row[0]: {name: str(value) for name, value in zip(kept, row[1:], strict=True) if value}
        for row in frame.select(key, *kept).iter_rows()
    }


def read_document_fields(store: Store, source: Source, ids: Sequence[str]) -> dict[str, Fields]:
    """Return title and text of documents: from the source, else from what experiments kept."""
    fields = _own_fields(store, source, "document", ids)
    for experiment in _newest_experiments(store, ids, fields):
        missing = [doc for doc in ids if doc not in fields]
        collection = experiment.digests.get("documents")
        if missing and collection is not None:
            for doc, values in read_texts(store, collection, missing).items():
                fields[doc] = {name: str(values[name]) for name in ("title", "text") if values.get(name)}
    return fields


def _newest_experiments(store: Store, ids: Sequence[str], fields: Mapping[str, Fields]) -> list[Experiment]:
    """Return the experiments that may have kept what is missing; none if nothing is."""
    if all(one in fields for one in ids):
        return []
    return store.list(limit=_MOST_EXPERIMENTS, metrics_of=())


def _own_fields(store: Store, source: Source, kind: str, ids: Sequence[str]) -> dict[str, Fields]:
    """Return what raters read of some queries or documents of the source."""
    if source.project is not None:
        return read_project_texts(store.database, source.project, kind, ids)
    role, key = ("queries", "query_id") if kind == "query" else ("documents", "doc_id")
    digest = source.version.digests.get(role) if source.version is not None else None
    if digest is None or not store.tables.has(digest):
        return {}
    rows = pl.scan_parquet(io.BytesIO(store.tables.read(digest))).filter(pl.col(key).is_in(list(set(ids))))
    return _fields_of(rows.collect(), key, ("title", "text"))


def read_query_fields(store: Store, source: Source, ids: Sequence[str]) -> dict[str, Fields]:
    """Return the text of queries: from the source, else from what experiments kept."""
    fields = _own_fields(store, source, "query", ids)
    for experiment in _newest_experiments(store, ids, fields):
        missing = {query for query in ids if query not in fields}
        queries = read_queries(store, experiment) if missing else None
        if queries is not None:
            own = _fields_of(queries.frame, "query_id", ("text",))
            fields |= {query: own[query] for query in missing if query in own}
    return fields


@dataclass(frozen=True)
class LabelSet:
    """One grade for each pair, and the source that it is from."""

    source: Source
    judge: str  # empty: all judges
    qrels: Qrels

    @property
    def reference(self) -> str:
        """The source, with the judge if there is one."""
        return f"{self.source.reference}{JUDGE_MARK}{self.judge}" if self.judge else self.source.reference

    @property
    def name(self) -> str:
        """The name of the source, with the judge if there is one."""
        return f"{self.judge}, {self.source.name}" if self.judge else self.source.name


def open_label_set(store: Store, reference: str) -> LabelSet:
    """Return one grade for each pair: of one judge (SOURCE#JUDGE), of qrels, or the vote of all judges."""
    name, _, judge = reference.partition(JUDGE_MARK)
    source = find_source(store, name)
    key = (label_state(store, source), judge)
    return LabelSet(source, judge, _qrels.get(key, lambda: _read_label_set(store, source, judge)))


def _read_label_set(store: Store, source: Source, judge: str) -> Qrels:
    qrels = None if judge else read_qrels_of(store, source)
    if qrels is not None:
        return qrels
    judgments = read_judgments_of(store, source)
    if judgments is None:
        raise InputError(
            f"{source.reference} has no labels of single judges"
            if judge
            else f"{source.reference} has no label yet"
        )
    if judge:
        judgments = _take_judge(judgments, judge, source)
    return aggregate(judgments, Rule("majority", ties="lower")).qrels()


def _take_judge(judgments: Judgments, judge: str, source: Source) -> Judgments:
    if judge not in judgments.judges:
        hint = did_you_mean(judge, judgments.judges) or f"there are {', '.join(judgments.judges[:10])}"
        raise InputError(f"{source.reference} has no judge {judge!r}; {hint}")
    return judgments.take(pl.col("judge") == judge)
