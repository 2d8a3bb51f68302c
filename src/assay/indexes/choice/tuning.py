"""Tuning: indexes are drawn from a space of parameters, each with the cheapest search that meets the floors.

What a search costs grows with its budget, so that the budget is not drawn: it is found for each index as the
least that reaches the floors of recall and robustness. An index that cannot win any more is left unmeasured.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.core.errors import MissingExtraError
from assay.indexes.choice.floors import Figure, Floor, known
from assay.indexes.choice.space import BUILT, Tuning, drawn_case
from assay.indexes.hits import Judge
from assay.indexes.study.observed import Observed
from assay.indexes.sweeps.plan import Case, name_of
from assay.indexes.sweeps.results import Results
from assay.indexes.sweeps.summary import scored, trial
from assay.indexes.sweeps.sweep import Event, Look, Planned, Sweep
from assay.indexes.trials import Trial

if TYPE_CHECKING:
    import optuna

_SLOWER = 2.0  # times, from which on a few passes tell that an index will not win
_LOOKS = 3  # passes, all of which must be slow: a stall of the machine is not the index's
_FINALISTS = 3  # that are timed anew, in turns
_DRAWN = 50  # times the same again, and the space is taken to be exhausted


class Tried(NamedTuple):
    """A configuration that was drawn, and what came of it."""

    drawn: Mapping[str, Any]  # as the sampler names it
    label: str
    state: str  # met, missed, skipped, failed
    said: str = ""
    build_key: str | None = None  # of its index
    key: str | None = None  # of its trial; None where it was not measured
    value: float | None = None  # of the objective
    missed: float = 0.0  # by how much floors are missed, as shares of them
    qps: float | None = None


class Tuned(NamedTuple):
    """What was tried, and why it ended."""

    tried: list[Tried]
    new: int  # of them, in this call
    ended: str
    finalists: int  # timed anew, in turns

    def count(self, state: str) -> int:
        """How many came to a state."""
        return sum(one.state == state for one in self.tried)


class Tuner:
    """The search for the cheapest configuration that meets the floors."""

    def __init__(self, tuning: Tuning, sweeps: Callable[[Sequence[Case]], Sweep]) -> None:
        self.tuning, self.sweeps = tuning, sweeps
        sweep = sweeps([])
        self.results: Results = sweep.results
        data = self.data = sweep.data
        self.judge = Judge(data.truth, data.k, data.base, data.queries, data.metric, sweep.options.policy)
        versions = {str(name): found.version for name, found in sweep.described.items()}
        about = {"data": data.identity(), "machine": sweep.machine, "policy": sweep.options.policy}
        files = [found for case in tuning.examples() if (found := sweep.besides(case.build)["files"])]
        about |= {"files": files} if files else {}
        self.key = name_of({**tuning.identity(), **about, "versions": versions})
        self.tried: list[Tried] = []
        self.finalists: dict[str, list[int]] = {}  # the passes in turns of each, by the key of its trial
        self._scored: dict[str, Observed] = {}
        self._study = _study()

    def run(self, watch: Callable[[int, Tried], None] = lambda number, tried: None) -> Tuned:
        """Take over what is known, and go on until the budget is used."""
        begin = time.monotonic()
        for one in self._known():
            self._study.enqueue_trial(dict(one.drawn))
            asked, _ = self._drawn(0)
            self._tell(asked, one)
        before = len(self.tried)
        ended = ""
        while not ended:
            ended = self._ended(time.monotonic() - begin)
            drawn = None if ended else self._new()
            if drawn is not None:
                self._tell(drawn[0], self._measured(*drawn))
                self._keep()
                self._clear()
                watch(len(self.tried), self.tried[-1])
            elif not ended:
                ended = "every configuration was tried"
        self._play_off()
        if self.best is not None and self.best.build_key is not None:
            self.results.forget_index(self.best.build_key)
        return Tuned(self.tried, len(self.tried) - before, ended, len(self.finalists))

    @property
    def best(self) -> Tried | None:
        """The best of those that meet the floors."""
        met = [one for one in self.tried if one.state == "met"]
        return min(met, key=self._loss) if met else None

    def observed(self) -> tuple[Observed, ...]:
        """The trials to choose from: those that were timed in turns, else all that were measured."""
        keys = self.finalists or dict.fromkeys(one.key for one in self.tried if one.key is not None)
        return tuple(self._observed(key) for key in keys)

    def _play_off(self) -> None:
        """Time the best anew, in turns, and judge them by that: a machine is not as fast at every minute."""
        timed = [len(self.tried), self.sweeps([]).options.repetitions]
        if (self.results.entry("tuned", self.key) or {}).get("timed") == timed:
            return  # an earlier call did
        met = sorted((one for one in self.tried if one.state == "met"), key=self._loss)[:_FINALISTS]
        if len(met) < 2 or self.tuning.objective.name in BUILT:
            self.finalists = {}
            return
        self.finalists = self._in_turns(self.sweeps([self.planned(one).case for one in met]))
        for key in self.finalists:
            del self._scored[key]
        self.tried = [self._again(one) if one.key in self.finalists else one for one in self.tried]
        self._keep(timed=timed)

    def _in_turns(self, sweep: Sweep) -> dict[str, list[int]]:
        """New passes, as many of every trial, round and round; their numbers by the key of the trial."""
        keys = [planned.key for planned in sweep.planned]
        first = 1 + max(number for key in keys for number in self.results.repetitions(key))
        sweep.options = replace(sweep.options, first=first)
        sweep.run()
        there = {key: self.results.repetitions(key) for key in keys}
        return {key: [number for number in sweep.options.numbers if number in there[key]] for key in keys}

    def _ended(self, seconds: float) -> str:
        if len(self.tried) >= self.tuning.budget:
            return f"the budget of {self.tuning.budget} is used"
        over = self.tuning.seconds is not None and seconds >= self.tuning.seconds
        return f"{self.tuning.seconds:g} s are over" if over else ""

    def _known(self) -> list[Tried]:
        """What an earlier call tried, with its figures as they are kept now."""
        kept = self.results.entry("tuned", self.key) or {"tried": []}
        self.finalists = kept.get("passes", {})
        made = []
        for record in kept["tried"]:
            one = Tried(**record)
            if one.key is None:
                made.append(one)
            elif self.results.trial(one.key) is not None:
                self.sweeps([]).settle(self.planned(one))  # an interrupted play-off leaves it as begun
                made.append(self._again(one))
        return made

    def _again(self, one: Tried) -> Tried:
        """What came of a trial, by its figures as they are now."""
        assert one.key is not None
        return self._judged(one.drawn, one.label, one.build_key, one.key)

    def _keep(self, **more: Any) -> None:
        tried = [one._asdict() for one in self.tried]
        kept = {**self.tuning.identity(), "tried": tried, "passes": self.finalists, **more}
        self.results.put_entry("tuned", self.key, kept)

    def _new(self) -> tuple[optuna.Trial, Case] | None:
        """A configuration that was not tried; None where none is left."""
        seen = {name_of(one.drawn) for one in self.tried}
        for attempt in range(_DRAWN):
            asked, case = self._drawn(attempt)
            if name_of(asked.params) not in seen:
                return asked, case
            self._study.tell(asked, state=_state("FAIL"))
        return None

    def _drawn(self, attempt: int) -> tuple[optuna.Trial, Case]:
        """What the sampler proposes next: the same whether the search was interrupted or not."""
        from optuna.samplers import TPESampler

        seed = random.Random(f"{self.tuning.seed} {len(self.tried)} {attempt}").getrandbits(32)
        self._study.sampler = TPESampler(seed=seed)
        asked = self._study.ask()
        return asked, drawn_case(asked, self.tuning)

    def _tell(self, asked: optuna.Trial, one: Tried) -> None:
        self.tried.append(one)
        if one.state == "met":
            self._study.tell(asked, self._loss(one))
            return
        if one.state == "missed":  # the nearer to the floors the better, and better than not measured
            asked.report(one.missed, 0)
        self._study.tell(asked, state=_state("PRUNED"))

    def _loss(self, one: Tried) -> float:
        assert one.value is not None
        return -one.value if self.tuning.objective.more else one.value

    def _measured(self, asked: optuna.Trial, case: Case) -> Tried:
        """A configuration, run as any trial of a sweep."""
        sweep, skipped = self.sweeps([case]), list[str]()
        sweep.options = replace(sweep.options, keep=True)  # until it is known whether it is the best

        def watch(event: Event) -> None:
            skipped.extend([event.said] * (event.what == "skipped"))

        sweep.run(watch, self._spare)
        (planned,) = sweep.planned
        if skipped:
            return Tried(asked.params, planned.case.label, "skipped", skipped[0], planned.build_key)
        return self._judged(asked.params, planned.case.label, planned.build_key, planned.key)

    def _judged(self, drawn: Mapping[str, Any], label: str, index: str | None, key: str) -> Tried:
        """What came of a trial."""
        found = self.results.trial(key) or {}
        if found["status"] != "done":
            return Tried(drawn, label, "failed", found["reason"], index, key)
        one = self._observed(key)
        if one.trial.indexed is False:
            return Tried(drawn, label, "failed", "it answers by brute force", index, key)
        values = {of: self._value(one, of) for of in (f.figure for f in self.tuning.floors)}
        value = self._value(one, self.tuning.objective)
        said = [
            f"{f.words}: {_told(values[f.figure])}" for f in self.tuning.floors if _short(f, values[f.figure])
        ]
        said += [f"{self.tuning.objective.name} is not known"] * (value is None)
        missed = sum(_short(floor, values[floor.figure]) for floor in self.tuning.floors)
        state = "missed" if said else "met"
        qps = one.trial.qps and one.trial.qps.median
        return Tried(drawn, label, state, "; ".join(said), index, key, value, missed, qps)

    def _value(self, one: Observed, of: Figure) -> float | None:
        found = known(one, of, price=self.tuning.price)
        return None if found is None else found.value

    def _observed(self, key: str) -> Observed:
        if key not in self._scored:
            numbers = self.finalists.get(key) or self.results.repetitions(key)
            hits = scored(self.results.repetition(key, numbers[0]), self.judge) if numbers else None
            self._scored[key] = Observed(trial(self.results, key, self.judge, numbers=numbers), hits)
        return self._scored[key]

    def _spare(self, about: Mapping[str, Any], look: Look) -> str:
        """Why an index that is built will not win, whatever else is measured of it."""
        seconds, memory, disk = (about.get(n) for n in ("build_seconds", "memory_bytes", "disk_bytes"))
        built = Observed(Trial("", "", build_seconds=seconds, memory_bytes=memory, disk_bytes=disk))
        for floor in self.tuning.floors:
            value = self._value(built, floor.figure) if floor.figure.name in BUILT else None
            if value is not None and not floor.holds(value):
                return f"{floor.words}: {value:.4g}"
        best = self.best
        return "" if best is None else self._behind(best, built, look)

    def _behind(self, best: Tried, built: Observed, look: Look) -> str:
        aim = self.tuning.objective
        if aim.name in BUILT:
            value = self._value(built, aim)
            if value is None or best.value is None or aim.better(value, best.value):
                return ""
            return f"{aim.name} {value:.4g} is no better than {best.value:.4g} of {best.label}"
        return self._slower(best, look)

    def _slower(self, best: Tried, look: Look) -> str:
        """Why an index is far behind even with its least search, and not for a slow minute of the machine."""
        most, enough = 0.0, (best.qps or 0.0) / _SLOWER
        for _ in range(_LOOKS):
            most = max(most, look(None).qps)
            if most >= enough:
                return ""
        now = look(self.planned(best)).qps
        if most * _SLOWER >= now:
            return ""
        return f"{most:,.0f} queries per second with the least search, and {best.label} answers {now:,.0f}"

    def planned(self, one: Tried) -> Planned:
        """The trial of a configuration that was tried."""
        from optuna.trial import FixedTrial

        (planned,) = self.sweeps([drawn_case(FixedTrial(dict(one.drawn)), self.tuning)]).planned
        return planned

    def _clear(self) -> None:
        """Delete the indexes, but for that of the best: it may be looked at again."""
        best = self.best
        for one in self.tried:
            if one.build_key is not None and (best is None or one.build_key != best.build_key):
                self.results.forget_index(one.build_key)


def _short(floor: Floor, value: float | None) -> float:
    """By how much a floor is missed, as a share of it; 0 where it is met."""
    if value is None:
        return 1.0
    return 0.0 if floor.holds(value) else abs(value - floor.value) / max(floor.value, 1e-9)


def _told(value: float | None) -> str:
    return "not known" if value is None else f"{value:.4g}"


def _state(name: str) -> Any:
    from optuna.trial import TrialState

    return TrialState[name]


def _study() -> optuna.Study:
    try:
        import optuna
    except ImportError as error:
        raise MissingExtraError("optuna", "tuning", "tune") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(direction="minimize")
