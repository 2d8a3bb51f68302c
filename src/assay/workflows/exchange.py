"""Export and import experiments; back up, restore and move whole stores."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assay.core.errors import InputError
from assay.core.unsupported_files import refuse_unsupported
from assay.remote.redaction import redact_url
from assay.store.backup import backup, move, restore
from assay.store.exchange import export_csv, export_json, export_sql, import_csv, import_json, import_sql
from assay.store.mlflow import export_mlflow
from assay.store.store import Store
from assay.workflows.store_location import store_url
from assay.workflows.stores import open_existing_store

DEFAULT_TABLE = "experiments"
DEFAULT_MLFLOW_EXPERIMENT = "assay"
_JSON_EXTENSIONS = (".jsonl", ".ndjson", ".json")


@dataclass(frozen=True, kw_only=True)
class ExportExperimentsRequest:
    """The experiments to write, and where to."""

    target: str  # FILE.csv, FILE.jsonl, the URL of a database, or mlflow:URI
    where: str = ""
    mlflow_experiment: str = DEFAULT_MLFLOW_EXPERIMENT
    table: str = DEFAULT_TABLE
    store: str | None = None


@dataclass(frozen=True, kw_only=True)
class ImportExperimentsRequest:
    """The file or database whose experiments are added to a store."""

    source: str
    table: str = DEFAULT_TABLE
    store: str | None = None


@dataclass(frozen=True, kw_only=True)
class BackupRequest:
    """The file to copy a store to."""

    file: str
    store: str | None = None


@dataclass(frozen=True, kw_only=True)
class RestoreRequest:
    """A backup, and the folder to make the store in."""

    file: str
    folder: str


@dataclass(frozen=True, kw_only=True)
class MoveRequest:
    """The store to copy everything to."""

    target: str
    store: str | None = None


@dataclass(frozen=True)
class ExperimentExport:
    """How many experiments were written, and where to."""

    target: str  # without secrets
    written: int
    skipped: int = 0  # there already (MLflow)
    mlflow_experiment: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The export as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class ExperimentImport:
    """How many experiments were added."""

    added: int
    skipped: int  # there already
    unknown_columns: tuple[str, ...] = ()  # taken as settings

    def to_dict(self) -> dict[str, Any]:
        """The import as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class StoreBackup:
    """What a backup holds."""

    file: str
    experiments: int
    tables: int
    size: int  # bytes
    missing_tables: tuple[str, ...] = ()  # digests of scores that experiments refer to

    def to_dict(self) -> dict[str, Any]:
        """The backup as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class RestoredStore:
    """What a store holds that was made from a backup."""

    folder: str
    experiments: int
    tables: int

    def to_dict(self) -> dict[str, Any]:
        """The restored store as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class MovedStore:
    """What was copied from one store to another."""

    source: str  # URLs without secrets
    target: str
    experiments: int
    skipped: int  # there already
    tables: int

    def to_dict(self) -> dict[str, Any]:
        """The move as plain data."""
        return asdict(self)


def export_experiments(request: ExportExperimentsRequest) -> ExperimentExport:
    """Write experiments to a file, a database or MLflow."""
    kind = _location_kind(request.target)
    with open_existing_store(request.store) as store:
        if kind == "mlflow":
            uri, name = request.target.removeprefix("mlflow:"), request.mlflow_experiment
            added, skipped = export_mlflow(store, uri, name, request.where)
            return ExperimentExport(redact_url(request.target), added, skipped, name)
        if kind == "sql":
            count = export_sql(store, request.target, request.table, request.where)
        else:
            write = export_csv if kind == "csv" else export_json
            count = write(store, request.target, request.where)
    return ExperimentExport(redact_url(request.target), count)


def import_experiments(request: ImportExperimentsRequest) -> ExperimentImport:
    """Add the experiments of a file or a database to the store."""
    kind = _source_kind(request.source)
    if kind == "mlflow":
        raise InputError(
            "experiments can be exported to MLflow, but not imported from it; "
            "import FILE.csv, FILE.jsonl or a URL"
        )
    with Store(store_url(request.store)) as store:
        if kind == "sql":
            counts = import_sql(store, request.source, request.table)
        else:
            counts = (import_csv if kind == "csv" else import_json)(store, request.source)
    return ExperimentImport(counts.added, counts.skipped, tuple(counts.unknown_columns))


def backup_store(request: BackupRequest) -> StoreBackup:
    """Copy a store in a folder to one file."""
    with open_existing_store(request.store) as store:
        copy, missing = backup(store, request.file), store.missing_tables()
    return StoreBackup(request.file, copy.records, copy.tables, copy.size, tuple(missing))


def restore_store(request: RestoreRequest) -> RestoredStore:
    """Make a store from a backup."""
    copy = restore(request.file, request.folder)
    return RestoredStore(request.folder, copy.records, copy.tables)


def move_store(request: MoveRequest) -> MovedStore:
    """Copy everything to another store, and check it there."""
    with open_existing_store(request.store) as source, Store(request.target) as target:
        counts = move(source, target)
        return MovedStore(source.url, target.url, counts.records, counts.records_skipped, counts.tables)


def _source_kind(location: str) -> str:
    """How experiments are read from a location."""
    if not location.startswith("mlflow:"):
        refuse_unsupported(location)
    return _location_kind(location)


def _location_kind(location: str) -> str:
    """How experiments are written to a location, or read from it."""
    if location.startswith("mlflow:"):
        return "mlflow"
    if "://" in location:
        return "sql"
    extension = Path(location).suffix.lower()
    if extension == ".csv" or extension in _JSON_EXTENSIONS:
        return "csv" if extension == ".csv" else "json"
    raise InputError(f"expected FILE.csv, FILE.jsonl, a database's URL or mlflow:URI, found {location!r}")
