"""A sweep: every index of a plan built, searched and timed, each engine in its own process.

Indexes stay alive in groups that fit the memory, and repetitions go round all trials of a group, so that
a slow minute of the machine falls on all of them. Every pass is kept as soon as it ends.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import AssayError, EngineError, StoreError
from assay.core.vectors import Vectors
from assay.indexes.choice.matched import Match, Probe, Probing, match
from assay.indexes.hits import Judge
from assay.indexes.sweeps.data import Data, as_engines_take
from assay.indexes.sweeps.described import Broken, Engines, describe, refuse_metrics
from assay.indexes.sweeps.guard import Hard, hard_queries, indexed
from assay.indexes.sweeps.living import Living
from assay.indexes.sweeps.plan import Asking, Build, Case, contents, machine, name_of
from assay.indexes.sweeps.results import Results
from assay.indexes.sweeps.running import run

_LEAST_ROOM = 1 << 20  # bytes on a disk that is not full


@dataclass(frozen=True)
class Options:
    """How a sweep is run."""

    repetitions: int = 3
    warmup: int | None = None  # searches before a pass; None: for each query, 0.2 s to 1 s long
    memory: int | None = None  # bytes that the process of an engine may hold
    room: int | None = None  # bytes that all living indexes may hold; None: half of what is free
    timeout: float = 3600.0  # seconds for a build or a pass
    seed: int = 0
    policy: str = "ties"
    retry: bool = False  # run failed trials again
    keep: bool = False  # keep the indexes
    first: int = 0  # the number of the first repetition; further ones are beside those there are
    guard: bool = True  # look for engines that answer by brute force

    @property
    def numbers(self) -> range:
        """The numbers of the repetitions."""
        return range(self.first, self.first + self.repetitions)


class Event(NamedTuple):
    """What happens in a sweep, for whoever watches."""

    what: str  # known, building, matching, matched, skipped, built, passing, passed, done, failed
    key: str
    number: int = 0  # of the repetition, from 1
    said: str = ""


Watch = Callable[[Event], None]
Look = Callable[["Planned | None"], Probe]  # a pass with the least search of an index, or with another trial
Spare = Callable[
    [Mapping[str, Any], Look], str
]  # why an index that is built is not worth measuring; "": it is


class Planned(NamedTuple):
    """A trial with its key and that of its index."""

    key: str
    build_key: str
    case: Case


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
        self.cases = list(cases)
        self.planned = self.plan()

    def plan(self) -> list[Planned]:
        """Every trial, with the values that were found where a range was given; each trial once."""
        made: dict[str, Planned] = {}
        for case in self.cases:
            known = self.match(case)
            planned = self._planned(case if known is None else case.using(known.value, known.note))
            if planned.key in made:
                planned = _with_notes(planned, made[planned.key])
            made[planned.key] = planned
        return list(made.values())

    def _planned(self, case: Case) -> Planned:
        """A trial with its key: data, engine and version, parameters and their files, machine."""
        version = self.described[case.build.engine, case.build.python].version
        same = {**self.data.identity(), "version": version, "machine": self.machine}
        besides = self.besides(case.build)
        same |= {name: found for name, found in besides.items() if found}
        trial, index = (_unnamed(one.identity(), besides["files"]) for one in (case, case.build))
        return Planned(name_of(same | trial), name_of(same | index), case)

    def besides(self, build: Build) -> dict[str, Any]:
        """What makes an index another beside its parameters: the interpreter, the content of files."""
        files = self.described[build.engine, build.python].files
        return {"python": build.python, "files": contents(build.parameters, files)}

    def match(self, case: Case) -> Match | None:
        """The value that was found before for a trial with a range; None where it is still to be found."""
        known = self.results.entry("matched", name_of(self._looked_for(case))) if case.wanted else None
        return None if known is None else Match(**{name: known[name] for name in Match._fields})

    def put_match(self, case: Case, found: Match) -> None:
        """Remember the value that was found for a trial with a range."""
        looked = self._looked_for(case)
        self.results.put_entry("matched", name_of(looked), looked | found._asdict())

    def _looked_for(self, case: Case) -> dict[str, Any]:
        """What a value is looked for: it does not matter how queries are sent."""
        index = self._planned(case).build_key
        about = {"index": index, "k": self.data.k, "policy": self.options.policy}
        return about | replace(case, asking=Asking("batch")).identity()

    def pending(self, planned: Planned) -> list[int]:
        """The repetitions of a trial that are still to be run."""
        known = self.results.trial(planned.key)
        if known and known.get("status") == "failed" and not self.options.retry:
            return []
        there = self.results.repetitions(planned.key)
        return [number for number in self.options.numbers if number not in there]

    def run(self, watch: Watch = lambda event: None, spare: Spare | None = None) -> None:
        """Run what is not finished; an index that is to be spared is not measured."""
        with self.results.locked():
            self._run(watch, spare)

    def _run(self, watch: Watch, spare: Spare | None) -> None:
        for planned in self.planned:
            if self.results.trial(planned.key) is None:
                self.results.forget_trial(planned.key)  # passes of an index of which nothing is known
        waiting = [planned for planned in self.planned if self.pending(planned)]
        self._put_about(bool(waiting))
        needed = {planned.build_key for planned in waiting}
        for planned in self.planned:
            if planned not in waiting:
                self.settle(planned)
                watch(Event("known", planned.key))
            if planned.build_key not in needed:
                self.results.forget_left(planned.build_key)
        if not waiting:
            return
        scratch = self.results.folder / "vectors"
        try:
            _Round(self, waiting, scratch, watch, spare).run()
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _put_about(self, waiting: bool) -> None:
        """Say what the sweep is of; where nothing is left to measure, only where the data lie now."""
        known = self.results.known_about()
        if waiting or known is None or self.results.trial(self.planned[0].key) is None:
            self.results.put_about(self.about())
        elif self.sources and known["data"]["digests"] == self.data.digests:
            self.results.put_about(known | {"sources": self.sources})

    def settle(self, planned: Planned) -> None:
        """Say of a trial that it is done where all its passes are there and nobody came to say so."""
        known = self.results.trial(planned.key)
        if known is None:
            return
        told = known | ({"note": planned.case.note} if planned.case.note else {})
        if len(self.results.repetitions(planned.key)) >= self.options.repetitions:
            told |= {"status": "done", "reason": ""}
        if told != known:
            self.results.put_trial(planned.key, told)

    def about(self) -> dict[str, Any]:
        """What the sweep is of."""
        names = ("repetitions", "warmup", "seed", "policy")
        options = {name: getattr(self.options, name) for name in names}
        data = self.data.about()
        return {"data": data, "sources": self.sources, "machine": self.machine, "options": options}


def _unnamed(identity: dict[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """What makes a trial, without the names of files: their content counts."""
    return identity | {"build": {name: v for name, v in identity["build"].items() if name not in files}}


def _with_notes(planned: Planned, other: Planned) -> Planned:
    """A trial with what is noted of it for several targets."""
    said = dict.fromkeys(filter(None, (other.case.note, planned.case.note)))
    return planned._replace(case=replace(planned.case, note="; ".join(said)))


class _Round:
    """The running of what is not finished."""

    def __init__(
        self, sweep: Sweep, waiting: list[Planned], scratch: Path, watch: Watch, spare: Spare | None
    ) -> None:
        data, self.sweep, self.watch, self.waiting = sweep.data, sweep, watch, waiting
        self.results, self.options, self.spare = sweep.results, sweep.options, spare
        self.over: set[str] = set()  # failed or spared in this round
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
                while builds and _fits([one.bytes for one in living.values()], room):
                    key = builds.pop(0)
                    made = self._live(key)
                    if made is not None:
                        stack.callback(made.close)
                        living[key] = made
                self._passes(living)
            for key in living:
                (self.results.keep_index if self.options.keep else self.results.forget_index)(key)

    def _live(self, key: str) -> Living | None:
        """An index that is built, or taken up where it was left; None where that failed."""
        of_it = [p for p in self.waiting if p.build_key == key]
        for planned in of_it:
            self.watch(Event("building", planned.key))
        made = self._living(of_it[0])
        try:
            if not self._begun(made, of_it):
                return None
            self._match(made, of_it)
            for planned in self.waiting:
                if planned.build_key == key and planned.key not in self.over:
                    self._remember(planned, made.about)
                    self.watch(Event("built", planned.key))
        except BaseException:
            made.close()
            raise
        return made

    def _begun(self, made: Living, of_it: list[Planned]) -> bool:
        """Whether an index could be built or taken up; where not, its trials failed."""
        try:
            self._refuse_broken(of_it[0])
            made.begin(lambda hosted: indexed(hosted, self.hard))
        except (AssayError, OSError) as error:
            made.close()
            full = self._is_full(error)
            self.results.forget_index(made.key)
            _refuse_full(error, full)
            for planned in of_it:
                self._failed(planned, str(error), {})
            return False
        return True

    def _is_full(self, error: Exception) -> bool:
        """Whether an error comes of a full disk; engines have many words for it."""
        self.results.refuse_gone()
        left = shutil.disk_usage(self.results.folder).free
        return left < _LEAST_ROOM or os.strerror(errno.ENOSPC) in str(error)

    def _refuse_broken(self, planned: Planned) -> None:
        build = planned.case.build
        found = self.sweep.described[build.engine, build.python]
        if isinstance(found, Broken):
            raise EngineError(found.reason)

    def _match(self, index: Living, of_it: list[Planned]) -> None:
        """Find the values that are looked for and plan with them; leave out what is to be spared."""
        probing = Probing(index, self.queries, self.judge, self.options.warmup)
        for planned in of_it:
            if planned.case.wanted is not None:
                self.watch(Event("matching", planned.key))
            try:
                if not self._spared(planned, probing):
                    self._find(planned, probing)
            except (AssayError, OSError) as error:
                _refuse_full(error, self._is_full(error))
                self._failed(planned, str(error), index.about)
        if any(planned.case.wanted for planned in of_it):
            self._plan_anew(of_it)

    def _spared(self, planned: Planned, probing: Probing) -> bool:
        if self.spare is None:
            return False
        wanted = planned.case.wanted
        least = planned.case if wanted is None else planned.case.using(wanted[1].least)

        def look(other: Planned | None) -> Probe:
            return probing.look(least) if other is None else self._look_at(other)

        said = self.spare(probing.index.about, look)
        if said:
            self.over.add(planned.key)
            self.watch(Event("skipped", planned.key, said=said))
        return bool(said)

    def _look_at(self, other: Planned) -> Probe:
        """A pass of another trial, at this minute."""
        index = self._living(other)
        try:
            index.begin(lambda hosted: indexed(hosted, self.hard))
            return Probing(index, self.queries, self.judge, self.options.warmup).look(other.case)
        finally:
            index.close()

    def _living(self, planned: Planned) -> Living:
        metric, base = self.sweep.data.metric, self.base
        return Living(planned.case.build, planned.build_key, metric, base, self.results, self.options)

    def _find(self, planned: Planned, probing: Probing) -> None:
        case = replace(planned.case, asking=Asking("batch"))
        if case.wanted is not None and self.sweep.match(case) is None:
            found = match(case.wanted[1], case.goals, lambda value: probing(case.using(value)))
            self.sweep.put_match(case, found)

    def _plan_anew(self, of_it: list[Planned]) -> None:
        """Put trials with the values that were found in place of those with ranges."""
        sweep, before = self.sweep, {planned.key for planned in self.sweep.planned}
        sweep.planned = sweep.plan()
        self.waiting = [planned for planned in sweep.planned if sweep.pending(planned)]
        for planned in of_it:
            found = sweep.match(planned.case)
            if found is not None and planned.case.wanted is not None:
                self.results.forget_trial(planned.key)  # it may have failed before
                said = f"{planned.case.wanted[0]}={found.value} after {found.tried} searches: {found.note}"
                self.watch(Event("matched", planned.key, said=said))
        for planned in sweep.planned:
            if planned.build_key == of_it[0].build_key and not sweep.pending(planned):
                sweep.settle(planned)
                if planned.key not in before:
                    self.watch(Event("known", planned.key))

    def _passes(self, living: dict[str, Living]) -> None:
        """Every repetition of every trial, round and round, each time in another order."""
        trials = [p for p in self.waiting if p.build_key in living]
        for number in self.options.numbers:
            order = [p for p in trials if number in self.sweep.pending(p)]
            random.Random(f"{self.options.seed} {number}").shuffle(order)
            for planned in order:
                self._pass(planned, number, living[planned.build_key])

    def _pass(self, planned: Planned, number: int, index: Living) -> None:
        if planned.key in self.over:
            return
        data = self.sweep.data

        def told(rate: float | None = None) -> None:
            said = f"at {rate:,.{0 if rate >= 10 else 2}f}/s" if rate else ""
            self.watch(Event("passing", planned.key, number + 1, said))

        told()
        try:
            found = run(index, planned.case, self.queries, data.k, self.options.warmup, number, told)
            said = index.hosted().ask("remark", self.queries)
        except (AssayError, OSError) as error:
            _refuse_full(error, self._is_full(error))
            self._failed(planned, str(error), index.about)
            return
        self.results.refuse_gone()
        hits = self.judge.of_requests(found.queries, found.ids)
        if said:
            found = found._replace(extra={**found.extra, "remark": said})
        self.results.put_repetition(planned.key, number, found, hits)
        self.watch(Event("passed", planned.key, number + 1))
        if not self.sweep.pending(planned):
            self._remember(planned, index.about, status="done")
            self.watch(Event("done", planned.key))

    def _failed(self, planned: Planned, reason: str, about: dict[str, Any]) -> None:
        self.over.add(planned.key)
        self._remember(planned, about, status="failed", reason=reason)
        self.watch(Event("failed", planned.key, said=reason))

    def _remember(
        self, planned: Planned, built: dict[str, Any], status: str = "begun", reason: str = ""
    ) -> None:
        data, case = self.sweep.data, planned.case
        described = self.sweep.described[case.build.engine, case.build.python]
        about = {"n": len(data.base), "d": data.base.d, "k": data.k, "metric": data.metric}
        besides = self.sweep.besides(case.build)
        record = {
            "version": described.version,
            **case.identity(),
            **besides,
            "paths": {name: os.path.abspath(case.build.parameters[name]) for name in besides["files"]},
            **about,
            "digests": data.digests,
            "policy": self.options.policy,
            "warmup": self.options.warmup,
            "note": case.note or (self.results.trial(planned.key) or {}).get("note", ""),
            **built,
        }
        state = {"status": status, "reason": reason, "machine": self.sweep.machine}
        self.results.put_trial(planned.key, record | state)


def _fits(sizes: list[int], room: int) -> bool:
    """Whether there is room for one more index beside those of these sizes: as large as the largest."""
    return not sizes or sum(sizes) + max(sizes) <= room


def _refuse_full(error: Exception, full: bool) -> None:
    """End the sweep where the disk is full: that is no engine's fault, and the others would fail alike."""
    if isinstance(error, StoreError):
        raise error
    if full:
        raise StoreError(f"{error}; make room on the disk, and the same command goes on") from None


def _free() -> int:
    """The bytes of memory that are free."""
    try:
        with open("/proc/meminfo") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return 4 << 30
