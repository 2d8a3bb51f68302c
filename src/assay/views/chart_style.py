"""The style of charts: colours, shapes and dashes, and text in the colour of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.bench.studies.families import FAMILIES
from assay.core.errors import MissingExtraError

Row = Mapping[str, Any]
ChartSpec = dict[str, Any]  # a Vega-Lite specification

# The colours of Okabe and Ito that are visible on white and on black
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C")
# The colour of an engine by a part of its name, so that it is the same in every report; the first that fits.
_ENGINE_COLOURS = {
    "adaptive": 3, "hnswlib": 4, "hnsw": 0, "ivfflat": 1, "scann": 5, "diskann": 3, "puck": 2, "zilliz": 6,
    "ivf": 2, "fastscan": 4, "rabitq": 6, "nsg": 6, "annoy": 2, "usearch": 2, "milvus": 6, "qdrant": 5,
    "pgvector": 0, "elastic": 1, "weaviate": 2, "vespa": 3, "redis": 5, "svs": 1, "ngt": 4, "vsag": 2,
    "lance": 3, "chroma": 1, "duckdb": 6, "opensearch": 4, "flat": 6,
}  # fmt: skip
_SHAPES = ("circle", "triangle-up", "square", "diamond", "cross")
_DASHES = ([1, 0], [7, 4], [2, 3], [10, 3, 2, 3], [12, 4])
_TEXT_COLOURS = {"labelColor": "currentColor", "titleColor": "currentColor"}
_CONFIG = {
    "background": "transparent",
    "view": {"stroke": "currentColor", "strokeOpacity": 0.25},
    "axis": {
        **_TEXT_COLOURS,
        "titleFontWeight": "normal",
        "domainColor": "currentColor",
        "tickColor": "currentColor",
        "labelFontSize": 11,
        "titleFontSize": 12,
        "gridColor": "currentColor",
        "gridOpacity": 0.13,
        "domainOpacity": 0.5,
        "tickOpacity": 0.5,
    },
    "legend": {
        **_TEXT_COLOURS,
        "titleFontWeight": "normal",
        "labelLimit": 420,
        "labelFontSize": 12,
        "titleFontSize": 12,
    },
    "header": {**_TEXT_COLOURS, "labelLimit": 900, "labelFontSize": 12},
    "title": {"color": "currentColor", "subtitleColor": "currentColor", "fontWeight": "normal"},
    "text": {"color": "currentColor"},
    "rule": {"color": "currentColor"},
}


def load_altair() -> Any:
    """The module altair; MissingExtraError if it is not installed."""
    try:
        import altair
    except ImportError:
        raise MissingExtraError("altair", "a report with figures", "report") from None
    return altair


def new_chart(rows: Sequence[Row]) -> Any:
    """A new chart of rows."""
    alt = load_altair()
    return alt.Chart(alt.Data(values=[dict(row) for row in rows]))


def chart_spec(chart: Any) -> ChartSpec:
    """The Vega-Lite specification of a chart, in this style."""
    spec: ChartSpec = chart.to_dict()
    return spec | {"config": _CONFIG}


def tooltips(*names: Any) -> list[Any]:
    """The tooltips of a mark; a name without a type is a share with four digits."""
    alt = load_altair()
    return [
        alt.Tooltip(f"{name}:Q", format=".4~f") if isinstance(name, str) and ":" not in name else name
        for name in names
    ]


def colour_by(field: str, rows: Sequence[Row], **options: Any) -> Any:
    """Each name in the colour of its rows."""
    alt = load_altair()
    colours = {row[field]: row["colour"] for row in rows}
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(f"{field}:N", title=None, scale=scale, **options)


def legend_below(**options: Any) -> Any:
    """A vertical legend below the chart, for lines with long names."""
    look = {"symbolType": "stroke", "symbolSize": 260, "symbolStrokeWidth": 2.5, "symbolOpacity": 1}
    return load_altair().Legend(orient="bottom", direction="vertical", **look | options)


def engine_colours(engines: Iterable[str]) -> dict[str, str]:
    """A colour for each engine: its own in every report, or the next free one if another engine has it.

    >>> colours = engine_colours(["IVFFlat", "faiss.hnsw", "scann"])
    >>> engine_colours(["faiss.hnsw"])["faiss.hnsw"] == colours["faiss.hnsw"]
    True
    """
    colours: dict[str, int] = {}
    for engine in sorted(set(engines), key=lambda name: (_own_colour(name) is None, name)):
        preferred = _own_colour(engine)
        first = sum(engine.encode()) % len(COLOURS) if preferred is None else preferred
        order = [(first + step) % len(COLOURS) for step in range(len(COLOURS))]
        colours[engine] = next((colour for colour in order if colour not in colours.values()), first)
    return {engine: COLOURS[colour] for engine, colour in colours.items()}


def _own_colour(engine: str) -> int | None:
    """The place of the colour of an engine that is known by its name."""
    return next((colour for part, colour in _ENGINE_COLOURS.items() if part in engine.lower()), None)


def described(spec: ChartSpec, text: str) -> ChartSpec:
    """The specification with a description, which a screen reader reads instead of the marks."""
    return spec | {"description": text}


def family_scale(rows: Sequence[Row], values: Sequence[Any]) -> Any:
    """A scale that gives a family the same value in every chart."""
    values_by_family = dict(zip(FAMILIES, values, strict=False))
    present = [name for name in values_by_family if name in unique_values("family", rows)]
    return load_altair().Scale(domain=present, range=[values_by_family[name] for name in present])


def shape_by_family(rows: Sequence[Row]) -> Any:
    """A shape for each family."""
    alt, scale = load_altair(), family_scale(rows, _SHAPES)
    return alt.Shape(
        "family:N", title="family", scale=scale, legend=alt.Legend(symbolFillColor="currentColor")
    )


def dash_by_family(rows: Sequence[Row]) -> Any:
    """A dash pattern for each family."""
    legend = legend_below(symbolStrokeColor="currentColor")
    return load_altair().StrokeDash(
        "family:N", title="family", scale=family_scale(rows, _DASHES), legend=legend
    )


def panel_by(field: str, rows: Sequence[Row], **options: Any) -> Any:
    """One panel for each value, in the order of the rows."""
    alt = load_altair()
    header = alt.Header(labelAlign="left", labelAnchor="start", labelPadding=4, **options)
    return alt.Facet(f"{field}:N", title=None, sort=unique_values(field, rows), header=header)


def unique_values(field: str, rows: Sequence[Row]) -> list[Any]:
    """The distinct values of a column, in the order of the rows."""
    return list(dict.fromkeys(row[field] for row in rows))
