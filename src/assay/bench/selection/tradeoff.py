"""The trade-off of recall, robustness and throughput, with each of them fixed in turn.

Given the minimum of one figure, compare the other two among the trials that reach it (arXiv 2507.00379,
section 5.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from typing import Any, NamedTuple

from assay.bench.selection.floors import Figure, Floor, dominating_figures, estimate_figure, parse_figure
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.trials import Trial
from assay.core.errors import InputError

FigureValues = tuple[float, ...]
Axes = Sequence[Figure]


class TradeoffPoint(NamedTuple):
    """A trial in a plane of two figures."""

    label: str
    x: float
    y: float
    on_front: bool  # no other trial of the plane is as good in both figures and better in one
    key: str  # the key of the trial, since several may share a label


@dataclass(frozen=True)
class TradeoffPlane:
    """The trials that meet a floor of one figure, by the other two figures."""

    fixed: str  # recall, robustness-δ or qps
    floor: float
    x: str  # the figure of TradeoffPoint.x
    y: str
    points: tuple[TradeoffPoint, ...]  # ordered by x

    def to_dict(self) -> dict[str, Any]:
        """Return the plane as plain data."""
        return asdict(self) | {"points": [point._asdict() for point in self.points]}


def tradeoff_planes(
    scored_trials: Sequence[ScoredTrial],
    delta: float = 0.1,
    floors: Mapping[str, float | Sequence[float]] | None = None,
    defaults: int = 1,
) -> list[TradeoffPlane]:
    """Return the planes of recall, robustness at δ and throughput; none if no trial has all three.

    A figure without a floor gets so many defaults: quantiles, at equal distances, of the trials that no other
    dominates in all three; one is the median.
    """
    axes = tuple(parse_figure(name) for name in ("recall", f"robustness-{delta:g}", "qps"))
    unknown = [name for name in floors or {} if name not in [figure.name for figure in axes]]
    if unknown:
        expected = ", ".join(figure.name for figure in axes)
        raise InputError(f"the trade-off uses {expected}; found a floor for {', '.join(unknown)}")
    rows = _figure_values(scored_trials, axes)
    if not rows:
        return []
    front = _pareto_front(axes, [values for _, values in rows])
    thresholds = [
        _thresholds((floors or {}).get(figure.name), [values[axis] for values in front], defaults)
        for axis, figure in enumerate(axes)
    ]
    return [_plane(rows, axes, axis, floor) for axis, values in enumerate(thresholds) for floor in values]


def _thresholds(
    floors: float | Sequence[float] | None, front: Sequence[float], defaults: int
) -> Sequence[float]:
    """Return the floors of a figure, the lowest first."""
    if floors is None:
        middles = [median(front)] if defaults == 1 else quantiles([*front, *front], n=defaults + 1)
        return sorted(dict.fromkeys(middles))
    return [floors] if isinstance(floors, int | float) else sorted(dict.fromkeys(floors))


def _figure_values(scored_trials: Sequence[ScoredTrial], axes: Axes) -> list[tuple[Trial, FigureValues]]:
    """Return the three figures of each selectable trial that has them all."""
    rows = []
    for scored_trial in scored_trials:
        trial, estimates = scored_trial.trial, [estimate_figure(scored_trial, figure) for figure in axes]
        if trial.status != "failed" and trial.indexed is not False and all(estimates):
            rows.append((trial, tuple(estimate.value for estimate in estimates if estimate)))
    return rows


def _pareto_front(axes: Axes, values: Sequence[FigureValues]) -> list[FigureValues]:
    """Return the rows that no other dominates."""
    return [row for row in values if not any(dominating_figures(axes, rival, row) for rival in values)]


def _plane(rows: Sequence[tuple[Trial, FigureValues]], axes: Axes, axis: int, floor: float) -> TradeoffPlane:
    other_axes = [i for i in range(3) if i != axis]
    x, y = (axes[i] for i in other_axes)
    reaching = [(trial, row) for trial, row in rows if Floor(axes[axis], floor).is_met_by(row[axis])]
    pairs = [(row[other_axes[0]], row[other_axes[1]]) for _, row in reaching]
    front = _pareto_front((x, y), pairs)
    points = [
        TradeoffPoint(trial.label, *pair, pair in front, trial.key)
        for (trial, _), pair in zip(reaching, pairs, strict=True)
    ]
    points.sort(key=lambda point: point[1:])
    return TradeoffPlane(axes[axis].name, floor, x.name, y.name, tuple(points))
