"""Charts in which people zoom and drag, as Vega-Lite; `charts.js` draws them in place of their SVG.

Colours are names of tokens of `style.css`, which the script reads, so that one chart fits both themes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.web.plots import Axis

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
# The shapes of systems 1 to 6, as in macros.html; a path lies between -1 and 1.
_SHAPES = (
    "circle",
    "square",
    "diamond",
    "cross",
    "M-.5 -.9h1l.5 .9l-.5 .9h-1l-.5 -.9z",
    "M-1 -.4h2v.8h-2z",
)
_ZOOM = {
    "name": "zoom",
    "select": {"type": "interval", "zoom": "wheel![event.ctrlKey]"},
    "bind": "scales",
}

_ONE: dict[str, Any] = {"values": [{}]}  # the data of a mark that is drawn once
# The words of a floor on y stand away from those of a floor on x.
_OTHER_SIDE = "isValid(x_floor) && scale('x', x_floor) > width / 2"


@dataclass(frozen=True)
class ChartAxis:
    """An axis of a chart, and the floor that can be dragged along it."""

    name: str
    axis: Axis
    floor: float | None = None
    figure: str = ""  # the floor in the form; empty: nothing to drag
    bound: str = ""  # what is said beside the floor

    def encoding(self) -> dict[str, Any]:
        """Return the axis as Vega-Lite."""
        scale = {"domain": [self.axis.low, self.axis.high], "nice": False}
        form = "~s" if self.axis.is_log else ".4~f"
        ticks = {"title": self.name, "format": form, "tickCount": 5, "labelOverlap": True}
        return {
            "type": "quantitative",
            "scale": {**scale, **({"type": "log"} if self.axis.is_log else {"zero": False})},
            "axis": ticks,
        }


def line_chart(
    x: ChartAxis,
    y: ChartAxis,
    points: Sequence[Mapping[str, Any]],
    numbers: Mapping[str, int],
    *,
    has_marks: bool = True,
    height: int = 282,
) -> dict[str, Any]:
    """Return one line for each series through points of `x`, `y`, `series`, `label` and `order`.

    A point may be the `chosen` one, which has a ring and `words`, may have a `name` beside it, and
    `is_dashed`; `numbers` are those of the systems, by series.
    """
    names = list(numbers)
    colors = [f"var(--sys-{numbers[name]})" for name in names]
    shapes = [_SHAPES[numbers[name] - 1] for name in names]
    place = {"x": {"field": "x", **x.encoding()}, "y": {"field": "y", **y.encoding()}}
    color, shape = _scale(names, colors), _scale(names, shapes)
    marks = [_mark({**place, "color": color, "shape": shape}, "true" if has_marks else "datum.chosen")]
    if has_marks:
        marks += _names(place)
    sides = {"x": x, "y": y}
    return {
        "$schema": _SCHEMA,
        "width": "container",
        "height": height,
        "data": {"name": "points"},
        "datasets": {"points": list(points)},
        "params": [{"name": f"{side}_floor", "value": each.floor} for side, each in sides.items()],
        "layer": [*_shades(x, y), _line({**place, "color": color}), *marks, *_floors(x, y)],
        "usermeta": {"floors": {side: each.figure for side, each in sides.items() if each.figure}},
    }


def _scale(names: Sequence[str], values: Sequence[str]) -> dict[str, Any]:
    scale = {"domain": list(names), "range": list(values)}
    return {"field": "series", "type": "nominal", "scale": scale, "legend": None}


def _line(encoding: Mapping[str, Any]) -> dict[str, Any]:
    dash = {"condition": {"test": "datum.is_dashed", "value": [4, 3]}, "value": [1, 0]}
    order = {"field": "order", "type": "quantitative"}
    series = {"field": "series", "type": "nominal"}
    return {
        "mark": {"type": "line", "clip": True, "strokeWidth": 1.75},
        "encoding": {**encoding, "detail": series, "order": order, "strokeDash": dash},
        "params": [_ZOOM],
    }


def _mark(encoding: Mapping[str, Any], test: str) -> dict[str, Any]:
    mark = {"type": "point", "filled": True, "opacity": 1, "size": 80, "clip": True}
    return {"transform": [{"filter": test}], "mark": mark, "encoding": dict(encoding)}


def _names(place: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a ring about the chosen point with its words, and the names of the series."""
    side = {"expr": "scale('x', datum.x) > 0.7 * width ? 'right' : 'left'"}
    ring = {"type": "point", "size": 320, "stroke": "var(--text)", "fill": None, "clip": True}
    text = {"type": "text", "fontWeight": 600, "color": "var(--text)", "clip": True, "align": side}
    chosen = [{"filter": "datum.chosen"}]
    layers: list[dict[str, Any]] = [{"transform": chosen, "mark": ring, "encoding": dict(place)}]
    for field, test, offset in (("words", chosen, 20), ("name", [{"filter": "isValid(datum.name)"}], -12)):
        encoding = {**place, "text": {"field": field, "type": "nominal"}}
        layers.append({"transform": test, "mark": {**text, "dy": offset}, "encoding": encoding})
    return layers


