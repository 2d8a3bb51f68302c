"""An A/B test as tables and sentences: its status, its metrics, its traffic and its slices."""

from __future__ import annotations

from collections.abc import Sequence

from assay.online.ab.analysis import ABTest
from assay.online.ab.comparisons import MetricResult
from assay.online.ab.parts import PartResult
from assay.online.ab.status import Status
from assay.stats import Estimate
from assay.views import text
from assay.views.html import IntervalPlot, PlotRow
from assay.views.numbers import (
    NO_VALUE,
    format_bounds,
    format_count,
    format_exact,
    format_interval,
    format_p,
    format_short,
    narrow_notes,
)
from assay.views.online_pages import (
    advice_of,
    describe_heterogeneity,
    describe_missing,
    describe_novelty,
    describe_ratio,
    format_share,
)
from assay.views.sections import Section, render_sections

FORMATS = ("table", "csv", "md", "html", "latex")
_METHODS = {
    "fixed": "fixed: one look, at the planned end; earlier looks at p find differences that are not there",
    "group-sequential": "group-sequential: alpha is spent over the looks, which may be at any time (O'Brien "
    "and Fleming)",
    "always-valid": "always valid: intervals and p hold however often one looks",
}
_PARTS_SHOWN = 60
_PROBLEM_KINDS = 6


def render_ab_test(test: ABTest, style: str) -> str:
    """Return an A/B test in one of the styles."""
    if style == "csv":
        return text.render_csv(*_csv_rows(test))
    return render_sections(f"A/B test: {test.status.label}", report_sections(test), style)


def report_sections(test: ABTest) -> list[Section]:
    """Return the status, the metrics, the traffic, the slices, the days and how it was computed."""
    return [
        Section("", describe_status(test.status)),
        _metric_section(test),
        _rule_section(test),
        _traffic_section(test),
        *_slice_sections(test),
        _day_section(test),
        Section("how it was computed", _notes(test)),
    ]


def describe_status(status: Status) -> list[str]:
    """Return the status with its reasons, and what to do."""
    reasons = f": {'; '.join(status.reasons)}" if status.reasons else ""
    advice = advice_of(status.label)
    return [f"{status.label}{reasons}", *[advice] * bool(advice)]


def _metric_section(test: ABTest) -> Section:
    level = f"{100 * test.design.level:g} % interval"
    head = ["metric", "role", "variant", test.control or "control", "variant's", "relative", level, "p"]
    head += ["corrected p", "shown"]
    rows = [_metric_row(result) for result in test.metrics]
    spans = [
        PlotRow("", _label(test, result), (e.low, e.value, e.high), 0)
        for result in test.metrics
        if (e := result.relative.estimate).value is not None
    ]
    plot = IntervalPlot("relative differences; 0: none", spans, _axis(test.metrics)) if spans else None
    return Section("metrics", narrow_notes(r.relative.estimate for r in test.metrics), head, rows, plot=plot)


def _metric_row(result: MetricResult) -> list[str]:
    relative = result.relative.estimate
    return [
        result.metric,
        result.role.role,
        result.variant,
        format_short(result.control.value),
        format_short(result.treatment.value),
        format_share(relative.value),
        format_interval(relative, format_share),
        format_p(result.absolute.p),
        format_p(result.corrected_p),
        result.direction() or "open",
    ]


def _label(test: ABTest, result: MetricResult) -> str:
    return result.metric if len(test.verdicts) < 2 else f"{result.metric} ({result.variant})"


def _axis(results: Sequence[MetricResult]) -> tuple[float, float]:
    """Return an axis of relative differences with 0 in its middle."""
    estimates = [result.relative.estimate for result in results]
    ends = [abs(end) for e in estimates for end in e[:3] if end is not None]
    reach = max(ends, default=0.01) or 0.01
    return -reach, reach


def _rule_section(test: ABTest) -> Section:
    head = ["variant", "rule", "status", "improvement", "interval", "p it fails"]
    rows = [
        [
            verdict.variant,
            check.rule.name,
            check.status,
            _improvement(check.value, check.rule.is_relative),
            _improvement_interval(check.value, check.rule.is_relative),
            format_p(check.corrected_p),
        ]
        for verdict in test.verdicts
        for check in verdict.verdict.checks
    ]
    return Section("rules", (), head, rows)


def _improvement(e: Estimate, is_relative: bool) -> str:
    return format_share(e.value) if is_relative else _signed(e.value)


def _improvement_interval(e: Estimate, is_relative: bool) -> str:
    if e.has_no_interval:
        return NO_VALUE
    return format_bounds(e.low, e.high, format_share if is_relative else _signed)


def _signed(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:+.3g}".replace("-", "−")


