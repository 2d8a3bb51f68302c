"""Programs among the clients of a log, told by stated rules, and left out of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.core.errors import InputError
from assay.core.events import Place, Problem
from assay.online.event_tables import EventTables, count_rows, fetch_rows, load_ibis

if TYPE_CHECKING:
    from ibis.expr.types import Table

AGENT_PATTERN = (
    r"bot\b|bot/|crawl|spider|slurp|headless|phantomjs|selenium|python-requests|python-urllib|aiohttp|httpx|"
    r"curl/|wget/|go-http-client|okhttp|apache-httpclient|java/|libwww|scrapy|monitor|pingdom|lighthouse"
)
_MOST_LISTED = 1000  # ids in one condition; more are joined as a table
_CLICKS = ("click",)
_WHOLE = dict.fromkeys(("queries_per_day", "queries_per_minute", "fast_clicks"), int)


@dataclass(frozen=True)
class BotRules:
    """When a client is taken for a program; a rule that is None is off."""

    queries_per_day: int | None = 500
    queries_per_minute: int | None = 30
    has_agents: bool = True  # whether the user agent is looked at, where the log has it
    click_seconds: float | None = 0.2  # a person does not click sooner after the query
    fast_clicks: int = 20  # how many such clicks a client needs, more than half of its clicks

    def sentences(self) -> list[str]:
        """Return the rules that are on, in words."""
        return [rule.sentence for rule in _rules(self)]

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as plain data."""
        return {
            "queries_per_day": self.queries_per_day,
            "queries_per_minute": self.queries_per_minute,
            "user_agent": self.has_agents,
            "click_seconds": self.click_seconds,
            "fast_clicks": self.fast_clicks,
        }


class _Rule(NamedTuple):
    sentence: str
    clients: Any  # a function from tables to a table with client_id, or None if the log lacks what it needs


def _rules(rules: BotRules) -> Iterator[_Rule]:
    limits = ((rules.queries_per_day, "on a day", "D"), (rules.queries_per_minute, "in a minute", "m"))
    for most, period, unit in limits:
        if most is not None:
            yield _Rule(
                f"client with more than {most:,} queries {period}",
                lambda tables, most=most, unit=unit: _frequent(tables.queries, most, unit),
            )
    if rules.has_agents:
        yield _Rule("client with the user agent of a program", _by_agent)
    if rules.click_seconds is not None:
        yield _Rule(
            f"client with {rules.fast_clicks} clicks or more, most of its clicks, less than "
            f"{rules.click_seconds:g} s after their query",
            lambda tables: _fast(tables, rules),
        )


def remove_bots(tables: EventTables, rules: BotRules) -> EventTables:
    """Return the tables without the clients that the rules take for programs, counted in the problems."""
    problems, bots = [], dict[str, None]()
    for rule in _rules(rules):
        table = rule.clients(tables)
        found = [] if table is None else sorted(row["client_id"] for row in fetch_rows(table))
        if found:
            problems.append(_problem(tables, rule.sentence, found))
            bots |= dict.fromkeys(found)
    if not bots:
        return tables
    return replace(
        tables,
        queries=_without(tables.queries, list(bots)),
        events=_without(tables.events, list(bots)),
        problems=(*tables.problems, *problems),
    )


def _problem(tables: EventTables, kind: str, clients: list[str]) -> Problem:
    """Return a rule with the clients it found, and how many of their queries and events are left out."""
    counts = [count_rows(_only(table, clients)) for table in (tables.queries, tables.events)]
    treatment = f"taken for a program; queries left out: {counts[0]:,}, events: {counts[1]:,}"
    return Problem(kind, len(clients), treatment, [Place(f"client {client}", None) for client in clients])


def _only(table: Table, clients: list[str]) -> Table:
    if len(clients) <= _MOST_LISTED:
        return table.filter(table.client_id.isin(clients))
    return table.semi_join(_listed(clients), table.client_id == _listed(clients).bot_id)


