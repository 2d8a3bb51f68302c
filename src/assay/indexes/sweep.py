"""A sweep: every index of a plan built, searched and timed, each engine in its own process.

Indexes stay alive in groups that fit the memory, and repetitions go round all trials of a group, so that
a slow minute of the machine falls on all of them. Every pass is kept as soon as it ends.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import AssayError, ConfigurationError, EngineError
from assay.core.vectors import Vectors
from assay.indexes.data import Data, as_engines_take
from assay.indexes.guard import Hard, hard_queries, indexed
from assay.indexes.hits import Judge
from assay.indexes.hosted import Process
from assay.indexes.living import Living
from assay.indexes.plan import Build, Case, machine, name_of
from assay.indexes.results import Results
from assay.indexes.running import run
from assay.indexes.worker import Described


@dataclass(frozen=True)
class Options:
    """How a sweep is run."""

    repetitions: int = 3
    warmup: int = 100  # searches before the clock is looked at
    memory: int | None = None  # bytes that the process of an engine may hold
    room: int | None = None  # bytes that all living indexes may hold; None: half of what is free
    timeout: float = 3600.0  # seconds for a build or a pass
    seed: int = 0
    policy: str = "ties"
    retry: bool = False  # run failed trials again
    keep: bool = False  # keep the indexes
    guard: bool = True  # look for engines that answer by brute force


class Event(NamedTuple):
    """What happens in a sweep, for whoever watches."""

    what: str  # known, building, built, passed, done, failed
    key: str
    number: int = 0  # of the repetition
    said: str = ""


Watch = Callable[[Event], None]
Engines = dict[tuple[str, str | None], Described]  # by name and interpreter


class Planned(NamedTuple):
    """A trial with its key and that of its index."""

    key: str
    build_key: str
    case: Case


def describe(cases: Sequence[Case], timeout: float = 120.0) -> Engines:
    """What each engine says of itself; everything wrong with the parameters is said at once."""
    made: Engines = {}
    problems: dict[str, str] = {}
    for name, python in dict.fromkeys((case.build.engine, case.build.python) for case in cases):
        try:
            with Process(python=python, timeout=timeout) as process:
                made[name, python] = process.ask("describe", name)
                for case in cases:
                    if (case.build.engine, case.build.python) == (name, python):
                        problems |= _problems(process, case)
        except (AssayError, OSError) as error:
            problems[name] = str(error)
    if problems:
        raise ConfigurationError(problems)
    return made


def refuse_metrics(described: Engines, metric: str) -> None:
    """Refuse engines that do not have a metric."""
    wrong = {
        name: f"has no metric {metric}; it has {', '.join(found.metrics)}"
        for (name, _), found in described.items()
        if metric not in found.metrics
    }
    if wrong:
        raise ConfigurationError(wrong)


def _problems(process: Process, case: Case) -> dict[str, str]:
    build = case.build
    found = process.ask("problems", build.engine, dict(build.parameters), dict(case.search))
    return {f"{build.engine} {field}": said for field, said in found.items()}


class Sweep:
    """The trials of a plan, those that are finished and those to be run."""

    def __init__(
        self,
        data: Data,
        cases: Sequence[Case],
        folder: str | os.PathLike[str],
        options: Options | None = None,
        sources: Mapping[str, Any] | None = None,  # where the data came from
        described: Engines | None = None,  # where the engines were asked already
    ) -> None:
        self.data, self.options, self.results = data, options or Options(), Results(folder)
        self.sources = dict(sources or {})
        self.described = describe(cases) if described is None else described
        refuse_metrics(self.described, data.metric)
        self.machine = machine()
        self.planned = [self._planned(case) for case in cases]

    def _planned(self, case: Case) -> Planned:
        """A trial with its key: data, engine and version, parameters, machine."""
        version = self.described[case.build.engine, case.build.python].version
        same = {**self.data.identity(), "version": version, "machine": self.machine}
        if case.build.python is not None:
            same["python"] = case.build.python
        return Planned(name_of(same | case.identity()), name_of(same | case.build.identity()), case)

    def pending(self, planned: Planned) -> list[int]:
        """The repetitions of a trial that are still to be run."""
        known = self.results.trial(planned.key)
        if known and known["status"] == "failed" and not self.options.retry:
            return []
        there = self.results.repetitions(planned.key)
        return [number for number in range(self.options.repetitions) if number not in there]

    def run(self, watch: Watch = lambda event: None) -> None:
        """Run what is not finished."""
        with self.results.locked():
            self._run(watch)

    def _run(self, watch: Watch) -> None:
        waiting = [planned for planned in self.planned if self.pending(planned)]
        if waiting or self.results.trial(self.planned[0].key) is None:
            self.results.put_about(self.about())
        for planned in self.planned:
            if planned not in waiting:
                self._settle(planned)
                watch(Event("known", planned.key))
        if not waiting:
            return
        scratch = self.results.folder / "vectors"
        try:
            _Round(self, waiting, scratch, watch).run()
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _settle(self, planned: Planned) -> None:
        """Say of a trial that it is done where all its passes are there and nobody came to say so."""
        known = self.results.trial(planned.key)
        enough = len(self.results.repetitions(planned.key)) >= self.options.repetitions
        if known and enough and known["status"] != "done":
            self.results.put_trial(planned.key, known | {"status": "done", "reason": ""})

    def about(self) -> dict[str, Any]:
        """What the sweep is of."""
        names = ("repetitions", "warmup", "seed", "policy")
        options = {name: getattr(self.options, name) for name in names}
        data = self.data.about()
        return {"data": data, "sources": self.sources, "machine": self.machine, "options": options}


class _Round:
    """The running of what is not finished."""

    def __init__(self, sweep: Sweep, waiting: list[Planned], scratch: Path, watch: Watch) -> None:
        data, self.sweep, self.watch, self.waiting = sweep.data, sweep, watch, waiting
        self.results, self.options = sweep.results, sweep.options
        self.failed: set[str] = set()  # in this round
        self.base: Vectors = as_engines_take(data.base, data.metric, scratch / "base")
        self.queries: Vectors = as_engines_take(data.queries, data.metric, scratch / "queries")
        self.judge = Judge(data.truth, data.k, data.base, data.queries, data.metric, self.options.policy)
        self.hard: Hard | None = hard_queries(self.base, data.metric) if self.options.guard else None

    def run(self) -> None:
        """Groups of indexes, one group after another."""
        builds = list(dict.fromkeys((p.build_key) for p in self.waiting))
        room = self.options.room or _free() // 2
        while builds:
            with ExitStack() as stack:
                living: dict[str, Living] = {}
                while builds and (not living or sum(one.bytes for one in living.values()) < room):
                    key = builds.pop(0)
                    made = self._live(key)
                    if made is not None:
                        stack.callback(made.close)
                        living[key] = made
                self._passes(living)
            for key in living:
                if not self.options.keep:
                    self.results.forget_index(key)

    def _live(self, key: str) -> Living | None:
        """An index that is built, or taken up where it was left; None where that failed."""
        of_it = [p for p in self.waiting if p.build_key == key]
        build: Build = of_it[0].case.build
        for planned in of_it:
            self.watch(Event("building", planned.key))
        made = Living(build, key, self.sweep.data.metric, self.base, self.results, self.options)
        try:
            made.begin(lambda hosted: indexed(hosted, self.hard))
        except (EngineError, AssayError, OSError) as error:
            made.close()
            self.results.forget_index(key)
            for planned in of_it:
                self._failed(planned, str(error), {})
            return None
        except BaseException:
            made.close()
            raise
        for planned in of_it:
            self._remember(planned, made.about)
            self.watch(Event("built", planned.key))
        return made

    def _passes(self, living: dict[str, Living]) -> None:
        """Every repetition of every trial, round and round, each time in another order."""
        trials = [p for p in self.waiting if p.build_key in living]
        for number in range(self.options.repetitions):
            order = [p for p in trials if number in self.sweep.pending(p)]
            random.Random(f"{self.options.seed} {number}").shuffle(order)
            for planned in order:
                self._pass(planned, number, living[planned.build_key])

    def _pass(self, planned: Planned, number: int, index: Living) -> None:
        if planned.key in self.failed:
            return
        data = self.sweep.data
        try:
            found = run(index, planned.case, self.queries, data.k, self.options.warmup, number)
        except (AssayError, OSError) as error:
            self._failed(planned, str(error), index.about)
            return
        hits = self.judge.of_requests(found.queries, found.ids)
        self.results.put_repetition(planned.key, number, found, hits)
        self.watch(Event("passed", planned.key, number + 1))
        if not self.sweep.pending(planned):
            self._remember(planned, index.about, status="done")
            self.watch(Event("done", planned.key))

    def _failed(self, planned: Planned, reason: str, about: dict[str, Any]) -> None:
        self.failed.add(planned.key)
        self._remember(planned, about, status="failed", reason=reason)
        self.watch(Event("failed", planned.key, said=reason))

    def _remember(
        self, planned: Planned, built: dict[str, Any], status: str = "begun", reason: str = ""
    ) -> None:
        data, case = self.sweep.data, planned.case
        described = self.sweep.described[case.build.engine, case.build.python]
        about = {"n": len(data.base), "d": data.base.d, "k": data.k, "metric": data.metric}
        record = {
            "version": described.version,
            **case.identity(),
            **about,
            "policy": self.options.policy,
            "warmup": self.options.warmup,
            **built,
        }
        state = {"status": status, "reason": reason, "machine": self.sweep.machine}
        self.results.put_trial(planned.key, record | state)


def _free() -> int:
    """The bytes of memory that are free."""
    try:
        with open("/proc/meminfo") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return 4 << 30
