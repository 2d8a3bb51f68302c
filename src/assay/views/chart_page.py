"""HTML pages with charts that are drawn by the page itself and load nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import NamedTuple

from assay.core.errors import MissingExtraError
from assay.views import html
from assay.views.chart_style import ChartSpec, load_altair
from assay.views.sections import Section

# The policy makes the browser refuse everything outside the page; charts are drawn without `eval`.
_PAGE_HEAD = """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<style>
figure { overflow-x: auto }
.drawn, .drawn.vega-embed { display: block; width: 100% } .drawn svg { max-width: 100%; height: auto }
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: .6rem .8rem; border: 1px solid #8886 }
@media (max-width: 600px) { .drawn svg { max-width: none } }
@media print { figure { overflow: visible } .drawn svg { max-width: 100% } }
</style>"""
_DRAW_SCRIPT = """
for (const [at, figure] of figures.entries())
  vegaEmbed(`#figure-${at}`, figure, { renderer: "svg", actions: false, ast: true }).catch(
    (error) => { document.getElementById(`figure-${at}`).textContent = error; console.error(error); });
"""


class PagePart(NamedTuple):
    """A part of a page: charts, sentences about them, and a table."""

    section: Section
    charts: Sequence[ChartSpec] = ()
    code: str = ""  # shown verbatim


def render_chart_page(title: str, parts: Sequence[PagePart]) -> str:
    """A complete page; the notes of a part are below its charts."""
    charts = [figure for part in parts for figure in part.charts]
    body, at = "", 0
    for part in parts:
        containers = [
            f'<div class="drawn" id="figure-{number}"></div>' for number in range(at, at + len(part.charts))
        ]
        at += len(part.charts)
        body += _part(part, "".join(containers))
    return html.render_page(title, [], body + (_script(charts) if charts else ""), _PAGE_HEAD)


def _part(part: PagePart, containers: str) -> str:
    section = part.section
    notes = "".join(f"<p>{escape(note)}</p>" for note in section.notes)
    markup = f"<h2>{escape(section.title)}</h2>"
    markup += f"<figure>{containers}<figcaption>{notes}</figcaption></figure>" if containers else notes
    markup += f"<pre>{escape(part.code)}</pre>" if part.code else ""
    if section.rows:
        markup += html.render_table(section.head, section.rows, section.spans, *section.scale)
    return markup


def _script(charts: Sequence[ChartSpec]) -> str:
    """The script that draws the charts; `<` is escaped so that no name can end the script."""
    specifications = json.dumps(charts, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    reason = "The figures are drawn by a script in this page, and scripts are switched off."
    fallback = f"<noscript><p>{reason}</p></noscript>"
    script = f"{_vega_script()}\nconst figures = {specifications};{_DRAW_SCRIPT}"
    return f'{fallback}<script type="module">{script}</script>'


@cache
def _vega_script() -> str:
    """The script of Vega-Lite, in the version that Altair writes for."""
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("vl-convert-python", "a report with figures", "report") from None
    version = ".".join(load_altair().SCHEMA_VERSION.lstrip("v").split(".")[:2])
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", version)
    return script.replace("</script", "<\\/script")
