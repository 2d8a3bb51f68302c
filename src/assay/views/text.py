"""Tables in plain text: aligned for a terminal, as CSV, as Markdown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from assay.core.quoting import csv_line

BAR = 28
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def width(cell: str) -> int:
    """How many columns of a terminal a text takes.

    >>> width("δ@10"), width("検索")
    (4, 4)
    """
    if cell.isascii():
        return len(cell)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in cell)
    return len(cell) + wide - sum(unicodedata.combining(c) > 0 for c in cell)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An aligned table; columns of numbers stand to the right.

    >>> print(table(["run", "n"], [["bm25", "43"]]))
    run   n
    bm25 43
    """
    lines = [[_on_one_line(cell) for cell in row] for row in (head, *rows)]
    columns = list(zip(*lines, strict=True))
    widths = [max(map(width, column)) for column in columns]
    right = [all(_is_number(cell) for cell in column[1:]) for column in columns]
    made = []
    for row in lines:
        cells = [
            " " * (w - width(c)) + c if r else c + " " * (w - width(c))
            for c, w, r in zip(row, widths, right, strict=True)
        ]
        made.append(" ".join(cells).rstrip() if len(cells) < 3 else "  ".join(cells).rstrip())
    return "\n".join(made)


def _on_one_line(cell: str) -> str:
    """A cell with blanks for what would break its line or its column."""
    return cell if cell.isprintable() else _CONTROL.sub(" ", cell)


def _is_number(cell: str) -> bool:
    return cell.strip("<+−-").replace(".", "", 1).isdigit() or cell in ("", "–")


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    escaped = [[as_markdown(_on_one_line(cell)).replace("|", "\\|") for cell in row] for row in (head, *rows)]
    escaped.insert(1, ["---"] * len(head))
    return "\n".join(f"| {' | '.join(row)} |" for row in escaped)


def as_markdown(words: str) -> str:
    """A text in which nothing is taken for a tag.

    >>> as_markdown("p < 0.05 <b>")
    'p < 0.05 &lt;b>'
    """
    return _TAG.sub("&lt;", words)


def csv(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as comma-separated values.

    >>> csv(["a", "b"], [["1,5", ""]])
    'a,b\\n"1,5",'
    """
    return "\n".join(map(csv_line, (head, *rows)))


def shorten(words: str, most: int = 60) -> str:
    """The beginning of a text.

    >>> shorten("a long text", 6)
    'a lon…'
    """
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def bar(low: float | None, value: float | None, high: float | None, start: float, end: float) -> str:
    """A value and its interval on an axis.

    >>> bar(0.25, 0.5, 0.75, 0, 1)
    '·······───────●───────······'
    """
    if value is None:
        return ""

    def place(x: float) -> int:
        return min(BAR - 1, int((x - start) / (end - start) * BAR))

    cells = ["·"] * BAR
    first, last = place(value if low is None else low), place(value if high is None else high)
    cells[first : last + 1] = ["─"] * (last - first + 1)
    cells[place(value)] = "●"
    return "".join(cells)
