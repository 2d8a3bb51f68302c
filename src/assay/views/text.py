"""Tables in plain text: aligned for a terminal, as CSV, as Markdown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from assay.core.csv_rows import format_csv_row
from assay.views.numbers import NO_VALUE

BAR_WIDTH = 28
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def display_width(cell: str) -> int:
    """The number of terminal columns that a text takes.

    >>> display_width("δ@10"), display_width("検索")
    (4, 4)
    """
    if cell.isascii():
        return len(cell)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in cell)
    return len(cell) + wide - sum(unicodedata.combining(c) > 0 for c in cell)


def render_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An aligned table; columns of numbers are right-aligned.

    >>> print(render_table(["run", "n"], [["bm25", "43"]]))
    run   n
    bm25 43
    """
    lines = [[remove_line_breaks(cell) for cell in row] for row in (head, *rows)]
    columns = list(zip(*lines, strict=True))
    widths = [max(map(display_width, column)) for column in columns]
    right = [is_number_column(column[1:]) for column in columns]
    lines_of_table = []
    for row in lines:
        cells = [
            " " * (w - display_width(c)) + c if r else c + " " * (w - display_width(c))
            for c, w, r in zip(row, widths, right, strict=True)
        ]
        lines_of_table.append(" ".join(cells).rstrip() if len(cells) < 3 else "  ".join(cells).rstrip())
    return "\n".join(lines_of_table)


def remove_line_breaks(cell: str) -> str:
    """A cell with spaces in place of control characters."""
    return cell if cell.isprintable() else _CONTROL.sub(" ", cell)


def is_number_column(cells: Sequence[str]) -> bool:
    """Whether all cells are numbers, or empty."""
    return all(map(is_number, cells))


def is_number(cell: str) -> bool:
    """Whether a cell is a number, or empty."""
    return cell.strip("<+−-").replace(".", "", 1).isdigit() or cell in ("", NO_VALUE)


def render_markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    escaped = [
        [escape_markdown(remove_line_breaks(cell)).replace("|", "\\|") for cell in row]
        for row in (head, *rows)
    ]
    escaped.insert(1, ["---"] * len(head))
    return "\n".join(f"| {' | '.join(row)} |" for row in escaped)


def escape_markdown(words: str) -> str:
    """A text in which nothing is read as an HTML tag.

    >>> escape_markdown("p < 0.05 <b>")
    'p < 0.05 &lt;b>'
    """
    return _TAG.sub("&lt;", words)


def render_csv(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as comma-separated values.

    >>> render_csv(["a", "b"], [["1,5", ""]])
    'a,b\\n"1,5",'
    """
    return "\n".join(map(format_csv_row, (head, *rows)))


def shorten(words: str, max_length: int = 60) -> str:
    """The beginning of a text.

    >>> shorten("a long text", 6)
    'a lon…'
    """
    return words if len(words) <= max_length else words[: max_length - 1].rstrip() + "…"


def render_bar(low: float | None, value: float | None, high: float | None, start: float, end: float) -> str:
    """A value and its interval on an axis.

    >>> render_bar(0.25, 0.5, 0.75, 0, 1)
    '·······───────●───────······'
    """
    if value is None:
        return ""

    def place(x: float) -> int:
        return min(BAR_WIDTH - 1, int((x - start) / (end - start) * BAR_WIDTH))

    cells = ["·"] * BAR_WIDTH
    first, last = place(value if low is None else low), place(value if high is None else high)
    cells[first : last + 1] = ["─"] * (last - first + 1)
    cells[place(value)] = "●"
    return "".join(cells)
