"""The steps of the demo: a headline and a verdict for each, the full tables on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.evaluation import Evaluation
from assay.evaluation.compare import Comparisons, Mover
from assay.evaluation.failures import Failures
from assay.evaluation.gate import GateVerdict
from assay.evaluation.stage_losses import FOUND, StageLosses
from assay.evaluation.trends import Trend
from assay.stats.intervals import Estimate
from assay.views import render_evaluations, text
from assay.views.bench_charts import ReportData, describe_recall
from assay.views.causes import describe_fix
from assay.views.checks import describe_check, describe_verdict
from assay.views.compare import render_comparison
from assay.views.experiments import describe_point, render_trend
from assay.views.failures import render_failures
from assay.views.gate import render_verdict
from assay.views.losses import SlicedLosses, describe_query_losses, render_losses
from assay.views.numbers import NO_VALUE, format_estimate, format_percent, format_short, format_value
from assay.views.readings import describe_reading
from assay.views.trials import render_trials

_SHOWN_QUERIES = 2  # failing queries in the details
_STATES = {"better": "better", "worse": "worse", "same": "the same", "open": "undecided"}
_MARKS = {"passed": "✓", "failed": "✗", "undecided": "?", "skipped": "–"}


class DemoStep(NamedTuple):
    """One step of the demo."""

    question: str
    command: str
    headline: str
    verdict: str
    facts: Sequence[str] = ()
    details: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the step."""
        return {**self._asdict(), "facts": list(self.facts)}


def render_step(step: DemoStep, verbose: bool = False) -> str:
    """A step as text: the headline, the verdict and a few facts; verbose, the full tables as well."""
    lines = [f"── {step.question} ({step.command})", step.headline, f"→ {step.verdict}"]
    lines += [f"  {fact}" for fact in step.facts]
    return "\n".join([*lines, *["", step.details] * (verbose and bool(step.details))])


def evaluation_step(evaluations: Sequence[Evaluation]) -> DemoStep:
    """How good two runs are by each measure."""
    first, second = evaluations
    measure = next(iter(first.estimates))
    best, other = sorted(evaluations, key=lambda e: -(e.estimates[measure].value or 0.0))
    values = (best.estimates[measure], other.estimates[measure])
    overlap = _overlap(*values)
    rows = [
        [name, format_estimate(first.estimates[name]), format_estimate(second.estimates[name])]
        for name in first.estimates
    ]
    return DemoStep(
        "How good are they?",
        "assay eval",
        f"{best.name} has the higher {measure}: {format_estimate(values[0])}; "
        f"{other.name} has {format_estimate(values[1])}",
        "the intervals overlap: only a comparison query by query can tell whether the difference is real"
        if overlap
        else "the intervals do not overlap",
        text.render_table(["measure", first.name, second.name], rows).splitlines(),
        render_evaluations(list(evaluations), "table"),
    )


def _overlap(first: Estimate, second: Estimate) -> bool:
    ends = (first.low, first.high, second.low, second.high)
    if None in ends:
        return True
    low, high, other_low, other_high = (float(end or 0.0) for end in ends)
    return low <= other_high and other_low <= high


def comparison_step(comparisons: Comparisons, texts: Mapping[str, str]) -> DemoStep:
    """Whether a candidate differs from its baseline, and for which queries."""
    margin = comparisons.options.margin
    rows = [row for row in comparisons.rows if not row.column]
    by_state: dict[str, list[str]] = {}
    for row in rows:
        by_state.setdefault(_STATES[row.state(margin)], []).append(row.measure)
    slices = [
        f"{row.column} {row.value} {_STATES[row.state(margin)]}"
        for row in comparisons.rows
        if row.column and row.measure == rows[0].measure
    ]
    winners, losers = comparisons.movers(comparisons.candidates[0], n=1)
    return DemoStep(
        "Is the change real, and for whom?",
        "assay compare",
        describe_reading(comparisons.readings[0]).rstrip("."),
        "; ".join(f"{state} by {', '.join(measures)}" for state, measures in by_state.items()),
        [
            f"slices by {rows[0].measure}: {', '.join(slices)}",
            *(f"biggest winner: {_describe_mover(mover, texts)}" for mover in winners),
            *(f"biggest loser: {_describe_mover(mover, texts)}" for mover in losers),
        ],
        render_comparison(comparisons, "table", texts, movers=_SHOWN_QUERIES),
    )


def _describe_mover(mover: Mover, texts: Mapping[str, str]) -> str:
    change = f"{format_value(mover.baseline)} → {format_value(mover.candidate)}"
    return f"{mover.query_id} “{texts.get(mover.query_id, '')}”, {change}"