def _without(table: Table, clients: list[str]) -> Table:
    if len(clients) <= _MOST_LISTED:
        return table.filter(table.client_id.isnull() | ~table.client_id.isin(clients))
    listed = _listed(clients)
    return table.anti_join(listed, table.client_id == listed.bot_id)


def _listed(clients: list[str]) -> Table:
    return load_ibis().memtable({"bot_id": clients}, name="assay_bots")


def _frequent(queries: Table, most: int, unit: str) -> Table:
    """Return the clients with more queries than `most` on a day (D) or in a minute (m)."""
    known = queries.filter(queries.client_id.notnull(), queries["at"].notnull())
    periods = known.group_by("client_id", period=known["at"].truncate(unit)).aggregate(count=known.count())
    return periods.filter(periods["count"] > most).select("client_id").distinct()


def _by_agent(tables: EventTables) -> Table | None:
    found = [
        table.filter(table.client_id.notnull(), table.user_agent.lower().re_search(AGENT_PATTERN))
        .select("client_id")
        .distinct()
        for table in (tables.queries, tables.events)
        if "user_agent" in table.columns
    ]
    if not found:
        return None
    return found[0] if len(found) == 1 else found[0].union(found[1], distinct=True)


def _fast(tables: EventTables, rules: BotRules) -> Table:
    """Return the clients most of whose clicks come too soon; first only those with enough clicks."""
    clicks = tables.events.filter(
        tables.events.action.isin(_CLICKS),
        tables.events.client_id.notnull(),
        ~tables.events.is_repeated.fill_null(False),
    )
    counts = clicks.group_by("client_id").aggregate(clicks=clicks.count())
    active = counts.filter(counts.clicks >= rules.fast_clicks)
    of_active = clicks.semi_join(active, "client_id").select("client_id", "query_id", clicked="at")
    asked = tables.queries.select(asked_id="query_id", asked="at")
    joined = of_active.inner_join(asked, of_active.query_id == asked.asked_id)
    seconds = (
        joined.clicked.epoch_seconds()
        - joined.asked.epoch_seconds()
        + (joined.clicked.millisecond() - joined.asked.millisecond()) / 1000
    )
    is_fast = (seconds >= 0) & (seconds < rules.click_seconds)
    by_client = joined.group_by("client_id").aggregate(fast=is_fast.sum(), clicks=joined.count())
    enough = (by_client.fast >= rules.fast_clicks) & (by_client.fast * 2 > by_client.clicks)
    return by_client.filter(enough).select("client_id")


def parse_bot_rules(text: str) -> BotRules | None:
    """Return the rules of a text: `off`, `default`, or rules such as `queries_per_day=200,user_agent=off`.

    >>> parse_bot_rules("queries_per_day=200,click_seconds=off")
    BotRules(queries_per_day=200, queries_per_minute=30, has_agents=True, click_seconds=None, fast_clicks=20)
    """
    if text == "off":
        return None
    fields: dict[str, Any] = {}
    for part in text.split(",") if text != "default" else ():
        name, _, value = (word.strip() for word in part.partition("="))
        fields |= _parse_rule(name, value, text)
    return BotRules(**fields)


def _parse_rule(name: str, value: str, text: str) -> dict[str, Any]:
    try:
        if name == "user_agent" and value in ("on", "off"):
            return {"has_agents": value == "on"}
        if name in ("queries_per_day", "queries_per_minute", "click_seconds") and value == "off":
            return {name: None}
        number = (float if name == "click_seconds" else _WHOLE[name])(value)
        if number <= 0:
            raise ValueError
    except (KeyError, ValueError):
        raise InputError(
            "bot rules are off, default, or some of queries_per_day=N, queries_per_minute=N, "
            f"user_agent=on|off, click_seconds=S, fast_clicks=N, separated by commas; found {text!r}"
        ) from None
    return {name: number}
