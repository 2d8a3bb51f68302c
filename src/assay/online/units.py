"""Metrics of units (users): one row per unit, in the database of the log, and the sums over units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from assay.online.event_tables import EventTables, fetch_rows, load_ibis
from assay.online.metrics.metric import DEFAULT_SETTINGS, Metric, MetricSettings
from assay.online.metrics.query_facts import check_columns, fact_names, query_facts
from assay.online.metrics.sessions import LogProfile
from assay.stats.moments import Moments

if TYPE_CHECKING:
    from ibis.expr.types import Table, Value

UNIT = "client_id"
_DENOMINATOR = "__denominator"


@dataclass(frozen=True)
class UnitQueries:
    """The facts of each query with the unit it belongs to: what tables of units are grouped from."""

    tables: EventTables
    metrics: Sequence[Metric]
    by: Sequence[str] = ()  # columns of the queries or facts, such as day
    unit: str = UNIT
    settings: MetricSettings = DEFAULT_SETTINGS
    profile: LogProfile | None = None

    @cached_property
    def facts(self) -> Table:
        """The facts that the metrics need."""
        check_columns([self.unit], self.tables, "--unit")
        check_columns(self.by, self.tables, "--by")
        for metric in self.metrics:
            check_columns(metric.facts - {*metric.aggregates}, self.tables, f"metric {metric.name}")
        names = {*fact_names(self.metrics), *self.by}
        if any(metric.scope == "session" for metric in self.metrics):
            names |= {"session"}
        aggregates = {name: a for metric in self.metrics for name, a in metric.aggregates.items()}
        facts = query_facts(self.tables, names, self.settings, self.profile, aggregates)
        return facts.mutate(unit_id=unit_of(facts, self.unit))

    @property
    def columns(self) -> list[str]:
        """The columns that a table of units needs."""
        names = {*fact_names(self.metrics), *self.by, "unit_id", "variant", "at"}
        names |= {name for metric in self.metrics for name in metric.aggregates}
        names |= {"censored_clicks"} if "dwell_clicks" in names else set()
        if any(metric.scope == "session" for metric in self.metrics):
            names |= {"session"}
        return [name for name in self.facts.columns if name in names]

    def unit_table(self, by: Sequence[str] = (), facts: Table | None = None) -> Table:
        """Return one row per unit and value of the `by` columns: each metric, and when it was first seen.

        A ratio has a second column, METRIC__denominator; both are null for a unit without any.
        """
        facts = self.facts if facts is None else facts
        keys = ["unit_id", *by]
        has_sessions = any(metric.scope == "session" for metric in self.metrics)
        units = _sum_sessions(facts, keys, self.metrics) if has_sessions else self._sum_queries(facts, keys)
        if has_sessions and any(metric.scope == "unit" for metric in self.metrics):
            units = _join_units(units, self._aggregate_units(facts, keys), keys)
        return units.select(*keys, "first_at", **self._defined(units))

    def _sum_queries(self, facts: Table, keys: Sequence[str]) -> Table:
        """Return the sums of the queries of each unit."""
        sums: dict[str, Value] = {"first_at": facts["at"].min()}
        for number, metric in enumerate(self.metrics):
            if metric.scope == "unit":
                sums |= _aggregates(facts, metric, number)
            elif metric.quantile is None:
                value, weight = _parts(facts, metric)
                sums |= {f"v{number}": value.sum(), f"w{number}": weight.sum()}
        return facts.group_by(keys).aggregate(**sums)

    def _aggregate_units(self, facts: Table, keys: Sequence[str]) -> Table:
        """Return the metrics of units that are not sums over queries."""
        sums: dict[str, Value] = {}
        for number, metric in enumerate(self.metrics):
            if metric.scope == "unit":
                sums |= _aggregates(facts, metric, number)
        return facts.group_by(keys).aggregate(**sums)

    def _defined(self, units: Table) -> dict[str, Value]:
        """Return the columns of the metrics by their names; undefined for a unit without denominator."""
        columns: dict[str, Value] = {}
        for number, metric in enumerate(self.metrics):
            if metric.quantile is not None:
                continue
            value = units[f"v{number}"].cast("float64")
            if metric.is_ratio:
                weight = units[f"w{number}"].cast("float64").nullif(0.0)
                columns[metric.name] = weight.notnull().ifelse(
                    value.coalesce(0.0), load_ibis().null("float64")
                )
                columns[metric.name + _DENOMINATOR] = weight
            else:
                columns[metric.name] = value
        return columns


def unit_table(
    tables: EventTables,
    metrics: Sequence[Metric],
    by: Sequence[str] = (),
    unit: str = UNIT,
    settings: MetricSettings = DEFAULT_SETTINGS,
) -> Table:
    """Return one row per unit, variant and value of the `by` columns, with the metrics of each.

    The columns are unit_id, variant, those of `by`, first_at (its first query), METRIC, and for a ratio
    METRIC__denominator. Quantiles have no such column: see `query_values`.
    """
    queries = UnitQueries(tables, metrics, by, unit, settings)
    return queries.unit_table(["variant", *(name for name in by if name != "variant")])


def query_values(
    tables: EventTables,
    metric: Metric,
    by: Sequence[str] = (),
    unit: str = UNIT,
    settings: MetricSettings = DEFAULT_SETTINGS,
) -> Table:
    """Return the value of each query with its unit, variant and `by` columns: what a quantile is of."""
    facts = UnitQueries(tables, [metric], by, unit, settings).facts
    facts = facts.mutate(value=metric.value(facts).cast("float64")).filter(lambda t: t.value.notnull())
    return facts.select("unit_id", "variant", *(name for name in by if name != "variant"), "value")


def unit_of(queries: Table, unit: str) -> Value:
    """Return the unit of each query: without an id of the unit, its session, else the query itself."""
    return queries[unit].cast("string").coalesce(queries.session_id, queries.query_id)


def _parts(facts: Table, metric: Metric) -> tuple[Value, Value]:
    """Return the numerator and the denominator of each query as numbers."""
    value = _number(metric.value(facts))
    weight = metric.weight(facts) if metric.weight else value.notnull().ifelse(1, 0)
    return value, _number(weight)


def _sum_sessions(facts: Table, keys: Sequence[str], metrics: Sequence[Metric]) -> Table:
    """Return the sums of the queries and the sessions of each unit, by way of the sums of each session."""
    sums: dict[str, Value] = {"first_at": facts["at"].min()}
    for number, metric in enumerate(metrics):
        if metric.scope == "session":
            sums[f"v{number}"] = _number(metric.value(facts)).max()
        elif metric.scope == "query" and metric.quantile is None:
            value, weight = _parts(facts, metric)
            sums |= {f"v{number}": value.sum(), f"w{number}": weight.sum()}
    sessions = facts.group_by([*keys, "session"]).aggregate(**sums)
    totals = {"first_at": sessions.first_at.min()}
    for name in (name for name in sums if name != "first_at"):
        totals[name] = sessions[name].sum()
    for number, metric in enumerate(metrics):
        if metric.scope == "session":
            totals[f"w{number}"] = sessions[f"v{number}"].count()
    return sessions.group_by(list(keys)).aggregate(**totals)


def _join_units(units: Table, others: Table, keys: Sequence[str]) -> Table:
    """Return two tables of the same units side by side; a key may be null."""
    others = others.rename({f"other_{key}": key for key in keys})
    same = [units[key].identical_to(others[f"other_{key}"]) for key in keys]
    return units.inner_join(others, same).drop(*(f"other_{key}" for key in keys))


def _number(value: Value) -> Value:
    """Return a number; a truth is 0 or 1."""
    ibis = load_ibis()
    if value.type().is_boolean():
        value = ibis.cases((value, 1), (~value, 0), else_=ibis.null("int64"))  # PostgreSQL casts no truth
    return value.cast("float64")


def _aggregates(facts: Table, metric: Metric, number: int) -> dict[str, Value]:
    sums = {f"v{number}": metric.value(facts)}
    return sums | ({f"w{number}": metric.weight(facts)} if metric.weight else {})


def unit_moments(units: Table, metrics: Sequence[Metric], by: Sequence[str] = ()) -> list[UnitMoments]:
    """Return the sums over units of each metric, for each value of the `by` columns; one scan."""
    sums: dict[str, Value] = {"units": units.count()}
    for number, metric in enumerate(m for m in metrics if m.quantile is None):
        sums |= _moment_sums(units, metric, number)
    rows = units.group_by(list(by)).aggregate(**sums) if by else units.aggregate(**sums)
    return [_read_moments(row, metrics, by) for row in fetch_rows(rows)]


@dataclass(frozen=True)
class UnitMoments:
    """The sums over units of the metrics, in one slice."""

    slice: tuple[Any, ...]  # the values of the `by` columns
    units: int
    moments: Mapping[str, Moments]


def _moment_sums(units: Table, metric: Metric, number: int) -> dict[str, Value]:
    value = units[metric.name]
    sums = {f"n{number}": value.count(), f"s{number}": value.sum(), f"q{number}": (value * value).sum()}
    if metric.is_ratio:
        weight = units[metric.name + _DENOMINATOR]
        sums |= {f"d{number}": weight.sum(), f"e{number}": (weight * weight).sum()}
        sums[f"c{number}"] = (value * weight).sum()
    return sums


def _read_moments(row: Mapping[str, Any], metrics: Sequence[Metric], by: Sequence[str]) -> UnitMoments:
    moments = {}
    for number, metric in enumerate(m for m in metrics if m.quantile is None):
        names = {"n": "n", "sum": "s", "sum_squares": "q"}
        if metric.is_ratio:
            names |= {"denominator_sum": "d", "denominator_sum_squares": "e", "cross": "c"}
        sums = {name: row[f"{letter}{number}"] or 0 for name, letter in names.items()}
        moments[metric.name] = Moments.from_fields(sums)
    return UnitMoments(tuple(row[name] for name in by), int(row["units"]), moments)
