"""Indexes: the trial that is chosen by floors that can be moved, why others lost, and both frontiers."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from assay.bench.selection.floors import Figure, FigureEstimate, Floor, parse_figure
from assay.bench.selection.selection import Candidate, Selection
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.trials import format_parameters, label
from assay.views.indexes import (
    count_eligible,
    describe_choice,
    describe_confirmation,
    describe_near,
    describe_second,
    name_figure,
)
from assay.views.selection_words import explain_candidate, format_figure, selection_notes
from assay.web.page import Action, Context, Page, Parameters, View
from assay.web.plots import Axis, format_tick, linear_axis, log_axis
from assay.web.zoom_charts import ChartAxis, line_chart
from assay.workflows.indexes import (
    DEFAULT_DELTA,
    DEFAULT_FLOORS,
    IndexChoice,
    IndexesRequest,
    NoTrials,
    choose_index,
)
from assay.workflows.system_numbers import number_systems

_STATES = {"confirmed": "passed", "nothing to confirm": "passed", "not confirmed": "failed"}
_MOST_CURVES = 5
_CURVE_DELTAS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


class IndexesParameters(Parameters):
    """The trials, the floors and the objective."""

    bench: str = ""
    mode: str = ""
    objective: str = ""
    delta: float = DEFAULT_DELTA
    recall: float | None = None
    robustness: float | None = None
    qps: float | None = None
    capacity: float | None = None
    p99_ms: float | None = None
    memory_mb: float | None = None
    build_seconds: float | None = None

    @property
    def floors(self) -> dict[str, float]:
        """The floors by figure; those of a first visit if the address has none."""
        names = ("recall", "qps", "capacity", "p99_ms", "memory_mb", "build_seconds")
        floors = {name: getattr(self, name) for name in names} | {
            f"robustness-{self.delta:g}": self.robustness
        }
        known = {name: value for name, value in floors.items() if value is not None}
        return known or dict(DEFAULT_FLOORS)


def read(context: Context, parameters: IndexesParameters) -> IndexChoice | NoTrials:
    """Return the choice among the trials of one source."""
    request = IndexesRequest(
        bench=parameters.bench,
        floors=parameters.floors,
        delta=parameters.delta,
        objective=parameters.objective,
        mode=parameters.mode or None,
        benches=context.benches,
        store=context.store,
    )
    return choose_index(request)


def present(context: Context, value: IndexChoice | NoTrials, parameters: IndexesParameters) -> View:
    """Return the banner, the floors, the charts and the trials."""
    if isinstance(value, NoTrials):
        return View("Indexes", "assay bench --help", {"is_empty": True})
    selection = value.selection
    engines = list(dict.fromkeys(each.trial.engine for each in selection.candidates))
    numbers = number_systems(engines, context.store)
    known = {figure.figure.name: figure.figure for figure in value.ranges}
    speed = known.get("qps") or known.get("capacity")
    robustness = known.get(f"robustness-{value.delta:g}")
    parts = {
        "is_empty": False,
        "sources": [source.name for source in value.sources],
        "source": value.source.name,
        "modes": value.modes,
        "mode": value.mode,
        "about": _about(value),
        "banner": _banner(value),
        "floors": [_floor(each) for each in value.ranges],
        "objectives": [(name, name_figure(parse_figure(name))) for name in value.objectives],
        "objective": selection.objective.name,
        "deltas": sorted({*_CURVE_DELTAS, value.delta}),
        "delta": value.delta,
        "reaching": count_eligible(selection),
        "near": describe_near(selection, value.near),
        "frontiers": [
            _frontier(value, figure, speed, numbers)
            for figure in (known.get("recall"), robustness)
            if figure is not None and speed is not None
        ],
        "curves": _curves(selection, numbers, value.delta),
        "trials": _trials(selection, numbers),
        "notes": selection_notes(selection),
    }
    return View("Indexes", _command(value), parts)


def _about(value: IndexChoice) -> str:
    trials = value.selection.study.scored_trials
    words = [f"{len(trials)} trial{'s' * (len(trials) != 1)}"]
    data = value.selection.study.metadata.get("data", {})
    if data:
        words += [f"{data['n']:,} vectors × {data['d']}", f"{data['queries']:,} queries"]
    return " · ".join([*words, f"K = {value.selection.k}"])


def _banner(value: IndexChoice) -> dict[str, str]:
    """Return the verdict: the winner, its confirmation, and the trial that comes next."""
    selection = value.selection
    verdict = selection.confirmation.verdict if selection.confirmation else ""
    return {
        "state": _STATES.get(verdict, "open") if verdict else "failed",
        "title": describe_choice(selection),
        "evidence": describe_confirmation(selection),
        "second": describe_second(selection),
    }


def _floor(each: Any) -> dict[str, Any]:
    """Return a floor as a slider; its name in the address leaves δ out."""
    figure = each.figure
    bound = "at least" if figure.higher_is_better else "at most"
    return {
        "name": _field(figure),
        "label": f"{name_figure(figure)}, {bound}",
        "low": f"{each.low:.10g}",
        "high": f"{each.high:.10g}",
        "step": f"{each.step:.10g}",
        "value": f"{each.value:.10g}",
        "shown": format_figure(figure, each.value) if each.is_set else "any",
        "off": f"{each.low if figure.higher_is_better else each.high:.10g}",
        "is_share": figure.is_per_query,
        "note": f"{each.reaching} of {each.trials} trials reach it",
    }


def _field(figure: Figure) -> str:
    """Return the name of a floor in the form and in the address."""
    return "robustness" if figure.delta is not None else figure.name


def _command(value: IndexChoice) -> str:
    """Return the command that makes the same choice."""
    selection = value.selection
    if not value.source.path:
        return "assay experiments list --where 'kind = bench'"
    floors = [f"--floor {floor.figure.name}={floor.value:g}" for floor in selection.floors]
    words = ["assay select", shlex.quote(value.source.path), *floors]
    words += [f"--objective {selection.objective.name}"] * (selection.objective.name != "qps")
    words += [f"--mode {value.mode}"] * (len(value.modes) > 1)
    return " ".join(words)


def _trials(selection: Selection, numbers: dict[str, int]) -> dict[str, Any]:
    """Return the table of trials: each floor with a mark, and why it was or was not chosen."""
    asked = [selection.objective, *(floor.figure for floor in selection.floors)]
    figures = [figure for figure in dict.fromkeys(asked) if figure in selection.axes]
    others = [figure for figure in selection.axes if figure not in figures]
    floors = {floor.figure: floor for floor in selection.floors}
    heads = [_head(figure, floors.get(figure)) for figure in (*figures, *others)]
    rows = [
        {
            "engine": candidate.trial.engine,
            "number": numbers[candidate.trial.engine],
            "parameters": _parameters(candidate),
            "is_winner": candidate is selection.winner,
            "cells": [_cell(candidate, figure, floors.get(figure)) for figure in (*figures, *others)],
            "zero_hits": candidate.trial.zero_hits,
            "on_front": candidate.on_front,
            "why": explain_candidate(selection, candidate),
        }
        for candidate in selection.candidates
    ]
    return {"heads": heads, "rows": rows}


def _head(figure: Figure, floor: Floor | None) -> str:
    """Return the head of a column: the figure, with its floor if there is one.

    >>> _head(Figure("qps"), Floor(Figure("qps"), 10000.0))
    'qps ≥ 10,000'
    """
    if floor is None:
        return figure.name
    return f"{figure.name} {'≥' if figure.higher_is_better else '≤'} {format_figure(figure, floor.value)}"


def _parameters(candidate: Candidate) -> str:
    trial = candidate.trial
    return " / ".join(filter(None, map(format_parameters, (trial.build, trial.search))))


def _cell(candidate: Candidate, figure: Figure, floor: Any) -> dict[str, Any]:
    estimate = candidate.figures.get(figure)
    if estimate is None:
        return {"text": "–", "interval": "", "is_met": None}
    return {
        "text": format_figure(figure, estimate.value),
        "interval": _interval(figure, estimate),
        "is_met": None if floor is None else floor.is_met_by(estimate.value),
    }


def _interval(figure: Figure, estimate: FigureEstimate) -> str:
    if estimate.low is None or estimate.high is None:
        return estimate.over
    return f"{format_figure(figure, estimate.low)} … {format_figure(figure, estimate.high)}"


def _frontier(value: IndexChoice, x: Figure, y: Figure, numbers: dict[str, int]) -> dict[str, Any]:
    """Return speed against a figure of quality: one line for each index, and what is below a floor."""
    selection = value.selection
    selectable = {each.trial.key for each in selection.candidates if not each.exclusion}
    points: list[tuple[ScoredTrial, float, float]] = []
    pairs = zip(value.estimates[x.name], value.estimates[y.name], strict=True)
    for each, (quality, speed) in zip(selection.study.scored_trials, pairs, strict=True):
        if each.trial.key in selectable and quality and speed and speed.value > 0:
            points.append((each, quality.value, speed.value))
    if not points:
        return {"x": name_figure(x), "series": []}
    x_axis = linear_axis([point[1] for point in points], 1.0)
    y_axis = log_axis([point[2] for point in points])
    floors = {floor.figure: floor.value for floor in selection.floors}
    across = ChartAxis(name_figure(x), x_axis.widened(), floors.get(x), _field(x), x.name)
    up = ChartAxis(name_figure(y), y_axis, floors.get(y), _field(y), y.name)
    rows, systems = _chart_points(selection, points, numbers)
    return {
        "id": f"frontier-{_field(x)}",
        "chart": line_chart(across, up, rows, systems),
        "title": f"{name_figure(x).capitalize()} and throughput",
        "x_name": f"{name_figure(x)} at {selection.k}",
        "y_name": name_figure(y),
        "x_ticks": _ticks(x_axis),
        "y_ticks": _ticks(y_axis),
        "x_floor": None if x not in floors else (x_axis.place(floors[x]), f"{x.name} {floors[x]:g}"),
        "y_floor": None if y not in floors else (y_axis.place(floors[y]), f"{floors[y]:,.0f} {y.name}"),
        "series": _lines(points, x_axis, y_axis, (x, y), numbers),
        "ring": _ring(selection, points, x_axis, y_axis),
        "sentence": f"{name_figure(y)} against {name_figure(x)} of {len(points)} trials; "
        f"{describe_choice(selection)}. The table below has the same values",
    }


def _chart_points(
    selection: Selection, points: Sequence[tuple[ScoredTrial, float, float]], numbers: dict[str, int]
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return the trials as points of a chart that can be zoomed, and the numbers of its series."""
    chosen = selection.winner.trial.key if selection.winner else None
    rows: list[dict[str, Any]] = []
    series: dict[str, int] = {}
    for each, x, y in sorted(points, key=lambda point: point[1]):
        name = label(each.trial.engine, each.trial.build, {})
        beside = {} if name in series else {"name": each.trial.engine.rpartition(".")[2]}
        series[name] = numbers[each.trial.engine]
        words = format_parameters(each.trial.search) or each.trial.engine
        row = {"series": name, "x": x, "y": y, "order": x, **beside}
        rows.append({**row, "chosen": each.trial.key == chosen, "words": f"{words}, chosen"})
    return rows, series


