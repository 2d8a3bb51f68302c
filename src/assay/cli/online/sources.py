"""The options that say where events are: files of a log, or tables of a database."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from assay.core.errors import InputError
from assay.core.suggestions import did_you_mean
from assay.online.event_tables import EVENT_COLUMNS, QUERY_COLUMNS
from assay.workflows.event_inputs import EventSource


def add_event_source(part: argparse.ArgumentParser) -> None:
    """Add the log and the options that say how to read it."""
    part.add_argument(
        "events",
        metavar="EVENTS",
        nargs="*",
        help="logs: files or folders of UBI (JSON lines, JSON, CSV, Parquet), TREC session XML, or Parquet "
        "files of any log with --column",
    )
    group = part.add_argument_group("tables of a database, in place of files")
    group.add_argument(
        "--url",
        metavar="URL",
        help="a database that Ibis opens: postgresql://…, duckdb://FILE, spark://…; a password is best "
        "given as ${VARIABLE}",
    )
    group.add_argument("--queries-table", metavar="TABLE", help="its table of queries")
    group.add_argument("--events-table", metavar="TABLE", help="its table of events")
    add_columns(part)


def add_columns(part: argparse.ArgumentParser) -> None:
    """Add the option that names the columns of a log."""
    part.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help="the log's own name of a column, such as client_id=visitor; may be repeated",
    )


def column_names(texts: Sequence[str], names: Iterable[str]) -> dict[str, str]:
    """Return the columns of a log by our names."""
    known, columns = [*names], {}
    for text in texts:
        name, separator, column = text.partition("=")
        if not separator or not column or name not in known:
            hint = did_you_mean(name, known) or f"names: {', '.join(known)}"
            raise InputError(f"--column expects NAME=COLUMN, found {text}; {hint}")
        columns[name] = column
    return columns


def event_source(arguments: argparse.Namespace) -> EventSource:
    """Return the log that the options name."""
    columns = column_names(arguments.column, {**QUERY_COLUMNS, **EVENT_COLUMNS, "hit_ids": ""})
    return EventSource(
        paths=arguments.events,
        url=arguments.url,
        queries_table=arguments.queries_table,
        events_table=arguments.events_table,
        columns=columns,
    )
