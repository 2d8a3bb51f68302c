"""The reader of logs of events: UBI 1.3, session XML, other columns; nothing is lost silently."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from os import PathLike
from typing import Any

import polars as pl

from assay.core.errors import FormatError
from assay.core.events import EVENT_SCHEMA, QUERY_SCHEMA, Events
from assay.datasets.event_records import event_records
from assay.datasets.input_files import InputFile
from assay.datasets.ubi_log.fields import RecordReader
from assay.datasets.ubi_log.joined import (
    add_query_sessions,
    add_ranks,
    check_links,
    mark_repeated_events,
    merge_queries,
)
from assay.datasets.ubi_log.problem_log import ProblemLog
from assay.datasets.ubi_log.records import Record, as_input_file

_DERIVED = ("rank", "is_repeated")
RAW_EVENT_SCHEMA = {
    **{name: dtype for name, dtype in EVENT_SCHEMA.items() if name not in _DERIVED},
    "ordinal": pl.Int64(),
}
_BLOCK_ROWS = 1 << 16


LogFile = str | PathLike[str] | InputFile
_Write = Callable[[pl.DataFrame], None]


def read_events(path: LogFile, *more: LogFile, columns: Mapping[str, str] | None = None) -> Events:
    """Return the events and queries of logs: UBI, XML of the TREC Session track, and logs of other columns.

    UBI is read from JSON lines, JSON, Parquet and CSV; all also from gzip, zstd and folders, UBI from ZIP.
    `columns` has the columns of another log by our names. A record that cannot be understood, and one that
    had to be normalised, is counted by kind with its place in `Events.problems`. A file that cannot be
    opened, or that holds neither events nor queries, is an error.
    """
    problems = ProblemLog()
    events: list[pl.DataFrame] = []
    queries: list[pl.DataFrame] = []
    collect_rows((path, *more), problems, events.append, queries.append, columns)
    if not events and not queries:
        raise nothing_found(problems, path)
    empty = (pl.DataFrame(schema=RAW_EVENT_SCHEMA), pl.DataFrame(schema=QUERY_SCHEMA))
    return join_events(pl.concat([empty[0], *events]), pl.concat([empty[1], *queries]), problems)


def nothing_found(problems: ProblemLog, path: LogFile) -> FormatError:
    """Return the error of a log without queries and events."""
    found = problems.problems()
    example = f", found {found[0].kind} at {found[0].example}" if found else ", found none"
    return FormatError(
        f"expected UBI queries (user_query) and events (action_name){example}; name the columns of another "
        "log with --column NAME=COLUMN",
        as_input_file(path).label,
    )


def join_events(
    events: pl.DataFrame,
    queries: pl.DataFrame,
    problems: ProblemLog,
    ordinal_bases: pl.DataFrame | None = None,
) -> Events:
    """Return raw events and queries with what follows from several records, and count what does not fit.

    `ordinal_bases` says for each application whether ordinals begin at 0, if these are not all its events.
    """
    queries = merge_queries(queries, problems)
    events = mark_repeated_events(events, problems)
    events = add_ranks(events, queries, problems, ordinal_bases)
    queries = add_query_sessions(queries, events)
    check_links(events, queries, problems)
    return Events(events.select(list(EVENT_SCHEMA)), queries.select(list(QUERY_SCHEMA)), problems.problems())


def collect_rows(
    sources: Iterable[LogFile],
    problems: ProblemLog,
    write_events: _Write,
    write_queries: _Write,
    columns: Mapping[str, str] | None = None,
) -> None:
    """Read the records of logs and write blocks of their events and of their queries."""
    reader = RecordReader(problems)
    events, queries = _Rows(RAW_EVENT_SCHEMA, write_events), _Rows(QUERY_SCHEMA, write_queries)
    for record in event_records(sources, problems, columns):
        if record.value.get("action_name"):
            events.add(reader.event(record))
        elif record.value.get("user_query") is not None or _is_query(record):
            queries.add(reader.query(record))
        else:
            names = ", ".join(map(str, list(record.value)[:6]))
            problems.add("neither a query nor an event", record.source, record.line, f"keys: {names}")
    events.flush()
    queries.flush()


def _is_query(record: Record) -> bool:
    """Return whether a record without a text is a query: it has its results or its attributes."""
    names = record.value
    return "query_id" in names and any(
        name.startswith(("query_response", "query_attributes")) for name in names
    )


class _Rows:
    """Rows that become blocks of a frame, so that a long log is not held as Python objects."""

    def __init__(self, schema: dict[str, Any], write: _Write) -> None:
        self.schema, self.write = schema, write
        self.rows: list[tuple[Any, ...]] = []
        self.values = itemgetter(*schema)

    def add(self, row: dict[str, Any]) -> None:
        """Add a row."""
        self.rows.append(self.values(row))
        if len(self.rows) == _BLOCK_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the rows that were not written yet."""
        if self.rows:
            columns = dict(zip(self.schema, map(list, zip(*self.rows, strict=True)), strict=True))
            self.write(pl.DataFrame(columns, schema=self.schema))
            self.rows = []
