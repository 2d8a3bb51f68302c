"""Where events come from: files of logs, Parquet files scanned where they are, tables of a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from weakref import finalize

import polars as pl

from assay.core.errors import ConfigurationError, InputError, first_line
from assay.core.settings import SettingsReader
from assay.datasets.event_columns import check_event_columns
from assay.datasets.event_parquet import PROBLEMS_FILE, log_size, normalise_log, read_problems
from assay.datasets.ubi import read_events
from assay.online.bots import BotRules, parse_bot_rules, remove_bots
from assay.online.event_checks import check_tables, count_unreadable
from assay.online.event_tables import EventTables, add_slices, connect_duckdb, load_ibis
from assay.remote.redaction import redact_url
from assay.remote.secrets import expand_url
from assay.workflows.settings import PROJECT_FILE, read_project_settings

if TYPE_CHECKING:
    from ibis.expr.types import Table

_SCHEMES = {"postgresql": "postgres", "spark": "pyspark"}
_QUERY_MARKS = {"result_count", "hit_ids", "user_query"}
_EVENT_MARKS = {"action"}
_IN_MEMORY_BYTES = 128 << 20
DEFAULT_BOT_RULES = BotRules()


@dataclass(frozen=True, kw_only=True)
class EventSource:
    """A log of queries and events, and how to read it."""

    paths: Sequence[str] = ()  # files and folders
    url: str | None = None  # of a database that Ibis opens, in place of paths
    queries_table: str | None = None
    events_table: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)  # the log's own names by ours
    bots: BotRules | None = DEFAULT_BOT_RULES  # None: all clients are taken for people
    needs_all_checks: bool = False  # also of tables with many millions of rows
    normalised: str | None = None  # the folder that a log is written to as Parquet, to be read at once later


@contextmanager
def open_event_tables(source: EventSource) -> Iterator[EventTables]:
    """Open the queries and events of a source as tables, where they are if they have our columns.

    Other logs are normalised: small ones in memory, large ones to Parquet in a temporary folder. Clients that
    the bot rules take for programs are left out, and counted in the problems. The connection to a database
    is closed at the end.
    """
    check_event_columns(source.columns)
    with ExitStack() as stack:
        tables = _database_tables(source, stack) if source.url is not None else _file_tables(source)
        yield remove_bots(tables, source.bots) if source.bots else tables


def _file_tables(source: EventSource) -> EventTables:
    if not source.paths:
        raise InputError("expected a log of events (files, or --url with --queries-table or --events-table)")
    scanned = _scan_parquet(source)
    if scanned is not None:
        return scanned
    if source.normalised is not None:
        return _normalised_tables(source, Path(source.normalised))
    if log_size(source.paths) <= _IN_MEMORY_BYTES:
        return EventTables.from_events(read_events(*source.paths, columns=source.columns))
    folder = TemporaryDirectory(prefix="assay-events-")
    tables = _normalised_tables(source, Path(folder.name))
    finalize(tables.backend, folder.cleanup)
    return tables


def _normalised_tables(source: EventSource, folder: Path) -> EventTables:
    normalise_log(source.paths, folder, source.columns)
    scanned = _scan_parquet(EventSource(paths=[str(folder)]))
    assert scanned is not None
    return scanned


def _database_tables(source: EventSource, stack: ExitStack) -> EventTables:
    if source.paths:
        raise InputError("expected files or --url, found both")
    if not source.queries_table and not source.events_table:
        raise InputError("--url needs --queries-table, --events-table or both: the names of the tables")
    connection = stack.enter_context(open_database(str(source.url)))
    queries, events = (
        open_database_table(connection, name) for name in (source.queries_table, source.events_table)
    )
    unreadable = count_unreadable(queries, events, source.columns, redact_url(str(source.url)))
    tables = EventTables.from_tables(queries, events, source.columns, unreadable)
    return check_tables(tables, source.needs_all_checks, redact_url(str(source.url)))


@contextmanager
def open_database(url: str) -> Iterator[Any]:
    """Connect to the database of a URL, and close the connection at the end."""
    connection = _connect(url)
    try:
        yield connection
    finally:
        if connection.name != "pyspark":  # a session of Spark is shared
            connection.disconnect()


def _connect(url: str) -> Any:
    ibis = load_ibis()
    url = expand_url("--url", url)
    scheme, separator, rest = url.partition("://")
    file = rest.partition("?")[0]
    if scheme == "duckdb" and file not in ("", ":memory:") and not Path(file).is_file():
        raise InputError(f"{redact_url(url)} cannot be opened: there is no file {file}")
    try:
        connection = ibis.connect(_SCHEMES.get(scheme, scheme) + separator + rest)
        if scheme == "duckdb":
            connection.raw_sql("SET TimeZone = 'UTC'")
        return connection
    except Exception as error:  # each database has its own
        message = first_line(error).replace(url, redact_url(url))
        raise InputError(f"{redact_url(url)} cannot be opened: {message}") from None


def open_database_table(connection: Any, name: str | None) -> Table | None:
    """Return a table of a database; None without a name."""
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
    files = [file for path in source.paths for file in _parquet_files(path)]
    if not files or "clicks" in source.columns:
        return None
    connection = connect_duckdb()
    queries: list[str] = []
    events: list[str] = []
    for file in files:
        names = _our_names(file, source.columns)
        if names is None or "query_id" not in names or "at" not in names:
            return None
        (events if names & _EVENT_MARKS or not names & _QUERY_MARKS else queries).append(str(file))
    query_table = (
        connection.read_parquet(queries, table_name="queries", union_by_name=True) if queries else None
    )
    if query_table is not None and "attributes" in query_table.columns:
        query_table = add_slices(connection, query_table)
    event_table = connection.read_parquet(events, table_name="events", union_by_name=True) if events else None
    unreadable = count_unreadable(query_table, event_table, source.columns, ", ".join(source.paths))
    tables = EventTables.from_tables(query_table, event_table, source.columns, unreadable)
    problems = [problem for path in source.paths for problem in read_problems(Path(path))]
    if problems or all((Path(path) / PROBLEMS_FILE).is_file() for path in source.paths):
        return replace(tables, problems=tuple(problems))  # they were checked when they were written
    return check_tables(tables, source.needs_all_checks, ", ".join(source.paths))


def _our_names(file: Path, columns: Mapping[str, str]) -> set[str] | None:
    """Return our names of the columns of a Parquet file, None if it cannot be read as one."""
    try:
        names = pl.read_parquet_schema(file)
    except (pl.exceptions.PolarsError, OSError):
        return None
    by_source = {theirs: ours for ours, theirs in columns.items()}
    return {by_source.get(name, name) for name in names}


def _parquet_files(path: str) -> list[Path]:
    """Return a Parquet file, or those of a folder; none if there are other files."""
    folder = Path(path)
    files = sorted(file for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else [folder]
    files = [file for file in files if file.name != PROBLEMS_FILE]
    return files if all(file.suffix == ".parquet" and file.is_file() for file in files) else []


def read_event_source(reader: SettingsReader, folder: Path) -> EventSource:
    """Read [online.events] of an assay.toml: the log of a project, with paths relative to its folder."""
    columns = reader.value("columns", "a table of column names by ours", _is_names, {})
    bots = reader.text("bots", "off, default, or rules such as queries_per_day=200")
    source = EventSource(
        paths=[str(folder / path) for path in reader.texts("paths", "a path or a list of paths")],
        url=reader.text("url", "the URL of a database"),
        queries_table=reader.text("queries_table", "the name of a table"),
        events_table=reader.text("events_table", "the name of a table"),
        columns=columns,
        bots=parse_bot_rules(bots or "default"),
    )
    reader.refuse_unknown()
    return source


def open_project_events(path: str | Path = PROJECT_FILE) -> EventSource:
    """Return the log that an assay.toml names in [online.events]."""
    path = Path(path)
    reader = SettingsReader(read_project_settings(path), "")
    events = reader.table("online").table("events")
    source = read_event_source(events, path.parent)
    if reader.problems:
        raise ConfigurationError(reader.problems, str(path))
    if not source.paths and not source.url:
        raise InputError(f"{path} names no log: expected paths or url in [online.events], or name files")
    return source


def _is_names(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value.values())
