"""Experiments as a list, in full, their differences and trends; also as JSON, CSV, Markdown and HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from assay.core.records import Experiment
from assay.core.settings import is_number
from assay.evaluation.configuration import differing_settings, flatten_settings
from assay.evaluation.experiment_fields import ExperimentField
from assay.evaluation.trends import Trend, TrendComparison, TrendPoint, WatchStatus
from assay.views import text
from assay.views.numbers import (
    NO_VALUE,
    format_bounds,
    format_exact,
    format_p,
    format_p_sentence,
    format_short,
    format_signed,
    format_value,
)
from assay.views.sections import Section, render_sections
from assay.views.trends import describe_reason, describe_skipped, describe_status

_MAX_SETTINGS = 4  # that fit in a list
_LEVEL_NOTE = "level: the mean of the experiments since the last change"
_STATES = {"better": "better", "worse": "worse", "open": "no change is shown"}
_MARKS = {"break": "┄ break", "better": "▲ better", "worse": "▼ worse", "": ""}


def render_experiments(
    experiments: Sequence[Experiment], style: str, fields: Sequence[ExperimentField] = ()
) -> str:
    """Experiments with the values of these fields, one per line."""
    settings = differing_settings({e.id: e.configuration for e in experiments})
    few = list(settings) if style == "csv" or len(settings) <= _MAX_SETTINGS else []
    own = {"id", "name", "at", "tags", "pin"}
    few_heads = [f"params.{key}" if key in own else key for key in few]
    head = ["id", "name", "at", *map(str, fields), *few_heads, "tags", "pin"]
    rows = []
    for e in experiments:
        values = [_format_field(field, field.value(e), style) for field in fields]
        cells = [_format_setting(settings[key][e.id], style) for key in few]
        at = e.at.isoformat() if style == "csv" else format_time(e.at)
        rows.append([e.id, e.name, at, *values, *cells, " ".join(e.tags), "pinned" if e.pinned else ""])
    if style == "csv":
        return text.render_csv(head, rows)
    return render_sections("Experiments", [Section("", () if rows else ["no experiment"], head, rows)], style)


def _format_field(field: ExperimentField, value: Any, style: str) -> str:
    """The value of an experiment as a cell; a measure has four decimals, other numbers as many as needed."""
    if field.space == "params" or not (value is None or is_number(value)):
        return _format_setting(value, style)
    if style == "csv":
        return format_exact(value)
    return format_value(value) if field.space == "metrics" else format_short(value)


def format_time(at: datetime) -> str:
    """A time to the minute.

    >>> format_time(datetime(2026, 1, 31, 12, 5))
    '2026-01-31 12:05'
    """
    return f"{at:%Y-%m-%d %H:%M}"


def _format_setting(value: Any, style: str = "table") -> str:
    if value is None:
        return "" if style == "csv" else NO_VALUE
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def render_experiment(e: Experiment, style: str, dataset: str | None = None) -> str:
    """An experiment in full, with the version of the evaluation set that it used if that is known."""
    if style == "csv":
        head = ["id", "name", "at", "measure", "column", "slice", "value", "low", "high", "n"]
        rows = [
            [e.id, e.name, e.at.isoformat(), *m[:3], *map(format_exact, m[3:6]), _format_count(m.n)]
            for m in e.metrics
        ]
        return text.render_csv(head, rows)
    return render_sections(f"Experiment {e.name}", _sections(e, style, dataset), style)


def _format_count(n: int | None) -> str:
    return "" if n is None else str(n)


def _sections(e: Experiment, style: str, dataset: str | None) -> list[Section]:
    lines = [f"{e.name} ({e.id}), {format_time(e.at)} UTC, saved by assay {e.kind}"]
    lines += [f"dataset: {dataset}"] * bool(dataset)
    lines += [f"version of the code: {e.code}"] * bool(e.code)
    lines += [f"tags: {', '.join(e.tags)}"] * bool(e.tags)
    lines += ["pinned"] * e.pinned + ["deleted"] * (e.deleted_at is not None)
    lines += [f"note: {e.note}"] * bool(e.note)
    parts = [Section("", lines), _metrics(e, style)]
    for title, values in _spaces(e).items():
        rows = [[key, _format_setting(value)] for key, value in flatten_settings(values).items()]
        parts.append(Section(title, (), ["", "value"], rows))
    return parts


def _spaces(e: Experiment) -> dict[str, Mapping[str, Any]]:
    """The settings and figures of an experiment by title."""
    return {
        "configuration": e.configuration,
        "latency": e.latency,
        "figures": e.figures,
        "how it was measured": e.policy,
        "tables by digest": e.digests,
        "other results": e.result,
        "environment": e.environment,
    }


def _metrics(e: Experiment, style: str) -> Section:
    sliced = any(m.column for m in e.metrics)
    spans = [(m.low, m.value, m.high) for m in e.metrics]
    axis = _axis([v for span in spans for v in span if v is not None], include_unit=True)
    has_bars = style == "table"
    head = ["measure", *["slice"] * sliced, "value", "interval", "n", *[_axis_label(axis)] * has_bars]
    rows = []
    for m in e.metrics:
        part = f"{m.column}: {m.value_of}" if m.column else "all"
        cells = [
            m.measure,
            *[part] * sliced,
            format_value(m.value),
            _interval(m.low, m.high),
            _format_count(m.n) or NO_VALUE,
        ]
        rows.append([*cells, *[text.render_bar(m.low, m.value, m.high, *axis)] * has_bars])
    return Section("", (), head, rows, spans, axis)


def _interval(low: float | None, high: float | None) -> str:
    return NO_VALUE if low is None or high is None else f"{format_value(low)} … {format_value(high)}"


def _axis(values: Sequence[float], include_unit: bool = False) -> tuple[float, float]:
    """The ends of the axis: the range of the values, and with `include_unit` at least 0 to 1."""
    if include_unit or not values:
        return min([0.0, *values]), max([1.0, *values])
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _axis_label(axis: tuple[float, float]) -> str:
    low, high = (f"{end:.3g}" for end in axis)
    return f"{low}{'┄' * (text.BAR_WIDTH - len(low + high))}{high}"


def render_differences(experiments: Sequence[Experiment], style: str) -> str:
    """The values that are not the same in all experiments."""
    differences = differences_dict(experiments)["differences"]
    names = [f"{e.name} ({e.id})" for e in experiments]
    rows = [[key, *(_format_setting(row[name], style) for name in names)] for key, row in differences.items()]
    if style == "csv":
        return text.render_csv(["what", *names], rows)
    notes = [] if rows else ["no difference"]
    return render_sections("What differs", [Section("", notes, ["what", *names], rows)], style)


def differences_dict(experiments: Sequence[Experiment]) -> dict[str, Any]:
    """The JSON of several experiments: the values that are not the same in all."""
    return {"differences": differing_settings({f"{e.name} ({e.id})": _all_values(e) for e in experiments})}


def _all_values(e: Experiment) -> dict[str, Any]:
    """All values of an experiment that may differ, by name."""
    spaces = {
        "params": e.configuration,
        "latency": e.latency,
        "figures": e.figures,
        "policy": e.policy,
        "digests": e.digests,
        "environment": e.environment,
    }
    plain: dict[str, Any] = {"code": e.code, "note": e.note or None, "tags": " ".join(e.tags) or None}
    for m in e.metrics:
        part = f"[{m.column}={m.value_of}]" if m.column else ""
        plain[f"metrics.{m.measure}{part}"] = None if m.value is None else round(m.value, 6)
    return plain | flatten_settings({name: values for name, values in spaces.items() if values})


def render_trend(trend: Trend, style: str, status: WatchStatus | None = None) -> str:
    """A trend in one of the formats."""
    if style == "csv":
        return text.render_csv(*_trend_csv(trend))
    part = f" of {trend.column}: {trend.slice_value}" if trend.column else ""
    sections = [
        Section("", [f"{status.state}: {describe_status(status)}"] if status else []),
        _series(trend, style),
        Section("what changed", [describe_point(p, trend) for p in trend.points if p.mark]),
        Section("the newest", _describe_newest(trend)),
        Section("how far to trust it", _describe_doubts(trend)),
    ]
    return render_sections(f"Trend of {trend.measure}{part}", sections, style)


def _series(trend: Trend, style: str) -> Section:
    spans = [(p.low, p.value, p.high) for p in trend.points]
    axis = _axis([v for span in spans for v in span if v is not None])
    has_bars = style == "table"
    head = [
        "id",
        "name",
        "at",
        trend.measure,
        "n",
        *[_axis_label(axis)] * has_bars,
        "against level",
        "p",
        "",
    ]
    rows = []
    for point, span in zip(trend.points, spans, strict=True):
        difference = point.level_comparison
        cells = [
            point.id,
            point.name,
            format_time(point.at),
            format_value(point.value),
            _format_count(point.n) or NO_VALUE,
        ]
        cells += [text.render_bar(*span, *axis)] * has_bars
        cells += [
            format_signed(difference.difference) if difference else NO_VALUE,
            format_p(difference.corrected_p if difference else None),
        ]
        rows.append([*cells, _MARKS[point.mark]])
    note = _LEVEL_NOTE if rows else f"no selected experiment has {trend.measure}"
    return Section("", [note], head, rows, spans, axis)


def describe_point(point: TrendPoint, trend: Trend) -> str:
    """A break or a change of a trend as a sentence, with the settings that changed."""
    head = f"{format_time(point.at)} {point.name} ({point.id})"
    if point.mark == "break":
        reasons = "; ".join(map(describe_reason, point.reasons))
        return f"{head}: not comparable with the experiments before: {reasons}{_describe_changes(point)}"
    difference = _describe_difference(point.level_comparison, trend.measure) if point.level_comparison else ""
    changes = _describe_changes(point) or "; no setting differs"
    return f"{head}: {point.mark} than the experiments before: {difference}{changes}"


def _describe_changes(point: TrendPoint) -> str:
    changes = [
        f"{key} {_format_setting(a)} → {_format_setting(b)}" for key, (a, b) in point.setting_changes.items()
    ]
    return f"; changed: {', '.join(changes)}" if changes else ""


def _describe_difference(difference: TrendComparison, measure: str) -> str:
    """A difference with its interval and p-value."""
    has_interval = difference.low is not None and difference.high is not None
    interval = f" ({format_bounds(difference.low, difference.high, format_signed)})" * has_interval
    p = "" if difference.corrected_p is None else f", {format_p_sentence(difference.corrected_p)}"
    return f"{measure} {format_signed(difference.difference)}{interval}{p}, {difference.method}"


def _describe_newest(trend: Trend) -> list[str]:
    """The newest experiment against the best one and the previous one."""
    differences = (("the best before", trend.best), ("the previous one", trend.previous))
    return [
        f"against {other} ({difference.other}): {_STATES[trend.state(difference)]}: "
        f"{_describe_difference(difference, trend.measure)}"
        for other, difference in differences
        if difference
    ]


def _describe_doubts(trend: Trend) -> list[str]:
    """The doubts about a trend, each once, and the experiments left out."""
    doubts = dict.fromkeys(describe_reason(reason) for point in trend.points for reason in point.doubts)
    skipped = [f"{s.name} ({s.id}) is left out: {describe_skipped(s)}" for s in trend.skipped[-3:]]
    remaining = len(trend.skipped) - len(skipped)
    return [*doubts, *skipped, *[f"{remaining:,} more are left out"] * (remaining > 0)]


def _trend_csv(trend: Trend) -> tuple[list[str], list[list[str]]]:
    head = ["id", "name", "at", "measure", "value", "low", "high", "n", "code", "mark", "difference", "p"]
    head += ["corrected_p", "why", "changed"]
    rows = []
    for p in trend.points:
        difference = p.level_comparison
        values = (
            (difference.difference, difference.p, difference.corrected_p)
            if difference
            else (None, None, None)
        )
        cells = [p.id, p.name, p.at.isoformat(), trend.measure, *map(format_exact, (p.value, p.low, p.high))]
        cells += [_format_count(p.n), p.code or "", p.mark, *map(format_exact, values)]
        rows.append(
            [
                *cells,
                "; ".join(map(describe_reason, p.reasons)),
                _describe_changes(p).removeprefix("; changed: "),
            ]
        )
    return head, rows
