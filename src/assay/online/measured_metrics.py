"""Online metrics of a log with intervals, whole and by slice."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from assay.core.document_clicks import DocumentClicks
from assay.core.events import Problem
from assay.core.tables import Queries
from assay.online.event_tables import EventTables, fetch_row
from assay.online.metrics.metric import DEFAULT_SETTINGS, Metric, MetricSettings
from assay.online.metrics.sessions import LogProfile
from assay.online.metrics.winsorised import winsorise
from assay.online.unit_quantiles import unit_quantiles
from assay.online.units import UNIT, UnitQueries, unit_moments
from assay.stats import Estimate
from assay.stats.moments import Moments
from assay.stats.unit_differences import arm_estimate

if TYPE_CHECKING:
    from ibis.expr.types import Table

COMPLETION = "completion"
_CENSORED = Metric(
    "censored_clicks", "clicks without a dwell time", lambda t: t.censored_clicks, is_per_unit=True
)
Report = Callable[[str], None]  # receives what is computed next


@dataclass(frozen=True)
class MetricSlice:
    """The metrics of the queries that share the value of a column."""

    column: str
    value: str | None
    units: int
    estimates: Mapping[str, Estimate]

    def to_dict(self) -> dict[str, Any]:
        """Return the slice as plain data."""
        metrics = {name: e.to_dict() for name, e in self.estimates.items()}
        return {"column": self.column, "value": self.value, "units": self.units, "metrics": metrics}


@dataclass(frozen=True)
class OnlineMetrics:
    """Online metrics with their intervals, what they were computed from, and the problems of the log."""

    metrics: Sequence[Metric]
    estimates: Mapping[str, Estimate]
    counts: Mapping[str, int]
    problems: Sequence[Problem] = ()
    slices: Sequence[MetricSlice] = ()
    moments: Mapping[str, Moments] = field(default_factory=dict)
    unit: str = UNIT
    settings: MetricSettings = DEFAULT_SETTINGS
    level: float = 0.95
    caps: Mapping[str, float] = field(default_factory=dict)  # where values were cut, by metric
    reasons: Mapping[str, str] = field(default_factory=dict)  # why a metric has no value or no interval
    searches: Queries | None = None  # what users searched for, if that was asked for
    document_clicks: DocumentClicks | None = None  # of each text of a query, if that was asked for

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics as plain data, as `assay online metrics --format json` prints them."""
        return {
            "metrics": {name: e.to_dict() for name, e in self.estimates.items()},
            "counts": dict(self.counts),
            "problems": [problem.to_dict() for problem in self.problems],
            "by": [part.to_dict() for part in self.slices],
            "moments": {name: moments.to_dict() for name, moments in self.moments.items()},
            "definitions": {metric.name: metric.definition for metric in self.metrics},
            "unit": self.unit,
            "level": self.level,
            "caps": dict(self.caps),
            "reasons": dict(self.reasons),
        }


def measure_metrics(
    tables: EventTables,
    metrics: Sequence[Metric],
    by: Sequence[str] = (),
    *,
    unit: str = UNIT,
    settings: MetricSettings = DEFAULT_SETTINGS,
    level: float = 0.95,
    report: Report = lambda step: None,
) -> OnlineMetrics:
    """Compute metrics of a log, whole and for each value of the `by` columns, one column at a time."""
    report("counting the log")
    profile = LogProfile.of(tables)
    counts = count_log(tables, profile)
    queries = UnitQueries(tables, metrics, by, unit, settings, profile)
    facts = queries.facts.select(queries.columns)
    report("joining the events of each query")
    is_kept = bool(by) or settings.winsorise is not None  # what is read once needs no table of its own
    with facts.cache() if is_kept else nullcontext(facts) as facts:
        caps: dict[str, float] = {}
        if settings.winsorise is not None:
            cut, caps = winsorise(metrics, facts, settings.winsorise)
            queries = replace(queries, metrics=cut)
        report("summing the metrics of each unit")
        (whole,) = _measure(_with_censored(queries), facts, (), level, None if is_kept else queries)
        unlogged = {m.name for m in metrics if m.name == COMPLETION and not whole.moments[m.name].sum}
        slices = _measure_slices(queries, facts, by, level, unlogged, report)
    return OnlineMetrics(
        metrics,
        _undefine({metric.name: whole.estimates[metric.name] for metric in metrics}, unlogged),
        {**counts, "units": whole.units, **_count_censored(whole)},
        (*tables.problems, *_unit_problems(tables, profile, unit)),
        slices,
        {name: moments for name, moments in whole.moments.items() if name != _CENSORED.name},
        unit,
        settings,
        level,
        caps,
        {
            **_reasons({metric.name: whole.estimates[metric.name] for metric in metrics}),
            **whole.reasons,
            **dict.fromkeys(unlogged, "the log has no such action"),
        },
    )


