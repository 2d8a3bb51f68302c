"""Tables made narrow enough for a terminal; elsewhere names and intervals stand in full."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap

from assay.views.sections import WIDTH, Section
from assay.views.text import width

NONE = "–"
_ESTIMATE = re.compile(r"([+−-]?[\d.,]+) \(([^ ()]+) … ([^ ()]+)\)( \*)?")
_LEAST, _EASY = 12, 24  # characters of a label: what is left in any case, and what is read with ease
_PLUS_MINUS = "± is the distance to the farther end of the interval"


def known(section: Section, labels: int = 1) -> Section:
    """A section without columns of which nothing is known, and without a table if none is left.

    >>> known(Section("one", ["said"], ["index", "p5"], [["a", "–"]]))
    Section(title='', notes=(), head=(), rows=(), spans=(), scale=(0.0, 1.0))
    """
    kept = [at for at, column in enumerate(zip(*section.rows, strict=True)) if at < labels or _told(column)]
    if len(kept) <= labels:
        return Section("")
    rows = [[row[at] for at in kept] for row in section.rows]
    return section._replace(head=[section.head[at] for at in kept], rows=rows)


def _told(column: Sequence[str]) -> bool:
    return any(cell not in (NONE, "") for cell in column)


def fitted(section: Section, labels: Sequence[int] = (0,)) -> Section:
    """A section whose table a terminal has room for.

    Intervals are put below their values where they leave no room for labels, and become ± where that is not
    enough; what is then still too long of the labels is cut.
    """
    if not section.rows:
        return section
    rows, notes = section.rows, section.notes
    if _room(section.head, rows, labels) < _wanted(rows, labels):
        rows = _stacked(section.rows, plus_minus=False)
    if _room(section.head, rows, labels) < _LEAST * len(labels):
        rows, notes = _stacked(section.rows, plus_minus=True), [*notes, _PLUS_MINUS]
    return section._replace(rows=_cut_labels(section.head, rows, labels), notes=notes)


def _wanted(rows: Sequence[Sequence[str]], labels: Sequence[int]) -> int:
    return sum(min(_EASY, max(width(row[at]) for row in rows)) for at in labels)


def _room(head: Sequence[str], rows: Sequence[Sequence[str]], labels: Sequence[int]) -> int:
    """The columns of a line that are left for labels."""
    widths = [max(map(width, column)) for column in zip(head, *rows, strict=True)]
    return WIDTH - 2 * (len(widths) - 1) - sum(w for at, w in enumerate(widths) if at not in labels)


def _stacked(rows: Sequence[Sequence[str]], plus_minus: bool) -> list[list[str]]:
    """Each row on two lines: what is known, and how sure that is."""
    made = []
    for row in rows:
        parts = [_ESTIMATE.fullmatch(cell) for cell in row]
        made.append(
            [found[1] + (found[4] or "") if found else cell for found, cell in zip(parts, row, strict=True)]
        )
        if any(parts):
            made.append([_below(found, plus_minus) if found else "" for found in parts])
    return made


def _below(found: re.Match[str], plus_minus: bool) -> str:
    if not plus_minus or NONE in found.groups():
        return f"{found[2]}…{found[3]}"
    value, low, high = (float(found[at].replace(",", "")) for at in (1, 2, 3))
    digits = len(found[2].partition(".")[2])
    return f"±{max(value - low, high - value):,.{digits}f}"


def _cut_labels(head: Sequence[str], rows: Sequence[Sequence[str]], labels: Sequence[int]) -> list[list[str]]:
    room = _room(head, rows, labels)
    most: dict[int, int] = {}
    widths = {at: max(width(cell) for cell in (head[at], *(row[at] for row in rows))) for at in labels}
    for left, at in zip(range(len(labels), 0, -1), sorted(labels, key=widths.__getitem__), strict=True):
        most[at] = max(_LEAST, min(widths[at], room // left))  # what a short label leaves is the others'
        room -= most[at]
    return [[cut(cell, most[at]) if at in most else cell for at, cell in enumerate(row)] for row in rows]


def cut(label: str, most: int) -> str:
    """A label without its middle, since its end says how it is searched.

    >>> cut("hnswlib M=16 / ef=40", 14)
    'hnswlib…ef=40'
    """
    if len(label) <= most:
        return label
    last = (most - 1) // 2
    return f"{label[: most - 1 - last].rstrip()}…{label[-last:].lstrip()}"


def wrapped(section: Section) -> Section:
    """A table of names and what is said of them, whose lines end where a terminal does."""
    room = WIDTH - 1 - max(width(name) for name, _ in section.rows)
    rows = [
        [name if first else "", line]
        for name, said in section.rows
        for first, line in zip([True, *[False] * len(said)], wrap(said, room) or [""], strict=False)
    ]
    return section._replace(rows=rows)
