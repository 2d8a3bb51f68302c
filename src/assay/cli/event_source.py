"""The options that name a log of events and say how it is written."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from assay.core.errors import InputError
from assay.online.bots import parse_bot_rules
from assay.workflows.event_inputs import DEFAULT_BOT_RULES, EventSource, open_project_events
from assay.workflows.settings import PROJECT_FILE


def add_event_source(parser: argparse.ArgumentParser) -> None:
    """Add the log and the options that say how it is written."""
    parser.add_argument(
        "events",
        metavar="EVENTS",
        nargs="*",
        help="the log: UBI (JSON lines, JSON, Parquet, CSV), TREC session XML, or tables of another log",
    )
    parser.add_argument(
        "--url", metavar="URL", help="a database in place of files: duckdb://FILE, postgres://HOST/NAME, …"
    )
    parser.add_argument("--queries-table", metavar="NAME", help="the table of queries in the database")
    parser.add_argument("--events-table", metavar="NAME", help="the table of events in the database")
    parser.add_argument(
        "--column",
        "--columns",
        dest="columns",
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help="which column of the log is query_id, client_id, session_id, at, user_query, action, object_id, "
        "rank, hit_ids, …; may be repeated",
    )
    parser.add_argument(
        "--bots",
        metavar="RULES",
        help="which clients are programs, and left out: off, or queries_per_day=N, "
        "queries_per_minute=N, user_agent=off, "
        f"click_seconds=S, fast_clicks=N, separated by commas (default: {_default_rules()})",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="make all checks of the log also if it is a table of many millions of rows",
    )
    parser.add_argument(
        "--normalised",
        metavar="FOLDER",
        help="also write the log as Parquet with our columns, which is read at once the next time",
    )


def event_source(arguments: argparse.Namespace, project: str | Path = PROJECT_FILE) -> EventSource:
    """Return the source that the options of `add_event_source` name, else that of the project."""
    if not arguments.events and not arguments.url and Path(project).is_file():
        source = open_project_events(project)
    else:
        source = EventSource(
            paths=arguments.events,
            url=arguments.url,
            queries_table=arguments.queries_table,
            events_table=arguments.events_table,
        )
    if arguments.bots is not None:
        source = replace(source, bots=parse_bot_rules(arguments.bots))
    return replace(
        source,
        columns={**source.columns, **parse_event_columns(arguments.columns)},
        needs_all_checks=arguments.check,
        normalised=arguments.normalised,
    )


def _default_rules() -> str:
    return "; ".join(DEFAULT_BOT_RULES.sentences())


def parse_event_columns(options: list[str]) -> dict[str, str]:
    """Return the columns of a log by our names.

    >>> parse_event_columns(["query_id=qid"])
    {'query_id': 'qid'}
    """
    columns = {}
    for option in options:
        name, separator, column = option.partition("=")
        if not separator or not name or not column:
            raise InputError(f"--column expects NAME=COLUMN such as query_id=qid, found {option!r}")
        columns[name] = column
    return columns
