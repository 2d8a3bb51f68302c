"""How the parameters of an index change its robustness, and which settings no other exceeds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from assay.bench.studies.families import family_of_trial
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.trials import Trial, format_parameters, number_order
from assay.stats.intervals import Estimate

# The parameters of searches by the names that engines give them, the one that matters most first.
_SEARCH_NAMES = (
    "efsearch", "ef", "nprobe", "ls", "complexity", "leavestosearch", "tinkersearchrange", "searchk",
    "budget", "searchlist", "searchrange", "tree", "prereordernumneighbors", "reorder", "kreorder",
)  # fmt: skip
_TEXT_PARAMETERS = ("config", "parameters")  # columns of published tables that hold all parameters
_METRIC_PREFIX = re.compile(r"^(?:angular|euclidean|cosine|ip|l2|dot)_")
_NUMBER = r"-?\d+(?:\.\d+)?"
_IN_TEXT = re.compile(rf"['\"]?([A-Za-z]\w*?)['\"]?\s*[_=:]\s*({_NUMBER})(?=$|[\s_,;)}}\]'\"/])")


class SettingPoint(NamedTuple):
    """One configuration of a line."""

    value: float  # of the search parameter
    key: str
    recall: Estimate
    robustness: Estimate
    qps: float | None


class SettingLine(NamedTuple):
    """The configurations of one setting of the other parameters, by the search parameter."""

    setting: str  # "" if no other parameter varies
    points: list[SettingPoint]


class ParameterStudy(NamedTuple):
    """The robustness of an engine by one of its search parameters, one line for each other setting."""

    engine: str
    family: str
    parameter: str
    lines: list[SettingLine]


class FrontierPoint(NamedTuple):
    """A configuration than which no other of its engine is better in both figures."""

    label: str
    key: str
    value: float
    qps: float


class Frontier(NamedTuple):
    """The best trade-off of one figure with throughput that an engine reaches."""

    engine: str
    family: str
    figure: str  # recall, or robustness-δ
    points: list[FrontierPoint]


def numeric_parameters(trial: Trial) -> dict[str, float]:
    """Return the numbers among the parameters of a trial; a text of all parameters is taken apart.

    >>> numeric_parameters(Trial("a", "HNSW", search={"config": "angular_M_16_efConstruction_300_ef_120"}))
    {'M': 16.0, 'efConstruction': 300.0, 'ef': 120.0}
    """
    numbers: dict[str, float] = {}
    for name, value in [*trial.build.items(), *trial.search.items()]:
        if name in _TEXT_PARAMETERS and isinstance(value, str):
            numbers |= {found: float(number) for found, number in _numbers_in(value)}
        elif isinstance(value, int | float) and not isinstance(value, bool):
            numbers[name] = float(value)
    return numbers


def _numbers_in(text: str) -> list[tuple[str, str]]:
    """Return the names and numbers in a text of all parameters, which may begin with a metric."""
    return [(name, number) for name, number in _IN_TEXT.findall(_METRIC_PREFIX.sub("", text))]


def study_parameters(scored_trials: Sequence[ScoredTrial], delta: float) -> list[ParameterStudy]:
    """Return a study of each engine that was measured with two or more values of a search parameter."""
    groups: dict[tuple[str, str], list[ScoredTrial]] = {}
    for one in scored_trials:
        if one.recall.value is not None:
            groups.setdefault((one.trial.engine, family_of_trial(one.trial)), []).append(one)
    studies = (_study_engine(*names, trials, delta) for names, trials in groups.items())
    return [study for study in studies if study is not None]


def _study_engine(
    engine: str, family: str, trials: Sequence[ScoredTrial], delta: float
) -> ParameterStudy | None:
    parameters = {one.trial.key: _all_parameters(one.trial) for one in trials}
    names = dict.fromkeys(name for row in parameters.values() for name in row)
    values = {name: {row.get(name) for row in parameters.values()} for name in names}  # None: its default
    varied = [name for name, found in values.items() if len(found) > 1]
    axis = _search_parameter(trials, parameters, {name: values[name] for name in varied})
    if axis is None:
        return None
    lines: dict[str, list[SettingPoint]] = {}
    for one in trials:
        row = parameters[one.trial.key]
        if isinstance(row.get(axis), float):
            setting = {name: _plain(row[name]) for name in varied if name != axis and name in row}
            lines.setdefault(format_parameters(setting), []).append(_point(one, row[axis], delta))
    ordered = [SettingLine(name, sorted(lines[name])) for name in sorted(lines, key=number_order)]
    return ParameterStudy(engine, family, axis, [line for line in ordered if len(line.points) > 1] or ordered)


def _all_parameters(trial: Trial) -> dict[str, Any]:
    """Return every parameter, numbers as numbers and the rest as text, with the threads if they are known."""
    texts = {
        name: str(value)
        for name, value in [*trial.build.items(), *trial.search.items()]
        if name not in _TEXT_PARAMETERS
    }
    request = {"threads": str(trial.threads)} if trial.threads else {}
    return request | texts | numeric_parameters(trial)


def _search_parameter(
    trials: Sequence[ScoredTrial],
    parameters: Mapping[str, Mapping[str, Any]],
    varied: Mapping[str, set[Any]],
) -> str | None:
    """Return the varied number that a search can change: one known by its name, else with the most values."""
    numbers = [name for name, values in varied.items() if all(isinstance(v, float | None) for v in values)]
    known = [name for name in numbers if _plain_name(name) in _SEARCH_NAMES]
    if known:
        return min(known, key=lambda name: _SEARCH_NAMES.index(_plain_name(name)))
    of_search = [name for name in numbers if any(name in one.trial.search for one in trials)]
    return max(of_search or numbers, key=lambda name: len(varied[name]), default=None)


def _plain_name(name: str) -> str:
    return name.replace("_", "").lower()


def _plain(value: Any) -> Any:
    return f"{value:g}" if isinstance(value, float) else value


def _point(one: ScoredTrial, value: float, delta: float) -> SettingPoint:
    return SettingPoint(
        value, one.trial.key, one.recall, one.robustness(delta), queries_per_second(one.trial)
    )


def queries_per_second(trial: Trial) -> float | None:
    """Return the throughput as measured, else as reported; None if unknown."""
    return trial.qps.median if trial.qps is not None else trial.reported.get("qps")


def find_frontiers(scored_trials: Sequence[ScoredTrial], delta: float) -> list[Frontier]:
    """Return for each engine its frontiers of recall and of robustness with throughput."""
    engines = dict.fromkeys((one.trial.engine, family_of_trial(one.trial)) for one in scored_trials)
    frontiers = [
        Frontier(engine, family, figure, _frontier_points(scored_trials, engine, family, robust_at))
        for figure, robust_at in (("recall", None), (f"robustness-{delta:g}", delta))
        for engine, family in engines
    ]
    return [frontier for frontier in frontiers if frontier.points]


def _frontier_points(
    scored_trials: Iterable[ScoredTrial], engine: str, family: str, delta: float | None
) -> list[FrontierPoint]:
    points = []
    for one in scored_trials:
        value = (one.recall if delta is None else one.robustness(delta)).value
        qps = queries_per_second(one.trial)
        if (one.trial.engine, family_of_trial(one.trial)) == (engine, family) and value and qps:
            points.append(FrontierPoint(one.trial.label, one.trial.key, value, qps))
    best: list[FrontierPoint] = []
    for point in sorted(points, key=lambda point: (-point.value, -point.qps)):
        if not best or point.qps > best[-1].qps:
            best.append(point)
    return best[::-1]
