"""Self-contained HTML pages, tables and interval plots."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from typing import NamedTuple

from assay.core.version import __version__
from assay.views.numbers import NO_VALUE, format_signed, format_value
from assay.views.text import is_number

Span = tuple[float | None, float | None, float | None]


class PlotRow(NamedTuple):
    """One interval of a plot: the group it is shown in, its label and its colour, counted from 0."""

    group: str
    label: str
    span: Span
    colour: int = 0


class IntervalPlot(NamedTuple):
    """Intervals below each other on one axis."""

    title: str
    rows: Sequence[PlotRow]
    scale: tuple[float, float] = (0.0, 1.0)


_COUNTS = re.compile(r"\d+/\d+/\d+")
_CSS = """
:root { --text: #1b1f24; --faint: #59636e; --page: #fff; --line: #e3e6ea; --axis: #c3cad2;
  --c0: #2f6fb2; --c1: #c2570c; --c2: #2f7d4f; --c3: #8a4fb0; --c4: #a3262f }
@media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --faint: #9aa4af; --page: #15181c;
  --line: #30363d; --axis: #4a535d; --c0: #6aa5e0; --c1: #f0975a; --c2: #6cc08f; --c3: #c294e4;
  --c4: #ef8a90 } }
* { box-sizing: border-box }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem;
  color: var(--text); background: var(--page); overflow-wrap: break-word }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .6rem }
h2 { font-size: 1.15rem; line-height: 1.3; margin: 1.8rem 0 .4rem }
p, ul { margin: .3rem 0; max-width: 70rem } ul { padding-left: 1.2rem }
.wide { overflow-x: auto; margin: .6rem 0 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem }
th, td { padding: .25rem .7rem .25rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line) }
th { vertical-align: bottom } td { max-width: 34rem }
.t { min-width: 5.5rem; overflow-wrap: anywhere } .t:has(+ .p) { min-width: 7.5rem }
.n { text-align: right; white-space: nowrap } .i { white-space: nowrap }
.track { position: relative; display: block; height: 1.1rem; min-width: 6rem;
  background: linear-gradient(var(--axis), var(--axis)) center / 100% 1px no-repeat }
.track i { position: absolute; top: 0; height: 100% }
.zero { border-left: 2px solid var(--axis) }
.span::before { content: ""; position: absolute; left: 0; right: 0; top: calc(50% - 1.5px);
  border-top: 3px solid var(--mark, var(--c0)) }
.dot::before { content: ""; position: absolute; left: -4px; top: calc(50% - 4px); border-radius: 50%;
  border: 4px solid var(--mark, var(--c0)) }
.plot { display: grid; grid-template-columns: max-content minmax(6rem, 40rem) max-content;
  gap: .1rem .8rem; align-items: center; font-size: .9rem; font-variant-numeric: tabular-nums;
  margin: .6rem 0 }
.plot strong { grid-column: 1 / -1; margin-top: .4rem } .plot .ends { display: flex;
  justify-content: space-between; color: var(--faint); grid-column: 2 }
.plot .name { max-width: 18rem } figure { margin: .6rem 0 } figcaption { max-width: 70rem }
footer { margin-top: 2.4rem; padding-top: .6rem; border-top: 1px solid var(--line);
  color: var(--faint); font-size: .85rem }
@media (max-width: 600px) { body { margin: 1rem auto } .t { overflow-wrap: normal }
  .plot .ends span:nth-child(even) { display: none }
  .plot { grid-template-columns: minmax(0, 5.5rem) minmax(4rem, 1fr) max-content } }
