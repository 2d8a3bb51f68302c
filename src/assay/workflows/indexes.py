"""Choose an index by floors on the page Indexes, and say what the trials show beyond their mean recall."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from assay.bench.selection.floors import Figure, FigureEstimate, Floor, Rows, estimate_figure, parse_figure
from assay.bench.selection.selection import Candidate, Selection, select_trial
from assay.bench.studies.findings import FindingSettings, StudyFindings, collect_findings
from assay.bench.studies.study import Study
from assay.core.errors import InputError
from assay.views.indexes import NearChoice
from assay.views.selection import selection_dict
from assay.workflows.trial_sources import TrialSource, find_source, list_sources, open_source

DEFAULT_FLOORS = {"recall": 0.9}
DEFAULT_DELTA = 0.3
_STEPS = {"recall": 0.005}  # of a slider; others follow from the values
_ROBUSTNESS_STEP = 0.001
Estimates = tuple[FigureEstimate | None, ...]
_LEAST_STEPS = 40  # of a slider over times or sizes


@dataclass(frozen=True, kw_only=True)
class IndexesRequest:
    """The trials to choose from, the floors, and the objective."""

    bench: str = ""  # the name of a source; empty: the first
    floors: Mapping[str, float] = field(default_factory=lambda: DEFAULT_FLOORS)
    delta: float = DEFAULT_DELTA  # of the floor on robustness
    objective: str = ""  # empty: queries per second, or the first figure that trials have
    mode: str | None = None
    benches: Mapping[str, str] = field(default_factory=dict)  # the folders that may be shown, by name
    store: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.delta <= 1:
            raise InputError(f"delta: expected a recall above 0, at most 1, found {self.delta:g}")


class FloorRange(NamedTuple):
    """A floor that can be moved between the values that trials have."""

    figure: Figure
    low: float
    high: float
    step: float
    value: float
    is_set: bool  # False: at the end that every trial reaches
    reaching: int  # trials that reach it
    trials: int  # trials that can be chosen and have the figure

    def to_dict(self) -> dict[str, Any]:
        """Return the range as plain data."""
        return {**self._asdict(), "figure": self.figure.name}


@dataclass(frozen=True)
class IndexChoice:
    """The trial that is chosen, its competitors, and how far each floor can be moved."""

    sources: Sequence[TrialSource]
    source: TrialSource
    selection: Selection
    ranges: Sequence[FloorRange]
    objectives: Sequence[str]
    modes: Sequence[str]
    mode: str
    delta: float
    near: NearChoice | None
    estimates: Mapping[str, Estimates]  # on the queries of the choice, of each trial of the study

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as plain data, with the keys that `assay select --format json` prints."""
        return {
            "bench": self.source.name,
            "benches": [source.name for source in self.sources],
            **selection_dict(self.selection),
            "ranges": [each.to_dict() for each in self.ranges],
        }


@dataclass(frozen=True)
class NoTrials:
    """There are no trials to show."""

    def to_dict(self) -> dict[str, Any]:
        """Return that there are none."""
        return {"benches": [], "trials": []}


def choose_index(request: IndexesRequest) -> IndexChoice | NoTrials:
    """Choose the trial that is best at the objective among those that reach the floors."""
    sources = list_sources(request.benches, request.store)
    if not sources:
        return NoTrials()
    source = find_source(sources, request.bench)
    study, modes = open_source(source, request.store, request.mode)
    figures = _known_figures(study, request.delta)
    bounds = {figure.name: _bounds(study, figure) for figure in figures}
    floors = {
        name: value
        for name, value in request.floors.items()
        if name in bounds and not _is_at_end(parse_figure(name), value, bounds[name])
    }
    objective = request.objective or _default_objective([figure.name for figure in figures])
    selection = select_trial(study, [f"{name}={value!r}" for name, value in floors.items()], objective)
    key = _StudyKey(study, selection.split.choosing_rows if selection.split else None)
    estimates = {figure.name: _estimate_all(key, figure, True) for figure in figures}
    ranges = [
        _floor_range(selection, figure, bounds[figure.name], floors, estimates[figure.name])
        for figure in figures
    ]
    return IndexChoice(
        sources,
        source,
        selection,
        ranges,
        [figure.name for figure in figures],
        modes or (study.scored_trials[0].trial.mode,),
        study.scored_trials[0].trial.mode,
        request.delta,
        _nearest_choice(selection),
        estimates,
    )


class _StudyKey:
    """A study that equals itself only, so that figures are computed once; its rows follow from it."""

    def __init__(self, study: Study, rows: Rows | None = None) -> None:
        self.study, self.rows = study, rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _StudyKey) and other.study is self.study

    def __hash__(self) -> int:
        return id(self.study)


@lru_cache(maxsize=64)
def _estimate_all(key: _StudyKey, figure: Figure, is_part: bool) -> Estimates:
    """Return a figure of every trial of a study, on all queries or on those of the choice."""
    rows = key.rows if is_part else None
    return tuple(estimate_figure(trial, figure, rows) for trial in key.study.scored_trials)


