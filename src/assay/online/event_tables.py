"""Events and queries as tables of a database that Ibis reads: what every online metric is computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import getpid
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

from assay.core.errors import InputError, MissingExtraError
from assay.core.events import Events, Problem

if TYPE_CHECKING:
    from ibis.backends import BaseBackend
    from ibis.expr.types import Table, Value

QUERY_COLUMNS = {
    **dict.fromkeys(("query_id", "session_id", "client_id", "user_id"), "string"),
    "at": "timestamp",  # in UTC, without a zone, so that days and differences are the same on every database
    "user_query": "string",
    "result_count": "int64",  # null: the log does not say
    **dict.fromkeys(("experiment_id", "variant", "config_version"), "string"),
    **dict.fromkeys(("latency_ms", "cost"), "float64"),
}
EVENT_COLUMNS = {
    **dict.fromkeys(("query_id", "session_id", "client_id"), "string"),
    "at": "timestamp",
    **dict.fromkeys(("action", "object_id"), "string"),
    "rank": "int64",  # from 1
    "is_repeated": "boolean",
}
_OWN_ATTRIBUTES = {*QUERY_COLUMNS, "team_by_doc", "hit_ids", "hit_teams", "user_agent", "browser"}
_MOST_SLICES = 64
_MEMORY_SHARE = 0.25  # of the memory, so that other programs have room beside a large log


def load_ibis() -> Any:
    """Return the module ibis; MissingExtraError if it is not installed."""
    try:
        import ibis
    except ModuleNotFoundError:
        raise MissingExtraError("ibis-framework", "online metrics", "online") from None
    return ibis


def connect_duckdb(path: str = ":memory:") -> BaseBackend:
    """Return a DuckDB database whose times are in UTC; what exceeds a quarter of the memory is on disk."""
    connection = load_ibis().duckdb.connect(path)
    connection.raw_sql("SET TimeZone = 'UTC'")
    connection.raw_sql(f"SET temp_directory = '{gettempdir()}/assay-duckdb-{getpid()}'")
    ((limit,),) = connection.raw_sql("SELECT current_setting('memory_limit')").fetchall()
    size, unit = limit.split()  # 80 % of what the machine or its container has
    connection.raw_sql(f"SET memory_limit = '{float(size) * _MEMORY_SHARE / 0.8:.2f} {unit}'")
    return connection


def fetch_row(table: Table) -> dict[str, Any]:
    """Return the only row of a table."""
    (row,) = fetch_rows(table)
    return row


def fetch_rows(table: Table) -> list[dict[str, Any]]:
    """Return the rows of a small table."""
    rows: list[dict[str, Any]] = table.to_pyarrow().to_pylist()
    return rows


def count_rows(table: Table) -> int:
    """Return how many rows a table has."""
    return int(fetch_row(table.aggregate(n=table.count()))["n"])


@dataclass(frozen=True)
class EventTables:
    """The queries and the events of one log, where they are, with the problems of the log.

    >>> EventTables.from_events(Events.empty()).counts()
    {'queries': 0, 'events': 0, 'clients': 0, 'sessions': 0}
    """

    queries: Table  # one row for each query_id; `result_count` stands for the list of results
    events: Table
    problems: tuple[Problem, ...] = ()

    @classmethod
    def from_events(cls, events: Events) -> EventTables:
        """Return the tables of a log that fits in memory."""
        connection = connect_duckdb()
        queries = add_slices(connection, connection.create_table("raw_queries", events.queries))
        return cls(
            conform_queries(queries),
            conform_events(connection.create_table("raw_events", events.frame)),
            events.problems,
        )

    @classmethod
    def from_tables(
        cls,
        queries: Table | None,
        events: Table | None,
        columns: Mapping[str, str] | None = None,
        problems: Sequence[Problem] = (),
    ) -> EventTables:
        """Return tables of any database under our names; `columns` has their own names by ours.

        Without a table of queries, each query_id of the events is a query at the time of its first event.
        """
        if queries is None and events is None:
            raise InputError("expected a table of queries, of events or both, found none")
        typed_events = empty_events() if events is None else conform_events(events, columns or {})
        if events is None and queries is not None:
            typed_events = _same_backend_events(queries, columns or {})
        typed_queries = (
            queries_of_events(typed_events) if queries is None else conform_queries(queries, columns or {})
        )
        return cls(typed_queries, typed_events, tuple(problems))

    @property
    def backend(self) -> BaseBackend:
        """The database of the tables."""
        return self.queries.get_backend()

    def counts(self) -> dict[str, int]:
        """Return how many queries, events, clients and sessions there are."""
        counts = {"queries": count_rows(self.queries), "events": count_rows(self.events)}
        for name, column in (("clients", "client_id"), ("sessions", "session_id")):
            ids = self.queries.select(column).distinct().union(self.events.select(column).distinct())
            counts[name] = count_rows(ids.distinct().filter(lambda t, c=column: t[c].notnull()))
        return counts

    def problem_count(self, kind: str) -> int:
        """Return how often a kind of problem occurs."""
        return sum(problem.count for problem in self.problems if problem.kind == kind)


def add_slices(connection: Any, queries: Table) -> Table:
    """Return queries with a column for each text or number among their attributes."""
    name = queries.get_name()
    keys = connection.raw_sql(
        f"SELECT key, count(*) FROM (SELECT unnest(json_keys(attributes)) AS key FROM {name} "
        f"WHERE attributes IS NOT NULL) GROUP BY key ORDER BY count(*) DESC, key LIMIT {_MOST_SLICES}"
    ).fetchall()
    known = {column.lower() for column in queries.columns} | _OWN_ATTRIBUTES
    new = [key for key, _ in keys if key.lower() not in known and key.isprintable()]
    if not new:
        return queries
    parts = [f"json_extract_string(attributes, {_path(key)}) AS {_quote(key)}" for key in new]
    return connection.sql(f"SELECT *, {', '.join(parts)} FROM {name}")


def _path(key: str) -> str:
    return "'$.\"" + key.replace("'", "''") + "\"'"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def conform_queries(table: Table, columns: Mapping[str, str] | None = None) -> Table:
    """Return a table of queries with our columns, typed; a column that it lacks is null."""
    columns = dict(columns or {})
    hits, count = columns.get("hit_ids", "hit_ids"), columns.pop("result_count", "result_count")
    if hits in table.columns and table[hits].type().is_array():
        length = table[hits].length()
        counted = table[count].cast("int64").coalesce(length) if count in table.columns else length
        table = table.mutate(result_count=counted)
    elif count in table.columns:
        table = table.mutate(result_count=table[count])
    return _conform(table, QUERY_COLUMNS, columns, "query_id")


def conform_events(table: Table, columns: Mapping[str, str] | None = None) -> Table:
    """Return a table of events with our columns, typed; without a column `action`, each row is a click."""
    typed = _conform(table, EVENT_COLUMNS, columns or {}, "query_id")
    present = {*table.columns}
    has_action = (columns or {}).get("action", "action") in present
    has_repeated = (columns or {}).get("is_repeated", "is_repeated") in present
    typed = typed if has_action else typed.mutate(action=load_ibis().literal("click"))
    return typed if has_repeated else typed.mutate(is_repeated=load_ibis().literal(False))


def _conform(table: Table, types: Mapping[str, str], columns: Mapping[str, str], key: str) -> Table:
    ibis = load_ibis()
    sources = {name: columns.get(name, name) for name in types}
    if sources[key] not in table.columns:
        raise InputError(
            f"expected a column {sources[key]} in the table, found {', '.join(table.columns)}; "
            f"name it with --column {key}=COLUMN"
        )
    typed = {
        name: _typed(table[source], types[name])
        if source in table.columns
        else ibis.null(ibis.dtype(types[name]))
        for name, source in sources.items()
    }
    taken = {*sources.values()} - {*types}
    further = {name: table[name] for name in table.columns if name not in types and name not in taken}
    return table.select(**typed, **further)


def _typed(column: Value, wanted: str) -> Value:
    """Return a column in a type; a number as a time is in seconds, milliseconds or microseconds, by size."""
    found = column.type()
    if wanted == "timestamp" and found.is_numeric():
        return _time_of_number(column)
    if str(found).lstrip("!") == wanted:
        return column
    if not found.is_string():
        return column.cast(wanted)
    has_try = column.get_backend().has_operation(load_ibis().expr.operations.TryCast)
    cast = column.try_cast if has_try else column.cast  # null, or an error, if it is not of the type
    if wanted == "timestamp":  # a type without a zone would drop that of the text
        return cast("timestamp('UTC')").cast(wanted)
    return cast(wanted)


def read_texts(
    table: Table, types: Mapping[str, str], columns: Mapping[str, str]
) -> dict[str, tuple[Value, Value]]:
    """Return the columns of text that are read as another type, each with what is read, by our names."""
    sources = {name: columns.get(name, name) for name, wanted in types.items() if wanted != "string"}
    present = {name: table[source] for name, source in sources.items() if source in table.columns}
    texts = {name: column for name, column in present.items() if column.type().is_string()}
    return {name: (column, _typed(column, types[name])) for name, column in texts.items()}


def _time_of_number(column: Value) -> Value:
    ibis = load_ibis()
    size = column.cast("float64").abs()
    number = column.cast("float64")
    scaled = ibis.cases((size < 1e11, number * 1e3), (size < 1e14, number), else_=number / 1e3)
    return scaled.round().cast("int64").as_timestamp("ms").cast("timestamp")


def empty_events() -> Table:
    """Return no events."""
    connection = connect_duckdb()
    return connection.create_table("events", schema=load_ibis().schema(EVENT_COLUMNS))


def _same_backend_events(queries: Table, columns: Mapping[str, str]) -> Table:
    """Return no events, on the database of the queries."""
    key = columns.get("query_id", "query_id")
    return conform_events(queries.select(query_id=queries[key]).filter(load_ibis().literal(False)))


def queries_of_events(events: Table) -> Table:
    """Return a query for each query_id of the events, at the time of its first event."""
    texts = {"user_query"} & {*events.columns}
    extra = {name: events[name].max() for name in (*texts, *_carried(events))}
    ids = {name: events[name].max() for name in ("session_id", "client_id")}
    grouped = events.filter(events.query_id.notnull()).group_by("query_id")
    return conform_queries(grouped.aggregate(at=events.at.min(), **ids, **extra))


def _carried(events: Table) -> list[str]:
    names = ("user_id", "result_count", "experiment_id", "variant", "config_version", "latency_ms", "cost")
    return [name for name in names if name in events.columns]
