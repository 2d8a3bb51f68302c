"""The table of experiments: filtered, sorted, grouped, compared with a pinned baseline, and ticked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, groupby
from typing import Any
from urllib.parse import parse_qsl, urlencode

from assay.core.records import Experiment
from assay.evaluation.experiment_fields import ExperimentField
from assay.evaluation.trends import Trend
from assay.views.experiments import describe_point
from assay.views.trends import describe_reason
from assay.web.page import Action, Context, Page, Parameters, Result, View
from assay.web.rendering import axis_of, position
from assay.web.zoom_charts import trend_chart
from assay.workflows.experiment_table import (
    ROWS,
    ExperimentTable,
    ExperimentTableRequest,
    SaveFilterRequest,
    export_experiment_table,
    keep_filter,
    list_experiment_table,
    remove_filter,
)
from assay.workflows.system_numbers import number_systems

_SPACES = {"metrics": "Measures", "latency": "Latency", "figures": "Figures", "params": "Settings"}
_GRID = (0.0, 1 / 3, 2 / 3, 1.0)  # of the height of a trend
_MAX_LABELS = 8  # times below a trend
_LONG = 12  # points; a longer trend can be zoomed
_ENDS = 4.0  # per cent of the width that stay free beside the first and the last point


class ExperimentsParameters(Parameters):
    """Which experiments and columns to show, and in which order."""

    where: str = ""
    sort: str = ""
    reverse: bool = False
    column: tuple[str, ...] = ()
    group: str = ""
    baseline: str = ""
    series: str = ""
    differences: bool = False  # only columns that differ
    offset: int = 0
    limit: int = ROWS


class FilterForm(Parameters):
    """A saved filter: its name, and the address of the table."""

    name: str
    address: str = ""
    remove: bool = False


def _request(context: Context, parameters: ExperimentsParameters) -> ExperimentTableRequest:
    return ExperimentTableRequest(
        where=parameters.where,
        columns=[column for column in parameters.column if column],
        sort=parameters.sort,
        reverse=parameters.reverse,
        group=parameters.group,
        baseline=parameters.baseline,
        series=parameters.series,
        with_differing=parameters.differences,
        offset=parameters.offset,
        limit=parameters.limit,
        store=context.store,
    )


def read(context: Context, parameters: ExperimentsParameters) -> ExperimentTable:
    """Return a page of the experiments that the filter admits."""
    return list_experiment_table(_request(context, parameters))


def export(context: Context, parameters: ExperimentsParameters) -> tuple[list[str], list[list[str]]]:
    """Return all experiments that the filter admits as one table."""
    return export_experiment_table(_request(context, parameters))


def present(context: Context, value: ExperimentTable, parameters: ExperimentsParameters) -> View:
    """Return the rows in their groups, the columns to choose from, and the trend."""
    shown = [*([value.baseline] if value.baseline else []), *value.experiments]
    numbers = number_systems([e.name for e in shown] + _series_names(value), context.store)
    address = {name: v for name, v in parameters.model_dump().items() if name not in ("offset", "limit")}
    parts = {
        "table": value,
        "numbers": numbers,
        "baseline": None if value.baseline is None else _row(value.baseline, value),
        "groups": _groups(value),
        "axis": _axis(value, shown),
        "spaces": _spaces(value),
        "trend": _trend(*value.trend) if value.trend else None,
        "trend_chart": _trend_chart(*value.trend, context.store) if value.trend else None,
        "address": {name: v for name, v in address.items() if v not in ("", False, ())},
        "next": parameters.offset + len(value.experiments),
        "filters": [(one, _is_current(one.address, address)) for one in value.filters],
        "group_names": _group_names(value, parameters.group),
    }
    return View("Experiments", _command(parameters), parts)


def _series_names(value: ExperimentTable) -> list[str]:
    return [value.trend[0]] if value.trend else []


def _command(parameters: ExperimentsParameters) -> str:
    words = ["assay experiments list"]
    words += [f'--where "{parameters.where}"'] if parameters.where else []
    for column in parameters.column:
        is_setting = column.partition(".")[0] in ("latency", "figures", "params")
        words.append(f"--column {column}" if is_setting else f"-m {column}")
    words += [f"--sort {parameters.sort}"] if parameters.sort else []
    return " ".join([*words, *(["--reverse"] if parameters.sort and parameters.reverse else [])])


def _group_names(value: ExperimentTable, chosen: str) -> list[str]:
    """Return by what rows can be grouped: what differs in the shown rows comes from the columns."""
    settings = [str(one) for one in value.available if one.space == "params"]
    names = ["name", "kind", "tag", *settings]
    return names if not chosen or chosen in names else [*names, chosen]


def _is_current(saved: str, address: dict[str, Any]) -> bool:
    now = urlencode({name: v for name, v in address.items() if v not in ("", False, ())}, doseq=True)
    return sorted(parse_qsl(saved)) == sorted(parse_qsl(now))


def _spaces(value: ExperimentTable) -> list[dict[str, Any]]:
    """Return the columns to choose from by kind, with those that are shown."""
    return [
        {
            "title": title,
            "columns": [
                (str(one), one.key, one in value.fields) for one in value.available if one.space == s
            ],
        }
        for s, title in _SPACES.items()
        if any(one.space == s for one in value.available)
    ]


def _natural_order(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in names by their value.

    >>> sorted(["P@10", "P@2", "R@1"], key=_natural_order)
    ['P@2', 'P@10', 'R@1']
    """
    parts = re.split(r"(\d+)", name.lower())
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _groups(value: ExperimentTable) -> list[dict[str, Any]]:
    """Return the rows in their groups; one group without a name if they are not grouped."""
    pairs = [(value.groups.get(e.id), e) for e in value.experiments]
    return [
        {
            "name": name,
            "is_shown": bool(value.groups),
            "count": value.group_counts.get(name),
            "values": [point.value for point in value.series.get(name or "", ())],
            "rows": [_row(e, value) for _, e in members],
        }
        for name, members in groupby(pairs, key=lambda pair: pair[0])
    ]