def _traffic_section(test: ABTest) -> Section:
    ratio = test.traffic.to_dict()
    notes = [describe_ratio(ratio), f"test: {ratio['method']}"]
    if ratio["is_mismatch"]:
        notes += describe_missing(ratio)
    notes += test.traffic.faults[1:] if ratio["is_mismatch"] else test.traffic.faults
    phases = test.traffic.phases
    if len(phases) > 1:
        notes.append(f"phases with their own shares: {', '.join(phase.name for phase in phases)}")
    for reason, n in (test.excluded or {}).items():
        notes.append(f"left out: {format_count(n)} units ({reason})")
    rows = [
        [name, format_count(n), NO_VALUE if n is None else f"{ratio['expected'].get(name, 0.0):,.1f}"]
        for name, n in ratio["observed"].items()
    ]
    return Section("sample ratio", notes, ["variant", "units", "expected"], rows)


def _slice_sections(test: ABTest) -> list[Section]:
    sections = []
    for column in dict.fromkeys(part.column for part in test.slices):
        parts = [part for part in test.slices if part.column == column]
        contrasts = [c.to_dict() for c in test.heterogeneity if c.column == column]
        notes = [describe_heterogeneity(contrast) for contrast in contrasts]
        left_out = len(parts) - _PARTS_SHOWN
        notes += [f"{left_out:,} more rows: --format csv or json has them"] * (left_out > 0)
        rows = [_part_row(part) for part in parts[:_PARTS_SHOWN]]
        sections.append(Section(f"by {column}", notes, _part_head(column), rows))
    return sections


def _part_head(column: str) -> list[str]:
    return [column, "metric", "variant", "relative", "interval", "units", "p", "corrected p"]


def _part_row(part: PartResult) -> list[str]:
    result = part.result
    relative = result.relative.estimate
    return [
        part.value,
        result.metric,
        result.variant,
        format_share(relative.value),
        format_interval(relative, format_share),
        format_count(relative.n),
        format_p(result.absolute.p),
        format_p(result.corrected_p),
    ]


def _day_section(test: ABTest) -> Section:
    """Return whether effects change from day to day; of a watched test also its goals as they grew."""
    goals = [part for part in test.over_time if part.result.role.role == "goal"]
    rows = [_part_row(part)[:-1] for part in goals[-_PARTS_SHOWN:]] if test.design.is_watched else []
    return Section("over the days", _day_notes(test), _part_head("until")[:-1], rows)


def _day_notes(test: ABTest) -> list[str]:
    """Return the effects that change among the users who came on each day, and those that do not."""
    changing = [t for t in test.novelty if t.is_fading or t.is_growing]
    notes = [describe_novelty(trend.to_dict()) for trend in changing]
    tested = [t for t in test.novelty if t.trend.p is not None and t not in changing]
    if tested:
        names = ", ".join(dict.fromkeys(t.metric for t in tested))
        notes.append(f"no change of the effect from day to day is shown: {names}")
    return notes


def _notes(test: ABTest) -> list[str]:
    design, progress = test.design, test.progress
    notes = [_METHODS[design.method]]
    notes += sorted({f"{r.metric}: {r.absolute.method}" for r in test.metrics if r.absolute.method != "none"})
    notes.append(f"corrected p: {design.correction}, over all metrics of the same role and all variants")
    if progress.planned_n:
        notes.append(
            f"{format_count(progress.n)} of {format_count(round(progress.planned_n))} units "
            f"({'planned' if progress.basis == 'plan' else 'for the power'})"
        )
    unknown = {(r.metric, r.absolute.reason or r.relative.reason) for r in test.metrics}
    notes += [f"{metric}: {reason}" for metric, reason in sorted(unknown) if reason]
    notes += [
        f"{r.metric} ({r.variant}): the covariate explains {100 * r.absolute.variance_reduction:.0f} % of "
        "the variance"
        for r in test.metrics
        if r.absolute.variance_reduction is not None
    ]
    return [*notes, *test.notes, *_problem_notes(test)]


def _problem_notes(test: ABTest) -> list[str]:
    kinds = [f"{problem.kind} {format_count(problem.count)}" for problem in test.problems]
    if not kinds:
        return []
    rest = len(kinds) - _PROBLEM_KINDS
    more = f" and {rest} more kinds" if rest > 0 else ""
    return [f"problems of the log ({', '.join(kinds[:_PROBLEM_KINDS])}{more}): see assay online metrics"]


_CSV_HEAD = ["column", "value", "metric", "role", "variant", "control", "treatment"]
_CSV_HEAD += ["difference", "difference_low", "difference_high", "relative", "relative_low", "relative_high"]
_CSV_HEAD += ["n", "p", "corrected_p", "method"]


def _csv_rows(test: ABTest) -> tuple[list[str], list[list[str]]]:
    rows = [_csv_row("", "", result) for result in test.metrics]
    rows += [_csv_row(part.column, part.value, part.result) for part in [*test.slices, *test.days]]
    return _CSV_HEAD, rows


def _csv_row(column: str, value: str, result: MetricResult) -> list[str]:
    absolute, relative = result.absolute.estimate, result.relative.estimate
    numbers = (result.control.value, result.treatment.value, *absolute[:3], *relative[:3])
    row = [column, value, result.metric, result.role.role, result.variant, *map(format_exact, numbers)]
    return [
        *row,
        str(absolute.n),
        format_exact(result.absolute.p),
        format_exact(result.corrected_p),
        result.absolute.method,
    ]