def failure_step(failures: Failures) -> DemoStep:
    """Which queries fail, and the most frequent cause."""
    cause, queries = next(iter(failures.by_cause.items()))
    worst = max(failures.by_slice, key=lambda part: part.share.value or 0.0)
    counts = ", ".join(f"{len(failing)} {name}" for name, failing in failures.by_cause.items())
    first = failures.failing[0]
    return DemoStep(
        "What fails, and why?",
        "assay failures",
        f"{len(failures.failing):,} of {failures.n:,} queries have {failures.measure} below "
        f"{failures.below:g}: {format_percent(failures.share)}",
        f"the most frequent cause is {cause} ({len(queries):,} queries): "
        f"{describe_fix(cause, failures.scope)}",
        [
            f"likely causes: {counts}",
            f"worst slice: {worst.column}: {worst.value}, {worst.failing} of {worst.n} fail",
            f"worst query: {first.query_id} “{first.text}”: {first.cause}",
        ],
        render_failures(failures, "table", show=_SHOWN_QUERIES),
    )


def loss_step(name: str, losses: StageLosses, queries: Mapping[str, str]) -> DemoStep:
    """At which stage a search loses relevant documents, and those of some queries with their texts."""
    parts = {part.name: part for part in losses.parts()}
    total, retrieved = sum(part.documents for part in parts.values()), parts.pop(FOUND)
    lost = sorted(parts.values(), key=lambda part: -part.documents)
    lines = [f"{query} “{words}”: {describe_query_losses(losses, query)}" for query, words in queries.items()]
    return DemoStep(
        "At which stage are relevant documents lost?",
        "assay run",
        f"{name} shows {retrieved.documents:,} of {total:,} relevant documents",
        f"most are {lost[0].name}: {lost[0].documents:,}, {format_estimate(lost[0].share, 3)} of all",
        [
            ", ".join(f"{part.documents:,} {part.name}" for part in parts.values()),
            *lines[:1],
        ],
        "\n".join([render_losses({name: SlicedLosses(losses)}, "table"), "", *lines]),
    )


def gate_step(verdict: GateVerdict) -> DemoStep:
    """Whether the candidate passes the rules."""
    facts = [
        f"{_MARKS[check.status]} {check.rule.name}: {describe_check(check)}"
        for check in verdict.checks
        if check.slice == "all"
    ]
    sliced = [check for check in verdict.checks if check.slice != "all"]
    passed = sum(check.status == "passed" for check in sliced)
    return DemoStep(
        "May it ship?",
        "assay gate",
        f"{len(verdict.checks)} checks of the rules in assay.toml, on {verdict.n:,} queries",
        describe_verdict(verdict),
        [*facts, f"{passed} of {len(sliced)} checks of single slices hold"],
        render_verdict(verdict, "table"),
    )


def trend_step(trend: Trend) -> DemoStep:
    """Since when a measure is worse, and which setting changed."""
    values = " → ".join(format_value(point.value) for point in trend.points)
    changes = [describe_point(point, trend) for point in trend.changes]
    return DemoStep(
        "When did it get worse?",
        "assay experiments trend",
        f"{trend.measure} of {trend.points[-1].name}: {values}",
        changes[-1] if changes else "no change beyond noise",
        (),
        render_trend(trend, "table"),
    )


def bench_step(data: ReportData) -> DemoStep:
    """Two indexes of one mean recall, and how their failures differ."""
    trials = [scored_trial.trial for scored_trial in data.results_near_target]
    zero_hits = sorted(((trial.zero_hits or 0, trial.label) for trial in trials), reverse=True)
    rows = [
        [
            scored_trial.trial.label,
            format_estimate(scored_trial.recall),
            format_estimate(scored_trial.robustness(0.9)),
            str(scored_trial.trial.zero_hits),
            NO_VALUE if scored_trial.trial.qps is None else format_short(scored_trial.trial.qps.median),
        ]
        for scored_trial in data.results_near_target
    ]
    k = data.findings.k
    head = ["index", f"R@{k}", f"Robustness-0.9@{k}", "no hit", "queries/s"]
    recalls = [scored_trial.recall.value or 0.0 for scored_trial in data.results_near_target]
    return DemoStep(
        "Which index, and what does its mean recall hide?",
        "assay bench",
        f"{len(trials)} indexes with nearly the same mean recall ({min(recalls):.3f} to {max(recalls):.3f})",
        f"{zero_hits[0][1]} finds nothing for {zero_hits[0][0]} queries; "
        f"{zero_hits[-1][1]} for {zero_hits[-1][0]}",
        text.render_table(head, rows).splitlines(),
        "\n".join([render_trials(trials, "table"), "", *describe_recall(data)]),
    )