def _ticks(axis: Axis) -> list[tuple[float, str]]:
    return [(axis.place(tick), format_tick(tick)) for tick in axis.ticks()]


def _lines(
    points: Sequence[tuple[ScoredTrial, float, float]],
    x_axis: Axis,
    y_axis: Axis,
    figures: tuple[Figure, Figure],
    numbers: dict[str, int],
) -> list[dict[str, Any]]:
    """Return one line for each engine and its build, through the trials ordered by quality."""
    groups: dict[str, list[tuple[ScoredTrial, float, float]]] = {}
    for point in sorted(points, key=lambda point: point[1]):
        trial = point[0].trial
        groups.setdefault(label(trial.engine, trial.build, {}), []).append(point)
    series = []
    for group in groups.values():
        engine = group[0][0].trial.engine
        marks = [
            {
                "x": x_axis.place(x),
                "y": 100 - y_axis.place(y),
                "title": f"{each.trial.label}: {figures[0].name} {format_figure(figures[0], x)}, "
                f"{format_figure(figures[1], y)} {name_figure(figures[1])}",
            }
            for each, x, y in group
        ]
        short = engine.rpartition(".")[2]
        series.append({"number": numbers[engine], "name": short, "marks": marks})
    return series


def _ring(
    selection: Selection, points: Sequence[tuple[ScoredTrial, float, float]], x_axis: Axis, y_axis: Axis
) -> dict[str, Any] | None:
    """Return where the winner is."""
    winner = selection.winner
    at = next((point for point in points if winner and point[0].trial.key == winner.trial.key), None)
    if at is None or winner is None:
        return None
    x = x_axis.place(at[1])
    name = format_parameters(winner.trial.search) or winner.trial.engine
    return {"x": x, "y": 100 - y_axis.place(at[2]), "name": name, "is_right": x > 60}


