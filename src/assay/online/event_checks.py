"""What does not fit in tables of events that are scanned where they are: counted by the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.core.errors import InputError, first_line
from assay.core.events import Place, Problem
from assay.online.event_tables import (
    EVENT_COLUMNS,
    QUERY_COLUMNS,
    EventTables,
    count_rows,
    fetch_row,
    load_ibis,
    read_texts,
)

if TYPE_CHECKING:
    from ibis.expr.types import Table

_TYPE_NOUNS = {"timestamp": "a time", "int64": "a whole number", "float64": "a number", "boolean": "a truth"}
LARGE_ROWS = 5_000_000  # above which only missing values are counted, unless all checks are asked for
_MISSING = {
    "query without an id": "kept; its events cannot be joined",
    "query without a client id": "kept; it belongs to no user",
    "query without a time": "kept; it belongs to no day and no session",
    "query without results": "kept; it shows nothing",
    "query whose results are not logged": "kept; it is in no rate of results",
    "event without a query id": "kept; it belongs to no page",
    "event without a time": "kept; no dwell time follows from it",
}
_JOINED = {
    "repeated query": "the first record by time is kept",
    "repeated event": "kept and marked",
    "event of an unknown query": "kept; it is in no rate of queries",
    "event before its query": "kept",
    "event more than a day after its query": "kept",
}


def count_unreadable(
    queries: Table | None, events: Table | None, columns: Mapping[str, str], place: str = ""
) -> list[Problem]:
    """Return the texts that are no times or numbers where these are expected; such values are null."""
    problems = []
    for table, types in ((queries, QUERY_COLUMNS), (events, EVENT_COLUMNS)):
        texts = {} if table is None else read_texts(table, types, columns)
        if table is None or not texts:
            continue
        sums = {name: (text.notnull() & value.isnull()).sum() for name, (text, value) in texts.items()}
        try:
            row = fetch_row(table.aggregate(**sums))
        except Exception as error:  # each database has its own
            names = ", ".join(columns.get(name, name) for name in texts)
            raise InputError(
                f"{place}: expected times and numbers, found text in {names}: {first_line(error)}"
            ) from None
        for name, count in row.items():
            kind = f"{columns.get(name, name)} that cannot be read as {_TYPE_NOUNS[types[name]]}"
            problems += [Problem(kind, int(count), "kept without it", [Place(place, None)])] * bool(count)
    return problems


def check_tables(tables: EventTables, needs_all: bool = False, place: str = "") -> EventTables:
    """Return the tables with what does not fit counted, repeated queries removed, repeated events marked.

    Of tables with more than five million events only missing values are counted, unless `needs_all`.
    """
    sizes = [count_rows(table) for table in (tables.queries, tables.events)]
    counts = _count_missing(tables)
    treatments = dict(_MISSING)
    if needs_all or max(sizes) <= LARGE_ROWS:
        tables, joined = _check_rows(tables)
        counts |= joined
        treatments |= _JOINED
    else:
        kind = "table too large for all checks"
        counts[kind] = max(sizes)
        treatments[kind] = "repeated records, and events of unknown queries or before theirs, are not counted"
    problems = [
        Problem(kind, count, treatments[kind], [Place(place, None)])
        for kind, count in counts.items()
        if count
    ]
    ordered = sorted(problems, key=lambda problem: -problem.count)
    return replace(tables, problems=(*tables.problems, *ordered))


def _count_missing(tables: EventTables) -> dict[str, int]:
    queries, events = tables.queries, tables.events
    in_queries = {
        "query without an id": queries.query_id.isnull(),
        "query without a client id": queries.client_id.isnull(),
        "query without a time": queries["at"].isnull(),
        "query without results": queries.result_count == 0,
        "query whose results are not logged": queries.result_count.isnull(),
    }
    in_events = {
        "event without a query id": events.query_id.isnull(),
        "event without a time": events["at"].isnull(),
    }
    counts: dict[str, int] = {}
    for table, conditions in ((queries, in_queries), (events, in_events)):
        sums = {f"n{number}": condition.sum() for number, condition in enumerate(conditions.values())}
        row = fetch_row(table.aggregate(**sums))
        counts |= {kind: int(row[f"n{number}"] or 0) for number, kind in enumerate(conditions)}
    return counts


def _check_rows(tables: EventTables) -> tuple[EventTables, dict[str, int]]:
    counts = {}
    queries, counts["repeated query"] = _first_queries(tables.queries)
    events, counts["repeated event"] = _mark_repeated(tables.events)
    asked = queries.filter(queries.query_id.notnull()).select(asked_id="query_id", asked="at")
    known = events.filter(events.query_id.notnull())
    unknown = known.anti_join(asked, known.query_id == asked.asked_id)
    counts["event of an unknown query"] = count_rows(unknown)
    joined = known.inner_join(asked, known.query_id == asked.asked_id)
    late = joined["at"] > joined.asked + load_ibis().interval(days=1)
    row = fetch_row(joined.aggregate(early=(joined["at"] < joined.asked).sum(), late=late.sum()))
    counts["event before its query"] = int(row["early"] or 0)
    counts["event more than a day after its query"] = int(row["late"] or 0)
    return replace(tables, queries=queries, events=events), counts


def _first_queries(queries: Table) -> tuple[Table, int]:
    """Return one row for each query id, and how many more there are."""
    known = queries.filter(queries.query_id.notnull())
    row = fetch_row(known.aggregate(n=known.count(), ids=known.query_id.nunique()))
    repeated = int(row["n"]) - int(row["ids"])
    if not repeated:
        return queries, 0
    ibis = load_ibis()
    order = ibis.window(group_by="query_id", order_by=queries["at"].asc())
    numbered = queries.mutate(assay_number=ibis.row_number().over(order))
    is_first = numbered.query_id.isnull() | (numbered.assay_number == 0)
    return numbered.filter(is_first).drop("assay_number"), repeated


def _mark_repeated(events: Table) -> tuple[Table, int]:
    """Return the events with a mark on those that equal an earlier one in everything, and their number."""
    keys = [name for name in events.columns if name not in ("is_repeated", "source", "line")]
    row = fetch_row(events.aggregate(marked=events.is_repeated.fill_null(False).sum()))
    timed = events.filter(events["at"].notnull())
    repeated = count_rows(timed) - count_rows(timed.select(keys).distinct())
    if not repeated or row["marked"]:
        return events, max(repeated, int(row["marked"] or 0))
    ibis = load_ibis()
    number = ibis.row_number().over(ibis.window(group_by=keys, order_by="at"))
    marked = events.mutate(assay_number=number)
    is_repeated = (marked.assay_number > 0) & marked["at"].notnull()
    return marked.mutate(is_repeated=is_repeated).drop("assay_number"), repeated
