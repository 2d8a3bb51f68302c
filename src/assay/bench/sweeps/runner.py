"""Runs the pending trials of a sweep."""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench.sweeps.brute_force import HardQueries, make_hard_queries, uses_index
from assay.bench.sweeps.cases import RequestMode
from assay.bench.sweeps.engine_descriptions import BrokenEngine
from assay.bench.sweeps.folder import Pass
from assay.bench.sweeps.pass_figures import progress_figures
from assay.bench.sweeps.passes import run_pass
from assay.bench.sweeps.plan import PlannedTrial, SweepPlan
from assay.bench.sweeps.progress import Progress, ProgressCallback, TrialFigures
from assay.bench.sweeps.range_search import SearchProbe, SearchProber, find_matching_value
from assay.bench.sweeps.restartable_index import RestartableIndex
from assay.core.errors import AssayError, EngineError, StoreError
from assay.core.vectors import Vectors
from assay.indexes.vector_data import prepare_for_engines

_FULL_DISK_BYTES = 1 << 20  # a disk with fewer free bytes counts as full

# Runs a pass with the smallest search of an index, or a pass of another trial.
ProbeTrial = Callable[[PlannedTrial | None], SearchProbe]
# Returns why an index that was built is not worth measuring, or "" if it is.
SkipRule = Callable[[Mapping[str, Any], ProbeTrial], str]


