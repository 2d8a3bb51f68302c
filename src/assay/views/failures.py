"""Failing queries as a report by cause and slice, and as JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence

from assay.evaluation.causes import CAUSES, Evidence
from assay.evaluation.failures import FailingSlice, Failure, Failures
from assay.stats import Estimate
from assay.views import text
from assay.views.evaluation import exact, interval, number
from assay.views.sections import Section, render

SHOWN = 5


def failing(found: Failures, style: str, show: int = SHOWN) -> str:
    """The failures in one of the formats; JSON and CSV have every failing query, the others some."""
    if style == "json":
        return json.dumps(found.to_dict(), indent=1, ensure_ascii=False)
    if style == "csv":
        return text.csv(*_csv(found))
    said = [] if style == "table" else not_looked_for(found)
    worst = [_query(failure) for failure in found.failing[:show]]
    parts = [_score(found), _causes(found), _slices(found), _heading(found, show), *worst]
    return render("Failures", [*parts, Section("not looked for", said)], style)


def not_looked_for(found: Failures) -> list[str]:
    """What could not be looked for, and what to give to look for it."""
    return [f"{unknown.what}: give {unknown.give}" for unknown in found.unknown]


def _score(found: Failures) -> Section:
    """The score with its level beside it, and how many queries fail."""
    e, where = found.estimate, found.standing
    said = [f"{found.name}: {found.measure} {_estimate(e)}, n {e.n:,}"]
    said += [f"level to aim for: {where.text}"] if where else []
    side = "above" if found.measure.lower_is_better else "below"
    count = f"{len(found.failing):,} of {found.n:,} queries"
    said.append(
        f"{side} {found.below:g}: {count}, {_percent(found.share)}" if found.failing else _none(found)
    )
    said += [f"undefined for {found.undefined:,} queries, which are left out"] * bool(found.undefined)
    if found.failing and found.scope.depth > found.scope.k:
        best = f"were the first {found.scope.depth} of each query in the best order"
        said.append(f"{best}: {found.measure} {_estimate(found.reranked)}")
    return Section("", said)


def _none(found: Failures) -> str:
    side = "above" if found.measure.lower_is_better else "below"
    return f"no query is {side} {found.below:g}: none of {found.n:,} fails"


def _estimate(e: Estimate) -> str:
    return f"{number(e.value)} ({interval(e)})"


def _percent(e: Estimate) -> str:
    value, low, high = ("–" if end is None else f"{100 * end:.1f}" for end in e[:3])
    return f"{value} % ({low} … {high})"


def _causes(found: Failures) -> Section:
    rows = []
    for key, queries in found.by_cause.items():
        share = f"{len(queries) / len(found.failing):.2f}"
        rows.append([key, str(len(queries)), share, CAUSES[key].fix_for(found.scope)])
    return Section("likely causes", (), ["cause", "queries", "share", "what it points to"], rows)


def _slices(found: Failures) -> Section:
    level = f"{100 * found.share.level:g} % interval"
    head = ["slice", "n", "failing", "share", level, "likely causes"]
    rows = [_slice(part) for part in found.by_slice]
    spans = [(s.share.low, s.share.value, s.share.high) for s in found.by_slice]
    return Section("by slice", (), head, rows, spans)


def _slice(part: FailingSlice) -> list[str]:
    causes = [f"{count} {cause}" for cause, count in part.causes.items()]
    shown = [f"{part.column}: {part.value}", str(part.n), str(part.failing), number(part.share.value)]
    return [*shown, interval(part.share), ", ".join(causes[:2]) + ", …" * (len(causes) > 2) or "–"]


def _heading(found: Failures, show: int) -> Section:
    """What the sections of single queries are."""
    shown = min(show, len(found.failing))
    said = f"the worst {shown} of {len(found.failing):,}, each with its likely cause first"
    return Section("", [said] * bool(shown))


def _query(failure: Failure) -> Section:
    """A failing query with its evidence."""
    said = [f"{evidence.cause}: {evidence.text}" for evidence in failure.evidence]
    title = f"{failure.query_id} {number(failure.value)}"
    asked = text.shorten(" ".join((failure.text or "").split()), 90)
    return Section(f"{title} “{asked}”" if asked else title, said)


def _csv(found: Failures) -> tuple[list[str], list[list[str]]]:
    """A row for each evidence of each failing query."""
    columns = list(dict.fromkeys(s.column for s in found.by_slice))
    head = ["query_id", "value", "text", *columns, "place", "cause", "explained", "missing"]
    rows = [
        [f.query_id, exact(f.value), f.text or "", *(f.slices[column] for column in columns), *cells]
        for f in found.failing
        for cells in _cells(f, f.evidence)
    ]
    return [*head, "documents", "evidence"], rows


def _cells(failure: Failure, evidence: Sequence[Evidence]) -> list[list[str]]:
    missing = str(len(failure.missing))
    return [
        [str(place), e.cause, str(e.explained), missing, " ".join(e.documents), e.text]
        for place, e in enumerate(evidence, 1)
    ]