def _shades(x: ChartAxis, y: ChartAxis) -> list[dict[str, Any]]:
    """Return what is below the floors."""
    shade = {"type": "rect", "color": "var(--text)", "opacity": 0.055, "clip": True}
    edge = _pixel("x") if x.figure else {"value": 0}
    left = {"x": {"value": 0}, "x2": edge, "y": {"value": 0}, "y2": {"value": "height"}}
    below = {"x": edge, "x2": {"value": "width"}, "y": _pixel("y"), "y2": {"value": "height"}}
    layers = ((x, left), (y, below))
    return [{"data": _ONE, "mark": shade, "encoding": encoding} for axis, encoding in layers if axis.figure]


def _pixel(side: str) -> dict[str, Any]:
    """Return where a floor is drawn: inside the axis, so that it can be taken and dragged."""
    low, high = f"domain('{side}')[0]", f"domain('{side}')[1]"
    held = f"isValid({side}_floor) ? clamp({side}_floor, {low}, {high}) : {low}"
    return {"value": {"expr": f"scale('{side}', {held})"}}


def _floors(x: ChartAxis, y: ChartAxis) -> list[dict[str, Any]]:
    """Return the floors as lines with their values."""
    layers: list[dict[str, Any]] = []
    for side, axis in (("x", x), ("y", y)):
        if not axis.figure:
            continue
        across, length = ("y", "height") if side == "x" else ("x", "width")
        line = {side: _pixel(side), across: {"value": 0}, f"{across}2": {"value": length}}
        start: dict[str, Any] = {
            "value": "height" if side == "x" else {"expr": f"{_OTHER_SIDE} ? 4 : width - 4"}
        }
        rule = {"type": "rule", "strokeDash": [2, 3], "strokeWidth": 1.5, "color": "var(--text)"}
        text: dict[str, Any] = {
            "type": "text",
            "color": "var(--text-2)",
            "text": {"expr": _words(side, axis)},
        }
        align = {"expr": f"{_OTHER_SIDE} ? 'left' : 'right'"}
        text |= {"align": "left", "dx": 6, "dy": -8} if side == "x" else {"align": align, "dy": -8}
        layers.append({"data": _ONE, "mark": rule, "encoding": line})
        layers.append({"data": _ONE, "mark": text, "encoding": {side: _pixel(side), across: start}})
    return layers


def _words(side: str, axis: ChartAxis) -> str:
    form = ",.0f" if axis.axis.is_log else ".4~f"
    floor = f"{side}_floor"
    words = f"isValid({floor}) ? '{axis.bound} ' + format({floor}, '{form}') : '{axis.bound} any'"
    return f"'{'◂▸' if side == 'x' else '▴▾'} ' + ({words})"


def trend_chart(
    points: Sequence[Mapping[str, Any]], number: int, measure: str, height: int = 160
) -> dict[str, Any]:
    """Return a series of `at`, `value`, `low`, `high`, cut where `segment` changes.

    The `mark` of a point is `better` or `worse` where the level changed, `break` where the data did.
    """
    color = f"var(--sys-{number})"
    x = {"field": "at", "type": "temporal", "axis": {"title": None, "labelOverlap": True, "tickCount": 8}}
    scale = {"zero": False, "nice": True}
    y = {"field": "value", "type": "quantitative", "scale": scale, "axis": {"title": measure, "tickCount": 4}}
    segment = {"field": "segment", "type": "nominal"}
    line = {"type": "line", "clip": True, "strokeWidth": 1.75, "color": color}
    whisker = {"type": "rule", "clip": True, "strokeWidth": 1.5, "opacity": 0.5, "color": color}
    ends = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    layers = [
        {"mark": whisker, "encoding": ends},
        {"mark": line, "encoding": {"x": x, "y": y, "detail": segment}, "params": [_ZOOM]},
        {
            "mark": {"type": "circle", "size": 40, "opacity": 1, "clip": True, "color": color},
            "encoding": {"x": x, "y": y},
        },
    ]
    found = {point["mark"] for point in points}
    for state, shape in (("better", "triangle-up"), ("worse", "triangle-down")):
        sign = {"type": "point", "shape": shape, "filled": True, "size": 70, "yOffset": -16, "opacity": 1}
        test = [{"filter": f"datum.mark === '{state}'"}]
        if state in found:
            mark = {**sign, "color": f"var(--{state})"}
            layers.append({"transform": test, "mark": mark, "encoding": {"x": x, "y": y}})
    broken = {"type": "rule", "strokeDash": [2, 3], "color": "var(--text-2)", "clip": True}
    if "break" in found:
        test = [{"filter": "datum.mark === 'break'"}]
        layers.append({"transform": test, "mark": broken, "encoding": {"x": x}})
    return {
        "$schema": _SCHEMA,
        "width": "container",
        "height": height,
        "data": {"name": "points"},
        "datasets": {"points": list(points)},
        "params": [],
        "layer": layers,
    }