def _curves(selection: Selection, numbers: dict[str, int], delta: float) -> dict[str, Any] | None:
    """Return robustness over δ: the winner, and of each other index the trial nearest to its recall."""
    shown = [each for each in _curve_trials(selection) if each.distribution is not None]
    curves = [(each, each.distribution.curve()) for each in shown if each.distribution is not None]
    if not curves:
        return None
    values = [share.value for _, curve in curves for _, share in curve if share.value is not None]
    x_axis, y_axis = Axis(0.0, 1.0), linear_axis([*values, 0.98], 1.0)
    engines: list[str] = []
    series: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for each, curve in curves:
        trial, is_dashed = each.trial, each.trial.engine in engines
        steps = [(step, share.value) for step, share in curve if share.value is not None]
        near = min(steps, key=lambda pair: abs(pair[0] - delta))
        series.append(
            {
                "number": numbers[trial.engine],
                "name": trial.label,
                "is_dashed": is_dashed,
                "points": " ".join(f"{x_axis.place(x)},{round(100 - y_axis.place(y), 2)}" for x, y in steps),
                "mark": (x_axis.place(near[0]), round(100 - y_axis.place(near[1]), 2)),
                "cells": [each.robustness(step) for step in _CURVE_DELTAS],
            }
        )
        row = {"series": trial.label, "is_dashed": is_dashed}
        rows += [{**row, "x": x, "y": y, "order": x, "chosen": (x, y) == near} for x, y in steps]
        engines.append(trial.engine)
    floor = next((one.value for one in selection.floors if one.figure.delta == delta), None)
    return {
        "id": "robustness-curves",
        "chart": _curve_chart(rows, {one["name"]: one["number"] for one in series}, y_axis, delta, floor),
        "series": series,
        "x_ticks": _ticks(x_axis),
        "y_ticks": _ticks(y_axis),
        "floor": None
        if floor is None
        else (x_axis.place(delta), round(100 - y_axis.place(floor), 2), f"floor: {floor:g} at δ = {delta:g}"),
        "deltas": _CURVE_DELTAS,
    }


