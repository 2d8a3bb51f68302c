"""Evaluations as a table for people, and as JSON, CSV, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from assay.core.tables import known
from assay.evaluation import Counts, Evaluation
from assay.stats import Estimate
from assay.views import text

Rows = list[list[str]]


class Line(NamedTuple):
    """One estimate of one run, with what it belongs to."""

    measure: str
    column: str
    value: str
    run: str
    estimate: Estimate
    unjudged: tuple[float | None, float | None] | None = None

    @property
    def slice(self) -> str:
        """The slice as it is shown: `category: faq`, or `all`."""
        return f"{self.column}: {self.value}" if self.column else "all"


def lines(evaluations: Sequence[Evaluation]) -> list[Line]:
    """The estimates, measure by measure, slice by slice, with the runs side by side."""
    made = []
    for measure in evaluations[0].estimates:
        for e in evaluations:
            made.append(Line(measure, "", "", e.name, e.estimates[measure], e.unjudged.get(measure)))
        for parts in zip(*(e.by for e in evaluations), strict=True):
            for e, s in zip(evaluations, parts, strict=True):
                ends = s.unjudged.get(measure)
                made.append(Line(measure, s.column, s.value, e.name, s.estimates[measure], ends))
    return made


def summary(evaluations: Sequence[Evaluation], style: str, per_query: bool = False) -> str:
    """All estimates (and the scores of each query, if wanted) in one of the formats."""
    if style == "json":
        import json

        runs, first = [e.to_dict(per_query) for e in evaluations], evaluations[0]
        return json.dumps({"runs": runs, "level": first.level, "seed": first.seed}, indent=1)
    if per_query:
        return _PER_QUERY[style](*_query_rows(evaluations, exact if style == "csv" else number))
    return _SUMMARY[style](lines(evaluations), evaluations)


def per_query(evaluations: Sequence[Evaluation], style: str) -> str:
    """The score of each query."""
    return summary(evaluations, style, per_query=True)


def _query_rows(
    evaluations: Sequence[Evaluation], shown: Callable[[float | None], str]
) -> tuple[list[str], Rows]:
    """The scores of the queries as rows of text, with the runs side by side."""
    scored = [(e.name, _query_cells(e), _query_slices(e)) for e in evaluations]
    queries = dict.fromkeys(query for _, cells, _ in scored for query in cells)
    rows = [
        [query, name, *labels[query], *map(shown, cells[query])]
        for query in queries
        for name, cells, labels in scored
        if query in cells
    ]
    head = [str(m) for m in evaluations[0].measures]
    if evaluations[0].ranges:
        head = [f"{m}{end}" for m in head for end in ("", " if irrelevant", " if relevant")]
    return ["query_id", "run", *dict.fromkeys(s.column for s in evaluations[0].slices), *head], rows


def _query_slices(e: Evaluation) -> dict[str, list[str]]:
    """The slices that each query is in, one for each column."""
    labels: dict[str, list[str]] = {query: [] for query in e.scores.query_ids}
    for part in e.slices:
        for row in part.rows:
            labels[e.scores.query_ids[row]].append(part.value)
    return labels


def _query_cells(e: Evaluation) -> dict[str, list[float | None]]:
    """The values of each query: each measure, with the ends of its range where they are known."""
    columns = [column for m, values in e.scores.values.items() for column in (values, *e.ranges.get(m, ()))]
    return dict(zip(e.scores.query_ids, map(list, zip(*map(known, columns), strict=True)), strict=True))


def number(value: float | None) -> str:
    """A value for people: four decimals, a dash where there is none.

    >>> number(0.5), number(None)
    ('0.5000', '–')
    """
    return "–" if value is None else f"{value:.4f}"


def exact(value: float | None) -> str:
    """A value with all its digits, nothing where there is none."""
    return "" if value is None else repr(value)


def _csv(made: list[Line], evaluations: Sequence[Evaluation]) -> str:
    head = ["run", "column", "slice", "measure", "value", "low", "high", "level", "n"]
    rows = [
        [m.run, m.column, m.value, m.measure, *map(exact, m.estimate[:4]), str(m.estimate.n)] for m in made
    ]
    if any(m.unjudged for m in made):
        head += ["if_unjudged_irrelevant", "if_unjudged_relevant"]
        for row, m in zip(rows, made, strict=True):
            row += map(exact, m.unjudged or (None, None))
    return text.csv(head, rows)


def _table(made: list[Line], evaluations: Sequence[Evaluation]) -> str:
    head, rows, bars = _shown(made, evaluations)
    low, high = scale(made)
    head.append(f"{low:g}{'┄' * (text.BAR - len(f'{low:g}{high:g}'))}{high:g}")
    drawn = [[*row, bar] for row, bar in zip(rows, bars, strict=True)]
    return _noted(evaluations, text.table(head, drawn), "\n")


def _markdown(made: list[Line], evaluations: Sequence[Evaluation]) -> str:
    head, rows, _ = _shown(made, evaluations, repeat=True)
    return _noted(evaluations, text.markdown(head, rows), "  \n")


def _noted(evaluations: Sequence[Evaluation], body: str, newline: str) -> str:
    """A table under the lines that say what stands behind it."""
    return newline.join(counts(e.name, e.counts) for e in evaluations) + "\n\n" + body


def _html(made: list[Line], evaluations: Sequence[Evaluation]) -> str:
    from assay.views import html

    head, rows, _ = _shown(made, evaluations, repeat=True)
    low, high = scale(made)
    spans = [(m.estimate.low, m.estimate.value, m.estimate.high) for m in made]
    notes = [counts(e.name, e.counts) for e in evaluations]
    return html.page("Evaluation", notes, html.table(head, rows, spans, low, high))


def _shown(
    made: list[Line], evaluations: Sequence[Evaluation], repeat: bool = False
) -> tuple[list[str], Rows, list[str]]:
    """Head, rows and bars of the table; what is the same for all is left out."""
    sliced, many = any(m.column for m in made), len(evaluations) > 1
    ranged = any(m.unjudged for m in made)
    level = f"{100 * made[0].estimate.level:g} % interval"
    head = ["measure", *["slice"] * sliced, *["run"] * many, "value", level, "n"]
    head += ["unjudged irrelevant…relevant"] * ranged
    low, high = scale(made)
    rows, bars, last = Rows(), [], ("", "")
    for m in made:
        labels = [m.measure, *[m.slice] * sliced, *[m.run] * many]
        if not repeat and (m.measure, m.slice) == last:
            labels[: 1 + sliced] = [""] * (1 + sliced)
        elif not repeat and m.measure == last[0]:
            labels[0] = ""
        last = (m.measure, m.slice)
        rows.append([*labels, number(m.estimate.value), interval(m.estimate), str(m.estimate.n)])
        rows[-1] += [_range(m)] * ranged
        bars.append(text.bar(m.estimate.low, m.estimate.value, m.estimate.high, low, high))
    return head, rows, bars


def _range(line: Line) -> str:
    return "–" if line.unjudged is None else "…".join(number(end) for end in line.unjudged)


def interval(e: Estimate, shown: Callable[[float], str] = number) -> str:
    """An interval for people."""
    low, high = ("–" if end is None else shown(end) for end in (e.low, e.high))
    return "–" if e.low is None and e.high is None else f"{low} … {high}"


def scale(made: Sequence[Line]) -> tuple[float, float]:
    """The ends of the axis: 0 to 1, or further where a value lies outside."""
    ends = [v for m in made for v in (m.estimate.low, m.estimate.value, m.estimate.high) if v is not None]
    return min([0.0, *ends]), max([1.0, *ends])


def counts(name: str, c: Counts) -> str:
    """What stands behind the numbers of a run, in a line."""
    said = [f"{c.judged_queries:,} judged {'query' if c.judged_queries == 1 else 'queries'}"]
    said += [f"{c.missing_from_run:,} of them missing from the run"] * bool(c.missing_from_run)
    said += [f"{c.without_relevant:,} without a relevant document"] * bool(c.without_relevant)
    said += [f"{c.unjudged_in_run:,} in the run without judgments, left out"] * bool(c.unjudged_in_run)
    said += [f"{c.ties_at_cutoff:,} with a tie at a cutoff"] * bool(c.ties_at_cutoff)
    return f"{name}: {', '.join(said)}"


def _html_rows(head: list[str], rows: Rows) -> str:
    from assay.views import html

    return html.page("Scores of each query", [], html.table(head, rows))


_SUMMARY: dict[str, Callable[[list[Line], Sequence[Evaluation]], str]] = {
    "table": _table,
    "csv": _csv,
    "md": _markdown,
    "html": _html,
}
_PER_QUERY: dict[str, Callable[[list[str], Rows], str]] = {
    "table": text.table,
    "csv": text.csv,
    "md": text.markdown,
    "html": _html_rows,
}
FORMATS = ("table", "json", "csv", "md", "html")
