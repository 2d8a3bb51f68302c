"""The selection of an index as a report and as data, with the planes of its trade-off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from assay.bench.selection.floors import Figure, FigureEstimate, parse_figure
from assay.bench.selection.selection import Candidate, FloorCheck, Selection
from assay.bench.selection.tradeoff import TradeoffPlane
from assay.views import text
from assay.views.sections import WIDTH, Section, render_sections
from assay.views.selection_words import (
    count_noun,
    explain_candidate,
    format_estimate,
    format_figure,
    selection_notes,
    selection_to_dict,
    verdict_text,
)
from assay.views.terminal_tables import shorten_labels, wrap_second_column

FORMATS = ("table", "csv", "md", "latex")
_MAX_NAME = 48  # characters of a trial's name in a terminal
_MIN_REASON = 40  # characters of a reason; it is not wrapped to less
_MARKS = {"holds": "✓ holds", "open": "? undecided", "misses": "✗ misses"}


def render_selection(selection: Selection, style: str, planes: Sequence[TradeoffPlane] = ()) -> str:
    """A selection in one of the formats."""
    if style == "csv":
        return text.render_csv(*_csv(selection))
    shortened = _shorten_names(selection) if style == "table" else selection
    sections = [
        Section("", [_headline(selection), verdict_text(selection)]),
        _winner(shortened),
        _front(shortened),
        _losers(shortened, style),
        Section("Notes", selection_notes(selection)),
        *(_plane(plane, _names_by_key(shortened)) for plane in planes),
    ]
    return render_sections("Selection", sections, style)


def selection_dict(selection: Selection, planes: Sequence[TradeoffPlane] = ()) -> dict[str, Any]:
    """The JSON of a selection, with the planes of its trade-off if there are any."""
    names = _names_by_key(selection)
    tradeoff = {"tradeoff": [_plane_dict(plane, names) for plane in planes]} if planes else {}
    return selection_to_dict(selection) | tradeoff


def _losers(selection: Selection, style: str) -> Section:
    rows = [
        [candidate.name, explain_candidate(selection, candidate)]
        for candidate in selection.candidates
        if candidate is not selection.winner
    ]
    title = f"Why {'the others lost' if selection.winner else 'none is selected'}"
    section = Section(title, [], ["trial", "why"], rows)
    available = WIDTH - max((text.display_width(name) for name, _ in rows), default=WIDTH)
    return wrap_second_column(section) if style == "table" and available > _MIN_REASON else section


def _names_by_key(selection: Selection) -> Mapping[str, str]:
    """The names of the trials by key."""
    return {candidate.trial.key: candidate.name for candidate in selection.candidates}


def _shorten_names(selection: Selection) -> Selection:
    """The selection with shortened names, if these are still distinct: long names make a table too wide."""
    names = [candidate.name for candidate in selection.candidates]
    short = dict(zip(names, shorten_labels(names, _MAX_NAME), strict=True))
    if len(set(short.values())) < len(short):
        return selection
    candidates = [
        replace(
            candidate,
            name=short[candidate.name],
            dominated_by=candidate.dominated_by and short[candidate.dominated_by],
        )
        for candidate in selection.candidates
    ]
    return replace(selection, candidates=tuple(candidates))


def _headline(selection: Selection) -> str:
    goal = f"the {'most' if selection.objective.higher_is_better else 'least'} {selection.objective.name}"
    floors = ", ".join(floor.description for floor in selection.floors)
    goal += f" with {floors}" * bool(floors)
    winner = selection.winner.name if selection.winner else "none"
    return f"{winner}: {goal}, of {count_noun(len(selection.candidates), 'trial')}"


def _winner(selection: Selection) -> Section:
    """The figures of the winner next to its floors, on the queries it was selected on and on the others."""
    if selection.winner is None or selection.confirmation is None:
        return Section("")
    is_held_out = selection.confirmation.verdict != "not held out"
    has_second_part = selection.split is not None and (is_held_out or selection.winner.is_fitted)
    second_part = "held out" if is_held_out else "the other part"
    rows = [
        _row(
            selection.winner,
            check.floor.figure,
            check.floor.description,
            check.estimate,
            _mark(check),
            has_second_part,
        )
        for check in selection.confirmation.checks
    ]
    if selection.objective not in [floor.figure for floor in selection.floors]:
        goal = f"the {'most' if selection.objective.higher_is_better else 'least'} {selection.objective.name}"
        rows.append(
            _row(
                selection.winner,
                selection.objective,
                goal,
                selection.confirmation.objective,
                "",
                has_second_part,
            )
        )
    return Section("The winner", [], ["required", "selected on", *[second_part] * has_second_part, ""], rows)


def _mark(check: FloorCheck) -> str:
    if check.status != "open" or check.estimate is None or check.estimate.low is not None:
        return _MARKS[check.status]
    has_one_pass = check.estimate.over == "passes"
    return (
        f"{_MARKS['open']}: {'one pass, its spread is not known' if has_one_pass else 'no interval is known'}"
    )


def _row(
    winner: Candidate,
    figure: Figure,
    goal: str,
    measured_figure: FigureEstimate | None,
    mark: str,
    has_second_part: bool,
) -> list[str]:
    second_value = format_estimate(figure, measured_figure) if figure.is_per_query else "the same"
    return [goal, format_estimate(figure, winner.figures[figure]), *[second_value] * has_second_part, mark]


def _front(selection: Selection) -> Section:
    head = ["trial", *(figure.name for figure in _figures(selection)), *["floors"] * bool(selection.floors)]
    rows = [
        [
            candidate.name,
            *(format_estimate(figure, candidate.figures[figure]) for figure in _figures(selection)),
            *["reached" if candidate.is_eligible else "missed"] * bool(selection.floors),
        ]
        for candidate in selection.front
    ]
    return Section("The Pareto set: no other trial is as good in every figure", [], head, rows)


def _figures(selection: Selection) -> list[Figure]:
    """The figures shown for each trial: those they are compared by, and the cost."""
    return [figure for figure in selection.candidates[0].figures if figure not in selection.unknown_figures]


def _csv(selection: Selection) -> tuple[list[str], list[list[str]]]:
    figures = _figures(selection)
    head = ["trial", "key", "chosen", "meets", "on_front", "dominated_by", "why"]
    head += [f"{figure.name}{end}" for figure in figures for end in ("", "_low", "_high", "_n")]
    rows = []
    for candidate in selection.candidates:
        marks = [candidate is selection.winner, candidate.is_eligible, candidate.on_front]
        cells = [
            *(str(mark).lower() for mark in marks),
            candidate.dominated_by or "",
            explain_candidate(selection, candidate),
        ]
        rows.append(
            [
                candidate.name,
                candidate.trial.key,
                *cells,
                *(c for figure in figures for c in _cells(candidate.figures[figure])),
            ]
        )
    return head, rows


def _cells(figure: FigureEstimate | None) -> list[str]:
    return ["" if cell is None else str(cell) for cell in (figure[:4] if figure else [None] * 4)]


def _plane(plane: TradeoffPlane, names: Mapping[str, str]) -> Section:
    fixed, x, y = parse_figure(plane.fixed), parse_figure(plane.x), parse_figure(plane.y)
    rows = [
        [
            names[point.key],
            format_figure(x, point.x),
            format_figure(y, point.y),
            "yes" if point.on_front else "",
        ]
        for point in plane.points
    ]
    title = f"With {plane.fixed} at least {format_figure(fixed, plane.floor)}"
    return Section(
        title, [] if rows else ["no trial reaches it"], ["trial", plane.x, plane.y, "on front"], rows
    )


def _plane_dict(plane: TradeoffPlane, names: Mapping[str, str]) -> dict[str, Any]:
    points = [point._asdict() | {"label": names[point.key]} for point in plane.points]
    return asdict(plane) | {"points": points}
