"""CSV that people open in a spreadsheet: no cell is taken for a formula."""

from __future__ import annotations

from collections.abc import Sequence

from assay.views.text import render_csv

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def escape_formula(cell: str) -> str:
    """Return a cell with an apostrophe before it if a spreadsheet would run it; numbers stay as they are.

    >>> [escape_formula(cell) for cell in ("=1+1", "@sum", "-0.25", "-1 % to +5 %", "-1+cmd")]
    ["'=1+1", "'@sum", '-0.25', '-1 % to +5 %', "'-1+cmd"]
    """
    return f"'{cell}" if cell.lstrip(" \n").startswith(_FORMULA_STARTS) and not _is_number(cell) else cell


def render_safe_csv(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as CSV in which no cell is a formula: for every export of a page."""
    return render_csv([escape_formula(cell) for cell in head], [[*map(escape_formula, row)] for row in rows])


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number, a percentage or an interval of them, such as -1 % to +2 %."""
    try:
        for end in cell.split(" to "):
            float(end.removesuffix("%"))
    except ValueError:
        return False
    return True
