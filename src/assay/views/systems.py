"""The answers, latencies and costs of search systems."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.remote.redaction import redact
from assay.search.load_testing import LoadMeasurement
from assay.search.query_results import QueryResults
from assay.search.run_journal import QueryFailure
from assay.stats.histograms import Histogram, min_samples
from assay.views import text
from assay.views.numbers import NO_VALUE, format_estimate, format_short
from assay.views.sections import Section

_QUERIES_SHOWN = 3  # failed queries named for each kind of failure
_PERCENTILES = (50, 90, 95, 99)


def outcome_sections(outcomes: Sequence[QueryResults], slo_ms: float | None = None) -> list[Section]:
    """How each system answered, and what failed."""
    within = [] if slo_ms is None else [f"within {slo_ms:g} ms"]
    head = ["system", "queries", "failed", "empty", *_PERCENTILE_HEADS, *within, "QPS", "tokens", "cost/1k"]
    rows = [_row(outcome, slo_ms) for outcome in outcomes]
    failures = [line for outcome in outcomes for line in _describe_failures(outcome)]
    stages = [row for outcome in outcomes for row in _stage_rows(outcome)]
    return [
        Section("How they answered", _notes(outcomes), head, rows),
        Section("What failed", failures),
        Section("How long each stage took", [], ["system", "stage", *_PERCENTILE_HEADS], stages),
    ]


def _row(outcome: QueryResults, slo_ms: float | None) -> list[str]:
    cells = [
        outcome.name,
        f"{len(outcome.queries):,}",
        f"{len(outcome.failures):,}",
        f"{len(outcome.empty_queries):,}",
    ]
    cells += _percentile_cells(outcome.latency)
    cells += [] if slo_ms is None else [format_estimate(outcome.slo(slo_ms))]
    cells.append(_format_rate(outcome.qps))
    cells.append(f"{outcome.tokens:,}" if outcome.tokens else NO_VALUE)
    return [*cells, NO_VALUE if outcome.cost_per_1k is None else f"{outcome.cost_per_1k:.4g}"]


def _notes(outcomes: Sequence[QueryResults]) -> list[str]:
    notes = _withheld_note([outcome.latency for outcome in outcomes])
    for outcome in outcomes:
        if outcome.resumed_count:
            count = f"{outcome.resumed_count:,} queries"
            notes.append(f"{outcome.name}: {count} were finished earlier and were not sent again")
        if len(outcome.failures):
            notes.append(
                f"{outcome.name}: failed queries count as empty answers; --retry-failed sends them again"
            )
        notes += [f"{outcome.name}: {note}" for note in (*outcome.remarks, *result_notes(outcome))]
    return notes


def result_notes(results: QueryResults) -> list[str]:
    """Return what a reader of latency, QPS and cost must know."""
    notes = []
    if len(results.session_settings) > 1:
        settings = ", ".join(_describe_session(n, rate) for n, rate in results.session_settings)
        notes.append(f"latency and QPS are of sessions with different settings ({settings})")
    if results.repeated_count:
        notes.append(
            f"{results.repeated_count:,} documents were returned again for the same query; each counts once"
        )
    if results.has_uncounted_cost:
        notes.append("the cost is that of the answers: failed attempts are not included")
    return notes


def _describe_session(concurrency: int, rate: float | None) -> str:
    return f"{concurrency} at a time" + (f", {rate:g}/s at most" if rate else "")


def _describe_failures(outcome: QueryResults) -> list[str]:
    kinds: dict[str, dict[str, str]] = {}  # messages by query
    for query, failure in outcome.failures.items():
        kinds.setdefault(_kind(failure), {})[query] = failure.reason
    lines = []
    for kind, messages in sorted(kinds.items(), key=lambda item: -len(item[1])):
        queries = ", ".join(list(messages)[:_QUERIES_SHOWN]) + (
            " …" if len(messages) > _QUERIES_SHOWN else ""
        )
        message = text.shorten(next(iter(messages.values())), 200)
        lines.append(f"{outcome.name}: {len(messages):,} {kind} ({queries}), such as: {message}")
    return lines


def _kind(failure: QueryFailure) -> str:
    """The kind of a failure, with the status code of the server."""
    status = re.search(r"\banswered (\d{3})\b", failure.reason) if failure.kind == "status" else None
    return f"{failure.kind} {status[1]}" if status else failure.kind


def _stage_rows(outcome: QueryResults) -> list[list[str]]:
    rows = []
    for name, latency in outcome.stage_latency().items():
        rows.append([outcome.name, text.shorten(name, 50), *_percentile_cells(latency)])
    return rows


def load_sections(
    name: str, load: LoadMeasurement, slo_ms: float | None = None, is_rate_capped: bool = False
) -> list[Section]:
    """The load measurement of a system; `is_rate_capped`: the cap limited the rate, not the system."""
    head = [
        "system",
        "loop",
        "clients",
        "offered/s",
        "answered/s",
        "sent",
        "failed",
        "unsent",
        *_PERCENTILE_HEADS,
    ]
    row = [name, "closed" if load.rate is None else "open", f"{load.clients}", _format_rate(load.rate)]
    row += [
        _format_rate(load.achieved_rate),
        f"{load.requests:,}",
        f"{sum(load.errors.values()):,}",
        f"{load.unsent.n:,}",
        *_percentile_cells(load.latency),
    ]
    notes = _withheld_note([load.latency])
    if slo_ms is not None:
        notes.append(f"within {slo_ms:g} ms: {format_estimate(load.slo(slo_ms))} of all requests")
    notes += ["limited by --max-rate: the system may be able to answer more"] * is_rate_capped
    notes += _load_notes(load)
    return [Section("Under load", notes, head, [row])]


def _load_notes(load: LoadMeasurement) -> list[str]:
    """Whether the system fell behind or answered nothing, what failed, and one error message."""
    notes = []
    if not load.answered_latency.n:
        notes.append("no request was answered: this says nothing about its speed")
    elif load.is_saturated:
        notes.append("saturated: it fell behind the offered rate, so its latencies are only lower bounds")
    notes += [f"{count:,} {kind}" for kind, count in load.errors.most_common()]
    message = redact(load.timing.first_error)
    return [*notes, f"such as: {text.shorten(message, 100)}"] if message else notes


_PERCENTILE_HEADS = [f"p{p} ms" for p in _PERCENTILES]


def _percentile_cells(latency: Histogram) -> list[str]:
    return [format_short(latency.percentile(p)) for p in _PERCENTILES]


def _withheld_note(latencies: Sequence[Histogram]) -> list[str]:
    """Which percentile is not reported because there are too few samples."""
    fewest_samples = min((latency.n for latency in latencies), default=0)
    return [
        f"p{p} is not reported below {min_samples(p):,} samples"
        for p in _PERCENTILES
        if fewest_samples < min_samples(p)
    ][:1]


def _format_rate(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.1f}" if value < 1000 else f"{value:,.0f}"