def _curve_chart(
    rows: list[dict[str, Any]], numbers: dict[str, int], y_axis: Axis, delta: float, floor: float | None
) -> dict[str, Any]:
    """Return the curves as a chart that can be zoomed; the floor on robustness is dragged up and down."""
    across = ChartAxis("δ: the recall that a query must reach", Axis(0.0, 1.0))
    up = ChartAxis("share of queries", y_axis.widened(), floor, "robustness", f"at δ = {delta:g}:")
    return line_chart(across, up, rows, numbers, has_marks=False, height=248)


def _curve_trials(selection: Selection) -> list[ScoredTrial]:
    """Return the winner, then of each other index the trial whose mean recall is nearest to its own."""
    by_key = {each.trial.key: each for each in selection.study.scored_trials}
    selectable = [by_key[each.trial.key] for each in selection.candidates if not each.exclusion]
    if not selectable:
        return []
    first = selectable[0]
    goal = first.recall.value or 0.0
    nearest = {label(first.trial.engine, first.trial.build, {}): first}
    for each in sorted(selectable, key=lambda one: abs((one.recall.value or 0.0) - goal)):
        nearest.setdefault(label(each.trial.engine, each.trial.build, {}), each)
    return list(nearest.values())[:_MOST_CURVES]


PAGES = (Page("/indexes", "Indexes", "indexes.html", read, present, IndexesParameters, key="I"),)
ACTIONS: tuple[Action, ...] = ()