def _row(experiment: Experiment, value: ExperimentTable) -> dict[str, Any]:
    metrics = {metric.measure: metric for metric in experiment.metrics if not metric.column}
    difference = value.differences.get(experiment.id)
    return {
        "experiment": experiment,
        "cells": [_cell(one, experiment, metrics, value.measure) for one in value.fields],
        "difference": difference,
        "problem": "; ".join(map(describe_reason, difference.reasons)) if difference else "",
    }


def _cell(one: ExperimentField, experiment: Experiment, metrics: Any, measure: str) -> dict[str, Any]:
    is_measure = one.space == "metrics"
    metric = metrics.get(one.key) if is_measure else None
    return {
        "value": one.value(experiment),
        "is_measure": is_measure,
        "metric": metric,
        "is_main": is_measure and one.key == measure,
    }


def _axis(value: ExperimentTable, shown: Sequence[Experiment]) -> tuple[float, float]:
    """Return the common axis of the intervals of the main measure."""
    metrics = [e.metric(value.measure) for e in shown]
    return axis_of([end for m in metrics if m is not None for end in (m.low, m.value, m.high)])


def _trend(name: str, trend: Trend) -> dict[str, Any]:
    """Return a trend as positions in a box of 100 by 100, with what is said of its last change."""
    ends = [end for p in trend.points for end in (p.low, p.value, p.high)]
    axis = axis_of(ends)
    step = (100 - 2 * _ENDS) / max(len(trend.points) - 1, 1)
    every = -(-len(trend.points) // _MAX_LABELS)
    points = [
        {
            "point": point,
            "x": round(_ENDS + place * step, 2),
            "before": round(_ENDS + (place - 0.5) * step, 2),
            "y": _height(point.value, axis),
            "low": _height(point.low, axis),
            "high": _height(point.high, axis),
            "has_label": place % every == 0,
            "words": describe_point(point, trend) if point.mark else "",
            "changed": ", ".join(f"{key} {a} → {b}" for key, (a, b) in point.setting_changes.items()),
        }
        for place, point in enumerate(trend.points)
    ]
    changes = trend.changes
    return {
        "name": name,
        "measure": trend.measure,
        "points": points,
        "lines": _lines(points),
        "grid": [(round(100 * (1 - g), 2), axis[0] + g * (axis[1] - axis[0])) for g in _GRID],
        "change": changes[-1] if changes else None,
        "before": trend.point_before(changes[-1]) if changes else None,
        "words": describe_point(changes[-1], trend) if changes else "no change beyond noise",
        "breaks": len(trend.breaks),
    }


def _trend_chart(name: str, trend: Trend, store: str) -> dict[str, Any] | None:
    """Return a long trend as a chart that can be zoomed; a short one is readable as it is."""
    if len(trend.points) <= _LONG:
        return None
    segments = accumulate(point.mark == "break" for point in trend.points)
    rows = [
        {"at": f"{point.at:%Y-%m-%dT%H:%M:%SZ}", "value": point.value, "low": point.low, "high": point.high}
        | {"segment": segment, "mark": point.mark}
        for point, segment in zip(trend.points, segments, strict=True)
    ]
    return trend_chart(rows, number_systems([name], store)[name], trend.measure)


def _height(value: float | None, axis: tuple[float, float]) -> float | None:
    return None if value is None else round(100 - position(value, axis), 2)


def _lines(points: Sequence[dict[str, Any]]) -> list[str]:
    """Return the line through the points, cut at each break."""
    lines: list[list[str]] = [[]]
    for one in points:
        if one["point"].mark == "break":
            lines.append([])
        if one["y"] is not None:
            lines[-1].append(f"{one['x']},{one['y']}")
    return [" ".join(line) for line in lines if len(line) > 1]


def _change_filter(context: Context, form: FilterForm) -> Result:
    request = SaveFilterRequest(name=form.name, address=form.address, store=context.store)
    if form.remove:
        remove_filter(request)
        return Result("/experiments", "the filter is removed")
    saved = keep_filter(request)
    return Result(f"/experiments?{saved.address}" if saved.address else "/experiments", "the filter is saved")


PAGES = (
    Page(
        "/experiments",
        "Experiments",
        "experiments.html",
        read,
        present,
        ExperimentsParameters,
        key="E",
        export=export,
    ),
)
ACTIONS = (Action("/experiments/filters", FilterForm, _change_filter),)
