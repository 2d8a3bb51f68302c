"""Shadow reports as tables and sentences."""

from __future__ import annotations

from collections.abc import Mapping

from assay.rollout.shadow.records import CANDIDATE, PRIMARY, REPEAT
from assay.rollout.shadow.report.calls import failed_alone
from assay.rollout.shadow.report.report import ShadowReport
from assay.stats import Estimate
from assay.views import text
from assay.views.html import IntervalPlot, PlotRow
from assay.views.numbers import (
    NO_VALUE,
    format_bounds,
    format_count,
    format_estimate,
    format_exact,
    format_p,
    format_percent,
    format_short,
    format_signed,
    format_value,
)
from assay.views.sections import Section, render_sections

FORMATS = ("table", "csv", "md", "html")
_NAMES = {
    "overlap": "overlap@{k}",
    "rbo": "RBO",
    "same_first": "same first document",
    "same_order": "same top {k}",
}
_UNITS = {"client": "clients", "query": "queries"}
_SHOWN = 5  # documents of a list in a table


def render_report(report: ShadowReport, style: str) -> str:
    """Return a shadow report in one of the styles."""
    if style == "csv":
        return text.render_csv(*_csv_rows(report))
    return render_sections("Shadow report", report_sections(report), style)


def similarity_label(name: str, k: int) -> str:
    """Return the words for a similarity of two lists.

    >>> similarity_label("overlap", 10)
    'overlap@10'
    """
    return _NAMES[name].format(k=k)


def report_sections(report: ShadowReport) -> list[Section]:
    """Return what was compared, the similarity, latency, failures, measures, and what to look at next."""
    return [
        Section("", [_describe_counts(report), *_describe_drops(report)]),
        _similarity_section(report),
        _latency_section(report),
        _error_section(report),
        _measure_section(report),
        _query_section(report),
        _judge_section(report),
        _problem_section(report),
    ]


def _describe_counts(report: ShadowReport) -> str:
    counts = report.counts
    words = (
        f"{counts['compared']:,} of {counts['logged']:,} logged requests compared, for "
        f"{counts['queries']:,} different queries; the primary answered {counts['repeated']:,} twice"
    )
    rest = counts["incomplete"]
    return words + (f"; {rest:,} requests have the answer of only one system in the log" if rest else "")


def _describe_drops(report: ShadowReport) -> list[str]:
    if report.dropped is None:
        return ["no process has written its counts to the log: how many requests were dropped is unknown"]
    counts = report.traffic.counts
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in report.traffic.left_out.items())
    words = [
        f"{counts['requests']:,} requests arrived, {counts['mirrored']:,} were mirrored, {report.dropped:,} "
        "dropped" + (f"; not mirrored: {reasons}" if reasons else "")
    ]
    lost = counts["mirrored"] - counts["logged"] - counts["log_dropped"]
    return words + [f"{lost:,} mirrored requests never reached the log"] * (lost > 0)


def _similarity_section(report: ShadowReport) -> Section:
    found = report.differences
    head = ["similarity", "candidate with primary", "primary with itself", "beyond noise", "queries"]
    rows = [
        [
            label.format(k=found.k),
            format_estimate(found.candidate[name]),
            format_estimate(found.repeat[name]),
            _signed_estimate(found.beyond_noise[name]),
            format_count(found.candidate[name].n),
        ]
        for name, label in _NAMES.items()
    ]
    return Section("how similar the answers are", _noise_notes(report), head, rows, plot=_plot(report))


def _noise_notes(report: ShadowReport) -> list[str]:
    found = report.differences
    notes = ["each query counts once, as the mean of its requests"]
    if found.noise_floor is None:
        return [*notes, "the primary was never called twice: there is no noise floor to compare with"]
    return [
        *notes,
        f"noise floor: 95 % of {found.noise_queries:,} queries differ from themselves by at most "
        f"{format_short(found.noise_floor)} (1 − RBO)",
        f"{format_percent(found.differing)} of {found.differing.n:,} queries differ by more than that",
    ]


def _signed_estimate(e: Estimate) -> str:
    """Return how much less similar the candidate is than the primary is to itself."""
    if e.value is None:
        return NO_VALUE
    bounds = "" if e.has_no_interval else f" ({format_bounds(e.low, e.high, _signed)})"
    return format_signed(e.value) + bounds


def _signed(value: float) -> str:
    return format_signed(value, 3)


def _plot(report: ShadowReport) -> IntervalPlot:
    found = report.differences
    parts = (("candidate with primary", found.candidate, 1), ("primary with itself", found.repeat, 0))
    rows = [
        PlotRow(
            similarity_label(name, found.k),
            label,
            (values[name].low, values[name].value, values[name].high),
            c,
        )
        for name in _NAMES
        for label, values, c in parts
        if values[name].value is not None
    ]
    return IntervalPlot("similarity of the answers", rows)


