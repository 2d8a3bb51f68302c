"""Tables fitted to the width of a terminal; other formats keep names and intervals in full."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from textwrap import wrap

from assay.views.numbers import NO_VALUE
from assay.views.sections import WIDTH, Section
from assay.views.text import display_width

_ESTIMATE = re.compile(r"([+−-]?[\d.,]+) \(([^ ()]+) … ([^ ()]+)\)( \*)?")
_MIN_LABEL = 12  # characters of a label, even if the table is then too wide
_COMFORTABLE_LABEL = 24  # characters of a label that is easy to read
_PLUS_MINUS_NOTE = "± is the distance to the farther bound of the interval"


def drop_empty_columns(section: Section, labels: int = 1) -> Section:
    """The section without columns that have no values, and empty if only labels are left.

    >>> drop_empty_columns(Section("one", ["a note"], ["index", "p5"], [["a", "–"]]))
    Section(title='', notes=(), head=(), rows=(), spans=(), scale=(0.0, 1.0), plot=None)
    """
    columns = [
        at for at, column in enumerate(zip(*section.rows, strict=True)) if at < labels or _has_value(column)
    ]
    if len(columns) <= labels:
        return Section("")
    rows = [[row[at] for at in columns] for row in section.rows]
    return section._replace(head=[section.head[at] for at in columns], rows=rows)


def _has_value(column: Sequence[str]) -> bool:
    return any(cell not in (NO_VALUE, "") for cell in column)


def fit_to_terminal(section: Section, labels: Sequence[int] = (0,)) -> Section:
    """The section with a table that fits a terminal.

    Intervals move below their values if they leave too little space for labels, and become ± if that is
    not enough; labels that are still too long are shortened.
    """
    if not section.rows:
        return section
    rows, notes = section.rows, section.notes
    if _label_width(section.head, rows, labels) < _wanted_width(rows, labels):
        rows = _stack_intervals(section.rows, plus_minus=False)
    if _label_width(section.head, rows, labels) < _MIN_LABEL * len(labels):
        rows, notes = _stack_intervals(section.rows, plus_minus=True), [*notes, _PLUS_MINUS_NOTE]
    return section._replace(rows=_cut_labels(section.head, rows, labels), notes=notes)


def _wanted_width(rows: Sequence[Sequence[str]], labels: Sequence[int]) -> int:
    return sum(min(_COMFORTABLE_LABEL, max(display_width(row[at]) for row in rows)) for at in labels)


def _label_width(head: Sequence[str], rows: Sequence[Sequence[str]], labels: Sequence[int]) -> int:
    """The characters of a line that are left for labels."""
    widths = [max(map(display_width, column)) for column in zip(head, *rows, strict=True)]
    return WIDTH - 2 * (len(widths) - 1) - sum(w for at, w in enumerate(widths) if at not in labels)


def _stack_intervals(rows: Sequence[Sequence[str]], plus_minus: bool) -> list[list[str]]:
    """Each row on two lines: the values, and their intervals."""
    stacked_rows = []
    for row in rows:
        parts = [_ESTIMATE.fullmatch(cell) for cell in row]
        stacked_rows.append(
            [match[1] + (match[4] or "") if match else cell for match, cell in zip(parts, row, strict=True)]
        )
        if any(parts):
            stacked_rows.append([_format_second_line(match, plus_minus) if match else "" for match in parts])
    return stacked_rows


def _format_second_line(match: re.Match[str], plus_minus: bool) -> str:
    if not plus_minus or NO_VALUE in match.groups():
        return f"{match[2]}…{match[3]}"
    value, low, high = (float(match[at].replace(",", "")) for at in (1, 2, 3))
    digits = len(match[2].partition(".")[2])
    return f"±{max(value - low, high - value):,.{digits}f}"


def _cut_labels(head: Sequence[str], rows: Sequence[Sequence[str]], labels: Sequence[int]) -> list[list[str]]:
    available = _label_width(head, rows, labels)
    max_widths: dict[int, int] = {}
    widths = {
        at: max(display_width(cell) for cell in (head[at], *(row[at] for row in rows))) for at in labels
    }
    for remaining, at in zip(range(len(labels), 0, -1), sorted(labels, key=widths.__getitem__), strict=True):
        # Longer labels get what shorter ones leave.
        max_widths[at] = max(_MIN_LABEL, min(widths[at], available // remaining))
        available -= max_widths[at]
    columns = [list(column) for column in zip(*rows, strict=True)]
    for at, max_width in max_widths.items():
        columns[at] = shorten_labels(columns[at], max_width)
    return [list(row) for row in zip(*columns, strict=True)]


def shorten_labels(labels: Sequence[str], max_length: int) -> list[str]:
    """Labels shortened in the middle; those that would look alike lose the words that they share instead.

    >>> shorten_labels(["hnsw metric=l2 M=8 threads=1 / ef=40", "hnsw metric=l2 M=16 threads=1 / ef=40"], 16)
    ['hnsw … M=8 …', 'hnsw … M=16 …']
    """
    short = {label: shorten_middle(label, max_length) for label in labels}
    counts = Counter(short.values())
    for first in {label.partition(" ")[0] for label, text in short.items() if counts[text] > 1}:
        alike = [label for label in short if label.partition(" ")[0] == first]
        shared = set.intersection(*(set(label.split(" ")) for label in alike))
        for label in alike:
            if len(label) > max_length:
                short[label] = shorten_middle(_drop_words(label, shared), max_length)
    return [short[label] for label in labels]


def _drop_words(label: str, dropped: Set[str]) -> str:
    """A label with … in place of these words, except the first."""
    first, *words = label.split(" ")
    texts = [first]
    for word in words:
        text = "…" if word in dropped else word
        texts += [text] * (text != "…" or texts[-1] != "…")
    return " ".join(texts)


def shorten_middle(label: str, max_length: int) -> str:
    """A label shortened in the middle, because its end names the search parameters.

    >>> shorten_middle("hnswlib M=16 / ef=40", 14)
    'hnswlib…ef=40'
    """
    if len(label) <= max_length:
        return label
    last = (max_length - 1) // 2
    return f"{label[: max_length - 1 - last].rstrip()}…{label[-last:].lstrip()}"


def wrap_second_column(section: Section) -> Section:
    """A table of names and texts, with the texts wrapped to the width of a terminal."""
    available = WIDTH - 1 - max(display_width(name) for name, _ in section.rows)
    rows = [
        [name if first else "", line]
        for name, value in section.rows
        for first, line in zip([True, *[False] * len(value)], wrap(value, available) or [""], strict=False)
    ]
    return section._replace(rows=rows)