class SweepRunner:
    """One run of the pending trials of a sweep."""

    def __init__(
        self,
        sweep: SweepPlan,
        waiting: list[PlannedTrial],
        scratch: Path,
        watch: ProgressCallback | None,
        skip_rule: SkipRule | None,
    ) -> None:
        data, self.sweep, self.watch, self.waiting = sweep.data, sweep, watch, waiting
        self.folder, self.options, self.skip_rule = sweep.folder, sweep.options, skip_rule
        self._passes: dict[str, list[Pass]] = {}  # the passes so far of unfinished trials
        self.finished_keys: set[str] = set()  # failed or skipped in this run
        self.base: Vectors = prepare_for_engines(data.base, data.metric, scratch / "base")
        self.queries: Vectors = prepare_for_engines(data.queries, data.metric, scratch / "queries")
        self.hit_rule = sweep.hit_rule
        self.hard_queries: HardQueries | None = (
            make_hard_queries(self.base, data.metric) if self.options.detect_brute_force else None
        )

    def run(self) -> None:
        """Run one group of indexes after another."""
        builds = list(dict.fromkeys(trial.build_key for trial in self.waiting))
        total_memory = self.options.total_memory or _free_memory() // 2
        while builds:
            with ExitStack() as stack:
                indexes: dict[str, RestartableIndex] = {}
                while builds and _fits([index.memory_bytes for index in indexes.values()], total_memory):
                    key = builds.pop(0)
                    index = self._open_index(key)
                    if index is not None:
                        stack.callback(index.close)
                        indexes[key] = index
                self._run_passes(indexes)
            for key in indexes:
                (self.folder.mark_index_kept if self.options.keep_indexes else self.folder.delete_index)(key)

    def _open_index(self, key: str) -> RestartableIndex | None:
        """Return an index that was built or loaded; None if that failed."""
        trials = [trial for trial in self.waiting if trial.build_key == key]
        for trial in trials:
            self._report(Progress("building", trial.key))
        index = self._restartable_index(trials[0])
        try:
            if not self._start_index(index, trials):
                return None
            self._match_ranges(index, trials)
            for trial in self.waiting:
                if trial.build_key == key and trial.key not in self.finished_keys:
                    self._put_trial(trial, index.build_record)
                    self._report(Progress("built", trial.key))
        except BaseException:
            index.close()
            raise
        return index

    def _start_index(self, index: RestartableIndex, trials: list[PlannedTrial]) -> bool:
        """Return whether an index could be built or loaded; if not, record its trials as failed."""
        try:
            self._refuse_broken_engine(trials[0])
            index.start(lambda process: uses_index(process, self.hard_queries))
        except (AssayError, OSError) as error:
            index.close()
            full = self._is_disk_full(error)
            self.folder.delete_index(index.key)
            _raise_if_disk_full(error, full)
            for trial in trials:
                self._record_failure(trial, str(error), {})
            return False
        return True

    def _is_disk_full(self, error: Exception) -> bool:
        """Return whether a full disk caused an error, which engines report in different words."""
        self.folder.refuse_removed_folder()
        free_bytes = shutil.disk_usage(self.folder.path).free
        return free_bytes < _FULL_DISK_BYTES or os.strerror(errno.ENOSPC) in str(error)

    def _refuse_broken_engine(self, trial: PlannedTrial) -> None:
        build = trial.case.build
        engine = self.sweep.engines[build.engine, build.python]
        if isinstance(engine, BrokenEngine):
            raise EngineError(engine.reason)

    def _match_ranges(self, index: RestartableIndex, trials: list[PlannedTrial]) -> None:
        """Find the values of ranges and plan with them; skip trials that the skip rule rejects."""
        prober = SearchProber(index, self.queries, self.hit_rule, self.options.warmup)
        for trial in trials:
            if trial.case.range_parameter is not None:
                self._report(Progress("matching", trial.key))
            try:
                if not self._is_skipped(trial, prober):
                    self._find_match(trial, prober)
            except (AssayError, OSError) as error:
                _raise_if_disk_full(error, self._is_disk_full(error))
                self._record_failure(trial, str(error), index.build_record)
        if any(trial.case.range_parameter for trial in trials):
            self._replan(trials)

    def _is_skipped(self, trial: PlannedTrial, prober: SearchProber) -> bool:
        if self.skip_rule is None:
            return False
        range_parameter = trial.case.range_parameter
        lowest_case = trial.case
        if range_parameter is not None:
            lowest_case = trial.case.with_value(range_parameter[1].low)

        def probe_trial(other: PlannedTrial | None) -> SearchProbe:
            return prober.run(lowest_case) if other is None else self._probe_other_trial(other)

        reason = self.skip_rule(prober.index.build_record, probe_trial)
        if reason:
            self.finished_keys.add(trial.key)
            self._report(Progress("skipped", trial.key, message=reason))
        return bool(reason)

    def _probe_other_trial(self, other: PlannedTrial) -> SearchProbe:
        """Return a new pass of another trial, for a comparison under the same conditions."""
        index = self._restartable_index(other)
        try:
            index.start(lambda process: uses_index(process, self.hard_queries))
            return SearchProber(index, self.queries, self.hit_rule, self.options.warmup).run(other.case)
        finally:
            index.close()

    def _restartable_index(self, trial: PlannedTrial) -> RestartableIndex:
        metric, base = self.sweep.data.metric, self.base
        return RestartableIndex(trial.case.build, trial.build_key, metric, base, self.folder, self.options)

    def _find_match(self, trial: PlannedTrial, prober: SearchProber) -> None:
        case = replace(trial.case, request_mode=RequestMode("batch"))
        if case.range_parameter is not None and self.sweep.find_match(case) is None:
            match = find_matching_value(
                case.range_parameter[1], case.goals, lambda value: prober(case.with_value(value))
            )
            self.sweep.put_match(case, match)

    def _replan(self, trials: list[PlannedTrial]) -> None:
        """Replace trials with ranges by trials with the values found."""
        sweep, previous_keys = self.sweep, {trial.key for trial in self.sweep.planned_trials}
        sweep.planned_trials = sweep.plan()
        self.waiting = [trial for trial in sweep.planned_trials if sweep.pending_repetitions(trial)]
        for trial in trials:
            match = sweep.find_match(trial.case)
            if match is not None and trial.case.range_parameter is not None:
                self.folder.delete_trial(trial.key)  # it may have failed in an earlier run
                parameter = f"{trial.case.range_parameter[0]}={match.value}"
                message = f"{parameter} after {match.searches} searches: {match.note}"
                self._report(Progress("matched", trial.key, message=message))
        for trial in sweep.planned_trials:
            if trial.build_key == trials[0].build_key and not sweep.pending_repetitions(trial):
                sweep.update_status(trial)
                if trial.key not in previous_keys:
                    report_known(trial, self.watch)

    def _run_passes(self, indexes: dict[str, RestartableIndex]) -> None:
        """Run each repetition of all trials before the next repetition, in a different order each time."""
        trials = [trial for trial in self.waiting if trial.build_key in indexes]
        for number in self.options.repetition_numbers:
            order = [trial for trial in trials if number in self.sweep.pending_repetitions(trial)]
            random.Random(f"{self.options.seed} {number}").shuffle(order)
            for trial in order:
                self._run_pass(trial, number, indexes[trial.build_key])

    def _run_pass(self, trial: PlannedTrial, number: int, index: RestartableIndex) -> None:
        if trial.key in self.finished_keys:
            return
        data = self.sweep.data

        def report_rate(rate: float | None = None) -> None:
            message = f"at {rate:,.{0 if rate >= 10 else 2}f}/s" if rate else ""
            self._report(Progress("passing", trial.key, number + 1, message))

        report_rate()
        try:
            timed_pass = run_pass(
                index, trial.case, self.queries, data.k, self.options.warmup, number, report_rate
            )
            remark = index.process().call("remark", self.queries)
        except (AssayError, OSError) as error:
            _raise_if_disk_full(error, self._is_disk_full(error))
            self._record_failure(trial, str(error), index.build_record)
            return
        self.folder.refuse_removed_folder()
        hits = self.hit_rule.count_hits(timed_pass.queries, timed_pass.ids)
        extra = {**timed_pass.extra, "remark": remark} if remark else timed_pass.extra
        self._put_pass(trial, number, timed_pass._replace(hits=hits, extra=extra))
        if not self.sweep.pending_repetitions(trial):
            self._put_trial(trial, index.build_record, status="done")
            self._passes.pop(trial.key, None)
            self._report(Progress("done", trial.key))

    def _put_pass(self, trial: PlannedTrial, number: int, timed_pass: Pass) -> None:
        """Store a pass and report it with the figures of all passes so far."""
        figures = self._figures_with(trial, timed_pass) if self.watch is not None else None
        self.folder.put_pass(trial.key, number, timed_pass)
        self._report(Progress("passed", trial.key, number + 1, figures=figures))

    def _figures_with(self, trial: PlannedTrial, timed_pass: Pass) -> TrialFigures:
        """Return the figures of a trial with one more pass; stored passes are read once."""
        if trial.key not in self._passes:
            self._passes[trial.key] = self.folder.read_passes(trial.key)
        passes = self._passes[trial.key]
        passes.append(
            timed_pass._replace(ids=np.empty((0, 0), np.int64))
        )  # ids take memory and are not needed
        return progress_figures(passes, self.sweep.data)

    def _report(self, progress: Progress) -> None:
        if self.watch is not None:
            self.watch(progress)

    def _record_failure(self, trial: PlannedTrial, reason: str, build_record: dict[str, Any]) -> None:
        self.finished_keys.add(trial.key)
        self._put_trial(trial, build_record, status="failed", reason=reason)
        self._report(Progress("failed", trial.key, message=reason))

    def _put_trial(
        self, trial: PlannedTrial, build_record: dict[str, Any], status: str = "begun", reason: str = ""
    ) -> None:
        data, case = self.sweep.data, trial.case
        engine = self.sweep.engines[case.build.engine, case.build.python]
        data_record = {"n": len(data.base), "d": data.base.d, "k": data.k, "metric": data.metric}
        inputs = self.sweep.build_inputs(case.build)
        record = {
            "version": engine.version,
            "family": engine.family,
            **case.identity(),
            **inputs,
            "paths": {name: os.path.abspath(case.build.parameters[name]) for name in inputs["files"]},
            **data_record,
            "digests": data.digests,
            "policy": self.options.policy,
            "warmup": self.options.warmup,
            "note": case.note or (self.folder.trial_record(trial.key) or {}).get("note", ""),
            **build_record,
        }
        state = {"status": status, "reason": reason, "machine": self.sweep.machine}
        self.folder.put_trial(trial.key, record | state)


def report_known(trial: PlannedTrial, watch: ProgressCallback | None) -> None:
    """Report a trial that was finished before; its passes are not read, since the caller scores it anyway."""
    if watch is not None:
        watch(Progress("known", trial.key))


def _fits(sizes: list[int], total_memory: int) -> bool:
    """Return whether one more index, as large as the largest of these, fits into memory."""
    return not sizes or sum(sizes) + max(sizes) <= total_memory


def _raise_if_disk_full(error: Exception, is_disk_full: bool) -> None:
    """Stop the sweep if the disk is full, because every other trial would fail as well."""
    if isinstance(error, StoreError):
        raise error
    if is_disk_full:
        raise StoreError(f"{error}; free disk space, then run the same command again to continue") from None


def _free_memory() -> int:
    """Return the free memory in bytes."""
    try:
        with open("/proc/meminfo") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return 4 << 30