def _measure_slices(
    queries: UnitQueries,
    facts: Table,
    by: Sequence[str],
    level: float,
    unlogged: Collection[str],
    report: Report,
) -> list[MetricSlice]:
    """Return the metrics for each value of each column; those of `unlogged` names have no value."""
    slices = []
    for column in by:
        report(f"summing by {column}")
        parts = _measure(queries, facts, (column,), level)
        parts = [replace(part, estimates=_undefine(part.estimates, unlogged)) for part in parts]
        slices += _sorted_slices(parts, column)
    return slices


@dataclass(frozen=True)
class _Measured:
    """The metrics of one slice."""

    slice: tuple[Any, ...]
    units: int
    estimates: Mapping[str, Estimate]
    moments: Mapping[str, Moments]
    reasons: Mapping[str, str]


def _measure(
    queries: UnitQueries,
    facts: Table,
    by: Sequence[str],
    level: float,
    of_quantiles: UnitQueries | None = None,
) -> list[_Measured]:
    """Return the metrics of each slice; the facts `of_quantiles` are read several times, and are few."""
    asked = [metric for metric in queries.metrics if metric.quantile is not None]
    read = facts if of_quantiles is None else replace(of_quantiles, metrics=asked).facts
    quantiles = unit_quantiles(read, asked, by, level)
    by_name = {metric.name: metric for metric in queries.metrics}
    measured = []
    for part in unit_moments(queries.unit_table(by, facts), queries.metrics, by):
        estimates = {
            name: _clip(arm_estimate(moments, level), by_name[name]) for name, moments in part.moments.items()
        }
        clustered = quantiles.get(part.slice, {})
        estimates |= {name: quantile.estimate for name, quantile in clustered.items()}
        order = {metric.name: estimates[metric.name] for metric in queries.metrics}
        reasons = {name: quantile.reason for name, quantile in clustered.items() if quantile.reason}
        measured.append(_Measured(part.slice, part.units, order, part.moments, reasons))
    return measured


def _undefine(estimates: Mapping[str, Estimate], names: Collection[str]) -> dict[str, Estimate]:
    """Return estimates without a value for metrics of an action that the log never has."""
    return {
        name: Estimate(None, None, None, e.level, 0) if name in names else e for name, e in estimates.items()
    }


def _clip(estimate: Estimate, metric: Metric) -> Estimate:
    """Return an estimate whose interval lies within the values that the metric can have."""
    low, high = estimate.low, estimate.high
    if low is None or high is None or metric.may_be_negative:
        return estimate
    return estimate._replace(low=max(low, 0.0), high=min(high, 1.0) if metric.is_share else high)


def _sorted_slices(parts: Sequence[_Measured], column: str) -> list[MetricSlice]:
    """Return slices in the order of their values; the queries without a value come last."""
    ordered = sorted(parts, key=lambda part: (part.slice[0] is None, _sort_key(part.slice[0])))
    return [MetricSlice(column, _text(part.slice[0]), part.units, part.estimates) for part in ordered]


def _sort_key(value: Any) -> tuple[float, str]:
    return (float(value), "") if isinstance(value, int | float) else (0.0, str(value))


def _text(value: Any) -> str | None:
    """Return the value of a slice as text."""
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    return None if value is None else str(value)


def count_log(tables: EventTables, profile: LogProfile) -> dict[str, int]:
    """Return how many queries, events, clients and sessions there are."""
    columns = ["client_id", "session_id"]
    pairs = tables.queries.select(columns).distinct().union(tables.events.select(columns).distinct())
    ids = fetch_row(pairs.aggregate(clients=pairs.client_id.nunique(), sessions=pairs.session_id.nunique()))
    counted = {"queries": profile.queries, "events": profile.events, **ids}
    return {name: int(count) for name, count in counted.items()}


def _with_censored(queries: UnitQueries) -> UnitQueries:
    """Return the metrics with the number of clicks that have no next event or query in their session."""
    has_dwell = any("dwell_clicks" in metric.facts for metric in queries.metrics)
    return replace(queries, metrics=[*queries.metrics, _CENSORED]) if has_dwell else queries


def _count_censored(whole: _Measured) -> dict[str, int]:
    moments = whole.moments.get(_CENSORED.name)
    return {} if moments is None else {_CENSORED.name: int(moments.sum)}


def _unit_problems(tables: EventTables, profile: LogProfile, unit: str) -> list[Problem]:
    problems = []
    missing = profile.queries - profile.query_clients
    if unit == UNIT and missing:
        problems.append(Problem("query without client_id", missing, "its session is the unit, or itself", ()))
    return problems


def _reasons(measured: Mapping[str, Estimate]) -> dict[str, str]:
    """Return why metrics have no value, or no interval."""
    reasons = {}
    for name, e in measured.items():
        if e.value is None:
            reasons[name] = "the log has no query that it is defined for"
        elif e.has_no_interval:
            reasons[name] = "one unit has no spread" if e.n < 2 else "all units are alike"
    return reasons
