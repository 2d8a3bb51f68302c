"""Save, list, show, compare and export versions of evaluation sets: what `assay dataset import` … does."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.errors import InputError
from assay.core.judgments import Judgments
from assay.core.records import DatasetVersion
from assay.core.tables import Documents, Qrels, Queries
from assay.datasets import Collection, read, read_collection, write
from assay.datasets.formats import JUDGMENTS_FILE
from assay.datasets.judgment_files import read_judgments, write_judgments
from assay.judging.dataset_diff import DatasetDiff, diff_datasets
from assay.store.datasets import DatasetTable, DatasetVersions
from assay.store.store import Store
from assay.workflows.settings import read_settings
from assay.workflows.store_location import store_url
from assay.workflows.stores import open_existing_store

_TABLE_FILES = {
    "queries": "queries.jsonl*",
    "documents": "corpus.jsonl*",
    "qrels": "qrels/*.tsv*",
    "judgments": JUDGMENTS_FILE,
}
PREFIX = "dataset:"  # before the name of a stored evaluation set, where a path may stand


@dataclass(frozen=True, kw_only=True)
class ImportDatasetRequest:
    """The files of an evaluation set, and the name to save them under."""

    name: str
    source: str  # qrels, or a folder with queries, qrels and documents
    queries: str | None = None
    documents: str | None = None
    judgments: str | None = None  # what each judge said, from which the qrels were derived
    recipes: Sequence[str] = ()  # JSON or TOML files that say how queries, pairs and labels were chosen
    tags: Sequence[str] = ()
    note: str = ""
    store: str | None = None

    def __post_init__(self) -> None:
        if not self.name.strip() or "@" in self.name or ":" in self.name:
            raise InputError(f"--name expects a name without @ and :, found {self.name!r}")


@dataclass(frozen=True)
class SavedDataset:
    """A version of an evaluation set in a store."""

    version: DatasetVersion
    store: str
    is_new: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the version as plain data, as `assay dataset import --format json` prints it."""
        return {**self.version.to_dict(), "store": self.store, "is_new": self.is_new}


def import_dataset(request: ImportDatasetRequest) -> SavedDataset:
    """Save the tables of files as a version, unless the newest version of this name has the same content."""
    recipe = {key: value for path in request.recipes for key, value in read_settings(path).items()}
    tables = _read_tables(request)
    version = DatasetVersion(
        name=request.name.strip(),
        digests={},
        counts={_COUNTS[role]: len(table) for role, table in tables.items()},
        recipe=recipe,
        tags=tuple(request.tags),
        note=request.note,
    )
    with Store(store_url(request.store)) as store:
        before = {known.id for known in DatasetVersions(store).find(version.name, limit=1)}
        saved = DatasetVersions(store).save(version, tables)
        return SavedDataset(saved, store.url, saved.id not in before)


_COUNTS = {"queries": "queries", "qrels": "labels", "documents": "documents", "judgments": "judgments"}


def _read_tables(request: ImportDatasetRequest) -> dict[str, DatasetTable]:
    collection = read_collection(request.source)
    queries = read(request.queries, "queries") if request.queries else collection.queries
    documents = read(request.documents, "documents") if request.documents else collection.documents
    inside = os.path.join(request.source, JUDGMENTS_FILE)
    path = request.judgments or (inside if os.path.exists(inside) else "")
    judgments = read_judgments(path) if path else None
    tables = {
        "queries": queries,
        "qrels": collection.qrels,
        "documents": documents,
        "judgments": judgments,
    }
    return {role: table for role, table in tables.items() if table is not None}


@dataclass(frozen=True, kw_only=True)
class ListDatasetsRequest:
    """Which versions to list: of all evaluation sets, or of one."""

    name: str | None = None
    store: str | None = None


