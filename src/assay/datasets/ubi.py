"""The reader of UBI logs (User Behavior Insights 1.3): lenient, and nothing is lost silently."""

from __future__ import annotations

from collections.abc import Iterable
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
_RAW_EVENT_SCHEMA = {
    **{name: dtype for name, dtype in EVENT_SCHEMA.items() if name not in _DERIVED},
    "ordinal": pl.Int64(),
}
_BLOCK_ROWS = 1 << 16


LogFile = str | PathLike[str] | InputFile


def read_events(path: LogFile, *more: LogFile) -> Events:
    """Return the events and queries of logs: UBI, and XML of the TREC Session track.

    UBI is read from JSON lines, JSON, Parquet and CSV; all also from gzip, zstd and folders, UBI from ZIP.

    A record that cannot be understood, and one that had to be normalised, is counted by kind with its place
    in `Events.problems`. A file that cannot be opened, or that holds neither events nor queries, is an error.
    """
    problems = ProblemLog()
    records = (record for source in (path, *more) for record in event_records(source, problems))
    events, queries = _collect(records, problems)
    if events.is_empty() and queries.is_empty():
        found = problems.problems()
        example = f", found {found[0].kind} at {found[0].example}" if found else ", found none"
        raise FormatError(
            f"expected UBI queries (user_query) and events (action_name){example}", as_input_file(path).label
        )
    queries = merge_queries(queries, problems)
    events = mark_repeated_events(events, problems)
    events = add_ranks(events, queries, problems)
    queries = add_query_sessions(queries, events)
    check_links(events, queries, problems)
    return Events(events.select(list(EVENT_SCHEMA)), queries.select(list(QUERY_SCHEMA)), problems.problems())


def _collect(records: Iterable[Record], problems: ProblemLog) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows of events and of queries."""
    reader = RecordReader(problems)
    events, queries = _Rows(_RAW_EVENT_SCHEMA), _Rows(QUERY_SCHEMA)
    for record in records:
        if record.value.get("action_name"):
            events.add(reader.event(record))
        elif record.value.get("user_query") is not None or _has_results(record):
            queries.add(reader.query(record))
        else:
            names = ", ".join(map(str, list(record.value)[:6]))
            problems.add("neither a query nor an event", record.source, record.line, f"keys: {names}")
    return events.frame(), queries.frame()


def _has_results(record: Record) -> bool:
    return any(name.startswith("query_response") for name in record.value) and "query_id" in record.value


class _Rows:
    """Rows that become blocks of a frame, so that a long log is not held as Python objects."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self.blocks = [pl.DataFrame(schema=schema)]
        self.rows: list[tuple[Any, ...]] = []
        self.values = itemgetter(*schema)

    def add(self, row: dict[str, Any]) -> None:
        """Add a row."""
        self.rows.append(self.values(row))
        if len(self.rows) == _BLOCK_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self.rows:
            columns = dict(zip(self.schema, map(list, zip(*self.rows, strict=True)), strict=True))
            self.blocks.append(pl.DataFrame(columns, schema=self.schema))
        self.rows = []

    def frame(self) -> pl.DataFrame:
        """Return all rows."""
        self._flush()
        return pl.concat(self.blocks)
