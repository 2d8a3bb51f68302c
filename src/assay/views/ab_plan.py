"""The plan of an A/B test as tables and sentences."""

from __future__ import annotations

from assay.online.ab.plan import ABPlan, PlannedMetric
from assay.views import text
from assay.views.numbers import (
    NO_VALUE,
    format_bounds,
    format_count,
    format_exact,
    format_ratio,
    format_short,
)
from assay.views.sections import Section, render_sections

FORMATS = ("table", "csv", "md", "html", "latex")
_METHODS = {
    "fixed": "one look, at the planned end",
    "group-sequential": "{looks} planned looks (group-sequential)",
    "always-valid": "any number of looks (always valid)",
}


def render_plan(plan: ABPlan, style: str) -> str:
    """Return a plan in one of the styles."""
    if style == "csv":
        return text.render_csv(*_csv_rows(plan))
    return render_sections("Plan of an A/B test", report_sections(plan), style)


def report_sections(plan: ABPlan) -> list[Section]:
    """Return the past of the metrics, the units that effects need, and the effects that days can show."""
    return [
        Section("", [describe_design(plan)]),
        _baseline_section(plan),
        _effect_section(plan),
        _duration_section(plan),
        Section("how it was computed", _notes(plan)),
    ]


def describe_design(plan: ABPlan) -> str:
    """Return how the test is planned, as a sentence."""
    design = plan.design
    method = _METHODS[design.method].format(looks=design.looks)
    share = "" if design.coverage == 1 else f", with {100 * design.coverage:g} % of the units"
    return (
        f"{design.arms} arms of equal size{share}, power {design.power:g}, level {design.level:g}; {method}"
    )


def _baseline_section(plan: ABPlan) -> Section:
    head = ["metric", "until now", f"{100 * plan.design.level:g} % interval", "units", "deviation", "CUPED"]
    rows = [
        [
            metric.metric,
            format_short(metric.baseline.value),
            _interval(metric),
            format_count(metric.baseline.n or None),
            format_short(metric.deviation),
            NO_VALUE if metric.variance_reduction is None else f"−{100 * metric.variance_reduction:.0f} %",
        ]
        for metric in plan.metrics
    ]
    return Section("the metrics until now", (), head, rows)


def _interval(metric: PlannedMetric) -> str:
    e = metric.baseline
    return NO_VALUE if e.has_no_interval else format_bounds(e.low, e.high, format_short)


def _effect_section(plan: ABPlan) -> Section:
    head = ["metric", "difference", "absolute", "units of all arms", "days"]
    rows = [
        [
            metric.metric,
            str(effect.effect),
            format_short(effect.absolute),
            format_count(effect.n),
            format_count(effect.days),
        ]
        for metric in plan.metrics
        for effect in metric.effects
    ]
    return Section("units that show a difference", (), head, rows)


def _duration_section(plan: ABPlan) -> Section:
    head = ["metric", "days", "units of all arms", "smallest difference", "relative"]
    rows = [
        [
            metric.metric,
            format_count(duration.days),
            format_count(duration.n),
            format_short(duration.detectable),
            NO_VALUE if duration.relative is None else f"{100 * duration.relative:.2f} %",
        ]
        for metric in plan.metrics
        for duration in metric.durations
    ]
    return Section("the smallest difference that is shown", (), head, rows)


def _notes(plan: ABPlan) -> list[str]:
    notes = []
    if plan.design.inflation != 1:
        times = format_ratio(plan.design.inflation)
        notes.append(f"looks before the end take {times} times the units of a single look at the end")
    if plan.units_by_day:
        total = format_short(sum(plan.units_by_day))
        notes.append(
            f"new units by day as in the data ({total} in {len(plan.units_by_day)} days); after them, the "
            "mean of the last seven days"
            if plan.design.units_per_day is None
            else f"{format_short(plan.units_by_day[0])} units take part on a day"
        )
    else:
        notes.append("days are unknown: give data with days, or --units-per-day")
    notes += [f"{metric.metric}: {metric.reason}" for metric in plan.metrics if metric.reason]
    return [*notes, *plan.notes]


def _csv_rows(plan: ABPlan) -> tuple[list[str], list[list[str]]]:
    head = ["metric", "baseline", "deviation", "effect", "is_relative", "n", "days", "detectable", "relative"]
    rows = []
    for metric in plan.metrics:
        first = [metric.metric, format_exact(metric.baseline.value), format_exact(metric.deviation)]
        for effect in metric.effects:
            size = [repr(effect.effect.value), str(effect.effect.is_relative).lower()]
            rows.append([*first, *size, _text(effect.n), _text(effect.days), "", ""])
        for duration in metric.durations:
            size = ["", "", str(duration.n), _text(duration.days)]
            ends = [format_exact(duration.detectable), format_exact(duration.relative)]
            rows.append([*first, *size, *ends])
    return head, rows


def _text(count: int | None) -> str:
    return "" if count is None else str(count)
