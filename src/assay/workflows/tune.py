"""Find the cheapest configuration that meets the floors."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.bench.selection.floors import Floor, name_delta, parse_figure, parse_floor
from assay.bench.selection.selection import Candidate, Selection, select_trial
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.scoring import read_trials
from assay.bench.studies.study import Study
from assay.bench.sweeps.cases import IndexEntry, RequestMode
from assay.bench.trials import Trial, to_row
from assay.bench.tuning.space import OBJECTIVES, TuningSpace
from assay.bench.tuning.tuner import Tuner, TuningAttempt, TuningResult
from assay.core.errors import ConfigurationError, InputError, UndecidableError
from assay.core.settings import SettingsReader
from assay.indexes.exact.audit import find_queries_in_base
from assay.indexes.exact.findings import Finding
from assay.views.tuning import tuning_dict
from assay.workflows.bench_settings import MeasureRequest, make_benchmark, read_request_settings
from assay.workflows.benchmark import TruthProgress

DEFAULT_FOLDER = "tune-results"
MODES = ("single", "batch")
_SPACE_OPTIONS = ("objective", "budget", "seconds", "mode", "price")

AttemptReport = Callable[[Tuner, int, TuningAttempt], None]  # the search, the number of the attempt, it


@dataclass(frozen=True, kw_only=True)
class TuneRequest(MeasureRequest):
    """The indexes to search among, the floors they must meet, and what is optimized."""

    out: str = DEFAULT_FOLDER
    floors: Sequence[str] | None = None  # None: those of the file
    objective: str | None = None
    budget: int | None = None  # configurations to try
    seconds: float | None = None  # after which none is started
    price: float | None = None  # of an hour of the machine
    mode: str | None = None
    seed: int | None = None
    delta: float | None = None  # of the figure `robustness`, which is shown


@dataclass(frozen=True)
class TuneResult:
    """The best configuration, and the attempts it was chosen from."""

    selection: Selection
    tuning: TuningResult
    findings: tuple[Finding, ...] = ()  # queries that are vectors of the base

    @property
    def has_answers(self) -> bool:
        """Whether any configuration was measured, so that its answers are stored."""
        return any(attempt.key for attempt in self.tuning.attempts)

    @property
    def exit_code(self) -> int:
        """0 if a configuration meets the floors, else 1."""
        return int(self.selection.winner is None)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, with the keys that `assay tune --format json` prints."""
        return tuning_dict(self.selection, self.tuning)


def tune(
    request: TuneRequest,
    *,
    progress: TruthProgress | None = None,
    watch: AttemptReport = lambda tuner, number, attempt: None,
) -> TuneResult:
    """Try configurations until the budget is used, and choose the best that meets the floors."""
    settings = read_request_settings(request, "tune")
    benchmark = make_benchmark(request, settings, {"seed": request.seed})
    options = {name: getattr(request, name) for name in _SPACE_OPTIONS} | {"floors": request.floors}
    overridden = settings.get("tune", {}) | {n: value for n, value in options.items() if value is not None}
    overridden = _name_deltas(overridden, request.delta)
    space = read_tuning(overridden, benchmark.entries, benchmark.options.seed, request.file or "")
    tuner = Tuner(space, benchmark.sweep_factory(space.example_cases(), request.out, progress))
    result = tuner.run(lambda number, attempt: watch(tuner, number, attempt))
    findings = tuple(find_queries_in_base(tuner.data.base, tuner.data.queries))
    return TuneResult(choose(tuner, request.delta), result, findings)


def _name_deltas(settings: Mapping[str, Any], delta: float | None) -> dict[str, Any]:
    """The settings in which the floors of robustness that name no δ have this one."""
    floors = settings.get("floors")
    if delta is None or not isinstance(floors, list | tuple):  # what is no list is refused where it is read
        return dict(settings)
    parse_figure(f"robustness-{delta:g}")
    named = [name_delta(floor, delta) if isinstance(floor, str) else floor for floor in floors]
    return {**settings, "floors": named}