def _known_figures(study: Study, delta: float) -> list[Figure]:
    """Return the figures that trials can be chosen by, of those that some trial has."""
    names = ("recall", f"robustness-{delta:g}", "qps", "capacity", "p99_ms", "memory_mb", "build_seconds")
    return [figure for figure in map(parse_figure, names) if any(_usable_estimates(study, figure))]


def _default_objective(names: Sequence[str]) -> str:
    """Return what trials are compared by if nothing is asked for.

    >>> _default_objective(["recall", "capacity"]), _default_objective([])
    ('capacity', 'qps')
    """
    return next((name for name in ("qps", "capacity", "recall") if name in names), "qps")


def _usable_estimates(study: Study, figure: Figure) -> list[FigureEstimate]:
    """Return a figure of the trials that did not fail and have it."""
    pairs = zip(study.scored_trials, _estimate_all(_StudyKey(study), figure, False), strict=True)
    return [found for each, found in pairs if found is not None and each.trial.status != "failed"]


def _bounds(study: Study, figure: Figure) -> tuple[float, float, float]:
    """Return the least and the largest floor of a figure, and the step between floors."""
    values = [estimate.value for estimate in _usable_estimates(study, figure)]
    if figure.is_per_query:
        low = math.floor(20 * min(values)) / 20
        return min(low, 0.95), 1.0, _STEPS.get(figure.name, _ROBUSTNESS_STEP)
    step = 10 ** math.floor(math.log10((max(values) or 1) / _LEAST_STEPS))
    return 0.0, round((math.floor(max(values) / step) + 1) * step, 12), step


def _is_at_end(figure: Figure, value: float, bounds: tuple[float, float, float]) -> bool:
    """Return whether a floor is at the end of its range that every trial reaches."""
    low, high, _ = bounds
    return value <= low if figure.higher_is_better else value >= high


def _floor_range(
    selection: Selection,
    figure: Figure,
    bounds: tuple[float, float, float],
    floors: Mapping[str, float],
    estimates: Estimates,
) -> FloorRange:
    low, high, step = bounds
    value = floors.get(figure.name, low if figure.higher_is_better else high)
    excluded = {each.trial.key for each in selection.candidates if each.exclusion}
    pairs = zip(selection.study.scored_trials, estimates, strict=True)
    values = [found.value for each, found in pairs if found is not None and each.trial.key not in excluded]
    reaching = sum(map(Floor(figure, value).is_met_by, values)) if figure.name in floors else len(values)
    return FloorRange(figure, low, high, step, value, figure.name in floors, reaching, len(values))


def _nearest_choice(selection: Selection) -> NearChoice | None:
    """Return the trial that misses one floor alone by the least, and would be chosen without it."""
    objective, winner = selection.objective, selection.winner
    near = [
        candidate
        for candidate in selection.candidates
        if not candidate.exclusion
        and len(candidate.missed_floors) == 1
        and (winner is None or objective.is_better(candidate.value(objective), winner.value(objective)))
    ]
    if not near:
        return None
    best = min(near, key=_relative_shortfall)
    return NearChoice(best, best.missed_floors[0])


def _relative_shortfall(candidate: Candidate) -> float:
    floor = candidate.missed_floors[0]
    return candidate.shortfall(floor) / (abs(floor.value) or 1.0)


@dataclass(frozen=True, kw_only=True)
class FindingsRequest:
    """The trials whose findings are shown, and the thresholds."""

    bench: str = ""
    mode: str | None = None
    delta: float = 0.1  # a query fails below this recall
    at_most: float = 0.3  # the severity of queries with at most this recall is shown
    benches: Mapping[str, str] = field(default_factory=dict)
    store: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.delta <= 1 or not 0 <= self.at_most <= 1:
            raise InputError(
                "delta and at_most: expected a recall from 0 to 1, delta above 0, "
                f"found {self.delta:g} and {self.at_most:g}"
            )


@dataclass(frozen=True)
class IndexFindings:
    """What the trials of a source show beyond their mean recall."""

    source: TrialSource
    study: Study
    findings: StudyFindings

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data, with the keys that `assay bench report --format json` prints."""
        return {"bench": self.source.name, **self.findings.to_dict()}


def find_behind_recall(request: FindingsRequest) -> IndexFindings | NoTrials:
    """Return curves, comparison at matched recall, severity and difficulty of the trials of a source."""
    sources = list_sources(request.benches, request.store)
    if not sources:
        return NoTrials()
    source = find_source(sources, request.bench)
    study, _ = open_source(source, request.store, request.mode)
    return IndexFindings(source, study, _collect_findings(_StudyKey(study), request.delta, request.at_most))


@lru_cache(maxsize=4)
def _collect_findings(key: _StudyKey, delta: float, at_most: float) -> StudyFindings:
    return collect_findings(key.study, FindingSettings(delta=delta, at_most=at_most))