def _latency_section(report: ShadowReport) -> Section:
    names = list(report.latency[0].quantiles)
    head = ["latency, ms", *names, "calls"]
    rows = [
        [entry.role, *(_milliseconds(entry.quantiles[name]) for name in names), format_count(entry.calls)]
        for entry in report.latency
        if entry.calls
    ]
    notes = [
        f"intervals are over {_UNITS[report.latency_unit]}; a timeout counts as its limit; the candidate "
        "and the repeat are called under the same conditions, after the primary"
    ]
    return Section("how fast they are", notes, head, rows)


def _milliseconds(e: Estimate) -> str:
    value = format_short(e.value)
    return value if e.has_no_interval else f"{value} ({format_bounds(e.low, e.high, format_short)})"


def _error_section(report: ShadowReport) -> Section:
    head = ["system", "failure", "calls", "share", "first at", "message"]
    rows = [
        [
            error.role,
            error.kind,
            format_count(error.count),
            format_percent(error.share),
            text.shorten(error.query, 40),
            text.shorten(error.message, 60),
        ]
        for error in report.errors
    ]
    alone = failed_alone(report.traffic.exchanges)
    notes = [
        f"the candidate failed {alone[CANDIDATE]:,} requests that the primary answered, the primary "
        f"{alone[PRIMARY]:,} that the candidate answered"
    ]
    return Section("failures", notes, head, rows)


def _measure_section(report: ShadowReport) -> Section:
    if report.judged is None:
        notes = ["the judgments have no query of this log"] if report.has_qrels else []
        return Section("judged measures", notes)
    head = ["measure", "primary", "candidate", "difference", "queries", "p"]
    rows = [
        [
            row.measure,
            format_value(row.baseline),
            format_value(row.candidate),
            _signed_estimate(row.difference),
            format_count(row.difference.n),
            format_p(row.p),
        ]
        for row in report.judged.rows
    ]
    notes = ["the last answers to each judged query; a document without a judgment counts as irrelevant"]
    return Section("judged measures", notes, head, rows)


def _query_section(report: ShadowReport) -> Section:
    head = ["query", "requests", "difference", "noise", "beyond", "primary", "candidate"]
    rows = [
        [
            text.shorten(entry.query, 40),
            format_count(entry.requests),
            format_short(entry.difference),
            format_short(entry.noise),
            format_short(entry.excess),
            " ".join(entry.primary[:_SHOWN]),
            " ".join(entry.candidate[:_SHOWN]),
        ]
        for entry in report.differences.queries[: report.settings.top]
    ]
    return Section("queries that differ most", ["difference is 1 − RBO"] if rows else [], head, rows)


def _judge_section(report: ShadowReport) -> Section:
    head = ["query", "query_id", "document", "shown by", "rank", "weight"]
    rows = [
        [
            text.shorten(pair.query, 40),
            pair.query_id or NO_VALUE,
            pair.doc_id,
            pair.shown_by,
            str(pair.rank),
            format_short(pair.weight),
        ]
        for pair in report.judge_next
    ]
    notes = ["documents that only one system shows, by requests × difference × discount of the rank"]
    return Section("to judge next", notes if rows else [], head, rows)


def _problem_section(report: ShadowReport) -> Section:
    rows = [[p.kind, format_count(p.count), p.treatment, p.example] for p in report.traffic.problems]
    return Section("problems of the log", (), ["kind", "count", "treatment", "example"], rows)


def _csv_rows(report: ShadowReport) -> tuple[list[str], list[list[str]]]:
    """Return every estimate of the report as one row."""
    head = ["part", "system", "name", "value", "low", "high", "n"]
    found = report.differences
    roles: tuple[tuple[str, Mapping[str, Estimate]], ...] = (
        (CANDIDATE, found.candidate),
        (REPEAT, found.repeat),
        ("beyond noise", found.beyond_noise),
    )
    rows = [_csv_row("similarity", role, name, e) for role, values in roles for name, e in values.items()]
    rows.append(_csv_row("similarity", CANDIDATE, "differing", found.differing))
    rows += [
        _csv_row("latency_ms", entry.role, name, e)
        for entry in report.latency
        for name, e in entry.quantiles.items()
    ]
    rows += [_csv_row("failures", error.role, error.kind, error.share) for error in report.errors]
    for row in report.judged.rows if report.judged else ():
        rows.append(_csv_row("measures", "difference", row.measure, row.difference))
    return head, rows


def _csv_row(part: str, system: str, name: str, e: Estimate) -> list[str]:
    return [part, system, name, *map(format_exact, e[:3]), str(e.n)]
