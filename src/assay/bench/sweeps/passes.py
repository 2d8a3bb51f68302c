"""One pass of a trial: in a batch, one query at a time, at a rate, or as a capacity search."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from assay.bench.sweeps.cases import RequestMode, TrialCase
from assay.bench.sweeps.folder import Pass, pass_from_timing
from assay.bench.sweeps.restartable_index import RestartableIndex
from assay.core.errors import EngineError
from assay.core.timing import Ticks, TimedAnswers, schedule
from assay.core.vectors import Positions, Vectors
from assay.indexes.hosting.hosted import HostedIndex
from assay.stats.capacity import achieved_rate, find_capacity, request_count

_SCHEDULE_LEAD_NS = 50_000_000  # nanoseconds until a schedule starts, so that every client is ready


def run_pass(
    index: RestartableIndex,
    case: TrialCase,
    queries: Vectors,
    k: int,
    warmup: int | None,
    number: int,
    report_rate: Callable[[float], None] = lambda rate: None,
) -> Pass:
    """Run one pass after a discarded warm-up; the callback receives each rate that is tried."""
    request_mode = case.request_mode
    clients = 1 if request_mode.mode == "batch" else min(request_mode.clients, len(queries))
    processes = index.processes(clients)
    for process in processes:
        process.call("set_search", dict(case.search))
    runner = _PassRunner(processes, request_mode, queries, k, warmup, number)
    if request_mode.mode == "capacity":
        return _measure_capacity(runner, report_rate)
    return pass_from_timing(_refuse_all_failed(runner.run()), len(queries))


class _PassRunner(NamedTuple):
    """The processes of an index and the requests to send to them."""

    processes: list[HostedIndex]
    request_mode: RequestMode
    queries: Vectors
    k: int
    warmup: int | None
    number: int

    def run(self) -> TimedAnswers:
        """Run the requests in the mode of the trial."""
        if self.request_mode.mode == "batch":
            return self._run_after_warmup("search_batch", self.queries, self.k)
        if self.request_mode.mode == "single":
            return self.run_closed_loop()
        assert self.request_mode.rate is not None
        return self.run_open_loop(self.request_mode.rate)

    def run_closed_loop(self) -> TimedAnswers:
        """Send every query once, each client waiting for its last answer."""
        numbers = np.arange(len(self.queries))
        if self.processes[1:]:
            return self._run_shared("search_single", numbers)
        self.processes[0].call("prepare_requests", self.queries, numbers, self.k, self.request_mode.clients)
        return self._run_after_warmup("search_single")

    def run_open_loop(self, rate: float) -> TimedAnswers:
        """Send queries on a schedule at a rate."""
        percentile = self.request_mode.percentile or 99.0
        due = schedule(rate, request_count(rate, self.request_mode.seconds, percentile), seed=self.number)
        return self._run_shared("search_scheduled", np.arange(len(due)) % len(self.queries), due)

    def _run_after_warmup(self, name: str, *arguments: Any) -> TimedAnswers:
        """Run a request that is queued before the warm-up ends, so that the process never idles."""
        (process,) = self.processes
        process.send("warm_up", self.queries, self.k, self.warmup, name == "search_batch")
        process.send(name, *arguments)
        try:
            process.receive("warm_up")
        except BaseException:
            process.kill()  # its pending answer would be taken for that of the next request
            raise
        timing: TimedAnswers = process.receive(name)
        return timing

    def _run_shared(self, name: str, numbers: Positions, *schedules: Ticks) -> TimedAnswers:
        """Distribute the requests among the processes, which all start at the same moment."""
        processes = self.processes
        clients = self.request_mode.clients // len(processes)
        parts = [slice(turn, None, len(processes)) for turn in range(len(processes))]
        for process, part in zip(processes, parts, strict=True):
            process.call("prepare_requests", self.queries, numbers[part], self.k, clients)
        try:
            for process in processes:
                process.send("warm_up", self.queries, self.k, self.warmup, False)
            for process in processes:
                process.receive("warm_up")
            start = time.perf_counter_ns() + _SCHEDULE_LEAD_NS
            for process, part in zip(processes, parts, strict=True):
                process.send(name, start, *(ticks[part] for ticks in schedules))
            return merge_timings([process.receive(name) for process in processes])
        except BaseException:
            if len(processes) > 1:  # pending answers would be taken for those of the next request
                for process in processes:
                    process.kill()
            raise


def merge_timings(parts: list[TimedAnswers]) -> TimedAnswers:
    """Return the interleaved answers of several processes as one."""
    if len(parts) == 1:
        return parts[0]
    n = sum(len(part.positions) for part in parts)
    positions = np.empty((n, parts[0].positions.shape[1]), np.int64)
    latencies = np.empty(n, np.int64)
    for turn, part in enumerate(parts):
        assert part.latencies is not None
        positions[turn :: len(parts)] = part.positions
        latencies[turn :: len(parts)] = part.latencies
    return TimedAnswers(
        positions,
        max(part.start / 1e9 + part.seconds for part in parts) - min(part.start for part in parts) / 1e9,
        latencies,
        sum(part.errors for part in parts),
        next((part.first_error for part in parts if part.first_error), ""),
        min(part.start for part in parts),
    )


def _measure_capacity(runner: _PassRunner, report_rate: Callable[[float], None]) -> Pass:
    percentile, within_ms = runner.request_mode.percentile, runner.request_mode.within_ms
    assert percentile is not None
    assert within_ms is not None
    closed_loop = _refuse_all_failed(runner.run_closed_loop())
    warm_runner = runner._replace(warmup=0)

    def offer(rate: float) -> TimedAnswers:
        report_rate(rate)
        return warm_runner.run_open_loop(rate)

    capacity = find_capacity(offer, percentile, within_ms, achieved_rate(closed_loop))
    extra = {"capacity": capacity.rate, "probes": [probe._asdict() for probe in capacity.probes]}
    return pass_from_timing(capacity.best or closed_loop, len(runner.queries), extra)


def _refuse_all_failed(timing: TimedAnswers) -> TimedAnswers:
    if timing.errors == len(timing.positions):
        raise EngineError(f"every search failed: {timing.first_error}")
    return timing
