"""Comparisons as a report with sentences, and as JSON, CSV, Markdown and HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from assay.evaluation.compare import Comparisons, Mover
from assay.evaluation.overlap import Overlap
from assay.evaluation.readings import Reading
from assay.stats import Estimate
from assay.stats.comparison import Comparison
from assay.views import text
from assay.views.evaluation import describe_counts
from assay.views.html import IntervalPlot, PlotRow
from assay.views.numbers import (
    NO_VALUE,
    end_digits,
    format_exact,
    format_interval,
    format_p,
    format_signed,
    format_value,
    narrow_notes,
)
from assay.views.power import describe_size
from assay.views.readings import describe_reading
from assay.views.sections import Section, input_section, render_sections

Texts = Mapping[str, str]
_STATES = {"better": "▲ better", "worse": "▼ worse", "same": "= same", "open": "? undecided"}


def render_comparison(
    comparisons: Comparisons,
    style: str,
    texts: Texts | None = None,
    movers: int = 3,
    digests: Mapping[str, str] | None = None,
) -> str:
    """Comparisons in one of the formats; a page also has the digests of the inputs."""
    if style == "csv":
        return text.render_csv(*_csv(comparisons))
    sections = report_sections(comparisons, texts or {}, movers)
    sections += [input_section(digests or {})] * (style == "html")
    return render_sections("Comparison", sections, style)


def report_sections(comparisons: Comparisons, texts: Texts, movers: int) -> list[Section]:
    """The sections of the report."""
    many = len(comparisons.candidates) > 1
    parts = [
        Section(
            "",
            [describe_counts(name, c) for name, c in comparisons.counts.items()] + _left_out(comparisons),
            plot=_plot(comparisons),
        )
    ]
    parts.append(_differences(comparisons, many))
    for name in comparisons.candidates:
        about = f" of {name}" if many else ""
        lines = [describe_reading(r) for r in comparisons.readings if r.candidate == name]
        parts.append(Section(f"what it means{about}", lines or ["no difference is shown"]))
        parts += _movers(comparisons, name, about, texts, movers)
    parts.append(_configuration(comparisons))
    parts.append(_all_pairs(comparisons))
    parts.append(Section("how far to trust it", _trust(comparisons)))
    return parts


def change_sections(comparisons: Comparisons, readings: Sequence[Reading]) -> list[Section]:
    """What a comparison means, for reports about something else."""
    lines = [describe_reading(reading) for reading in readings]
    return [Section("what the change means", lines), _configuration(comparisons)]


def _plot(comparisons: Comparisons) -> IntervalPlot:
    """The differences over all queries."""
    places = {str(measure): place for place, measure in enumerate(comparisons.measures)}
    many = len(comparisons.candidates) > 1
    rows = [
        PlotRow(
            name * many,
            row.candidate_name if many else name,
            (row.difference.low, row.difference.value, row.difference.high),
            comparisons.candidates.index(row.candidate_name),
        )
        for row in sorted(comparisons.rows, key=lambda row: places[row.measure])
        if not row.column and (name := row.measure + " (lower is better)" * row.lower_is_better)
    ]
    level = f"{100 * comparisons.options.level:g} %"
    title = f"differences from {comparisons.baseline} over all queries, with {level} intervals"
    return IntervalPlot(title, rows, _scale([row.span for row in rows]))


def _left_out(comparisons: Comparisons) -> list[str]:
    return [f"{comparisons.excluded_queries:,} queries left out: they are not in all runs"] * bool(
        comparisons.excluded_queries
    )


def _differences(comparisons: Comparisons, many: bool) -> Section:
    sliced = any(row.column for row in comparisons.rows)
    level = f"{100 * comparisons.options.level:g} % interval"
    head = ["measure", *["slice"] * sliced, *["candidate"] * many, "before", "after", "difference", level]
    head += ["p", "corrected", "+/=/−", "n", f"±{comparisons.options.margin:g}"]
    rows, last = [], ("", "")
    for row in comparisons.rows:
        labels = [row.measure, *[row.slice] * sliced, *[row.candidate_name] * many]
        if (row.measure, row.candidate_name) == last:
            labels[0] = ""
        last = (row.measure, row.candidate_name)
        rows.append([*labels, *_cells(row, comparisons.options.margin)])
    spans = [(row.difference.low, row.difference.value, row.difference.high) for row in comparisons.rows]
    return Section("", (), head, rows, spans, _scale(spans))


def _cells(row: Comparison, margin: float) -> list[str]:
    e = row.difference
    moves = NO_VALUE if row.wins is None else f"{row.wins}/{row.ties}/{row.losses}"
    return [
        format_value(row.baseline),
        format_value(row.candidate),
        NO_VALUE if e.value is None else format_signed(e.value),
        format_interval(e, partial(format_signed, digits=end_digits(e))),
        format_p(row.p),
        format_p(row.corrected_p),
        moves,
        str(e.n),
        describe_state(row, margin),
    ]


def describe_state(row: Comparison, margin: float) -> str:
    """The state of a comparison as it is printed in a table."""
    state = row.state(margin)
    if state == "open" and row.is_lost_to_correction:
        return "? not shown after correction"
    return _STATES[state]


def _scale(spans: Sequence[tuple[float | None, ...]]) -> tuple[float, float]:
    """An axis with 0 in the middle that contains every interval."""
    bounds = [abs(end) for span in spans for end in span if end is not None]
    reach = math.ceil(max([0.01, *bounds]) * 100) / 100
    return -reach, reach


def _movers(comparisons: Comparisons, name: str, about: str, texts: Texts, n: int) -> list[Section]:
    """The queries that moved most."""
    parts = []
    for title, movers in zip(("winners", "losers"), comparisons.movers(name, n=n), strict=True):
        head = ["query", *["text"] * bool(texts), "before", "after", "difference"]
        rows = [_mover(mover, texts) for mover in movers]
        parts.append(Section(f"biggest {title}{about} by {comparisons.measures[0]}", (), head, rows))
    return parts


def _mover(mover: Mover, texts: Texts) -> list[str]:
    query_text = [text.shorten(texts.get(mover.query_id, ""))] if texts else []
    values = (format_value(mover.baseline), format_value(mover.candidate), format_signed(mover.difference))
    return [mover.query_id, *query_text, *values]


def _configuration(comparisons: Comparisons) -> Section:
    names = list(dict.fromkeys(name for row in comparisons.configuration.values() for name in row))
    rows = [
        [key, *(_format_setting(row.get(name)) for name in names)]
        for key, row in comparisons.configuration.items()
    ]
    return Section("what differs in configuration", (), ["setting", *names], rows)


def _format_setting(value: Any) -> str:
    return NO_VALUE if value is None else str(value)


def _all_pairs(comparisons: Comparisons) -> Section:
    head = [
        "measure",
        "first",
        "second",
        "difference",
        f"{100 * comparisons.options.level:g} % interval",
        "p",
    ]
    rows = [
        [
            p.measure,
            p.first,
            p.second,
            format_signed(p.difference),
            f"{format_signed(p.low)} … {format_signed(p.high)}",
            format_p(p.p),
        ]
        for p in comparisons.all_pairs
    ]
    return Section("all pairs (Tukey's HSD)", (), head, rows)


def _trust(comparisons: Comparisons) -> list[str]:
    """How much the queries can show, how similar the runs are, and how they were tested."""
    lines = []
    for name in comparisons.candidates:
        sizes = comparisons.sizes.get(name, {})
        first = sizes.get(str(comparisons.measures[0]))
        lines += [f"{name} by {comparisons.measures[0]}: {describe_size(first)}"] if first else []
    lines += [
        f"{name} against {comparisons.baseline}: {_describe_overlap(o)}"
        for name, o in comparisons.overlaps.items()
    ]
    notes = narrow_notes(row.difference for row in comparisons.rows)
    return [*lines, _describe_test(comparisons), *notes]


def _describe_overlap(o: Overlap) -> str:
    return (
        f"Jaccard@{o.k} {_short_estimate(o.jaccard)}, RBO {_short_estimate(o.rbo)}, the same first document "
        f"in {_short_estimate(o.same_first)} of the queries, n {o.jaccard.n:,}"
    )


def _short_estimate(e: Estimate) -> str:
    value, low, high = (NO_VALUE if end is None else f"{end:.3f}" for end in e[:3])
    return f"{value} ({low} … {high})"


_CORRECTIONS = {
    "holm": "Holm's correction over the table (half of the error for all queries, half for their slices)",
    "bh": "Benjamini and Hochberg's correction over the table",
    "none": "no correction",
}


def _describe_test(comparisons: Comparisons) -> str:
    tests = list(dict.fromkeys(row.test for row in comparisons.rows))
    correction = _CORRECTIONS[comparisons.options.correction]
    return f"p by {', '.join(tests)}; {correction}; intervals are not corrected"


def _csv(comparisons: Comparisons) -> tuple[list[str], list[list[str]]]:
    head = [
        "baseline",
        "candidate",
        "column",
        "slice",
        "measure",
        "before",
        "after",
        "difference",
        "low",
        "high",
    ]
    head += ["level", "n", "test", "p", "corrected_p", "wins", "ties", "losses", "effect", "state"]
    rows = []
    for row in comparisons.rows:
        e = row.difference
        values = [*map(format_exact, (row.baseline, row.candidate, *e[:4])), str(e.n), row.test]
        moves = ["" if count is None else str(count) for count in (row.wins, row.ties, row.losses)]
        names = [row.baseline_name, row.candidate_name, row.column, row.value, row.measure]
        effect_and_state = [format_exact(row.effect), row.state(comparisons.options.margin)]
        rows.append(
            [*names, *values, format_exact(row.p), format_exact(row.corrected_p), *moves, *effect_and_state]
        )
    return head, rows


def comparisons_dict(comparisons: Comparisons, movers: int = 3) -> dict[str, Any]:
    """The JSON of comparisons, as printed by `assay compare --format json`."""
    o = comparisons.options
    return {
        "baseline": comparisons.baseline,
        "candidates": [_candidate(comparisons, name, movers) for name in comparisons.candidates],
        "all_pairs": [pair._asdict() for pair in comparisons.all_pairs],
        "configuration": comparisons.configuration,
        "left_out": comparisons.excluded_queries,
        "counts": {name: c._asdict() for name, c in comparisons.counts.items()},
        "test": o.test,
        "correction": o.correction,
        "margin": o.margin,
        "level": o.level,
        "seed": o.seed,
    }


def _candidate(comparisons: Comparisons, name: str, movers: int) -> dict[str, Any]:
    winners, losers = comparisons.movers(name, n=movers)
    sizes = comparisons.sizes.get(name, {}).items()
    return {
        "name": name,
        "comparisons": [
            comparison_dict(row, comparisons.options.margin) for row in comparisons.of_candidate(name)
        ],
        "readings": [
            _reading(r, comparisons.options.margin) for r in comparisons.readings if r.candidate == name
        ],
        "winners": [m._asdict() | {"difference": m.difference} for m in winners],
        "losers": [m._asdict() | {"difference": m.difference} for m in losers],
        "overlap": _overlap(comparisons.overlaps.get(name)),
        "size": {measure: s.to_dict() for measure, s in sizes},
    }


def comparison_dict(row: Comparison, margin: float) -> dict[str, Any]:
    """The JSON of one comparison."""
    return {
        "measure": row.measure,
        "column": row.column or None,
        "slice": row.value or None,
        "baseline": row.baseline,
        "candidate": row.candidate,
        "difference": row.difference.to_dict(),
        "too_narrow": row.difference.is_narrow,
        "test": row.test,
        "p": row.p,
        "corrected_p": row.corrected_p,
        "wins": row.wins,
        "ties": row.ties,
        "losses": row.losses,
        "effect": row.effect,
        "state": row.state(margin),
    }


def _reading(reading: Reading, margin: float) -> dict[str, Any]:
    return {
        "key": reading.key,
        "text": describe_reading(reading),
        "evidence": [comparison_dict(row, margin) for row in reading.evidence],
    }


def _overlap(o: Overlap | None) -> dict[str, Any] | None:
    if o is None:
        return None
    return {"k": o.k} | {name: e.to_dict() for name, e in o._asdict().items() if name != "k"}
