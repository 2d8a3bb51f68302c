"""Where events come from: files of logs, Parquet files scanned where they are, tables of a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.core.errors import InputError, first_line
from assay.datasets.ubi import read_events
from assay.online.event_tables import EventTables, connect_duckdb, load_ibis
from assay.remote.redaction import redact_url
from assay.remote.secrets import expand_url

if TYPE_CHECKING:
    from ibis.expr.types import Table

_SCHEMES = {"postgresql": "postgres", "spark": "pyspark"}
_QUERY_MARKS = {"result_count", "hit_ids", "user_query"}
_EVENT_MARKS = {"action"}


@dataclass(frozen=True, kw_only=True)
class EventSource:
    """A log of queries and events, and how to read it."""

    paths: Sequence[str] = ()  # files and folders
    url: str | None = None  # of a database that Ibis opens, in place of paths
    queries_table: str | None = None
    events_table: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)  # the log's own names by ours


def open_event_tables(source: EventSource) -> EventTables:
    """Return the queries and events of a source as tables, where they are if they have our columns."""
    if source.url is not None:
        if source.paths:
            raise InputError("expected files or --url, found both")
        return _database_tables(source)
    if not source.paths:
        raise InputError("expected a log of events (files, or --url with --queries-table or --events-table)")
    scanned = _scan_parquet(source)
    if scanned is not None:
        return scanned
    return EventTables.from_events(read_events(*source.paths))


def _database_tables(source: EventSource) -> EventTables:
    if not source.queries_table and not source.events_table:
        raise InputError("--url needs --queries-table, --events-table or both: the names of the tables")
    connection = _connect(str(source.url))
    queries, events = (_open_table(connection, name) for name in (source.queries_table, source.events_table))
    return EventTables.from_tables(queries, events, source.columns)


def _connect(url: str) -> Any:
    ibis = load_ibis()
    url = expand_url("--url", url)
    scheme, separator, rest = url.partition("://")
    try:
        connection = ibis.connect(_SCHEMES.get(scheme, scheme) + separator + rest)
        if scheme == "duckdb":
            connection.raw_sql("SET TimeZone = 'UTC'")
        return connection
    except Exception as error:  # each database has its own
        message = first_line(error).replace(url, redact_url(url))
        raise InputError(f"{redact_url(url)} cannot be opened: {message}") from None


def _open_table(connection: Any, name: str | None) -> Table | None:
    if name is None:
        return None
    try:
        return connection.table(name)
    except Exception as error:  # each database has its own
        present = ", ".join(connection.list_tables()[:20]) or "none"
        raise InputError(
            f"there is no table {name} ({first_line(error)}); tables of the database: {present}"
        ) from None


def _scan_parquet(source: EventSource) -> EventTables | None:
    """Return the tables of Parquet files that have our columns, None for any other log."""
    files = [file for path in source.paths for file in _files(path)]
    if not files or not all(file.suffix == ".parquet" for file in files):
        return None
    connection = connect_duckdb()
    queries: list[str] = []
    events: list[str] = []
    for file in files:
        names = {source_name(name, source.columns) for name in connection.read_parquet(str(file)).columns}
        if "query_id" not in names or "at" not in names:
            return None
        (events if names & _EVENT_MARKS or not names & _QUERY_MARKS else queries).append(str(file))
    tables = [
        connection.read_parquet(paths, union_by_name=True) if paths else None for paths in (queries, events)
    ]
    return EventTables.from_tables(tables[0], tables[1], source.columns)


def source_name(name: str, columns: Mapping[str, str]) -> str:
    """Return our name of a column of a log."""
    return next((ours for ours, theirs in columns.items() if theirs == name), name)


def _files(path: str) -> list[Path]:
    folder = Path(path)
    return sorted(file for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else [folder]
