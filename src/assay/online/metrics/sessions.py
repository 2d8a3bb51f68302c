"""Sessions of a log: as it names them, else split after idle minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assay.online.event_tables import EventTables, fetch_row, load_ibis
from assay.online.metrics.metric import MetricSettings

if TYPE_CHECKING:
    from ibis.expr.types import Table, Value


IN_ORDER = ("at", "step", "query_id")  # of the activity on a timeline


class LogProfile(NamedTuple):
    """How many queries and events have the ids that sessions are told by."""

    queries: int
    query_sessions: int  # queries with a session
    query_clients: int
    query_times: int
    query_texts: int
    events: int
    event_sessions: int
    event_clients: int

    @classmethod
    def of(cls, tables: EventTables) -> LogProfile:
        """Count the ids of a log, in one scan of its queries and one of its events."""
        queries, events = tables.queries, tables.events
        first = fetch_row(
            queries.aggregate(
                queries=queries.count(),
                query_sessions=queries.session_id.count(),
                query_clients=queries.client_id.count(),
                query_times=queries["at"].count(),
                query_texts=queries.user_query.count(),
            )
        )
        second = fetch_row(
            events.aggregate(
                events=events.count(),
                event_sessions=events.session_id.count(),
                event_clients=events.client_id.count(),
            )
        )
        return cls(**{name: int(value) for name, value in (first | second).items()})

    @property
    def has_all_sessions(self) -> bool:
        """Whether the log names the session of every query."""
        return self.query_sessions == self.queries

    @property
    def has_bare_events(self) -> bool:
        """Whether events lack a session or a client that their query may have."""
        lacks_session = self.event_sessions < self.events and self.query_sessions > 0
        return lacks_session or (self.event_clients < self.events and self.query_clients > 0)


def epoch_ms(at: Value) -> Value:
    """Return a time as milliseconds; databases round whole seconds differently."""
    return at.truncate("s").epoch_seconds().cast("int64") * 1000 + at.millisecond().cast("int64")


def elapsed_seconds(start: Value, end: Value) -> Value:
    """Return the seconds between two times, to the millisecond."""
    return (epoch_ms(end) - epoch_ms(start)).cast("float64") / 1000.0


def add_sessions(facts: Table, tables: EventTables, settings: MetricSettings, profile: LogProfile) -> Table:
    """Return the facts with a column `session`; a query without session, client or time has its own."""
    own = load_ibis().literal("query ") + facts.query_id
    has_time = facts["at"].notnull()
    if profile.has_all_sessions:
        return facts.mutate(session=has_time.ifelse(facts.session_id, own))
    starts = _split_sessions(tables, settings, profile)
    joined = facts.left_join(starts, facts.query_id == starts.split_query_id).drop("split_query_id")
    named = joined.session_id.coalesce(joined.split_session, load_ibis().literal("query ") + joined.query_id)
    session = joined["at"].notnull().ifelse(named, load_ibis().literal("query ") + joined.query_id)
    return joined.mutate(session=session).drop("split_session")


def _split_sessions(tables: EventTables, settings: MetricSettings, profile: LogProfile) -> Table:
    """Return the split session of each query without a session, by the times of its client."""
    ibis = load_ibis()
    rows = activity(tables, profile, settings)
    rows = rows.filter(rows.is_split)
    order = ibis.window(group_by="timeline", order_by=IN_ORDER)
    rows = rows.mutate(previous=rows["at"].lag().over(order))
    gap = elapsed_seconds(rows.previous, rows["at"])
    rows = rows.mutate(start=(gap <= settings.idle_minutes * 60).coalesce(False).ifelse(0, 1))
    so_far = ibis.cumulative_window(group_by="timeline", order_by=IN_ORDER)
    rows = rows.mutate(number=rows.start.sum().over(so_far))
    rows = rows.filter(rows.is_query)
    return rows.select(
        split_query_id=rows.query_id,
        split_session=rows.timeline + ibis.literal(" session ") + rows.number.cast("string"),
    )


def activity(tables: EventTables, profile: LogProfile, settings: MetricSettings) -> Table:
    """Return every query and event with a time and the timeline it is on: a session, else a client.

    What happened at the same time is ordered by `step`: queries, other events, clicks.
    """
    ibis = load_ibis()
    queries, events = tables.queries, _located_events(tables, profile)
    asked = queries.select(
        **_timeline(queries),
        query_id=queries.query_id,
        is_query=ibis.literal(True),
        is_click=ibis.literal(False),
        step=ibis.literal(0, "int8"),
    )
    done = events.filter(~events.is_repeated.coalesce(False))
    is_click = done.action.isin(settings.clicks).coalesce(False)
    acted = done.select(
        **_timeline(done),
        query_id=done.query_id,
        is_query=ibis.literal(False),
        is_click=is_click,
        step=is_click.ifelse(2, 1).cast("int8"),
    )
    rows = asked.union(acted)
    return rows.filter(rows["at"].notnull(), rows.timeline.notnull())


def _timeline(rows: Table) -> dict[str, Value]:
    ibis = load_ibis()
    client = ibis.literal("client ") + rows.client_id
    return {
        "timeline": rows.session_id.coalesce(client),
        "is_split": rows.session_id.isnull(),
        "at": rows["at"],
    }


def _located_events(tables: EventTables, profile: LogProfile) -> Table:
    """Return the events; one without a session or a client has those of its query."""
    events, queries = tables.events, tables.queries
    columns = ["session_id", "client_id", "query_id", "at", "action", "is_repeated"]
    if not profile.has_bare_events:
        return events.select(columns)
    homes = queries.select(
        home_id=queries.query_id, home_session=queries.session_id, home_client=queries.client_id
    )
    joined = events.select(columns).left_join(homes, events.query_id == homes.home_id)
    return joined.select(
        session_id=joined.session_id.coalesce(joined.home_session),
        client_id=joined.client_id.coalesce(joined.home_client),
        **{name: joined[name] for name in columns[2:]},
    )
