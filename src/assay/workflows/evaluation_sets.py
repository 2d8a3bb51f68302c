"""Open an evaluation set with all that it can be checked against."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from assay.core.errors import FormatError, InputError
from assay.core.judgments import Judgments
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.datasets import read
from assay.datasets.repeated_rows import read_repeated_rows
from assay.judging.checks import EvaluationSet, RunTop, TrainingSet
from assay.store.datasets import DatasetVersions
from assay.workflows.dataset_versions import PREFIX, open_tables
from assay.workflows.inputs import TableFiles
from assay.workflows.judgment_inputs import open_judgments
from assay.workflows.stores import open_existing_store


@dataclass(frozen=True, kw_only=True)
class EvaluationSetFiles:
    """Where the tables of an evaluation set are, and how they are written."""

    source: str  # qrels, a folder, or dataset:NAME
    others: Sequence[str] = ()  # runs, queries and documents, told apart by their content
    queries: str | None = None
    documents: str | None = None
    runs: Sequence[str] = ()
    judgments: Sequence[str] = ()
    train: str | None = None  # an evaluation set, or queries
    train_queries: str | None = None
    previous: str | None = None  # an earlier version; None: the parent of a stored version
    columns: Sequence[str] = ()
    formats: Sequence[str] = ()
    store: str | None = None


class _Tables(NamedTuple):
    """The tables of one source."""

    qrels: Qrels | None = None
    queries: Queries | None = None
    documents: Documents | None = None
    judgments: Judgments | None = None
    repeated_rows: pl.DataFrame | None = None


def open_evaluation_set(files: EvaluationSetFiles) -> EvaluationSet:
    """Read the tables of an evaluation set."""
    tables = _open_source(files.source, files)
    others = _sort_files(files)
    separate = TableFiles(
        runs=[*files.runs, *others.runs],
        queries=files.queries or others.queries,
        documents=files.documents or others.documents,
        columns=files.columns,
        formats=files.formats,
    )
    own_queries, own_documents = separate.open_unjudged()
    queries = tables.queries if own_queries is None else own_queries
    documents = tables.documents if own_documents is None else own_documents
    judgments = open_judgments(files.judgments, store=files.store) if files.judgments else tables.judgments
    assert tables.qrels is not None  # an error was raised
    return EvaluationSet(
        tables.qrels,
        queries,
        documents,
        judgments,
        runs=[RunTop.from_run(run) for run in separate.open_runs()],
        train=_open_training_set(files, queries, documents),
        previous=_open_previous(files),
        repeated_rows=tables.repeated_rows,
    )


def _open_source(source: str, files: EvaluationSetFiles) -> _Tables:
    """Return the tables of a path or of a stored version; there must be qrels."""
    if source.startswith(PREFIX):
        return _open_version(source, files.store)
    try:
        tables = TableFiles(qrels=source, columns=files.columns, formats=files.formats).open()
        return _Tables(tables.qrels, tables.queries, tables.documents)
    except FormatError as error:
        tables_of_rest = _open_repeated(source, error, files)
        if tables_of_rest is None:
            raise
        return tables_of_rest


def _open_version(source: str, store: str | None) -> _Tables:
    label, tables = open_tables(source, store)
    if "qrels" not in tables:
        raise InputError(f"{label} has no qrels, only {', '.join(tables)}: import it with its qrels")
    return _Tables(**tables)  # type: ignore[arg-type]  # each role has its own type


def _open_repeated(source: str, error: FormatError, files: EvaluationSetFiles) -> _Tables | None:
    """Return the tables of a source whose qrels have a pair several times; None if that is not the error."""
    if "appears twice in query" not in error.problem or not os.path.isfile(error.path):
        return None
    columns = dict(text.removeprefix("qrels:").partition("=")[::2] for text in files.columns)
    repeated = read_repeated_rows(error.path, columns)
    if repeated is None:
        return None
    queries, documents = None, None
    if os.path.isdir(source):
        queries, documents = _read_part(source, "queries"), _read_part(source, "documents")
    assert queries is None or isinstance(queries, Queries)
    assert documents is None or isinstance(documents, Documents)
    return _Tables(repeated.qrels, queries, documents, repeated_rows=repeated.rows)


def _read_part(folder: str, kind: str) -> object:
    try:
        return read(folder, kind)  # type: ignore[call-overload]
    except FormatError:
        return None


@dataclass
class _OtherFiles:
    """Files by what they hold."""

    runs: list[str] = field(default_factory=list)
    queries: str | None = None
    documents: str | None = None


def _sort_files(files: EvaluationSetFiles) -> _OtherFiles:
    """Tell files apart by their content."""
    others = _OtherFiles()
    for path in files.others:
        table = read(path)
        if isinstance(table, Run):
            others.runs.append(path)
        elif isinstance(table, Queries) and not files.queries and others.queries is None:
            others.queries = path
        elif isinstance(table, Documents) and not files.documents and others.documents is None:
            others.documents = path
        else:
            raise InputError(
                f"{path}: expected a run, queries or documents after {files.source}, found "
                f"{type(table).__name__.lower()}; give another evaluation set with --train or --previous, "
                "and judgments with --judgments"
            )
    return others


def _open_training_set(
    files: EvaluationSetFiles, queries: Queries | None, documents: Documents | None
) -> TrainingSet | None:
    """Return the training set; the texts that it lacks are those of the test set."""
    if files.train is None:
        return None
    own_queries = read(files.train_queries, "queries") if files.train_queries else None
    try:
        tables = _open_source(files.train, files)
    except InputError as error:
        tables = _Tables(queries=_read_queries(files.train, error))
    return TrainingSet(tables.qrels, own_queries or tables.queries or queries, tables.documents or documents)


def _read_queries(path: str, error: InputError) -> Queries:
    """Return the queries of a file; raise the error of its labels if it has no queries either."""
    try:
        return read(path, "queries")
    except InputError:
        raise error from None


def _open_previous(files: EvaluationSetFiles) -> EvaluationSet | None:
    """Return the earlier version: the one that is named, else the parent of a stored version."""
    source = files.previous or _parent_of(files)
    if source is None:
        return None
    tables = _open_source(source, files)
    assert tables.qrels is not None
    return EvaluationSet(tables.qrels, tables.queries, tables.documents, tables.judgments)


def _parent_of(files: EvaluationSetFiles) -> str | None:
    if not files.source.startswith(PREFIX):
        return None
    with open_existing_store(files.store) as store:
        version = DatasetVersions(store).get(files.source.removeprefix(PREFIX))
    return f"{PREFIX}{version.name}@{version.parent}" if version.parent else None