@media print { :root { --text: #000; --faint: #444; --page: #fff; --line: #ccc; --axis: #999;
    --c0: #2f6fb2; --c1: #c2570c; --c2: #2f7d4f; --c3: #8a4fb0; --c4: #a3262f }
  body { max-width: none; margin: 0; padding: 0; font-size: 11px; print-color-adjust: exact }
  h2 { break-after: avoid } tr, .plot, figure { break-inside: avoid } thead { display: table-header-group }
  .wide { overflow: visible } table { font-size: 8px; width: 100% } .track { min-width: 3rem }
  th, td, .t { padding-right: .4rem; min-width: 0; overflow-wrap: anywhere } .n, .i { white-space: normal } }
"""


def render_page(title: str, notes: Sequence[str], body: str, head: str = "") -> str:
    """A complete page; `head` is inserted verbatim after the title and the style."""
    paragraphs = "".join(f"<p>{escape(note)}</p>" for note in notes)
    footer = f"Assay {__version__}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{escape(title)} · Assay</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_CSS}</style>{head}'
        f"<h1>{escape(title)}</h1>{paragraphs}{body}<footer>{footer}</footer></html>"
    )


def render_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    spans: Sequence[Span] = (),
    low: float = 0,
    high: float = 1,
) -> str:
    """A table, with the intervals of `spans` drawn at the ends of its rows."""
    pictures = [_draw_interval(span, low, high) for span in spans] or [""] * len(rows)
    classes = [_column_class(column) for column in zip(*rows, strict=True)]
    top = "".join(f"<th{name}>{escape(cell)}" for cell, name in zip(head, classes, strict=True))
    top += f'<th class="p">{low:g} to {high:g}'.replace("-", "−") if spans else ""
    body = [
        "<tr>"
        + "".join(f"<td{name}>{escape(cell)}" for cell, name in zip(row, classes, strict=True))
        + (f'<td class="p">{picture}' if picture else "")
        for row, picture in zip(rows, pictures, strict=True)
    ]
    table = f"<table><thead><tr>{top}</thead><tbody>{''.join(body)}</tbody></table>"
    return f'<div class="wide" tabindex="0">{table}</div>'


def _column_class(cells: Sequence[str]) -> str:
    """The class of a column: of numbers, of intervals, or of text, which may be wrapped."""
    if all(is_number(cell) for cell in cells):
        return ' class="n"'
    return ' class="i"' if all(map(_is_short_figure, cells)) else ' class="t"'


def _is_short_figure(cell: str) -> bool:
    """Whether a cell is an interval or counts, which are not wrapped on a screen."""
    return cell == NO_VALUE or (" … " in cell and len(cell) < 30) or bool(_COUNTS.fullmatch(cell))


def render_plot(plot: IntervalPlot) -> str:
    """Intervals on one axis, with the value of each next to it."""
    low, high = plot.scale
    cells, group = [], ""
    for row in plot.rows:
        cells += [f"<strong>{escape(row.group)}</strong>"] * (bool(row.group) and row.group != group)
        group = row.group
        form = format_signed if low < 0 else format_value
        value = NO_VALUE if row.span[1] is None else form(row.span[1])
        picture = _draw_interval(row.span, low, high, row.colour)
        cells.append(f'<span class="name">{escape(row.label)}</span>{picture}<span class="n">{value}</span>')
    ends = "".join(f"<span>{low + step * (high - low) / 4:.3g}</span>" for step in range(5))
    cells.append(f'<span class="ends">{ends.replace("-", "−")}</span>')
    caption = f"<figcaption>{escape(plot.title)}</figcaption>"
    return f'<figure>{caption}<div class="plot">{"".join(cells)}</div></figure>'


def _draw_interval(span: Span, low: float, high: float, colour: int = 0) -> str:
    """A value and its interval on an axis that is as wide as there is room."""
    first, value, last = span
    if value is None:
        return f"<span>{NO_VALUE}</span>"

    def place(v: float | None) -> float:
        return round(100 * ((value if v is None else v) - low) / ((high - low) or 1), 2)

    has_interval = first is not None and last is not None
    label = f"{value:.4f}" + (f", {first:.4f} to {last:.4f}" if has_interval else "")
    zero = f'<i class="zero" style="left:{place(0.0)}%"></i>' if low < 0 < high else ""
    width = round(place(last) - place(first), 2)
    return (
        f'<span class="track" style="--mark:var(--c{colour % 5})" role="img" aria-label="{label}" '
        f'title="{label}">{zero}<i class="span" style="left:{place(first)}%;width:{width}%"></i>'
        f'<i class="dot" style="left:{place(value)}%"></i></span>'
    )