def read_tuning(
    settings: Mapping[str, Any], entries: tuple[IndexEntry, ...], seed: int, path: str = ""
) -> TuningSpace:
    """The search space of `[tune]`; all problems of the settings are reported at once."""
    fields = SettingsReader(settings, "tune")
    floors = _read_floors(fields)
    objective = fields.one_of("objective", OBJECTIVES, "qps")
    request_mode = RequestMode(fields.one_of("mode", MODES, "single"))
    budget = fields.count("budget", 30, 1)
    seconds = fields.number("seconds", "a number above 0", lambda v: v > 0, 0.0) or None
    price = fields.number("price", "a number above 0", lambda v: v > 0, 0.0) or None
    if price is None and "cost" in (objective, *(floor.figure.name for floor in floors)):
        fields.add_problem("price", "expected the price of an hour of the machine, to compute the cost")
    fields.refuse_unknown()
    if fields.problems:
        raise ConfigurationError(fields.problems, path)
    figure = parse_figure(objective)
    return TuningSpace(entries, tuple(floors), figure, request_mode, budget, seconds, seed, price)


def _read_floors(fields: SettingsReader) -> list[Floor]:
    floors = []
    for text in fields.texts("floors", 'floors such as ["recall=0.9"]'):
        try:
            floors.append(parse_floor(text))
        except InputError as error:
            fields.add_problem("floors", str(error))
    return floors


def choose(tuner: Tuner, delta: float | None = None) -> Selection:
    """The best attempt, and why the others lost; no queries are held out from the search."""
    scored_trials = tuner.scored_trials()
    if not any(scored_trial.trial.status == "done" for scored_trial in scored_trials):
        if any(attempt.state == "skipped" for attempt in tuner.attempts):
            return _select_none(tuner, delta)
        reasons = dict.fromkeys(f"{attempt.label}: {attempt.reason}" for attempt in tuner.attempts)
        raise UndecidableError(f"no configuration could be measured: {'; '.join(reasons)}")
    tuner.folder.put_table([to_row(trial) for trial in read_trials(tuner.folder, tuner.hit_rule)])
    return _select(tuner, scored_trials, delta)


def _select(tuner: Tuner, scored_trials: tuple[ScoredTrial, ...], delta: float | None) -> Selection:
    study = Study(scored_trials, tuner.folder.metadata(), tuner.data, os.fspath(tuner.folder.path))
    floors = [f"{floor.figure.name}={floor.value}" for floor in tuner.space.floors]
    objective, price = tuner.space.objective.name, tuner.space.price
    return select_trial(study, floors, objective, price=price, confirm=0.0, delta=delta)


def _select_none(tuner: Tuner, delta: float | None) -> Selection:
    """A selection without a winner: every index missed a floor when it was built, and was not searched."""
    states = {tuner.planned_trial(attempt).key: attempt.state for attempt in tuner.attempts}
    trials = [_unmeasured_trial(tuner, attempt) for attempt in tuner.attempts]
    selection = _select(tuner, tuple(map(ScoredTrial, trials)), delta)
    candidates = tuple(
        _mark_skipped(candidate, states[candidate.trial.key]) for candidate in selection.candidates
    )
    return replace(selection, candidates=candidates)


def _mark_skipped(candidate: Candidate, state: str) -> Candidate:
    """A candidate that is excluded by the state of its attempt, and not as a failed trial."""
    trial = replace(candidate.trial, status=state)
    return replace(candidate, trial=trial, exclusion=f"{state}: {candidate.trial.reason}")


def _unmeasured_trial(tuner: Tuner, attempt: TuningAttempt) -> Trial:
    """A trial of which only the parameters are known."""
    planned = tuner.planned_trial(attempt)
    identity = planned.case.identity()
    fields = {name: identity[name] for name in ("engine", "build", "search", "mode", "threads")}
    return Trial(planned.key, **fields, k=tuner.data.k, status="failed", reason=attempt.reason)
