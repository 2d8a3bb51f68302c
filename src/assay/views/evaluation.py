"""Evaluations as a table, and as JSON, CSV, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.tables import none_for_nan
from assay.evaluation import Counts, Evaluation
from assay.stats import Estimate
from assay.views import text
from assay.views.html import IntervalPlot, PlotRow
from assay.views.numbers import NO_VALUE, format_exact, format_interval, format_value, narrow_notes
from assay.views.sections import Section, input_section, render_sections

Rows = list[list[str]]


class EstimateLine(NamedTuple):
    """One estimate of one run, with its measure and slice."""

    measure: str
    column: str
    value: str
    run: str
    estimate: Estimate
    unjudged: tuple[float | None, float | None] | None = None

    @property
    def slice(self) -> str:
        """The slice as printed: `category: faq`, or `all`."""
        return f"{self.column}: {self.value}" if self.column else "all"


def estimate_lines(evaluations: Sequence[Evaluation]) -> list[EstimateLine]:
    """The estimates by measure and slice, with the runs next to each other."""
    lines = []
    for measure in evaluations[0].estimates:
        for e in evaluations:
            lines.append(EstimateLine(measure, "", "", e.name, e.estimates[measure], e.unjudged.get(measure)))
        for parts in zip(*(e.slice_estimates for e in evaluations), strict=True):
            for e, s in zip(evaluations, parts, strict=True):
                unjudged = s.unjudged.get(measure)
                lines.append(EstimateLine(measure, s.column, s.value, e.name, s.estimates[measure], unjudged))
    return lines


class PageDetails(NamedTuple):
    """What the output of a result has in addition to its numbers."""

    texts: Mapping[str, str] = {}  # of the queries, by id
    worst: int = 0  # how many of the worst queries are shown
    digests: Mapping[str, str] = {}  # of the inputs, by name
    derived_texts: Mapping[str, str] = {}  # of queries whose ids a reader made, to be shown beside them


def render_evaluations(
    evaluations: Sequence[Evaluation],
    style: str,
    per_query: bool = False,
    details: PageDetails | None = None,
) -> str:
    """All estimates in one of the formats, or with `per_query` the scores of each query."""
    details = details or PageDetails()
    if style == "html" and not per_query:
        return _html(estimate_lines(evaluations), evaluations, details)
    if per_query:
        head, rows = _query_rows(evaluations, format_exact if style == "csv" else format_value)
        if details.derived_texts:
            max_length = None if style == "csv" else 60
            head, rows = _with_texts(head, rows, details.derived_texts, max_length)
        return _PER_QUERY[style](head, rows)
    return _SUMMARY[style](estimate_lines(evaluations), evaluations)


def evaluations_dict(evaluations: Sequence[Evaluation], per_query: bool = False) -> dict[str, Any]:
    """Return evaluations as plain data, with the keys that `assay eval --format json` prints."""
    runs, first = [e.to_dict(per_query) for e in evaluations], evaluations[0]
    return {"runs": runs, "level": first.level, "seed": first.seed}


def render_scores_per_query(evaluations: Sequence[Evaluation], style: str) -> str:
    """The scores of each query in one of the formats."""
    return render_evaluations(evaluations, style, per_query=True)


def _query_rows(
    evaluations: Sequence[Evaluation], format_score: Callable[[float | None], str]
) -> tuple[list[str], Rows]:
    """The header and the rows of the scores of each query, with the runs next to each other."""
    scored = [(e.name, _query_cells(e), _query_slices(e)) for e in evaluations]
    queries = dict.fromkeys(query for _, cells, _ in scored for query in cells)
    rows = [
        [query, name, *labels[query], *map(format_score, cells[query])]
        for query in queries
        for name, cells, labels in scored
        if query in cells
    ]
    head = [str(m) for m in evaluations[0].measures]
    if evaluations[0].ranges:
        head = [f"{m}{end}" for m in head for end in ("", " if irrelevant", " if relevant")]
    return ["query_id", "run", *dict.fromkeys(s.column for s in evaluations[0].slices), *head], rows


def _with_texts(
    head: list[str], rows: Rows, texts: Mapping[str, str], max_length: int | None
) -> tuple[list[str], Rows]:
    """The rows of the scores of each query with its text after its id."""
    shown = texts if max_length is None else {q: text.shorten(t, max_length) for q, t in texts.items()}
    return [head[0], "text", *head[1:]], [[row[0], shown.get(row[0], ""), *row[1:]] for row in rows]


def _query_slices(e: Evaluation) -> dict[str, list[str]]:
    """The slices of each query, one for each column."""
    labels: dict[str, list[str]] = {query: [] for query in e.scores.query_ids}
    for part in e.slices:
        for row in part.rows:
            labels[e.scores.query_ids[row]].append(part.value)
    return labels


def _query_cells(e: Evaluation) -> dict[str, list[float | None]]:
    """The values of each query: each measure, with the bounds of its range if known."""
    columns = [column for m, values in e.scores.values.items() for column in (values, *e.ranges.get(m, ()))]
    return dict(
        zip(e.scores.query_ids, map(list, zip(*map(none_for_nan, columns), strict=True)), strict=True)
    )


def _csv(lines: list[EstimateLine], evaluations: Sequence[Evaluation]) -> str:
    head = ["run", "column", "slice", "measure", "value", "low", "high", "level", "n"]
    rows = [
        [m.run, m.column, m.value, m.measure, *map(format_exact, m.estimate[:4]), str(m.estimate.n)]
        for m in lines
    ]
    if any(m.unjudged for m in lines):
        head += ["if_unjudged_irrelevant", "if_unjudged_relevant"]
        for row, m in zip(rows, lines, strict=True):
            row += map(format_exact, m.unjudged or (None, None))
    return text.render_csv(head, rows)


def _table(lines: list[EstimateLine], evaluations: Sequence[Evaluation]) -> str:
    head, rows, bars = _table_parts(lines, evaluations)
    low, high = axis_of(lines)
    head.append(f"{low:g}{'┄' * (text.BAR_WIDTH - len(f'{low:g}{high:g}'))}{high:g}")
    rows_with_bars = [[*row, bar] for row, bar in zip(rows, bars, strict=True)]
    return _with_notes(lines, evaluations, text.render_table(head, rows_with_bars), "\n")


def _markdown(lines: list[EstimateLine], evaluations: Sequence[Evaluation]) -> str:
    head, rows, _ = _table_parts(lines, evaluations, repeat=True)
    return _with_notes(lines, evaluations, text.render_markdown(head, rows), "  \n")


def _latex(lines: list[EstimateLine], evaluations: Sequence[Evaluation]) -> str:
    head, rows, _ = _table_parts(lines, evaluations, repeat=True)
    notes = [describe_counts(e.name, e.counts) for e in evaluations]
    notes += narrow_notes(line.estimate for line in lines)
    return render_sections("Evaluation", [Section("", notes, head, rows)], "latex")


def _with_notes(lines: list[EstimateLine], evaluations: Sequence[Evaluation], body: str, newline: str) -> str:
    """A table below the counts of each run, and above what its marks mean."""
    counts = newline.join(describe_counts(e.name, e.counts) for e in evaluations)
    return "\n\n".join([counts, body, *narrow_notes(line.estimate for line in lines)])


def _html(lines: list[EstimateLine], evaluations: Sequence[Evaluation], details: PageDetails) -> str:
    head, rows, _ = _table_parts(lines, evaluations, repeat=True)
    axis = axis_of(lines)
    spans = [(m.estimate.low, m.estimate.value, m.estimate.high) for m in lines]
    notes = [describe_counts(e.name, e.counts) for e in evaluations]
    notes += narrow_notes(line.estimate for line in lines)
    parts = [
        Section("", notes, plot=_plot(lines, [e.name for e in evaluations], axis)),
        Section("all values", (), head, rows, spans, axis),
        *(_worst_section(e, details) for e in evaluations),
        input_section(details.digests),
    ]
    return render_sections("Evaluation", parts, "html")


def _plot(lines: Sequence[EstimateLine], names: Sequence[str], axis: tuple[float, float]) -> IntervalPlot:
    """The estimates over all queries."""
    many = len(names) > 1
    rows = [
        PlotRow(
            m.measure * many,
            m.run if many else m.measure,
            (m.estimate.low, m.estimate.value, m.estimate.high),
            names.index(m.run),
        )
        for m in lines
        if not m.column
    ]
    level = f"{100 * lines[0].estimate.level:g} %"
    return IntervalPlot(f"values over all queries, with {level} intervals", rows, axis)


def _worst_section(evaluation: Evaluation, details: PageDetails) -> Section:
    """The worst queries of a run."""
    worst = evaluation.worst(n=details.worst) if details.worst else []
    has_texts = any(query in details.texts for query, _ in worst)
    head = ["query", *["text"] * has_texts, str(evaluation.measures[0])]
    rows = [
        [query, *[text.shorten(details.texts.get(query, ""), 90)] * has_texts, format_value(value)]
        for query, value in worst
    ]
    return Section(f"worst queries of {evaluation.name} by {evaluation.measures[0]}", (), head, rows)


def _table_parts(
    lines: list[EstimateLine], evaluations: Sequence[Evaluation], repeat: bool = False
) -> tuple[list[str], Rows, list[str]]:
    """The header, rows and bars of the table, without columns that are the same for all rows."""
    sliced, many = any(m.column for m in lines), len(evaluations) > 1
    ranged = any(m.unjudged for m in lines)
    level = f"{100 * lines[0].estimate.level:g} % interval"
    head = ["measure", *["slice"] * sliced, *["run"] * many, "value", level, "n"]
    head += ["unjudged irrelevant…relevant"] * ranged
    low, high = axis_of(lines)
    rows, bars, last = Rows(), [], ("", "")
    for m in lines:
        labels = [m.measure, *[m.slice] * sliced, *[m.run] * many]
        if not repeat and (m.measure, m.slice) == last:
            labels[: 1 + sliced] = [""] * (1 + sliced)
        elif not repeat and m.measure == last[0]:
            labels[0] = ""
        last = (m.measure, m.slice)
        rows.append([*labels, format_value(m.estimate.value), format_interval(m.estimate), str(m.estimate.n)])
        rows[-1] += [_format_range(m)] * ranged
        bars.append(text.render_bar(m.estimate.low, m.estimate.value, m.estimate.high, low, high))
    return head, rows, bars


def _format_range(line: EstimateLine) -> str:
    return NO_VALUE if line.unjudged is None else "…".join(format_value(end) for end in line.unjudged)


def axis_of(lines: Sequence[EstimateLine]) -> tuple[float, float]:
    """The ends of the axis: 0 to 1, or further if a value lies outside."""
    values = [v for m in lines for v in (m.estimate.low, m.estimate.value, m.estimate.high) if v is not None]
    return min([0.0, *values]), max([1.0, *values])


def describe_counts(name: str, c: Counts) -> str:
    """The number of queries behind the values of a run, in one line."""
    parts = [f"{c.judged_queries:,} judged {'query' if c.judged_queries == 1 else 'queries'}"]
    parts += [f"{c.missing_from_run:,} of them missing from the run"] * bool(c.missing_from_run)
    parts += [f"{c.without_relevant:,} without a relevant document"] * bool(c.without_relevant)
    parts += [f"{c.unjudged_in_run:,} in the run without judgments, left out"] * bool(c.unjudged_in_run)
    parts += [f"{c.ties_at_cutoff:,} with a tie at a cutoff"] * bool(c.ties_at_cutoff)
    return f"{name}: {', '.join(parts)}"


def _latex_rows(head: list[str], rows: Rows) -> str:
    return render_sections("Scores of each query", [Section("", (), head, rows)], "latex")


def _html_rows(head: list[str], rows: Rows) -> str:
    return render_sections("Scores of each query", [Section("", (), head, rows)], "html")


_SUMMARY: dict[str, Callable[[list[EstimateLine], Sequence[Evaluation]], str]] = {
    "table": _table,
    "csv": _csv,
    "md": _markdown,
    "latex": _latex,
}
_PER_QUERY: dict[str, Callable[[list[str], Rows], str]] = {
    "table": text.render_table,
    "csv": text.render_csv,
    "md": text.render_markdown,
    "html": _html_rows,
    "latex": _latex_rows,
}
FORMATS = ("table", "csv", "md", "html", "latex")
