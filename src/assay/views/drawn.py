"""Pages with figures that are drawn by the page itself: nothing is loaded, and nothing can be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import NamedTuple

from assay.core.errors import MissingExtraError
from assay.views import html
from assay.views.marks import Figure, library
from assay.views.sections import Section

# The browser is told to refuse whatever is not in the page; figures are computed without `eval`.
_HEAD = """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<style>
figure { margin: .6rem 0; overflow-x: auto } figcaption { max-width: 70rem }
.drawn, .drawn.vega-embed { display: block; width: 100% } .drawn svg { max-width: 100%; height: auto }
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: .6rem .8rem; border: 1px solid #8886 }
.wide { overflow-x: auto }
@media print { body { color: #000; background: #fff; max-width: none; margin: 0 }
  h2 { break-after: avoid } figure { break-inside: avoid; overflow: visible }
  .wide { overflow: visible; font-size: 9px } }
</style>"""
_DRAW = """
for (const [at, figure] of figures.entries())
  vegaEmbed(`#figure-${at}`, figure, { renderer: "svg", actions: false, ast: true }).catch(
    (error) => { document.getElementById(`figure-${at}`).textContent = error; console.error(error); });
"""


class Part(NamedTuple):
    """A part of a report: its figures, what is seen in them, and a table."""

    section: Section
    figures: Sequence[Figure] = ()
    code: str = ""  # shown as it stands


def drawn_page(title: str, parts: Sequence[Part]) -> str:
    """A whole page; the notes of a part stand below its figures."""
    figures = [figure for part in parts for figure in part.figures]
    body, at = "", 0
    for part in parts:
        places = [
            f'<div class="drawn" id="figure-{number}"></div>' for number in range(at, at + len(part.figures))
        ]
        at += len(part.figures)
        body += _part(part, "".join(places))
    return html.page(title, [], body + (_script(figures) if figures else ""), _HEAD)


def _part(part: Part, places: str) -> str:
    section = part.section
    notes = "".join(f"<p>{escape(note)}</p>" for note in section.notes)
    made = f"<h2>{escape(section.title)}</h2>"
    made += f"<figure>{places}<figcaption>{notes}</figcaption></figure>" if places else notes
    made += f"<pre>{escape(part.code)}</pre>" if part.code else ""
    if section.rows:
        table = html.table(section.head, section.rows, section.spans, *section.scale)
        made += f'<div class="wide">{table}</div>'
    return made


def _script(figures: Sequence[Figure]) -> str:
    """The figures, and what draws them; `<` cannot end the script from within a name."""
    told = json.dumps(figures, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    without = (
        "<noscript><p>The figures are drawn by a script in this page, which is switched off.</p></noscript>"
    )
    return f'{without}<script type="module">{_library()}\nconst figures = {told};{_DRAW}</script>'


@cache
def _library() -> str:
    """What draws: Vega-Lite of the version that Altair writes for."""
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("vl-convert-python", "a report with figures", "report") from None
    version = ".".join(library().SCHEMA_VERSION.lstrip("v").split(".")[:2])
    made: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", version)
    return made.replace("</script", "<\\/script")
