"""The labels that a store holds: versions of evaluation sets and annotation projects, by judge."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from assay.core.errors import InputError
from assay.core.judgments import Judgments
from assay.core.records import DatasetVersion
from assay.core.suggestions import did_you_mean
from assay.core.tables import Documents, Qrels, Queries
from assay.judging.aggregation.adjudicated import PREFIX as ADJUDICATOR
from assay.judging.aggregation.aggregate import Rule, aggregate
from assay.judging.annotation.project import AnnotationProject, Grade
from assay.store.annotation import AnnotationProjects, Fields
from assay.store.annotation_decisions import read_project_texts, read_raters
from assay.store.datasets import DatasetVersions
from assay.store.rankings import read_queries, read_texts
from assay.store.store import Store
from assay.workflows.annotation import project_judgments
from assay.workflows.judgment_inputs import DATASET, PROJECT

JUDGE_MARK = "#"  # between a source and the name of one judge of it
_MOST_VERSIONS = 30
_MOST_EXPERIMENTS = 20


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
        LabelSource(f"{PROJECT}{p.name}", p.name, _without_adjudicators(read_raters(store.database, p)))
        for p in projects
    ]
    versions = DatasetVersions(store).find(limit=_MOST_VERSIONS)
    return sources + [_dataset_source(store, version) for version in versions]


def _dataset_source(store: Store, version: DatasetVersion) -> LabelSource:
    digest = version.digests.get("judgments")
    judges: dict[str, int] = {}
    if digest is not None and store.tables.has(digest):
        frame = pl.read_parquet(io.BytesIO(store.tables.read(digest)), columns=["judge"])
        judges = dict(frame.group_by("judge").len().sort("judge").rows())
    has_qrels = "qrels" in version.digests
    return LabelSource(f"{DATASET}{version.label}", version.label, _without_adjudicators(judges), has_qrels)


def _without_adjudicators(judges: Mapping[str, int]) -> dict[str, int]:
    return {name: n for name, n in judges.items() if not f"{name} ".startswith(ADJUDICATOR)}


@dataclass(frozen=True)
class SourceTables:
    """The labels of one source with what people read of the pairs, and the grades that can be given."""

    reference: str
    name: str
    judgments: Judgments | None
    qrels: Qrels | None
    queries: Queries | None
    query_fields: Mapping[str, Fields]
    document_fields: Mapping[str, Fields]  # of those that are known without experiments
    grades: tuple[Grade, ...]  # of a project; else empty

    @property
    def query_texts(self) -> dict[str, str]:
        """The text of each query that has one."""
        return {query: fields["text"] for query, fields in self.query_fields.items() if fields.get("text")}


def open_label_source(store: Store, reference: str) -> SourceTables:
    """Return the labels of project:NAME or dataset:NAME."""
    if reference.startswith(PROJECT):
        return _open_project(store, AnnotationProjects(store).get(reference.removeprefix(PROJECT)))
    if not reference.startswith(DATASET):
        raise InputError(f"expected project:NAME or dataset:NAME, found {reference!r}")
    versions = DatasetVersions(store)
    return _open_version(store, versions.get(reference.removeprefix(DATASET)))


def _open_project(store: Store, project: AnnotationProject) -> SourceTables:
    has_labels = bool(read_raters(store.database, project))
    query_fields = read_project_texts(store.database, project, "query")
    return SourceTables(
        reference=f"{PROJECT}{project.name}",
        name=project.name,
        judgments=project_judgments(project.name, store.url) if has_labels else None,
        qrels=None,
        queries=None,
        query_fields=query_fields,
        document_fields=read_project_texts(store.database, project, "document"),
        grades=project.grades,
    )


def _open_version(store: Store, version: DatasetVersion) -> SourceTables:
    tables = DatasetVersions(store).tables(version)
    judgments, qrels, queries, documents = (
        tables.get(role) for role in ("judgments", "qrels", "queries", "documents")
    )
    assert judgments is None or isinstance(judgments, Judgments)
    assert qrels is None or isinstance(qrels, Qrels)
    assert queries is None or isinstance(queries, Queries)
    assert documents is None or isinstance(documents, Documents)
    return SourceTables(
        reference=f"{DATASET}{version.label}",
        name=version.label,
        judgments=judgments,
        qrels=qrels,
        queries=queries,
        query_fields={} if queries is None else _fields_of(queries, ("text",)),
        document_fields={} if documents is None else _fields_of(documents, ("title", "text")),
        grades=(),
    )


def _fields_of(table: Queries | Documents, names: Sequence[str]) -> dict[str, Fields]:
    kept = [name for name in names if name in table.columns]
    rows = zip(*(table.columns[name] for name in kept), strict=True)
    return {
        key: {name: str(value) for name, value in zip(kept, row, strict=True) if value}
        for key, row in zip(table.ids, rows, strict=True)
    }


def read_document_fields(store: Store, tables: SourceTables, ids: Sequence[str]) -> dict[str, Fields]:
    """Return title and text of documents: from the source, else from what experiments kept."""
    fields: dict[str, Fields] = {
        doc: tables.document_fields[doc] for doc in ids if doc in tables.document_fields
    }
    for experiment in store.list(limit=_MOST_EXPERIMENTS):
        missing = [doc for doc in ids if doc not in fields]
        collection = experiment.digests.get("documents")
        if missing and collection is not None:
            for doc, values in read_texts(store, collection, missing).items():
                fields[doc] = {name: str(values[name]) for name in ("title", "text") if values.get(name)}
    return fields


def read_query_fields(store: Store, tables: SourceTables, ids: Sequence[str]) -> dict[str, Fields]:
    """Return the text of queries: from the source, else from what experiments kept."""
    fields = {query: tables.query_fields[query] for query in ids if query in tables.query_fields}
    for experiment in store.list(limit=_MOST_EXPERIMENTS):
        missing = {query for query in ids if query not in fields}
        queries = read_queries(store, experiment) if missing else None
        if queries is not None:
            own = _fields_of(queries, ("text",))
            fields |= {query: own[query] for query in missing if query in own}
    return fields


@dataclass(frozen=True)
class LabelSet:
    """One grade for each pair, and the source that it is from."""

    reference: str
    tables: SourceTables
    qrels: Qrels

    @property
    def name(self) -> str:
        """The name of the source, with the judge if there is one."""
        judge = self.reference.partition(JUDGE_MARK)[2]
        return f"{judge}, {self.tables.name}" if judge else self.tables.name


def open_label_set(store: Store, reference: str) -> LabelSet:
    """Return one grade for each pair: of one judge (SOURCE#JUDGE), of qrels, or the vote of all judges."""
    source, mark, judge = reference.partition(JUDGE_MARK)
    tables = open_label_source(store, source)
    reference = f"{tables.reference}{mark}{judge}"
    if judge:
        return LabelSet(reference, tables, _labels_of_judge(tables, judge))
    if tables.qrels is not None:
        return LabelSet(reference, tables, tables.qrels)
    if tables.judgments is None:
        raise InputError(f"{source} has no label yet")
    return LabelSet(reference, tables, aggregate(tables.judgments, Rule("majority", ties="lower")).qrels())


def _labels_of_judge(tables: SourceTables, judge: str) -> Qrels:
    judges = [] if tables.judgments is None else tables.judgments.judges
    if tables.judgments is None or judge not in judges:
        hint = did_you_mean(judge, judges) or f"there are {', '.join(judges[:10]) or 'none'}"
        raise InputError(f"{tables.reference} has no judge {judge!r}; {hint}")
    own = tables.judgments.take(pl.col("judge") == judge)
    return aggregate(own, Rule("majority", ties="lower")).qrels()
