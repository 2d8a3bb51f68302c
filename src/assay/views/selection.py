"""A choice of an index as a table and as data, with the planes of its trade-off."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from assay.indexes.choice.floors import Figure, Known, figure
from assay.indexes.choice.selection import Candidate, Check, Selection
from assay.indexes.choice.tradeoff import Plane
from assay.indexes.choice.words import amount, many, notes, shown, verdict, why
from assay.views import text
from assay.views.fitting import cut, wrapped
from assay.views.sections import WIDTH, Section, render

FORMATS = ("table", "json", "csv", "md")
_NAME = 48  # characters of a trial's name in a terminal
_LEAST = 40  # characters of a line that says why, or it is not broken
_MARKS = {"holds": "✓ holds", "open": "? open", "misses": "✗ misses"}


def selection_view(made: Selection, style: str, planes: Sequence[Plane] = ()) -> str:
    """A choice in one of the formats."""
    if style == "json":
        names = _by_key(made)
        plain = made.to_dict() | ({"tradeoff": [_plain(plane, names) for plane in planes]} if planes else {})
        return json.dumps(plain, ensure_ascii=False, indent=1)
    if style == "csv":
        return text.csv(*_csv(made))
    told = _shortened(made) if style == "table" else made
    sections = [
        Section("", [_headline(made), verdict(made)]),
        _winner(told),
        _front(told),
        _losers(told, style),
        Section("What to know", notes(made)),
        *(_plane(plane, _by_key(told)) for plane in planes),
    ]
    return render("The choice", sections, style)


def _losers(made: Selection, style: str) -> Section:
    rows = [[one.name, why(made, one)] for one in made.candidates if one is not made.winner]
    title = f"Why {'the others lost' if made.winner else 'none is chosen'}"
    section = Section(title, [], ["trial", "why"], rows)
    room = WIDTH - max((text.width(name) for name, _ in rows), default=WIDTH)
    return wrapped(section) if style == "table" and room > _LEAST else section


def _by_key(made: Selection) -> Mapping[str, str]:
    """The names of the trials, as the choice has them."""
    return {one.trial.key: one.name for one in made.candidates}


def _shortened(made: Selection) -> Selection:
    """A choice with short names, if they still tell the trials apart: long ones make a table too wide."""
    short = {one.name: cut(one.name, _NAME) for one in made.candidates}
    if len(set(short.values())) < len(short):
        return made
    named = [
        replace(one, name=short[one.name], dominated_by=one.dominated_by and short[one.dominated_by])
        for one in made.candidates
    ]
    return replace(made, candidates=tuple(named))


def _headline(made: Selection) -> str:
    asked = f"the {'most' if made.objective.more else 'least'} {made.objective.name}"
    floors = ", ".join(floor.words for floor in made.floors)
    asked += f" with {floors}" * bool(floors)
    return f"{made.winner.name if made.winner else 'none'}: {asked}, of {many(len(made.candidates), 'trial')}"


def _winner(made: Selection) -> Section:
    """The figures of the winner beside its floors, where it was chosen and where it is confirmed."""
    if made.winner is None or made.confirmation is None:
        return Section("")
    fair = made.confirmation.verdict != "not held out"
    held = made.parts is not None and (fair or made.winner.fitted)
    other = "held out" if fair else "the other part"
    rows = [
        _row(made.winner, check.floor.figure, check.floor.words, check.known, _mark(check), held)
        for check in made.confirmation.checks
    ]
    if made.objective not in [floor.figure for floor in made.floors]:
        aim = f"the {'most' if made.objective.more else 'least'} {made.objective.name}"
        rows.append(_row(made.winner, made.objective, aim, made.confirmation.objective, "", held))
    return Section("The winner", [], ["asked", "chosen on", *[other] * held, ""], rows)


def _mark(check: Check) -> str:
    if check.status != "open" or check.known is None or check.known.low is not None:
        return _MARKS[check.status]
    once = check.known.over == "passes"
    return f"{_MARKS['open']}: {'one pass, its spread is not known' if once else 'no interval is known'}"


def _row(winner: Candidate, of: Figure, asked: str, found: Known | None, mark: str, held: bool) -> list[str]:
    other = shown(of, found) if of.of_queries else "the same"
    return [asked, shown(of, winner.figures[of]), *[other] * held, mark]


def _front(made: Selection) -> Section:
    head = ["trial", *(of.name for of in _figures(made)), *["floors"] * bool(made.floors)]
    rows = [
        [
            one.name,
            *(shown(of, one.figures[of]) for of in _figures(made)),
            *["reached" if one.meets else "missed"] * bool(made.floors),
        ]
        for one in made.front
    ]
    return Section("The Pareto set: no other trial is as good in all of this", [], head, rows)


def _figures(made: Selection) -> list[Figure]:
    """The figures that are shown of each trial: what they are compared by, and the cost."""
    return [of for of in made.candidates[0].figures if of not in made.unknown]


def _csv(made: Selection) -> tuple[list[str], list[list[str]]]:
    figures = _figures(made)
    head = ["trial", "key", "chosen", "meets", "on_front", "dominated_by", "why"]
    head += [f"{of.name}{end}" for of in figures for end in ("", "_low", "_high", "_n")]
    rows = []
    for one in made.candidates:
        marks = [one is made.winner, one.meets, one.on_front]
        cells = [*(str(mark).lower() for mark in marks), one.dominated_by or "", why(made, one)]
        rows.append(
            [one.name, one.trial.key, *cells, *(c for of in figures for c in _cells(one.figures[of]))]
        )
    return head, rows


def _cells(found: Known | None) -> list[str]:
    return ["" if cell is None else str(cell) for cell in (found[:4] if found else [None] * 4)]


def _plane(plane: Plane, names: Mapping[str, str]) -> Section:
    fixed, x, y = figure(plane.fixed), figure(plane.x), figure(plane.y)
    rows = [
        [names[point.key], amount(x, point.x), amount(y, point.y), "yes" if point.on_front else ""]
        for point in plane.points
    ]
    title = f"With {plane.fixed} at least {amount(fixed, plane.floor)}"
    return Section(title, [] if rows else ["no trial reaches it"], ["trial", plane.x, plane.y, "front"], rows)


def _plain(plane: Plane, names: Mapping[str, str]) -> dict[str, Any]:
    points = [point._asdict() | {"label": names[point.key]} for point in plane.points]
    return asdict(plane) | {"points": points}
