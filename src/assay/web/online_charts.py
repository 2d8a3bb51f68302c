"""The geometry of online charts: values over time, and offline against online, in per cent of their box."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from assay.views.online_series import TimePoint
from assay.web.plots import Axis

_LABELS = 8  # at most as many days are named below a chart
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def share_axis(estimates: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Return a common axis of relative differences, with zero in the middle.

    >>> share_axis([{"value": 0.02, "low": -0.01, "high": 0.05}])
    (-0.05, 0.05)
    """
    reaches = sorted(max(ends) for e in estimates if (ends := _finite_ends(e)))
    if not reaches or not reaches[-1]:
        return -0.01, 0.01
    reach = min(reaches[-1], 4 * reaches[len(reaches) // 2])  # one wide interval does not flatten the others
    reach = reach or reaches[-1]
    end = next((step for step in _STEPS if step >= reach), reach)
    return -end, end


def _finite_ends(e: Mapping[str, Any]) -> list[float]:
    ends = (e.get("low"), e.get("high"), e.get("value"))
    return [abs(end) for end in ends if end is not None and math.isfinite(end)]


def time_chart(
    lines: Mapping[str, Sequence[TimePoint]],
    with_zero: bool = False,
    numbers: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return marks, whiskers and lines of values over time by name.

    A missing day, a value that is not there and changed data break a line. `numbers` are those of the colours
    of lines, if they are known.
    """
    points = [point for line in lines.values() for point in line]
    ends = [x for p in points for x in (p.value, p.low, p.high) if x is not None]
    axis = _axis([*ends, 0.0] if with_zero else ends)
    labels = list(dict.fromkeys(point.label for point in points))
    labels = sorted(labels) if len(lines) > 1 else labels
    places = dict(zip(labels, _places(labels), strict=True))
    colours = numbers or {name: place % 6 + 1 for place, name in enumerate(lines)}
    series = [_series(name, line, places, axis, colours[name]) for name, line in lines.items()]
    step = 1 + (len(labels) - 1) // _LABELS
    return {
        "series": series,
        "breaks": [mark for one in series[:1] for mark in one["marks"] if mark["point"].break_reason],
        "labels": [(places[label], label) for label in labels[::step]],
        "ticks": [(_height(axis, tick), tick) for tick in axis.ticks()],
        "zero": _height(axis, 0.0) if axis.low < 0 < axis.high else None,
    }


def _series(
    name: str, line: Sequence[TimePoint], places: Mapping[str, float], axis: Axis, number: int
) -> dict[str, Any]:
    marks = [
        {
            "point": point,
            "x": places[point.label],
            "y": _height(axis, point.value),
            "low": _height(axis, point.low),
            "high": _height(axis, point.high),
        }
        for point in line
    ]
    return {"name": name, "number": number, "marks": marks, "lines": _lines(marks)}


def _axis(values: Sequence[float]) -> Axis:
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    margin = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
    return Axis(low - margin, high + margin)


def _height(axis: Axis, value: float | None) -> float | None:
    return None if value is None else round(100 - axis.place(value), 2)


def _places(labels: Sequence[str]) -> list[float]:
    """Return where labels lie: by the calendar if all are days, else at equal distances."""
    days = [_day(label) for label in labels]
    if any(day is None for day in days):
        return _spread(len(labels))
    numbers = [day.toordinal() for day in days if day is not None]
    first, last = (min(numbers), max(numbers)) if numbers else (0, 0)
    if last == first:
        return _spread(len(labels))
    return [round(2 + 96 * (number - first) / (last - first), 2) for number in numbers]


def _spread(count: int) -> list[float]:
    return [50.0] if count == 1 else [round(2 + 96 * place / (count - 1), 2) for place in range(count)]


def _day(label: str) -> date | None:
    """Return the day that a label is; None for a time."""
    try:
        return date.fromisoformat(label)
    except ValueError:
        return None


def _lines(marks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the points of each unbroken line."""
    lines: list[list[str]] = [[]]
    before: date | None = None
    for mark in marks:
        day = _day(mark["point"].label)
        is_gap = before is not None and day is not None and (day - before).days > 1
        if mark["y"] is None or is_gap or mark["point"].break_reason:
            lines.append([])
        if mark["y"] is not None:
            lines[-1].append(f"{mark['x']},{mark['y']}")
        before = day
    return [" ".join(line) for line in lines if len(line) > 1]


def scatter_chart(rows: Sequence[Mapping[str, Any]], line: tuple[float, float] | None) -> dict[str, Any]:
    """Return points with interval bars both ways; `line` is a slope and an intercept."""
    x_axis = _axis([x for row in rows for x in (*row["offline"][:3], 0.0) if x is not None])
    y_axis = _axis([y for row in rows for y in (*row["online"][:3], 0.0) if y is not None])
    marks = [
        {
            "row": row,
            "x": x_axis.place(row["offline"][0]),
            "y": _height(y_axis, row["online"][0]),
            "left": None if row["offline"][1] is None else x_axis.place(row["offline"][1]),
            "right": None if row["offline"][2] is None else x_axis.place(row["offline"][2]),
            "low": _height(y_axis, row["online"][1]),
            "high": _height(y_axis, row["online"][2]),
        }
        for row in rows
    ]
    return {
        "marks": marks,
        "x_ticks": [(x_axis.place(tick), tick) for tick in x_axis.ticks()],
        "y_ticks": [(_height(y_axis, tick), tick) for tick in y_axis.ticks()],
        "x_zero": x_axis.place(0.0),
        "y_zero": _height(y_axis, 0.0),
        "line": None if line is None else _clip(line, x_axis, y_axis),
    }


def _clip(line: tuple[float, float], x_axis: Axis, y_axis: Axis) -> str:
    """Return the part of a line inside both axes, as points."""
    slope, intercept = line
    xs = [x_axis.low, x_axis.high]
    if slope:
        xs += [(y - intercept) / slope for y in (y_axis.low, y_axis.high)]
    tolerance = 1e-9 * (y_axis.high - y_axis.low)
    inside = sorted(
        x
        for x in xs
        if x_axis.low <= x <= x_axis.high
        and y_axis.low - tolerance <= intercept + slope * x <= y_axis.high + tolerance
    )
    if len(inside) < 2:
        return ""
    ends = (inside[0], inside[-1])
    return " ".join(f"{x_axis.place(x)},{round(100 - y_axis.place(intercept + slope * x), 2)}" for x in ends)
