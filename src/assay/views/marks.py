"""How figures look: colours, shapes and dashes, and text in the colour of the page around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.errors import MissingExtraError
from assay.indexes.study.families import FAMILIES

Row = Mapping[str, Any]
Figure = dict[str, Any]  # a Vega-Lite specification

# Okabe and Ito's colours, as far as they stand out on white and on black
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C")
_SHAPES = ("circle", "triangle-up", "square", "diamond", "cross")
_DASHES = ([1, 0], [7, 4], [2, 3], [10, 3, 2, 3], [12, 4])
_TEXT = {"labelColor": "currentColor", "titleColor": "currentColor"}
_CONFIG = {
    "background": "transparent",
    "view": {"stroke": "currentColor", "strokeOpacity": 0.25},
    "axis": {
        **_TEXT,
        "titleFontWeight": "normal",
        "domainColor": "currentColor",
        "tickColor": "currentColor",
        "gridColor": "currentColor",
        "gridOpacity": 0.13,
        "domainOpacity": 0.5,
        "tickOpacity": 0.5,
    },
    "legend": {**_TEXT, "titleFontWeight": "normal", "labelLimit": 420},
    "header": {**_TEXT, "labelLimit": 900},
    "title": {"color": "currentColor", "subtitleColor": "currentColor", "fontWeight": "normal"},
    "text": {"color": "currentColor"},
    "rule": {"color": "currentColor"},
}


def library() -> Any:
    """Altair, or what to install."""
    try:
        import altair
    except ImportError:
        raise MissingExtraError("altair", "a report with figures", "report") from None
    return altair


def chart(rows: Sequence[Row]) -> Any:
    """A chart of these rows."""
    alt = library()
    return alt.Chart(alt.Data(values=[dict(row) for row in rows]))


def drawn(chart: Any) -> Figure:
    """A chart as it is put into a page."""
    made: Figure = chart.to_dict()
    return made | {"config": _CONFIG}


def tip(*names: Any) -> list[Any]:
    """What is shown of a mark; a name without a type is a share, to four digits."""
    alt = library()
    return [
        alt.Tooltip(f"{name}:Q", format=".4~f") if isinstance(name, str) and ":" not in name else name
        for name in names
    ]


def coloured(field: str, rows: Sequence[Row], **more: Any) -> Any:
    """Each name in the colour that its rows give."""
    alt = library()
    found = {row[field]: row["colour"] for row in rows}
    scale = alt.Scale(domain=list(found), range=list(found.values()))
    return alt.Color(f"{field}:N", title=None, scale=scale, **more)


def below(**more: Any) -> Any:
    """A legend of lines with long names: under the figure, one below the other."""
    look = {"symbolType": "stroke", "symbolSize": 260, "symbolStrokeWidth": 2.5, "symbolOpacity": 1}
    return library().Legend(orient="bottom", direction="vertical", **look | more)


def families(rows: Sequence[Row], values: Sequence[Any]) -> Any:
    """A scale on which a family has the same value in every figure."""
    known = dict(zip(FAMILIES, values, strict=False))
    there = [name for name in known if name in ordered("family", rows)]
    return library().Scale(domain=there, range=[known[name] for name in there])


def shaped(rows: Sequence[Row]) -> Any:
    """Each family by its shape."""
    alt, scale = library(), families(rows, _SHAPES)
    return alt.Shape(
        "family:N", title="family", scale=scale, legend=alt.Legend(symbolFillColor="currentColor")
    )


def dashed(rows: Sequence[Row]) -> Any:
    """Each family by its dash."""
    legend = below(symbolStrokeColor="currentColor")
    return library().StrokeDash("family:N", title="family", scale=families(rows, _DASHES), legend=legend)


def panel(field: str, rows: Sequence[Row], **more: Any) -> Any:
    """A panel for each value, in the order of the rows."""
    alt = library()
    told = alt.Header(labelAlign="left", labelAnchor="start", labelPadding=4, **more)
    return alt.Facet(f"{field}:N", title=None, sort=ordered(field, rows), header=told)


def ordered(field: str, rows: Sequence[Row]) -> list[Any]:
    """The values of a column, in the order of the rows."""
    return list(dict.fromkeys(row[field] for row in rows))
