"""Tables of pages as CSV: what a page shows in a table, without formulas that a spreadsheet would run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, NamedTuple

from fastapi.responses import Response
from pydantic import create_model

from assay.core.errors import InputError
from assay.views.spreadsheets import render_safe_csv
from assay.web.page import Parameters

_UNDEFINED = "–"
_MINUS = "−"  # of numbers for people; spreadsheets read the other one


class Table(NamedTuple):
    """A table as text."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def export_parameters(parameters: type[Parameters]) -> type[Parameters]:
    """Return the parameters of a page with the number of the table to export, from 1; 0: the main one."""
    extra: dict[str, Any] = {"table": (int, 0)}
    return create_model(f"{parameters.__name__}Export", __base__=parameters, **extra)


def without_table(values: Any, parameters: type[Parameters]) -> Any:
    """Return the parameters of the page itself."""
    return parameters.model_construct(**{name: getattr(values, name) for name in parameters.model_fields})


def csv_response(table: Table, path: str) -> Response:
    """Return a table as a file that is named after the address of its page."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in path.strip("/"))
    content = render_safe_csv(table.head, table.rows)
    headers = {"Content-Disposition": f'attachment; filename="{name[:100]}"'}
    return Response(content if content.endswith("\n") else f"{content}\n", 200, headers, "text/csv")


def table_of_page(page: str, number: int) -> Table:
    """Return a table of a page by its place, from 1 (0: the first); InputError if there are not so many."""
    reader = _TableReader()
    reader.feed(page)
    if not 0 <= number <= len(reader.tables) or not reader.tables:
        raise InputError(f"this page has {len(reader.tables)} tables to export, found the number {number}")
    return _without_empty_columns(reader.tables[max(number, 1) - 1])


def _without_empty_columns(rows: list[_Row]) -> Table:
    """Return the rows of equal length, without columns of controls such as ticks."""
    width = max((len(row.cells) for row in rows), default=0)
    cells = [[*row.cells, *[""] * (width - len(row.cells))] for row in rows]
    body = [values for values, row in zip(cells, rows, strict=True) if not row.is_head]
    heads = [values for values, row in zip(cells, rows, strict=True) if row.is_head]
    shown = [place for place in range(width) if any(values[place] for values in body)]
    head = [" ".join(filter(None, (values[place] for values in heads))) for place in shown]
    return Table(head, [[values[place] for place in shown] for values in body])


@dataclass
class _Row:
    cells: list[str] = field(default_factory=list)
    is_head: bool = False


class _TableReader(HTMLParser):
    """Reads the tables of a page; the label of a chart stands for the chart."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[_Row]] = []
        self._is_head = False
        self._cell: list[str] | None = None
        self._span = 1
        self._svg_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a table, a row, a cell or a chart."""
        values = dict(attrs)
        if tag == "table":
            self.tables.append([])
        elif tag == "thead":
            self._is_head = True
        elif tag == "tr" and self.tables:
            self.tables[-1].append(_Row(is_head=self._is_head))
        elif tag in ("td", "th"):
            self._cell, self._span = [], int(values.get("colspan") or 1)
        elif tag == "svg":
            self._svg_depth += 1
            if self._svg_depth == 1 and self._cell is not None:
                self._cell.append(values.get("aria-label") or "")
        elif tag == "progress" and self._cell is not None:
            self._cell.append(values.get("aria-label") or "")

    def handle_endtag(self, tag: str) -> None:
        """End what was begun."""
        if tag == "thead":
            self._is_head = False
        elif tag == "svg":
            self._svg_depth -= 1
        elif tag in ("td", "th") and self._cell is not None and self.tables and self.tables[-1]:
            text = _clean(" ".join(self._cell))
            self.tables[-1][-1].cells += [text, *[""] * (self._span - 1)]
            self._cell = None

    def handle_data(self, data: str) -> None:
        """Keep the text of a cell."""
        if self._cell is not None and not self._svg_depth:
            self._cell.append(data)


def _clean(text: str) -> str:
    """Return the text of a cell on one line; a number with the sign that spreadsheets read.

    >>> _clean("  −0.25 "), _clean("–"), _clean("a  b")
    ('-0.25', '', 'a b')
    """
    line = " ".join(text.split()).removesuffix(" ↓").removesuffix(" ↑")
    if line == _UNDEFINED:
        return ""
    plain = line.replace(_MINUS, "-")
    try:
        float(plain)
    except ValueError:
        return line
    return plain
