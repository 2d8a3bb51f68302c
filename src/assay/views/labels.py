"""Qrels that a rule derived, and adjudications, as tables and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from textwrap import wrap

from assay.judging.aggregation import RULES, TIES, Aggregation
from assay.judging.aggregation.judge_tables import JudgeTable
from assay.judging.agreement.disagreements import Disagreement
from assay.views import text
from assay.views.numbers import NO_VALUE, format_estimate, format_exact
from assay.views.sections import Section, render_sections

FORMATS = ("table", "csv", "md", "html", "latex")
_HALVES = {
    "lower": "halves, which are rounded down",
    "higher": "halves, which are rounded up",
    "none": "halves; these get no label",
    "random": "halves, which are rounded up or down by the seed and the ids of the pair",
}
_MOST_JUDGES = 12  # in a table
_FEW_JUDGES = 3  # with fewer, the model of Dawid and Skene rests on its start


def render_qrels(aggregation: Aggregation, style: str) -> str:
    """Return what a rule made of judgments in one of the styles; CSV has the pairs."""
    if style == "csv":
        return _pairs_csv(aggregation)
    grades = [
        [grade, f"{count:,}", _percent(count, aggregation)] for grade, count in aggregation.grades.items()
    ]
    sections = [
        Section("", describe_rule(aggregation)),
        Section("grades", (), ["grade", "pairs", "share"], grades),
        _judge_section(aggregation, style),
        *_confusion_sections(aggregation, style),
    ]
    return render_sections("Qrels by a rule", sections, style)


def describe_rule(aggregation: Aggregation) -> list[str]:
    """Return the rule and what it decided, in sentences."""
    rule, counts = aggregation.rule, aggregation.counts
    notes = [
        f"rule {rule.name}: {RULES[rule.name]}",
        f"{counts['judgments']:,} grades of {counts['judges']:,} judges for {counts['pairs']:,} pairs: "
        f"{counts['labelled']:,} pairs have a label, {counts['unlabelled']:,} have none",
    ]
    if counts["unrated"]:
        notes.append(f"{counts['unrated']:,} judgments say that a pair cannot be rated; they are not grades")
    if rule.fallback:
        notes.append(f"pairs that no adjudicator decided: {rule.fallback}, {RULES[rule.fallback]}")
    if rule.tie_rule and counts["tied"]:
        share = counts["tied"] / counts["pairs"]
        seed = f" (seed {rule.seed})" if rule.tie_rule == "random" else ""
        is_vote = "majority" in (rule.name, rule.fallback)
        what = f"tied votes; these get {TIES[rule.tie_rule]}" if is_vote else _HALVES[rule.tie_rule]
        notes.append(f"{counts['tied']:,} pairs ({share:.1%}) have {what}{seed}")
    return [*notes, *_model_notes(aggregation)]


def _model_notes(aggregation: Aggregation) -> list[str]:
    model = aggregation.model
    if model is None:
        return []
    state = "converged" if model.has_converged else "not converged"
    notes = [
        f"model of Dawid and Skene: {state} after {model.iterations} iterations, {model.smoothing:g} labels "
        "added to each cell"
    ]
    if len(aggregation.judges) < _FEW_JUDGES:
        notes.append(
            "with two judges the model cannot tell who is right where they differ: its labels rest on its "
            "start, the votes"
        )
    return notes


def _percent(count: int, aggregation: Aggregation) -> str:
    return f"{count / aggregation.counts['labelled']:.1%}"


def _judge_section(aggregation: Aggregation, style: str) -> Section:
    judges = _most_active(aggregation.judges, style)
    rows = [
        [judge.name, f"{judge.labels:,}", f"{judge.unrated:,}", format_estimate(judge.agreement, 3)]
        for judge in judges
    ]
    notes = ["agreement is with the label, which rests on the judge's own labels, too"]
    if len(judges) < len(aggregation.judges):
        notes.append(
            f"the {len(judges)} of {len(aggregation.judges):,} judges with the most labels; "
            "--format json has all"
        )
    return Section("judges", notes, ["judge", "labels", "not rated", "same as the label"], rows)


def _most_active(judges: Sequence[JudgeTable], style: str) -> list[JudgeTable]:
    ordered = sorted(judges, key=lambda judge: (-judge.labels, judge.name))
    return ordered[:_MOST_JUDGES] if style == "table" else ordered


def _confusion_sections(aggregation: Aggregation, style: str) -> list[Section]:
    """Return the tables of errors of the judges with the most labels, if a model fitted them."""
    if aggregation.rule.name != "dawid-skene":
        return []
    return [
        Section(
            f"errors of {judge.name}",
            (),
            ["true grade", *(f"says {grade:g}" for grade in judge.scale)],
            [
                [f"{grade:g}", *(NO_VALUE if share is None else f"{share:.2f}" for share in shares)]
                for grade, shares in zip(judge.grades, judge.confusion, strict=True)
            ],
        )
        for judge in _most_active(aggregation.judges, style)[:3]
    ]


def _pairs_csv(aggregation: Aggregation) -> str:
    frame = aggregation.pairs
    rows = [[_cell(value) for value in row] for row in frame.rows()]
    return text.render_csv(frame.columns, rows)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return format_exact(value)
    return "" if value is None else str(value)


def render_adjudication(
    disputes: Sequence[Disagreement],
    grades: Mapping[tuple[str, str], float | None],
    counts: Mapping[str, int],
    limit: int,
    style: str,
) -> str:
    """Return the disputes, the most severe first, with their decisions, in one of the styles."""
    head = ["query", "document", "grades", "difference", "decision", "notes"]
    shown = disputes if style == "csv" else disputes[:limit]
    rows = [_dispute_cells(one, grades, style) for one in shown]
    if style == "csv":
        return text.render_csv(head, rows)
    notes = [describe_disputes(counts)]
    if len(shown) < len(disputes):
        notes.append(f"the {len(shown)} with the widest difference; --limit shows more")
    return render_sections("Adjudication", [Section("", notes, head, rows)], style)


def describe_disputes(counts: Mapping[str, int]) -> str:
    """Return how many pairs are disputed and decided, in one sentence.

    >>> describe_disputes({"judged_twice": 9, "disputes": 3, "decided": 1, "remaining": 2})
    '3 of 9 pairs with two labels or more are disputed: 1 decided, 2 left'
    """
    return (
        f"{counts['disputes']:,} of {counts['judged_twice']:,} pairs with two labels or more are disputed: "
        f"{counts['decided']:,} decided, {counts['remaining']:,} left"
    )


def _dispute_cells(
    dispute: Disagreement, grades: Mapping[tuple[str, str], float | None], style: str
) -> list[str]:
    width = 40 if style == "table" else 2000
    given = ", ".join(f"{judge} {grade:g}" for judge, grade in dispute.grades.items())
    notes = "; ".join(f"{judge}: {note}" for judge, note in dispute.notes.items())
    pair = (dispute.query_id, dispute.doc_id)
    decision = grades.get(pair)
    words = "" if pair not in grades else "cannot be rated" if decision is None else f"{decision:g}"
    query, document = dispute.query or dispute.query_id, dispute.doc_id
    cells = [query, document, given, f"{dispute.spread:g}", words, notes]
    return [text.shorten(cell, width) for cell in cells]


def render_dispute(dispute: Disagreement, width: int, height: int | None, is_blind: bool) -> str:
    """Return one pair as a person who decides sees it: who gave which grade is not shown."""
    lines = _wrap(f"query: {dispute.query or dispute.query_id}", width)
    body = _wrap(f"document: {dispute.document or dispute.doc_id}", width)
    if height is not None and len(body) > height:
        body = [*body[: height - 1], "… (m shows all)"]
    lines += ["", *body]
    if not is_blind:
        counts = Counter(dispute.grades.values())
        given = ", ".join(f"{grade:g} × {count}" for grade, count in sorted(counts.items()))
        lines += ["", f"grades: {given}"]
        lines += [line for note in sorted(dispute.notes.values()) for line in _wrap(f"note: {note}", width)]
    return "\n".join(lines)


def _wrap(words: str, width: int) -> list[str]:
    return [
        part
        for line in words.splitlines()
        for part in wrap(text.remove_line_breaks(line), width, break_on_hyphens=False) or [""]
    ]
