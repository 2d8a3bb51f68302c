"""Pages that need nothing but themselves."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

Span = tuple[float | None, float | None, float | None]

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 92rem; padding: 0 1rem;
       color: #1b1f24; background: #fff; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .8rem .25rem 0; text-align: left; border-bottom: 1px solid #e3e6ea;
         white-space: nowrap }
svg { display: block } p, ul { margin: .3rem 0; max-width: 70rem } h1 { font-size: 1.6rem }
h2 { font-size: 1.15rem; margin: 1.6rem 0 .4rem }
.axis, .zero { stroke: #d5dae0 } .zero { stroke-width: 2 }
.span { stroke: #2f6fb2; stroke-width: 3 } .dot { fill: #12406f }
@media (prefers-color-scheme: dark) {
  body { color: #e6e8eb; background: #15181c } th, td { border-color: #30363d }
  .axis, .zero { stroke: #3a424b } .span { stroke: #6aa5e0 } .dot { fill: #bcd9f5 } }
"""


def page(title: str, notes: Sequence[str], body: str, head: str = "") -> str:
    """A whole page; what goes into its head beside the title and the style is given as it stands."""
    said = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{escape(title)} · Assay</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>{head}'
        f"<h1>{escape(title)}</h1>{said}{body}</html>"
    )


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    spans: Sequence[Span] = (),
    low: float = 0,
    high: float = 1,
) -> str:
    """A table, with an interval drawn at the end of each row where there is one."""
    drawn = [_interval(span, low, high) for span in spans] or [""] * len(rows)
    top = "".join(f"<th>{escape(cell)}" for cell in head)
    top += f"<th>{low:g} to {high:g}" if spans else ""
    body = [
        "<tr>" + "".join(f"<td>{escape(cell)}" for cell in row) + (f"<td>{picture}" if picture else "")
        for row, picture in zip(rows, drawn, strict=True)
    ]
    return f"<table><thead><tr>{top}</thead><tbody>{''.join(body)}</tbody></table>"


def _interval(span: Span, low: float, high: float) -> str:
    first, value, last = span
    if value is None:
        return "–"

    def x(v: float | None) -> float:
        return round(4 + 192 * ((value if v is None else v) - low) / (high - low), 1)

    label = f"{value:.4f}" + (
        f", {first:.4f} to {last:.4f}" if first is not None and last is not None else ""
    )
    zero = f'<line class="zero" x1="{x(0.0)}" x2="{x(0.0)}" y1="0" y2="14"/>' if low < 0 < high else ""
    return (
        f'<svg width="200" height="14" role="img" aria-label="{label}"><title>{label}</title>'
        f'<line class="axis" x1="4" x2="196" y1="7" y2="7"/>{zero}'
        f'<line class="span" x1="{x(first)}" x2="{x(last)}" y1="7" y2="7"/>'
        f'<circle class="dot" cx="{x(value)}" cy="7" r="4"/></svg>'
    )
