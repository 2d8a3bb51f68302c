"""The agreement of raters as tables and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from assay.judging.agreement import AgreementReport
from assay.judging.agreement.coefficients import Agreement
from assay.judging.agreement.disagreements import Disagreement
from assay.judging.agreement.raters import GradeShare, RaterSummary
from assay.judging.agreement.system_order import OrderComparison, SystemOrder
from assay.stats import Estimate
from assay.views import text
from assay.views.agreement_notes import reliability_notes, swap_notes
from assay.views.numbers import (
    NO_VALUE,
    format_estimate,
    format_interval,
    format_short,
    format_signed,
    format_value,
    narrow_notes,
)
from assay.views.sections import STYLES, Section, render_sections
from assay.views.terminal_tables import fit_to_terminal

FORMATS = ("table", "csv", "md", "html", "latex")
_MOST_PAIRS = 15  # of raters in a table
_SHOWN_PAIRS = 5  # with the lowest agreement and with the highest, of more pairs
_MOST_RATERS = 15
_MOST_GRADES = 8  # of which shares are shown
_LEAST_SHARED = 10  # items of pairs of raters that are shown of many
_PAIR_HEAD = ["rater", "and", "n", "agreement", "κ", "κ linear", "κ quadratic", "AC1"]


def render_agreement(report: AgreementReport, style: str) -> str:
    """Return how far raters agree in one of the styles; CSV has the pairs of raters."""
    if style == "csv":
        return text.render_csv(*_pair_rows_in_full(report))
    sections = [
        _overall_section(report),
        _pair_section(report),
        _rater_section(report),
        _slice_section(report),
        *_order_sections(report),
        _disagreement_section(report, style),
        Section("how far to trust the labels", reliability_notes(report)),
    ]
    if style == "table":
        labels = {"raters two by two": (0, 1), "disagreements": (0, 1, 2)}
        if report.system_order is not None:
            labels[_order_title(report.system_order)] = (0, 1)
        sections = [fit_to_terminal(section, labels.get(section.title, (0,))) for section in sections]
    assert style in STYLES
    return render_sections("Agreement of raters", sections, style)


def overlap_notes(report: AgreementReport) -> list[str]:
    """Return a note if no two raters judged the same pair."""
    if report.has_overlap:
        return []
    return [
        "agreement is undefined: no two raters judged the same pair of a query and a document; let two "
        "raters "
        "judge some of the same pairs, and check that their files use the same ids"
    ]


def _describe_counts(report: AgreementReport) -> list[str]:
    counts = report.counts
    lines = [
        f"{counts['labels']:,} labels of {len(report.raters):,} raters for {counts['pairs']:,} pairs of a "
        "query and "
        f"a document; {counts['judged_twice']:,} pairs have two labels or more"
    ]
    lines += [f"{counts['could_not_rate']:,} times a rater could not rate a pair"] * bool(
        counts["could_not_rate"]
    )
    return lines + [f"grades, % of labels: {format_shares(report.prevalence)}"] * bool(report.prevalence)


def format_shares(shares: Sequence[GradeShare]) -> str:
    """Return the percentage of labels of each grade.

    >>> format_shares([GradeShare(0.0, 3, 0.75), GradeShare(1.0, 1, 0.25)])
    '0: 75, 1: 25'
    """
    if len(shares) > _MOST_GRADES:
        return f"{len(shares)} different, from {shares[0].grade:g} to {shares[-1].grade:g}"
    return ", ".join(f"{share.grade:g}: {_format_percent(share.share)}" for share in shares)


def _format_percent(share: float) -> str:
    """Return a share in whole percent.

    >>> _format_percent(0.004), _format_percent(0.25), _format_percent(0.999)
    ('<1', '25', '>99')
    """
    percent = 100 * share
    return "<1" if 0 < percent < 1 else ">99" if 99 < percent < 100 else f"{percent:.0f}"


_NAMES = (
    "agreement",
    "Fleiss κ",
    "α nominal",
    "α ordinal",
    "α interval",
    "AC1",
    "AC2 linear",
    "AC2 quadratic",
)


def _coefficients(agreement: Agreement) -> list[Estimate]:
    return [
        agreement.agreement,
        agreement.fleiss,
        *agreement.alpha.values(),
        agreement.ac1,
        *agreement.ac2.values(),
    ]


def _overall_section(report: AgreementReport) -> Section:
    head = ["all raters", "value", f"{100 * report.level:g} % interval", "n"]
    estimates = _coefficients(report.agreement)
    rows = [
        [name, format_value(e.value), format_interval(e), str(e.n)]
        for name, e in zip(_NAMES, estimates, strict=True)
    ]
    spans = [(e.low, e.value, e.high) for e in estimates]
    lowest = min([0.0, *(e.low for e in estimates if e.low is not None)])
    return Section("", _describe_counts(report), head, rows, spans, (-1.0 if lowest < 0 else 0.0, 1.0))


def _pair_section(report: AgreementReport) -> Section:
    pairs, rows = report.pairs, _pairs_to_show(report)
    notes = []
    if len(rows) < len(pairs):
        notes = [
            f"{len(pairs):,} pairs of raters share items; these have the lowest and the highest agreement "
            "of those "
            f"that share {_least_shared(report)} or more; all: --format csv or json"
        ]
    columns = [pairs.agreement, *pairs.kappa.values(), pairs.gwet["none"]]
    cells = [
        [
            *pairs.names(row),
            str(int(pairs.n[row])),
            *(format_estimate(c.estimate(row)) for c in columns),
        ]
        for row in rows
    ]
    return Section("raters two by two", notes, _PAIR_HEAD, cells)


def _pairs_to_show(report: AgreementReport) -> list[int]:
    """Return all pairs of raters, or of many those with the lowest and the highest agreement."""
    pairs = report.pairs
    if len(pairs) <= _MOST_PAIRS:
        return list(range(len(pairs)))
    enough = np.flatnonzero(pairs.n >= _least_shared(report))
    order: list[int] = enough[np.argsort(pairs.agreement.value[enough], kind="stable")].tolist()
    return order[:_SHOWN_PAIRS] + order[_SHOWN_PAIRS:][-_SHOWN_PAIRS:]


def _least_shared(report: AgreementReport) -> int:
    """Return how many items a pair of raters shares at least, to be shown among many."""
    return min(_LEAST_SHARED, int(report.pairs.n.max()))


def _pair_rows_in_full(report: AgreementReport) -> tuple[list[str], list[list[str]]]:
    """Return the table of all pairs of raters for other programs."""
    names = ["kappa", "kappa_linear", "kappa_quadratic", "ac1", "ac2_linear", "ac2_quadratic"]
    head = ["a", "b", "n", "agreement", *(f"{name}{end}" for name in names for end in ("", "_low", "_high"))]
    rows = []
    for pair in report.pairs.to_dicts():
        row = [pair["a"], pair["b"], str(pair["n"]), _plain(pair["agreement"])]
        rows.append(row + [_plain(pair[name][end]) for name in names for end in ("value", "low", "high")])
    return head, rows


def _plain(value: float | None) -> str:
    return "" if value is None else repr(value)


def _rater_section(report: AgreementReport) -> Section:
    summaries = sorted(report.rater_summaries, key=lambda rater: -rater.labels)
    notes = ["bias: the mean difference from the mean of the other raters of the same pairs"]
    if len(summaries) > _MOST_RATERS:
        notes.append(
            f"the {_MOST_RATERS} raters with the most labels of {len(summaries):,}; all: --format json"
        )
    else:
        summaries = list(report.rater_summaries)
    shown = summaries[:_MOST_RATERS]
    notes += narrow_notes(rater.bias for rater in shown)
    head = ["rater", "labels", "shared", "not rated", "bias", "interval", "seconds", "grades, %"]
    return Section("raters", notes, head, [_rater_row(rater) for rater in shown])


def _rater_row(rater: RaterSummary) -> list[str]:
    bias = rater.bias
    return [
        rater.name,
        str(rater.labels),
        str(rater.shared),
        str(rater.unrated),
        NO_VALUE if bias.value is None else format_signed(bias.value, 3),
        format_interval(bias, lambda end: format_signed(end, 3)),
        format_short(rater.seconds.value),
        format_shares(rater.prevalence) if rater.labels else NO_VALUE,
    ]


def _slice_section(report: AgreementReport) -> Section:
    head = ["slice", "pairs", "agreement", "Fleiss κ", "α ordinal", "AC1"]
    rows = []
    for part in report.slices:
        chosen = (
            part.agreement.agreement,
            part.agreement.fleiss,
            part.agreement.alpha["ordinal"],
            part.agreement.ac1,
        )
        rows.append([f"{part.column}: {part.value}", str(chosen[0].n), *map(format_estimate, chosen)])
    return Section("slices", (), head, rows)


def _order_title(order: SystemOrder) -> str:
    return f"order of systems by {order.measure}"


def _order_sections(report: AgreementReport) -> list[Section]:
    order = report.system_order
    if order is None:
        return []
    title = _order_title(order)
    if not order.comparisons:
        return [Section(title, ["no two raters judged the same pair: the orders cannot be compared"])]
    shown = sorted(order.comparisons, key=lambda c: 2.0 if c.tau.value is None else c.tau.value)[:_MOST_PAIRS]
    notes = swap_notes(shown)
    if order.left_out:
        notes.append(f"{len(order.left_out):,} raters with fewer labels are left out")
    if len(order.comparisons) > len(shown):
        notes.append(f"the {len(shown)} pairs of raters with the lowest τ; all: --format json")
    head = ["rater", "and", "queries", "pairs", "Kendall τ", "systems that swap"]
    rows = [
        [c.first, c.second, str(c.queries), str(c.pairs), format_estimate(c.tau, 2, 2), str(len(c.swaps))]
        for c in shown
    ]
    sections = [Section(title, notes, head, rows)]
    if len(order.comparisons) == 1:
        comparison = order.comparisons[0]
        head = ["run", f"by {comparison.first}", f"by {comparison.second}"]
        sections.append(Section(f"{order.measure} by rater", (), head, _score_rows(comparison)))
    return sections


def _score_rows(comparison: OrderComparison) -> list[list[str]]:
    """Return the runs with their scores, the best by the first rater first."""
    scores = sorted(comparison.scores.items(), key=lambda entry: -(entry[1][0].value or 0.0))
    return [[name, *map(format_estimate, both)] for name, both in scores]


def _disagreement_section(report: AgreementReport, style: str) -> Section:
    found = report.disagreements
    if not found.judged_twice:
        return Section("")
    share = 100 * found.differing / found.judged_twice
    notes = [
        f"{found.differing:,} of {found.judged_twice:,} pairs with two labels or more ({share:.3g} %) have "
        "different "
        "grades" + (f"; the {len(found.worst):,} most severe:" if found.worst else "")
    ]
    width = 44 if style == "table" else 400
    rows = [
        [
            _with_text(item.query_id, item.query, width),
            _with_text(item.doc_id, item.document, width),
            _format_grades(item),
        ]
        for item in found.worst
    ]
    return Section("disagreements", notes, ["query", "document", "grades"], rows)


def _with_text(key: str, words: str | None, width: int) -> str:
    return f"{key} {text.shorten(words, width)}" if words else key


def _format_grades(item: Disagreement) -> str:
    if len(item.grades) <= 4:
        return ", ".join(f"{rater}: {grade:g}" for rater, grade in item.grades.items())
    counts = sorted(Counter(item.grades.values()).items())
    return ", ".join(f"{grade:g} ×{count}" for grade, count in counts)
