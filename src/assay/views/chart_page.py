"""HTML pages with charts that are drawn by the page itself and load nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import NamedTuple

from assay.core.errors import MissingExtraError
from assay.views import html
from assay.views.chart_style import ChartSpec, described, load_altair
from assay.views.sections import Section

# The policy makes the browser refuse everything outside the page; charts are drawn without `eval`.
_PAGE_HEAD = """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<style>
section { margin: 1.8rem 0 } section h2 { margin-top: 0 }
.finding { font-size: 1.15rem; line-height: 1.4; margin: .4rem 0 .8rem }
.contents { margin: 1rem 0; padding: .6rem .9rem; border: 1px solid var(--line) }
.contents ul { columns: 20rem auto; list-style: none; padding: 0; max-width: none }
.contents li { break-inside: avoid; padding: .1rem 0 } a { color: var(--c0) }
details { border-top: 1px solid var(--line); padding: .3rem 0 } details[open] { padding-bottom: .8rem }
summary { cursor: pointer; padding: .35rem 0 } summary h2 { display: inline; font-size: 1.05rem }
.drawn, .drawn.vega-embed { display: block; width: 100% } .drawn svg { max-width: 100%; height: auto }
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: .6rem .8rem; border: 1px solid #8886 }
@media print { .contents { display: none } details { border: 0 } summary { list-style: none }
  details::details-content { content-visibility: visible; display: block; block-size: auto } }
</style>"""
# A narrow page has one panel below the other, each as wide as the page. Paper shows what is folded. A figure
# is one picture with one description; its numbers are in the tables.
_DRAW_SCRIPT = """
const page = document.querySelector("h1").clientWidth;
const AXES = 85;
function fit(spec, room) {
  if (Array.isArray(spec)) return spec.map((inner) => fit(inner, room));
  const parts = ["spec", "layer", "concat"].filter((name) => spec[name]);
  if ("columns" in spec) {
    const inner = spec.spec || spec.concat[0];
    const wide = typeof inner.width === "number" ? inner.width + AXES : room;
    spec.columns = Math.max(1, Math.min(spec.columns, Math.floor(room / wide)));
  }
  const axes = [spec, ...(spec.layer || [])].map((one) => one.encoding?.y?.axis);
  const labels = axes.filter((axis) => axis?.labelLimit);
  for (const axis of labels) axis.labelLimit = Math.min(axis.labelLimit, room * 0.42);
  if (typeof spec.width === "number")
    spec.width = Math.min(spec.width, room - (labels.length ? labels[0].labelLimit + 45 : AXES));
  if (spec.facet?.header?.labelLimit) spec.facet.header.labelLimit = room - 20;
  for (const name of parts) spec[name] = fit(spec[name], room);
  return spec;
}
function fitted(figure) {
  const spec = fit(figure, page);
  if (page < 600) Object.assign(spec.config.legend, { orient: "bottom", direction: "vertical" });
  spec.config.legend.labelLimit = Math.min(spec.config.legend.labelLimit, page * 0.5);
  spec.config.header.labelLimit = Math.min(spec.config.header.labelLimit, page - 30);
  return spec;
}
function name(svg, text) {
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", text);
  for (const part of svg.children) part.setAttribute("aria-hidden", "true");
}
for (const [at, figure] of figures.entries())
  vegaEmbed(`#figure-${at}`, fitted(figure), { renderer: "svg", actions: false, ast: true }).then(
    () => name(document.querySelector(`#figure-${at} svg`), figure.description)).catch(
    (error) => { document.getElementById(`figure-${at}`).textContent = error; console.error(error); });
const folded = () => document.querySelectorAll("details");
addEventListener("beforeprint", () => folded().forEach((one) => {
  one.dataset.closed = String(!one.open); one.open = true; }));
addEventListener("afterprint", () => folded().forEach((one) => {
  one.open = one.dataset.closed !== "true"; }));
addEventListener("hashchange", () => { const one = document.querySelector(location.hash)?.closest("details");
  if (one) one.open = true; });
"""


class PagePart(NamedTuple):
    """A part of a page: charts, sentences about them, and a table."""

    section: Section
    charts: Sequence[ChartSpec] = ()
    code: str = ""  # shown verbatim
    folded: bool = False  # shown when it is asked for, and on paper


def render_chart_page(title: str, parts: Sequence[PagePart]) -> str:
    """A complete page: the first part, the contents, and the other parts, each with notes below its charts.

    The first sentence of a page is its main finding.
    """
    charts = [
        described(figure, part.section.notes[0] if part.section.notes else part.section.title)
        for part in parts
        for figure in part.charts
    ]
    body, at = "", 0
    for number, part in enumerate(parts):
        containers = [
            f'<div class="drawn" id="figure-{figure}"></div>' for figure in range(at, at + len(part.charts))
        ]
        at += len(part.charts)
        body += _part(part, "".join(containers), number)
        body += _contents(parts) if number == 0 and len(parts) > 2 else ""
    return html.render_page(title, [], body + (_script(charts) if charts else ""), _PAGE_HEAD)


def _contents(parts: Sequence[PagePart]) -> str:
    links = {number: part.section.title for number, part in enumerate(parts) if number and not part.folded}
    tables = [number for number, part in enumerate(parts) if part.folded]
    links |= {number: f"{len(tables)} tables and notes" for number in tables[:1]}
    items = "".join(f'<li><a href="#part-{number}">{escape(links[number])}</a>' for number in sorted(links))
    return f'<nav class="contents" aria-label="Contents"><ul>{items}</ul></nav>'


def _part(part: PagePart, containers: str, number: int) -> str:
    section = part.section
    notes = "".join(
        f"<p{' class=finding' if not number and not at else ''}>{escape(note)}</p>"
        for at, note in enumerate(section.notes)
    )
    head = f'<h2 id="part-{number}">{escape(section.title)}</h2>'
    markup = f"<figure>{containers}<figcaption>{notes}</figcaption></figure>" if containers else notes
    markup += f"<pre>{escape(part.code)}</pre>" if part.code else ""
    if section.rows:
        markup += html.render_table(section.head, section.rows, section.spans, *section.scale)
    if part.folded:
        return f"<details><summary>{head}</summary>{markup}</details>"
    return f"<section>{head}{markup}</section>"


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
