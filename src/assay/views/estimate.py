"""Estimates from few human labels and many model labels, as tables and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay.judging.estimate.estimates import LabelEstimate, LabelEstimates
from assay.judging.estimate.sampling import PAIRS, PAIRS_BY_QUERY, PAIRS_OF_QUERIES, QUERIES
from assay.stats import Estimate
from assay.stats.prediction_powered import PoweredEstimate
from assay.views import text
from assay.views.html import IntervalPlot, PlotRow
from assay.views.numbers import (
    NO_VALUE,
    format_count,
    format_estimate,
    format_exact,
    format_interval,
    format_p,
    format_p_sentence,
    format_signed,
    format_value,
    narrow_notes,
)
from assay.views.sections import Section, render_sections

FORMATS = ("table", "csv", "md", "html", "latex")
_SAMPLINGS = {
    QUERIES: "whole queries were labelled by people; the unit is the query",
    PAIRS: "pairs were drawn from all pairs; the unit is the pair",
    PAIRS_BY_QUERY: "pairs were drawn in each query; the unit is the pair, weighted by its query",
    PAIRS_OF_QUERIES: "pairs were drawn in some of the queries; the unit is the query",
}
_NAMES = {"grade": "mean grade", "relevant": "share relevant"}


def render_estimates(result: LabelEstimates, style: str) -> str:
    """Return the estimates in one of the styles."""
    if style == "csv":
        return text.render_csv(*_csv_rows(result))
    return render_sections("Estimates from human and model labels", report_sections(result), style)


def report_sections(result: LabelEstimates) -> list[Section]:
    """Return the estimates, the differences, what they mean and what to label next."""
    return [
        _table_section("", result.estimates, result),
        _table_section("differences", result.differences, result),
        Section("what it means", _readings(result)),
        _next_section(result),
        Section("how far to trust it", _trust(result)),
    ]


def _table_section(title: str, estimates: Sequence[LabelEstimate], result: LabelEstimates) -> Section:
    many = any(e.target.run for e in estimates)
    sliced = any(e.slices for e in estimates)
    interval = f"{100 * result.level:g} % interval"
    head = [*["run"] * many, "measure", *["slice"] * sliced, "value", interval, "people alone", "model alone"]
    head += ["n", "worth", "λ", *["p"] * bool(title)]
    rows, spans = [], []
    for e in estimates:
        lines = [("all", e.estimate), *((f"{s.column}: {s.value}", s.estimate) for s in e.slices)]
        for label, powered in lines:
            p = format_p(e.p) if label == "all" else ""
            names = [*[_run_name(e)] * many, _measure_name(e), *[label] * sliced]
            rows.append([*names, *_cells(powered, is_difference=bool(title)), *[p] * bool(title)])
            spans.append((powered.combined.low, powered.combined.value, powered.combined.high))
    scale = (-1.0, 1.0) if title else (0.0, 1.0)
    return Section(
        title, narrow_notes(e.estimate.combined for e in estimates), head, rows, plot=_plot(estimates, scale)
    )


def _plot(estimates: Sequence[LabelEstimate], scale: tuple[float, float]) -> IntervalPlot | None:
    """Return the intervals by both kinds of labels, by people alone and by the model alone."""
    if not estimates or any(e.target.bounds is None for e in estimates):
        return None
    labels = ("both", "people alone", "model alone")
    rows = [
        PlotRow(
            f"{_measure_name(e)} {_run_name(e)}".strip(), label, (part.low, part.value, part.high), colour
        )
        for e in estimates
        for colour, (label, part) in enumerate(zip(labels, _parts(e.estimate), strict=True))
    ]
    return IntervalPlot("by people and the model, by people alone, by the model alone", rows, scale)


def _parts(powered: PoweredEstimate) -> tuple[Estimate, Estimate, Estimate]:
    return powered.combined, powered.human_only, powered.model_only


def _run_name(e: LabelEstimate) -> str:
    return f"{e.target.run} − {e.target.baseline}" if e.target.baseline else e.target.run


def _measure_name(e: LabelEstimate) -> str:
    name, bracket, rest = e.target.measure.partition("(")
    return _NAMES.get(name, name) + bracket + rest if not e.target.run else e.target.measure


def _cells(powered: PoweredEstimate, is_difference: bool) -> list[str]:
    def number(value: float | None) -> str:
        return NO_VALUE if value is None else format_signed(value) if is_difference else format_value(value)

    combined, human, model = _parts(powered)
    worth = NO_VALUE if powered.effective_n is None else format_count(round(powered.effective_n))
    intervals = [format_interval(part, number) for part in (combined, human)]
    return [
        number(combined.value),
        *intervals,
        number(model.value),
        format_count(combined.n),
        worth,
        f"{powered.scale:.2f}",
    ]


def _readings(result: LabelEstimates) -> list[str]:
    return [describe_estimate(e) for e in (*result.estimates, *result.differences)]


def describe_estimate(e: LabelEstimate) -> str:
    """Return what an estimate says, in one or two sentences."""
    powered, unit = e.estimate, "queries" if e.sampling.unit == "query" else "pairs"
    labelled = e.sampling.unit if powered.combined.n == 1 else unit
    subject = f"{_measure_name(e)} of {e.target.run}" if e.target.run else f"the {_measure_name(e)}"
    if e.target.baseline:
        subject = f"{e.target.measure}, {e.target.run} against {e.target.baseline}"
    sentence = (
        f"{subject}: {format_estimate(powered.combined)} from {powered.combined.n:,} {labelled} that people "
        f"labelled and {e.units:,} that the model labelled"
    )
    if e.p is not None:
        sentence += f", {format_p_sentence(e.p)}"
    return f"{sentence}; {_describe_worth(powered, unit)}{_describe_bias(powered)}"


def _describe_worth(powered: PoweredEstimate, unit: str) -> str:
    if powered.combined.has_no_interval:
        return f"no interval: {powered.reason or 'the spread of the values is unknown'}"
    if powered.reason or powered.width_ratio is None or powered.effective_n is None:
        return (
            f"the same as by people alone: {powered.reason}" if powered.reason else "the model adds nothing"
        )
    change = 100 * (1 - powered.width_ratio)
    side = "narrower" if change >= 0 else "wider"
    return (
        f"the interval is {abs(change):.0f} % {side} than by people alone, as with "
        f"{round(powered.effective_n):,} {unit} labelled by people"
    )


def _describe_bias(powered: PoweredEstimate) -> str:
    """Return whether the model alone would mislead."""
    value, interval = powered.model_only.value, powered.combined
    if (
        value is None
        or interval.low is None
        or interval.high is None
        or interval.low <= value <= interval.high
    ):
        return ""
    side = "above" if value > interval.high else "below"
    return f"; the model alone says {value:.4f}, {side} this interval"


def _trust(result: LabelEstimates) -> list[str]:
    everything = (*result.estimates, *result.differences)
    notes = [_SAMPLINGS[kind] for kind in dict.fromkeys(e.sampling.kind for e in everything)]
    partial = max(e.sampling.partial for e in everything)
    if partial:
        noun = "query has" if partial == 1 else "queries have"
        notes.append(f"{partial:,} {noun} human labels for only some of the pairs, and are left out")
    if any(e.target.run for e in everything):
        target = "for these queries only" if result.is_fixed else "for queries like these, as in assay eval"
        notes.append(f"the intervals are {target}")
    return notes + [f"warning: {warning}" for warning in result.warnings]


def _next_section(result: LabelEstimates) -> Section:
    chosen = result.next_labels.chosen
    if not chosen:
        return Section("label next")
    is_by_query = result.next_labels.unit == "query"
    subject = "all pairs of these queries" if is_by_query else "these pairs"
    notes = [
        f"labels of people for {subject} are expected to narrow the intervals most; they are not a random "
        "sample: estimate again with the pool that -o FILE writes (--pairs FILE)"
    ]
    if is_by_query:
        counts = Counter((p.query_id, p.inclusion_probability) for p in chosen)
        rows = [[query, format_count(n), f"{chance:.3g}"] for (query, chance), n in counts.items()]
        return Section("label next", notes, ["query", "pairs", "probability"], rows)
    rows = [[p.query_id, p.doc_id, f"{p.inclusion_probability:.3g}"] for p in chosen]
    return Section("label next", notes, ["query", "document", "probability"], rows)


def _csv_rows(result: LabelEstimates) -> tuple[list[str], list[list[str]]]:
    head = ["run", "baseline", "column", "slice", "measure", "unit", "labels"]
    head += ["value", "low", "high", "n", "effective_n", "lambda", "p"]
    rows = []
    for e in (*result.estimates, *result.differences):
        parts = [("", "", e.estimate), *((s.column, s.value, s.estimate) for s in e.slices)]
        for column, value, powered in parts:
            for labels, part in zip(("both", "human", "model"), _parts(powered), strict=True):
                names = [
                    e.target.run,
                    e.target.baseline,
                    column,
                    value,
                    e.target.measure,
                    e.sampling.unit,
                    labels,
                ]
                extra = (powered.effective_n, powered.scale, e.p if not column else None)
                is_both = labels == "both"
                numbers = [*map(format_exact, part[:3]), str(part.n)]
                rows.append([*names, *numbers, *(format_exact(x) if is_both else "" for x in extra)])
    return head, rows
