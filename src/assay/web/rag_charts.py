"""The geometry of the charts of a study of answers: accuracy of each configuration, and against recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.rag.accuracy_curve import AccuracyCurve
from assay.rag.delta import DeltaChoice
from assay.rag.study import ConfigurationResult
from assay.stats.intervals import Estimate
from assay.views.numbers import format_estimate
from assay.web.plots import Axis, format_tick, linear_axis

_SHARE = Axis(0.0, 1.0)
_LABEL_WIDTH, _LABEL_HEIGHT = 12, 6  # per cent of a chart


def accuracy_chart(
    configurations: Sequence[ConfigurationResult],
    figures: Mapping[str, Estimate],
    x_name: str,
    numbers: Mapping[str, int],
) -> dict[str, Any] | None:
    """Return a mark for each configuration: its accuracy against a figure; None if no figure is known."""
    shown = [c for c in configurations if figures[c.name].value is not None and c.accuracy.value is not None]
    if not shown:
        return None
    x_axis = linear_axis([x for c in shown if (x := figures[c.name].value) is not None], 1.0)
    ends = [end for c in shown for end in (c.accuracy.low, c.accuracy.value) if end is not None]
    y_axis = linear_axis(ends, 1.0)
    marks = [_mark(c, figures[c.name], (x_axis, y_axis), numbers[c.name]) for c in shown]
    return {
        "marks": [{**mark, "has_label": _has_room(mark, marks[:place])} for place, mark in enumerate(marks)],
        "x_ticks": _ticks(x_axis),
        "y_ticks": _ticks(y_axis),
        "x_name": x_name,
        "sentence": f"accuracy against {x_name} of {len(shown)} configurations",
    }


def _mark(
    configuration: ConfigurationResult, figure: Estimate, axes: tuple[Axis, Axis], number: int
) -> dict[str, Any]:
    accuracy, (x_axis, y_axis) = configuration.accuracy, axes
    x = figure.value or 0.0
    return {
        "name": configuration.name,
        "number": number,
        "is_control": configuration.is_control,
        "x": x_axis.place(x),
        "y": _height(y_axis, accuracy.value),
        "low": _height(y_axis, accuracy.low),
        "high": _height(y_axis, accuracy.high),
        "words": f"{configuration.name}: accuracy {format_estimate(accuracy)}, at {x:.4f}",
    }


def _has_room(mark: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the name of a configuration does not run into that of another."""
    return not any(
        abs(mark["x"] - other["x"]) < _LABEL_WIDTH and abs(mark["y"] - other["y"]) < _LABEL_HEIGHT
        for other in others
    )


def curve_chart(curve: AccuracyCurve, choice: DeltaChoice | None) -> dict[str, Any]:
    """Return the accuracy at each level of recall with the isotonic fit, and δ if it is chosen by this."""
    points = [
        {
            "x": _SHARE.place(point.recall),
            "y": _height(_SHARE, point.accuracy.value),
            "low": _height(_SHARE, point.accuracy.low),
            "high": _height(_SHARE, point.accuracy.high),
            "words": f"recall {point.recall:g}: accuracy {format_estimate(point.accuracy)}",
        }
        for point in curve.points
    ]
    delta = choice.delta if choice else Estimate(None, None, None, curve.level, 0)
    return {
        "points": points,
        "fit": " ".join(
            f"{_SHARE.place(p.recall)},{_height(_SHARE, p.fitted.value)}"
            for p in curve.points
            if p.fitted.value is not None
        ),
        "band": _band(curve),
        "delta": None if delta.value is None else _SHARE.place(delta.value),
        "delta_low": None if delta.low is None else _SHARE.place(delta.low),
        "delta_high": None if delta.high is None else _SHARE.place(delta.high),
        "delta_name": "" if delta.value is None else f"δ = {delta.value:g}",
        "ticks": _ticks(_SHARE),
        "sentence": f"accuracy at {len(points)} levels of recall, with an isotonic fit",
    }


def _band(curve: AccuracyCurve) -> str:
    """Return the outline of the interval of the fit."""
    points = [p for p in curve.points if p.fitted.low is not None]
    upper = [f"{_SHARE.place(p.recall)},{_height(_SHARE, p.fitted.high)}" for p in points]
    lower = [f"{_SHARE.place(p.recall)},{_height(_SHARE, p.fitted.low)}" for p in reversed(points)]
    return " ".join([*upper, *lower])


def _height(axis: Axis, value: float | None) -> float | None:
    return None if value is None else round(100 - axis.place(value), 2)


def _ticks(axis: Axis) -> list[tuple[float, str]]:
    return [(axis.place(tick), format_tick(tick)) for tick in axis.ticks()]