@dataclass(frozen=True)
class DatasetList:
    """Versions of evaluation sets, the newest first."""

    versions: tuple[DatasetVersion, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the versions as plain data, as `assay dataset versions --format json` prints them."""
        return {"versions": [version.to_dict() for version in self.versions]}


def list_datasets(request: ListDatasetsRequest) -> DatasetList:
    """Return the versions in a store."""
    with open_existing_store(request.store) as store:
        versions = DatasetVersions(store).find(request.name)
        if request.name and not versions:
            versions = [DatasetVersions(store).get(request.name)]  # raises an error that suggests a name
    return DatasetList(tuple(versions))


@dataclass(frozen=True, kw_only=True)
class DiffDatasetsRequest:
    """Two evaluation sets, each a path or dataset:NAME; without a second, the version and its parent."""

    first: str
    second: str | None = None
    limit: int = 5  # how many rows of each kind to show
    store: str | None = None

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise InputError(f"--limit must be 0 or more, found {self.limit}")


@dataclass(frozen=True)
class DatasetDifference:
    """The difference between two evaluation sets."""

    first: str
    second: str
    diff: DatasetDiff
    limit: int

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain data, as `assay dataset diff --format json` prints it."""
        tables = {role: table.to_dict(self.limit) for role, table in self.diff.items()}
        return {"first": self.first, "second": self.second, "tables": tables}


def diff_dataset_versions(request: DiffDatasetsRequest) -> DatasetDifference:
    """Compare two evaluation sets."""
    first, second = request.first, request.second
    if second is None:
        first, second = _parent_of(first, request.store), first
    first_label, before = open_tables(first, request.store)
    second_label, after = open_tables(second, request.store)
    return DatasetDifference(first_label, second_label, diff_datasets(before, after), request.limit)


def _parent_of(source: str, store_location: str | None) -> str:
    if not source.startswith(PREFIX):
        raise InputError(f"expected a second evaluation set to compare {source} with, found none")
    with open_existing_store(store_location) as store:
        version = DatasetVersions(store).get(source.removeprefix(PREFIX))
    if version.parent is None:
        raise InputError(f"{version.label} is the first version: name the one to compare it with")
    return f"{PREFIX}{version.name}@{version.parent}"


def open_tables(source: str, store_location: str | None) -> tuple[str, Mapping[str, DatasetTable]]:
    """Return the name and the tables of a stored evaluation set or of files."""
    if source.startswith(PREFIX):
        with open_existing_store(store_location) as store:
            versions = DatasetVersions(store)
            version = versions.get(source.removeprefix(PREFIX))
            return version.label, versions.tables(version)
    collection = read_collection(source)
    return source, {role: table for role, table in collection._asdict().items() if table is not None}


def open_collection(source: str, store_location: str | None = None) -> Collection:
    """Return the tables of a stored evaluation set, named dataset:NAME or dataset:NAME@DIGEST."""
    _, tables = open_tables(source, store_location)
    return _collection(tables)


def _collection(tables: Mapping[str, DatasetTable]) -> Collection:
    queries, qrels, documents = (tables.get(role) for role in ("queries", "qrels", "documents"))
    assert queries is None or isinstance(queries, Queries)
    assert qrels is None or isinstance(qrels, Qrels)
    assert documents is None or isinstance(documents, Documents)
    return Collection(queries, qrels, documents)


@dataclass(frozen=True, kw_only=True)
class ExportDatasetRequest:
    """A stored evaluation set and the folder to write it to."""

    source: str  # dataset:NAME
    target: str
    store: str | None = None


@dataclass(frozen=True)
class ExportedDataset:
    """An evaluation set that was written to a folder."""

    label: str
    target: str
    counts: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return what was written as plain data."""
        return {"label": self.label, "target": self.target, "counts": dict(self.counts)}


def _check_folder(target: str, label: str, tables: Mapping[str, DatasetTable]) -> None:
    """Refuse a folder with a table that the version lacks: both together would be read as one set."""
    for role, pattern in _TABLE_FILES.items():
        for path in sorted(Path(target).glob(pattern)):
            if role not in tables:
                raise InputError(f"{path} is there already, and {label} has no {role}: give a new folder")


def export_dataset(request: ExportDatasetRequest) -> ExportedDataset:
    """Write the queries, qrels and documents of a version as a BEIR folder, with the judgments."""
    label, tables = open_tables(request.source, request.store)
    _check_folder(request.target, label, tables)
    write(_collection(tables), request.target)
    judgments = tables.get("judgments")
    if isinstance(judgments, Judgments):
        write_judgments(judgments, os.path.join(request.target, JUDGMENTS_FILE))
    return ExportedDataset(label, request.target, {_COUNTS[role]: len(tables[role]) for role in tables})
