"""Cells as comma-separated values."""

from __future__ import annotations

from collections.abc import Sequence


def csv_line(cells: Sequence[str]) -> str:
    """A row as CSV; the csv module of Python 3.11 does not quote a lone carriage return.

    >>> csv_line(["1,5", "", "plain"])
    '"1,5",,plain'
    """
    return ",".join(map(_quoted, cells))


def _quoted(cell: str) -> str:
    if any(c in cell for c in ',"\n\r'):
        return '"' + cell.replace('"', '""') + '"'
    return cell
