"""The facts of each query that online metrics are computed from, as a table of the log's database."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from assay.core.errors import InputError
from assay.core.suggestions import did_you_mean
from assay.online.event_tables import EventTables, load_ibis
from assay.online.metrics.dwell import add_dwell
from assay.online.metrics.metric import DEFAULT_SETTINGS, Column, Metric, MetricSettings
from assay.online.metrics.query_texts import is_similar
from assay.online.metrics.sessions import LogProfile, add_sessions, elapsed_seconds

if TYPE_CHECKING:
    from ibis.expr.types import Table, Value

_CELL = "assay_cell"  # no column of a log has this name
_AT_RANK = re.compile(r"(clicks_within|clicked_rank)_([1-9]\d{0,3})")
_NEXT_FACTS = ("next_query_at", "is_abandoned", "is_reformulated")
_DWELL_FACTS = ("dwell_seconds", "dwell_clicks", "censored_clicks")


class _EventFact(NamedTuple):
    """An aggregate of the events of a query, and its value for a query without events."""

    aggregate: Callable[[Table, MetricSettings], Value]
    default: int | bool | None = 0


def _is_click(events: Table, settings: MetricSettings) -> Value:
    return events.action.isin(settings.clicks)


def _count(condition: Value) -> Value:
    return condition.ifelse(1, 0).sum()


_EVENT_FACTS = {
    "events": _EventFact(lambda e, s: e.count()),
    "clicks": _EventFact(lambda e, s: _count(_is_click(e, s))),
    "completions": _EventFact(lambda e, s: _count(e.action.isin(s.completions))),
    "best_clicked_rank": _EventFact(lambda e, s: e.rank.min(where=_is_click(e, s)), None),
    "first_click_at": _EventFact(lambda e, s: e["at"].min(where=_is_click(e, s)), None),
}
FACTS = {
    "events": "events of the query, of any action",
    "clicks": "clicks of the query",
    "completions": "completing actions (purchase) of the query",
    "best_clicked_rank": "the smallest clicked rank; null without a click",
    "first_click_at": "the time of the first click; null without one",
    "clicks_within_K": "clicks on the first K ranks, such as clicks_within_3",
    "clicked_rank_K": "whether rank K was clicked, such as clicked_rank_1",
    "session": "the session, split after idle minutes if the log names none",
    "next_query_at": "the time of the next query of the session; null if there is none",
    "is_abandoned": "whether results were shown and not clicked; null without results",
    "is_reformulated": "whether the next query of the session is a reformulation",
    "dwell_seconds": "seconds from each click to the next event or query, summed; null if none has one",
    "dwell_clicks": "clicks with a next event or query in the session",
    "censored_clicks": "clicks without one: the last event of the session",
    "day": "the day of the query in UTC",
}


def is_derived(name: str) -> bool:
    """Return whether a fact is computed, not a column of the log."""
    return name in FACTS or _AT_RANK.fullmatch(name) is not None


def fact_type(name: str) -> str:
    """Return the type of a fact."""
    if name.endswith("_at"):
        return "timestamp"
    if name.startswith("is_"):
        return "boolean"
    return {"session": "string", "day": "date", "dwell_seconds": "float64"}.get(name, "int64")


def query_facts(
    tables: EventTables,
    names: Collection[str],
    settings: MetricSettings = DEFAULT_SETTINGS,
    profile: LogProfile | None = None,
    aggregates: Mapping[str, Column] | None = None,
) -> Table:
    """Return one row for each query: the columns of the log and these facts.

    `aggregates` are further columns by name, aggregates of the events of each query. Only what `names`
    need is computed, and only the events that count are grouped.
    """
    wanted = {*names}
    if wanted & {"is_abandoned"}:
        wanted |= {"clicks", "first_click_at"}
    facts = tables.queries
    if "day" in wanted and "day" not in facts.columns:
        facts = facts.mutate(day=facts["at"].date())
    events = _event_facts(tables.events, wanted, settings, aggregates or {})
    if events is not None:
        facts = _join(facts, *events)
    if wanted & {*_NEXT_FACTS, "session"}:
        facts = add_sessions(facts, tables, settings, profile or LogProfile.of(tables))
    if wanted & {*_NEXT_FACTS}:
        facts = _add_next_query(facts, wanted, settings)
    if wanted & {*_DWELL_FACTS}:
        facts = add_dwell(facts, tables, settings, profile or LogProfile.of(tables))
    return facts


def _event_facts(
    events: Table, wanted: set[str], settings: MetricSettings, own: Mapping[str, Column]
) -> tuple[Table, dict[str, int | bool | None]] | None:
    """Return the facts of the events of each query, and the value of each for a query without events."""
    facts = {name: fact for name in sorted(wanted) if (fact := _event_fact(name)) is not None}
    if not facts and not own:
        return None
    counted = events.filter(events.query_id.notnull(), ~events.is_repeated.coalesce(False))
    if "events" not in facts and not own:
        actions = {*settings.clicks, *(settings.completions if "completions" in facts else ())}
        counted = counted.filter(counted.action.isin(sorted(actions)))
    columns = {name: fact.aggregate(counted, settings) for name, fact in facts.items()}
    columns |= {name: aggregate(counted) for name, aggregate in own.items()}
    defaults = {name: fact.default for name, fact in facts.items()}
    grouped = counted.group_by(**{_CELL: counted.query_id}).aggregate(**columns)
    return grouped, defaults | dict.fromkeys(own, 0)


def _event_fact(name: str) -> _EventFact | None:
    """Return the definition of a fact of the events of a query, None if it is no such fact."""
    at_rank = _AT_RANK.fullmatch(name)
    if at_rank is None:
        return _EVENT_FACTS.get(name)
    rank = int(at_rank[2])
    if at_rank[1] == "clicks_within":
        return _EventFact(lambda e, s: _count(_is_click(e, s) & (e["rank"] <= rank)))
    return _EventFact(lambda e, s: (_is_click(e, s) & (e["rank"] == rank)).ifelse(1, 0).max())


def _join(queries: Table, grouped: Table, defaults: Mapping[str, int | bool | None]) -> Table:
    joined = queries.left_join(grouped, queries.query_id == grouped[_CELL])
    joined = joined.drop(_CELL)
    filled = {
        name: joined[name].coalesce(default) for name, default in defaults.items() if default is not None
    }
    return joined.mutate(**filled) if filled else joined


def _add_next_query(facts: Table, wanted: set[str], settings: MetricSettings) -> Table:
    """Return the facts with the next query of the session and what follows from it."""
    ibis = load_ibis()
    order = ibis.window(group_by="session", order_by=["at", "query_id"])
    columns = {"next_query_at": facts["at"].lead().over(order)}
    if "is_reformulated" in wanted:
        columns["next_user_query"] = facts.user_query.lead().over(order)
    facts = facts.mutate(**columns)
    derived = {}
    if "is_abandoned" in wanted:
        late = (facts.first_click_at >= facts.next_query_at).coalesce(False)
        derived["is_abandoned"] = ibis.cases(
            (facts.result_count > 0, (facts.clicks == 0) | late), else_=ibis.null("boolean")
        )
    if "is_reformulated" in wanted:
        seconds = elapsed_seconds(facts["at"], facts.next_query_at)
        is_near = (seconds <= settings.reformulation_minutes * 60).coalesce(False)
        similar = is_similar(facts.user_query, facts.next_user_query, facts.get_backend())
        derived["is_reformulated"] = ibis.cases(
            (facts.user_query.isnull(), ibis.null("boolean")),
            (~is_near | facts.next_user_query.isnull(), ibis.literal(False)),
            else_=similar.coalesce(False),
        )
    return facts.mutate(**derived) if derived else facts


def check_columns(names: Iterable[str], tables: EventTables, purpose: str) -> None:
    """Refuse names that are neither a column of the queries nor a fact."""
    columns = tables.queries.columns
    for name in names:
        if name not in columns and not is_derived(name):
            hint = did_you_mean(name, [*columns, *FACTS])
            raise InputError(
                f"{purpose}: there is no column {name} of a query; {hint + ' ' if hint else ''}"
                f"columns of the log: {', '.join(columns)}; facts of a query: {', '.join(FACTS)}"
            )


def fact_names(metrics: Iterable[Metric]) -> set[str]:
    """Return the facts that metrics need."""
    return {name for metric in metrics for name in metric.facts}
