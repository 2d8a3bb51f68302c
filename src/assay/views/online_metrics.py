"""Online metrics as tables and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.online.measured_metrics import MetricSlice, OnlineMetrics
from assay.online.metrics import Metric
from assay.stats import Estimate
from assay.views import text
from assay.views.html import IntervalPlot, PlotRow
from assay.views.numbers import (
    NO_VALUE,
    format_bounds,
    format_count,
    format_exact,
    format_short,
    format_value,
)
from assay.views.sections import Section, render_sections

FORMATS = ("table", "csv", "md", "html", "latex")
_BETTER = {True: "lower", False: "higher", None: ""}


def render_metrics(result: OnlineMetrics, style: str) -> str:
    """Return online metrics in one of the styles."""
    if style == "csv":
        return text.render_csv(*_csv_rows(result))
    return render_sections("Online metrics", report_sections(result), style)


def report_sections(result: OnlineMetrics) -> list[Section]:
    """Return the metrics, their slices, what they are computed from and the problems of the log."""
    return [
        _metrics_section(result),
        *_slice_sections(result),
        Section("definitions", _definitions(result)),
        Section("how it was computed", _notes(result)),
        _problem_section(result),
    ]


def _metrics_section(result: OnlineMetrics) -> Section:
    head = ["metric", "value", f"{100 * result.level:g} % interval", "units", "better"]
    rows = []
    for metric in result.metrics:
        e = result.estimates[metric.name]
        better = _BETTER[metric.lower_is_better]
        rows.append([metric.name, *_cells(e, metric), format_count(e.n), better])
    return Section("", [_describe_counts(result)], head, rows, plot=_plot(result))


def _definitions(result: OnlineMetrics) -> list[str]:
    """Return the definition of each metric; those of one rank after the first follow from it."""
    shown = [m for m in result.metrics if not (m.name.startswith("ctr@") and m.name != "ctr@1")]
    return [f"{metric.name}: {metric.definition}" for metric in shown]


def _plot(result: OnlineMetrics) -> IntervalPlot | None:
    """Return the intervals of the shares, which have one scale."""
    shares = [(metric, result.estimates[metric.name]) for metric in result.metrics if metric.is_share]
    rows = [PlotRow("", m.name, (e.low, e.value, e.high), 0) for m, e in shares if e.value is not None]
    return IntervalPlot("shares of queries and sessions", rows) if rows else None


def _cells(e: Estimate, metric: Metric) -> list[str]:
    number = format_value if not metric.unit else _format_amount
    value = number(e.value)
    if metric.unit and e.value is not None:
        value += f" {metric.unit}"
    return [value, NO_VALUE if e.has_no_interval else format_bounds(e.low, e.high, number)]


def _format_amount(value: float | None) -> str:
    return format_short(value)


def _describe_counts(result: OnlineMetrics) -> str:
    counts = result.counts
    parts = [f"{counts[name]:,} {name}" for name in ("queries", "events", "clients", "sessions")]
    unit = "client" if result.unit == "client_id" else result.unit
    return f"{', '.join(parts)}; intervals are over {counts['units']:,} units ({unit})"


def _slice_sections(result: OnlineMetrics) -> list[Section]:
    columns = dict.fromkeys(part.column for part in result.slices)
    return [_slice_section(result, [p for p in result.slices if p.column == column]) for column in columns]


def _slice_section(result: OnlineMetrics, parts: Sequence[MetricSlice]) -> Section:
    head = [parts[0].column, "metric", "value", f"{100 * result.level:g} % interval", "units"]
    rows = []
    for part in parts:
        for metric in result.metrics:
            e = part.estimates[metric.name]
            if e.value is not None:
                label = NO_VALUE if part.value is None else part.value
                rows.append([label, metric.name, *_cells(e, metric), format_count(e.n)])
    return Section(f"by {parts[0].column}", (), head, rows)


def _notes(result: OnlineMetrics) -> list[str]:
    names = {metric.name for metric in result.metrics}
    settings, notes = result.settings, []
    if "abandonment" in names:
        notes.append(
            "abandonment is not always bad: an answer on the result page needs no click (good abandonment)"
        )
    if "dwell" in names:
        censored = result.counts.get("censored_clicks", 0)
        notes.append(
            f"dwell leaves out {censored:,} censored clicks: nothing follows them in their session, so how "
            "long they lasted is unknown"
        )
    if "reformulation" in names:
        notes.append(
            f"a reformulation comes within {settings.reformulation_minutes:g} minutes; near is an edit "
            "distance of at most a third of the longer query; the same text again is none"
        )
    if "completion" in names:
        notes.append(f"completing actions: {', '.join(settings.completions)} (--completion ACTION)")
    notes += _session_notes(result)
    notes += [
        f"{name}: values of queries above {cap:g} count as {cap:g}" for name, cap in result.caps.items()
    ]
    return notes + _describe_reasons(result.reasons)


def _session_notes(result: OnlineMetrics) -> list[str]:
    uses_sessions = {"abandonment", "reformulation", "session_success", "dwell"}
    if result.counts["sessions"] or not uses_sessions & {metric.name for metric in result.metrics}:
        return []
    return [
        f"the log names no sessions: they were split after {result.settings.idle_minutes:g} minutes without "
        "a query or an event of the client"
    ]


def _describe_reasons(reasons: Mapping[str, str]) -> list[str]:
    """Return one note for each reason, with the metrics that it is about."""
    grouped: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        grouped.setdefault(reason, []).append(name)
    return [f"{', '.join(names)}: {reason}" for reason, names in grouped.items()]


def _problem_section(result: OnlineMetrics) -> Section:
    rows = [[p.kind, format_count(p.count), p.treatment, p.example] for p in result.problems]
    return Section("problems of the log", (), ["kind", "count", "treatment", "example"], rows)


def _csv_rows(result: OnlineMetrics) -> tuple[list[str], list[list[str]]]:
    head = ["metric", "column", "slice", "value", "low", "high", "n", "unit"]
    rows = []
    parts = [("", "", result.estimates), *((s.column, s.value or "", s.estimates) for s in result.slices)]
    for column, value, estimates in parts:
        for metric in result.metrics:
            e = estimates[metric.name]
            rows.append([metric.name, column, value, *map(format_exact, e[:3]), str(e.n), metric.unit])
    return head, rows
