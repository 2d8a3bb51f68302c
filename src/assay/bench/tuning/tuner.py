"""Tuning: sample indexes from a space and give each the cheapest search that meets the floors.

The cost of a search grows with its budget, so the budget is not sampled: for each index it is the smallest
value that meets the floors of recall and robustness. An index that can no longer win is not measured.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from assay.bench.selection.floors import Figure, Floor, estimate_figure
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.scoring import score_trial
from assay.bench.sweeps.cases import TrialCase
from assay.bench.sweeps.folder import SweepFolder
from assay.bench.sweeps.identity import content_key
from assay.bench.sweeps.plan import PlannedTrial
from assay.bench.sweeps.progress import Progress
from assay.bench.sweeps.runner import ProbeTrial
from assay.bench.sweeps.sweep import Sweep
from assay.bench.trials import Trial
from assay.bench.tuning.space import BUILD_FIGURES, TuningSpace, suggest_case
from assay.core.errors import MissingExtraError
from assay.indexes.hits import HitRule

if TYPE_CHECKING:
    import optuna

_SLOWDOWN_FACTOR = 2.0  # an index this many times slower than the best cannot win
_PROBE_PASSES = 3  # passes that must all be slow, so that a stall of the machine does not count
_FINALISTS = 3  # timed again in alternation
_MAX_REPEATED_DRAWS = 50  # after this many repeated proposals the space counts as exhausted


_ATTEMPT_KEYS = {"parameters": "drawn", "reason": "said", "shortfall": "missed"}  # names in plain data


class TuningAttempt(NamedTuple):
    """A sampled configuration and its result."""

    parameters: Mapping[str, Any]  # by the names of the sampler
    label: str
    state: str  # met, missed, skipped, failed
    reason: str = ""
    build_key: str | None = None  # the key of its index
    key: str | None = None  # the key of its trial; None if it was not measured
    value: float | None = None  # the value of the objective
    shortfall: float = 0.0  # the sum of the missed shares of floors
    qps: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the attempt as plain data, as it is stored in `tuned.json`."""
        content = {_ATTEMPT_KEYS.get(name, name): value for name, value in self._asdict().items()}
        return content | {"drawn": dict(self.parameters)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the attempt of a stored record."""
        return cls(**{name: record[_ATTEMPT_KEYS.get(name, name)] for name in cls._fields})


class TuningResult(NamedTuple):
    """The attempts of tuning and why it ended."""

    attempts: list[TuningAttempt]
    new_attempts: int  # number of attempts in this call
    end_reason: str
    finalists: int  # number of attempts timed again in alternation

    def count(self, state: str) -> int:
        """Return the number of attempts with a state."""
        return sum(attempt.state == state for attempt in self.attempts)


class Tuner:
    """Searches for the cheapest configuration that meets the floors."""

    def __init__(self, space: TuningSpace, make_sweep: Callable[[Sequence[TrialCase]], Sweep]) -> None:
        sweep = make_sweep([])
        self.space, self._make_sweep, self._options = space, make_sweep, sweep.options
        self.folder: SweepFolder = sweep.folder
        data = self.data = sweep.data
        self.hit_rule: HitRule = sweep.hit_rule
        versions = {str(name): engine.version for name, engine in sweep.engines.items()}
        identity = {"data": data.identity(), "machine": sweep.machine, "policy": sweep.options.policy}
        files = [sweep.build_inputs(case.build)["files"] for case in space.example_cases()]
        identity |= {"files": list(filter(None, files))} if any(files) else {}
        self.key = content_key({**space.identity(), **identity, "versions": versions})
        self.attempts: list[TuningAttempt] = []
        self.finalists: dict[str, list[int]] = {}  # numbers of the alternating passes by trial key
        self._scored_trials: dict[str, ScoredTrial] = {}
        self._optuna_study = _create_optuna_study()

    def make_sweep(self, cases: Sequence[TrialCase]) -> Sweep:
        """Return a sweep of cases that shares the hit rule of all sweeps of the tuner."""
        sweep = self._make_sweep(cases)
        sweep.hit_rule = self.hit_rule
        return sweep

    def run(self, watch: Callable[[int, TuningAttempt], None] = lambda number, attempt: None) -> TuningResult:
        """Load earlier attempts and continue until the budget is used."""
        start_time = time.monotonic()
        for attempt in self._earlier_attempts():
            self._optuna_study.enqueue_trial(dict(attempt.parameters))
            suggestion, _ = self._propose(0)
            self._report(suggestion, attempt)
        earlier = len(self.attempts)
        end_reason = ""
        while not end_reason:
            end_reason = self._find_end_reason(time.monotonic() - start_time)
            proposal = None if end_reason else self._propose_new()
            if proposal is not None:
                self._report(proposal[0], self._measure(*proposal))
                self._put_entry()
                self._delete_indexes()
                watch(len(self.attempts), self.attempts[-1])
            elif not end_reason:
                end_reason = "every configuration was tried"
        self._retime_finalists()
        if self.best is not None and self.best.build_key is not None:
            self.folder.delete_index(self.best.build_key)
        return TuningResult(self.attempts, len(self.attempts) - earlier, end_reason, len(self.finalists))

    @property
    def best(self) -> TuningAttempt | None:
        """The best attempt that meets the floors; None if there is none."""
        meeting = [attempt for attempt in self.attempts if attempt.state == "met"]
        return min(meeting, key=self._loss) if meeting else None

    def scored_trials(self) -> tuple[ScoredTrial, ...]:
        """Return the trials to select from: the finalists if there are any, else all measured trials."""
        keys = self.finalists or dict.fromkeys(
            attempt.key for attempt in self.attempts if attempt.key is not None
        )
        return tuple(self._scored_trial(key) for key in keys)

    def _retime_finalists(self) -> None:
        """Time the best attempts again in alternation, since the speed of a machine varies over time."""
        timing_state = [len(self.attempts), self._options.repetitions]
        if (self.folder.entry("tuned", self.key) or {}).get("timed") == timing_state:
            return  # done by an earlier call
        meeting = [attempt for attempt in self.attempts if attempt.state == "met"]
        meeting = sorted(meeting, key=self._loss)[:_FINALISTS]
        if len(meeting) < 2 or self.space.objective.name in BUILD_FIGURES:
            self.finalists = {}
            return
        self.finalists = self._time_in_turns(
            self.make_sweep([self.planned_trial(attempt).case for attempt in meeting])
        )
        for key in self.finalists:
            del self._scored_trials[key]
        self.attempts = [
            self._reassess(attempt) if attempt.key in self.finalists else attempt for attempt in self.attempts
        ]
        self._put_entry(timed=timing_state)

    def _time_in_turns(self, sweep: Sweep) -> dict[str, list[int]]:
        """Run new alternating passes of every trial and return their numbers by trial key."""
        keys = [trial.key for trial in sweep.planned_trials]
        first_repetition = 1 + max(number for key in keys for number in self.folder.pass_numbers(key))
        sweep.options = replace(sweep.options, first_repetition=first_repetition)
        sweep.run()
        numbers_by_key = {key: self.folder.pass_numbers(key) for key in keys}
        return {
            key: [number for number in sweep.options.repetition_numbers if number in numbers_by_key[key]]
            for key in keys
        }

    def _find_end_reason(self, seconds: float) -> str:
        if len(self.attempts) >= self.space.budget:
            return f"the budget of {self.space.budget} is used"
        is_time_over = self.space.seconds is not None and seconds >= self.space.seconds
        return f"{self.space.seconds:g} s have passed" if is_time_over else ""

    def _earlier_attempts(self) -> list[TuningAttempt]:
        """Return the attempts of earlier calls, with the figures that are stored now."""
        entry = self.folder.entry("tuned", self.key) or {"tried": []}
        self.finalists = entry.get("passes", {})
        attempts = []
        for record in entry["tried"]:
            attempt = TuningAttempt.from_dict(record)
            if attempt.key is None:
                attempts.append(attempt)
            elif self.folder.trial_record(attempt.key) is not None:
                # an interrupted final leaves the trial unfinished
                self.make_sweep([]).update_status(self.planned_trial(attempt))
                attempts.append(self._reassess(attempt))
        return attempts

    def _reassess(self, attempt: TuningAttempt) -> TuningAttempt:
        """Return an attempt assessed by its current figures."""
        assert attempt.key is not None
        return self._assess(attempt.parameters, attempt.label, attempt.build_key, attempt.key)

    def _put_entry(self, **extra: Any) -> None:
        attempts = [attempt.to_dict() for attempt in self.attempts]
        entry = {**self.space.identity(), "tried": attempts, "passes": self.finalists, **extra}
        self.folder.put_entry("tuned", self.key, entry)

    def _propose_new(self) -> tuple[optuna.Trial, TrialCase] | None:
        """Return a configuration that was not tried; None if none is left."""
        earlier_keys = {content_key(attempt.parameters) for attempt in self.attempts}
        for draw in range(_MAX_REPEATED_DRAWS):
            suggestion, case = self._propose(draw)
            if content_key(suggestion.params) not in earlier_keys:
                return suggestion, case
            self._optuna_study.tell(suggestion, state=_optuna_state("FAIL"))
        return None

    def _propose(self, draw: int) -> tuple[optuna.Trial, TrialCase]:
        """Return the next proposal, which is the same whether tuning was interrupted or not."""
        from optuna.samplers import TPESampler

        seed = random.Random(f"{self.space.seed} {len(self.attempts)} {draw}").getrandbits(32)
        self._optuna_study.sampler = TPESampler(seed=seed)
        suggestion = self._optuna_study.ask()
        return suggestion, suggest_case(suggestion, self.space)

    def _report(self, suggestion: optuna.Trial, attempt: TuningAttempt) -> None:
        self.attempts.append(attempt)
        if attempt.state == "met":
            self._optuna_study.tell(suggestion, self._loss(attempt))
            return
        if attempt.state == "missed":  # nearer to the floors is better, and better than not measured
            suggestion.report(attempt.shortfall, 0)
        self._optuna_study.tell(suggestion, state=_optuna_state("PRUNED"))

    def _loss(self, attempt: TuningAttempt) -> float:
        assert attempt.value is not None
        return -attempt.value if self.space.objective.higher_is_better else attempt.value

    def _measure(self, suggestion: optuna.Trial, case: TrialCase) -> TuningAttempt:
        """Measure a configuration as a trial of a sweep."""
        sweep, skip_reasons = self.make_sweep([case]), list[str]()
        sweep.options = replace(sweep.options, keep_indexes=True)  # until the best is known

        def watch(event: Progress) -> None:
            skip_reasons.extend([event.message] * (event.kind == "skipped"))

        sweep.run(watch, self._skip_reason)
        (trial,) = sweep.planned_trials
        if skip_reasons:
            return TuningAttempt(
                suggestion.params, trial.case.label, "skipped", skip_reasons[0], trial.build_key
            )
        return self._assess(suggestion.params, trial.case.label, trial.build_key, trial.key)

    def _assess(
        self, parameters: Mapping[str, Any], label: str, build_key: str | None, key: str
    ) -> TuningAttempt:
        """Return the attempt of a measured trial, with its state."""
        record = self.folder.trial_record(key) or {}
        if record["status"] != "done":
            return TuningAttempt(parameters, label, "failed", record["reason"], build_key, key)
        scored_trial = self._scored_trial(key)
        if scored_trial.trial.indexed is False:
            return TuningAttempt(parameters, label, "failed", "it answers by brute force", build_key, key)
        values = {
            figure: self._value(scored_trial, figure)
            for figure in (floor.figure for floor in self.space.floors)
        }
        value = self._value(scored_trial, self.space.objective)
        reasons = [
            f"{floor.description}: {_format_value(values[floor.figure])}"
            for floor in self.space.floors
            if _shortfall(floor, values[floor.figure])
        ]
        reasons += [f"{self.space.objective.name} is not known"] * (value is None)
        shortfall = sum(_shortfall(floor, values[floor.figure]) for floor in self.space.floors)
        state = "missed" if reasons else "met"
        qps = scored_trial.trial.qps and scored_trial.trial.qps.median
        return TuningAttempt(
            parameters, label, state, "; ".join(reasons), build_key, key, value, shortfall, qps
        )

    def _value(self, scored_trial: ScoredTrial, figure: Figure) -> float | None:
        estimate = estimate_figure(scored_trial, figure, price=self.space.price)
        return None if estimate is None else estimate.value

    def _scored_trial(self, key: str) -> ScoredTrial:
        if key not in self._scored_trials:
            numbers = self.finalists.get(key) or self.folder.pass_numbers(key)
            self._scored_trials[key] = score_trial(self.folder, key, self.hit_rule, numbers=numbers)
        return self._scored_trials[key]

    def _skip_reason(self, build_record: Mapping[str, Any], probe_trial: ProbeTrial) -> str:
        """Return why a built index cannot win, whatever else is measured; "" if it may."""
        seconds, memory, disk = (
            build_record.get(name) for name in ("build_seconds", "memory_bytes", "disk_bytes")
        )
        scored_trial = ScoredTrial(Trial("", "", build_seconds=seconds, memory_bytes=memory, disk_bytes=disk))
        for floor in self.space.floors:
            value = self._value(scored_trial, floor.figure) if floor.figure.name in BUILD_FIGURES else None
            if value is not None and not floor.is_met_by(value):
                return f"{floor.description}: {value:.4g}"
        best = self.best
        return "" if best is None else self._reason_to_lose(best, scored_trial, probe_trial)

    def _reason_to_lose(self, best: TuningAttempt, scored_trial: ScoredTrial, probe_trial: ProbeTrial) -> str:
        objective = self.space.objective
        if objective.name in BUILD_FIGURES:
            value = self._value(scored_trial, objective)
            if value is None or best.value is None or objective.is_better(value, best.value):
                return ""
            return f"{objective.name} {value:.4g} is not better than {best.value:.4g} of {best.label}"
        return self._slower_reason(best, probe_trial)

    def _slower_reason(self, best: TuningAttempt, probe_trial: ProbeTrial) -> str:
        """Return why an index is too slow even with its smallest search, compared with the best now."""
        best_qps, required_qps = 0.0, (best.qps or 0.0) / _SLOWDOWN_FACTOR
        for _ in range(_PROBE_PASSES):
            best_qps = max(best_qps, probe_trial(None).qps)
            if best_qps >= required_qps:
                return ""
        current_qps = probe_trial(self.planned_trial(best)).qps
        if best_qps * _SLOWDOWN_FACTOR >= current_qps:
            return ""
        own = f"{best_qps:,.0f} queries per second with the smallest search"
        return f"{own}, while {best.label} answers {current_qps:,.0f}"

    def planned_trial(self, attempt: TuningAttempt) -> PlannedTrial:
        """Return the trial of an attempt."""
        from optuna.trial import FixedTrial

        case = suggest_case(FixedTrial(dict(attempt.parameters)), self.space)
        (trial,) = self.make_sweep([case]).planned_trials
        return trial

    def _delete_indexes(self) -> None:
        """Delete all indexes except that of the best attempt, which may be probed again."""
        best = self.best
        for attempt in self.attempts:
            if attempt.build_key is not None and (best is None or attempt.build_key != best.build_key):
                self.folder.delete_index(attempt.build_key)


def _shortfall(floor: Floor, value: float | None) -> float:
    """Return the missed share of a floor; 0 if it is met."""
    if value is None:
        return 1.0
    return 0.0 if floor.is_met_by(value) else abs(value - floor.value) / max(floor.value, 1e-9)


def _format_value(value: float | None) -> str:
    return "not known" if value is None else f"{value:.4g}"


def _optuna_state(name: str) -> Any:
    from optuna.trial import TrialState

    return TrialState[name]


def _create_optuna_study() -> optuna.Study:
    try:
        import optuna
    except ImportError as error:
        raise MissingExtraError("optuna", "tuning", "tune") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(direction="minimize")
