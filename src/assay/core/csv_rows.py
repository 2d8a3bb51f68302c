"""Rows of comma-separated values."""

from __future__ import annotations

from collections.abc import Sequence


def format_csv_row(cells: Sequence[str]) -> str:
    """Return a row as CSV; the csv module of Python 3.11 does not quote a lone carriage return.

    >>> format_csv_row(["1,5", "", "plain"])
    '"1,5",,plain'
    """
    return ",".join(quote_cell(cell) if any(c in cell for c in ',"\n\r') else cell for cell in cells)


def quote_cell(cell: str) -> str:
    """Return a cell in quotes.

    >>> quote_cell('say "hi" to')
    '"say ""hi"" to"'
    """
    return '"' + cell.replace('"', '""') + '"'
