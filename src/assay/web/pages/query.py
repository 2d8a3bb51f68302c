"""One query: its scores over time, ranked lists side by side, grades and judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from assay.views.numbers import format_signed, format_value
from assay.web.page import Action, Context, Page, Parameters, Result, Role, View
from assay.web.rendering import axis_of
from assay.workflows.annotate_failures import AnnotateQueryRequest, annotate_query
from assay.workflows.query_history import (
    MOST_CLICKED,
    QueryHistory,
    QueryRequest,
    QueryScore,
    RankedDocument,
    RankedList,
    show_query,
)
from assay.workflows.system_numbers import number_systems

_SHOWN_RANKS = 10
_EXCERPT = 180  # characters of a document in a list
_MOST_JUDGED = 50  # documents with their labels by judge


class QueryParameters(Parameters):
    """The query and the experiments to show side by side."""

    query_id: str = ""  # part of the path
    experiment: tuple[str, ...] = ()
    measure: str = ""


class AnnotateForm(Parameters):
    """The query and the experiments that are shown."""

    query: str
    experiment: tuple[str, ...]


def read(context: Context, parameters: QueryParameters) -> QueryHistory:
    """Return what the store knows of the query."""
    request = QueryRequest(
        query_id=parameters.query_id,
        experiments=parameters.experiment[:2],
        measure=parameters.measure,
        store=context.store,
    )
    return show_query(request)


def present(context: Context, value: QueryHistory, parameters: QueryParameters) -> View:
    """Return the lists with the lines between them, the scores over time, and who judged what."""
    names = [score.name for score in value.history] + [ranked.name for ranked in value.lists]
    parts = {
        "query": value,
        "numbers": number_systems(names, context.store),
        "banner": _banner(value),
        "lists": [_list_items(ranked, value.lists) for ranked in value.lists],
        "lines": _lines(value.lists) if len(value.lists) == 2 else [],
        "series": _series(value.history),
        "judges": _judges(value),
        "clicked": value.clicks.documents[:MOST_CLICKED],
        "click_axis": axis_of([0.0, *(d.ctr.high for d in value.clicks.documents[:MOST_CLICKED])]),
        "ideal": [(doc, [ranked.rank_of(doc) for ranked in value.lists]) for doc in value.ideal],
        "ranks": _SHOWN_RANKS,
        "unjudged": _count_unjudged(value.lists),
    }
    ids = " ".join(ranked.experiment for ranked in value.lists)
    return View(value.text or value.query_id, f"assay experiments compare {ids} -m {value.measure}", parts)


def _banner(value: QueryHistory) -> dict[str, str] | None:
    """Return how the score of the second list differs from that of the first."""
    if len(value.lists) != 2:
        return None
    first, second = value.lists
    before, after = (ranked.scores.get(value.measure) for ranked in value.lists)
    if before is None or after is None:
        return None
    state = "same" if abs(after - before) < 1e-9 else "better" if after > before else "worse"
    best = value.ideal[:2]
    places = "; ".join(f"{_rank(ranked, best)} in {ranked.name}" for ranked in value.lists)
    title = f"The best documents are at {places}" if best else f"{second.name} against {first.name}"
    change = f" ({format_signed(after - before)})" if state != "same" else ""
    evidence = f"{value.measure} {format_value(before)} → {format_value(after)}{change}"
    return {"state": state, "title": title, "evidence": evidence}


def _rank(ranked: RankedList, documents: Sequence[str]) -> str:
    ranks = [ranked.rank_of(doc) for doc in documents]
    return " and ".join("no rank" if rank is None else f"rank {rank}" for rank in ranks)


def _list_items(ranked: RankedList, lists: Sequence[RankedList]) -> dict[str, Any]:
    other = next((one for one in lists if one is not ranked), None)
    documents = None if ranked.documents is None else ranked.documents[:_SHOWN_RANKS]
    items = None if documents is None else [_item(document, other) for document in documents]
    return {"name": ranked.name, "experiment": ranked.experiment, "scores": ranked.scores, "items": items}


def _item(document: RankedDocument, other: RankedList | None) -> dict[str, Any]:
    rank = None if other is None else other.rank_of(document.doc_id)
    text = " ".join(document.text.split())
    excerpt = text if len(text) <= _EXCERPT else f"{text[:_EXCERPT].rsplit(' ', 1)[0]} …"
    moved = "" if other is None or rank == document.rank else _move(document.rank, rank)
    return {"document": document, "excerpt": excerpt, "move": moved, "other": rank}


def _move(rank: int, other: int | None) -> str:
    if other is None:
        return "not in the other list"
    return f"▲ to {other}" if other < rank else f"▼ to {other}"


def _count_unjudged(lists: Sequence[RankedList]) -> int:
    """Return how many of the documents that are shown nobody has judged."""
    shown = [document for ranked in lists for document in (ranked.documents or ())[:_SHOWN_RANKS]]
    return len({document.doc_id for document in shown if document.grade is None or document.grade < 0})


def _lines(lists: Sequence[RankedList]) -> list[dict[str, Any]]:
    """Return a line for each document in both lists, in a box of 100 by 100."""
    first, second = lists
    height = 100 / _SHOWN_RANKS
    lines = []
    for document in (first.documents or ())[:_SHOWN_RANKS]:
        other = second.rank_of(document.doc_id)
        if other is not None and other <= _SHOWN_RANKS:
            state = "up" if other < document.rank else "down" if other > document.rank else "same"
            ends = [round(height * (rank - 0.5), 1) for rank in (document.rank, other)]
            is_relevant = (document.grade or 0) > 0
            lines.append({"state": state, "ends": ends, "is_relevant": is_relevant})
    return lines


def _series(history: Sequence[QueryScore]) -> dict[str, list[QueryScore]]:
    """Return the scores over time of each system that was evaluated more than once."""
    series: dict[str, list[QueryScore]] = {}
    for score in history:
        series.setdefault(score.name, []).append(score)
    return series


def _judges(value: QueryHistory) -> dict[str, Any]:
    """Return the labels of each document by judge: first of those that are shown, in their order."""
    shown = [d.doc_id for ranked in value.lists for d in (ranked.documents or ())[:_SHOWN_RANKS]]
    rows: dict[str, dict[str, float | None]] = {doc: {} for doc in shown}
    for doc, judge, grade in value.judgments or ():
        rows.setdefault(doc, {})[judge] = grade
    names = sorted({judge for labels in rows.values() for judge in labels})
    return {"names": names, "rows": dict(list(rows.items())[:_MOST_JUDGED]), "left": len(rows) - _MOST_JUDGED}


def _annotate(context: Context, form: AnnotateForm) -> Result:
    request = AnnotateQueryRequest(
        query_id=form.query, experiments=form.experiment, depth=_SHOWN_RANKS, store=context.store
    )
    project = annotate_query(request).project
    message = f"{sum(project.counts.values())} pairs are in the project {project.name}"
    return Result(f"/annotate/{quote(project.name, safe='')}", message, {"project": project.name})


PAGES = (Page("/queries/{query_id:path}", "", "query.html", read, present, QueryParameters),)
ACTIONS = (Action("/queries/annotate", AnnotateForm, _annotate, Role.JUDGE),)
