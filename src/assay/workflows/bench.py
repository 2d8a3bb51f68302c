"""Measure indexes over ranges of their parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.scoring import score_trial
from assay.bench.sweeps.progress import Progress, ProgressCallback, TrialFigures
from assay.bench.sweeps.sweep import Sweep
from assay.bench.trials import Trial, to_row, with_delta
from assay.core.errors import InputError
from assay.indexes.exact.audit import find_queries_in_base
from assay.indexes.exact.findings import Finding
from assay.store.rankings import ShownTables
from assay.store.trials import experiment_from_trial, scores_of_trial
from assay.views.trials import sort_trials, trials_dict
from assay.workflows.bench_settings import MeasureRequest, make_benchmark, read_request_settings
from assay.workflows.benchmark import Benchmark, TruthProgress
from assay.workflows.recording import SavedExperiment, SaveRequest
from assay.workflows.saving import save_experiments
from assay.workflows.store_location import store_url

DEFAULT_FOLDER = "bench-results"
_OBJECTIVE = re.compile(r"(p\d\d?(?:\.\d+)?)=(\d+(?:\.\d+)?)")

SweepWatch = Callable[[Sweep], AbstractContextManager[ProgressCallback]]


@dataclass(frozen=True, kw_only=True)
class BenchRequest(MeasureRequest):
    """The indexes to measure, and how queries are sent to them."""

    out: str = DEFAULT_FOLDER
    recall: Sequence[float] | None = None  # mean recalls that the values of ranges are to reach
    modes: Sequence[str] = ()  # modes, rates and an objective replace all of those in the file
    rates: Sequence[float] = ()
    objective: str | None = None  # such as p99=10
    clients: int | None = None
    seconds: float | None = None
    delta: float | None = None  # of the robustness that is shown; None: DEFAULT_DELTA
    retry: bool = False  # run failed trials again
    keep_indexes: bool = False

    def benchmark(self) -> Benchmark:
        """The benchmark of the file, with the options in place of its settings."""
        run: dict[str, Any] = {"clients": self.clients, "seconds": self.seconds, "recall": self.recall}
        if self.modes or self.rates or self.objective:
            run["modes"], run["rates"] = list(self.modes), list(self.rates)
            run["objective"] = _parse_objective(self.objective) if self.objective else {}
        benchmark = make_benchmark(self, read_request_settings(self, "bench"), run)
        options = replace(benchmark.options, retry=self.retry, keep_indexes=self.keep_indexes)
        return replace(benchmark, options=options)


@dataclass(frozen=True)
class BenchResult:
    """The trials of a benchmark, measured now or before."""

    scored_trials: tuple[ScoredTrial, ...] = field(repr=False)
    metadata: Mapping[str, Any]
    folder: str
    total: int  # trials in the folder, with those of other benchmarks
    findings: tuple[Finding, ...] = ()  # queries that are vectors of the base

    @property
    def trials(self) -> list[Trial]:
        """The trials, in the order in which they are shown."""
        return sort_trials([scored_trial.trial for scored_trial in self.scored_trials])

    @property
    def has_answers(self) -> bool:
        """Whether any trial is done, so that its answers are stored."""
        return any(trial.status == "done" for trial in self.trials)

    @property
    def has_failures(self) -> bool:
        """Whether any trial failed."""
        return any(trial.status == "failed" for trial in self.trials)

    @property
    def exit_code(self) -> int:
        """1 if a trial failed, else 0."""
        return int(self.has_failures)

    def to_dict(self) -> dict[str, Any]:
        """The trials as plain data, with the keys that `assay bench --format json` prints."""
        return trials_dict(self.trials, self.metadata)


@contextmanager
def _ignore_progress(sweep: Sweep) -> Iterator[ProgressCallback]:
    """Watch nothing."""
    yield lambda progress: None


def bench(
    request: BenchRequest, *, progress: TruthProgress | None = None, watch: SweepWatch = _ignore_progress
) -> BenchResult:
    """Measure what is not measured yet, and score every trial of the benchmark.

    `progress` is called while exact neighbours are computed; `watch` is entered with the sweep before it
    runs, and what it yields is called with every step of the sweep.
    """
    deltas = with_delta(request.delta)
    sweep = request.benchmark().prepare_sweep(request.out, progress)
    scored_trials: dict[str, ScoredTrial] = {}  # each pass is read once: a known trial is scored at once
    with watch(sweep) as report:

        def report_scored(event: Progress) -> None:
            if event.kind == "known":
                scored_trials[event.key] = _score(sweep, event.key, deltas)
                event = event._replace(figures=_figures(scored_trials[event.key].trial))
            report(event)

        sweep.run(report_scored)
    keys = sweep.folder.trial_keys()
    scored_trials |= {key: _score(sweep, key, deltas) for key in keys if key not in scored_trials}
    sweep.folder.put_table([to_row(scored_trials[key].trial) for key in keys])
    planned = {trial.key for trial in sweep.planned_trials}
    own = tuple(scored_trials[key] for key in keys if key in planned)
    findings = tuple(find_queries_in_base(sweep.data.base, sweep.data.queries))
    return BenchResult(own, sweep.metadata(), request.out, len(keys), findings)


def _score(sweep: Sweep, key: str, deltas: Sequence[float]) -> ScoredTrial:
    """A scored trial without the returned ids, which take much memory."""
    return replace(score_trial(sweep.folder, key, sweep.hit_rule, deltas), returned_ids=None)


def _figures(trial: Trial) -> TrialFigures:
    return TrialFigures(
        trial.recall.value if trial.recall else None,
        trial.qps.median if trial.qps else None,
        trial.latency.get("p50_ms"),
    )


def save_trials(request: SaveRequest, result: BenchResult) -> list[SavedExperiment]:
    """Record every trial that was measured as an experiment, with the scores of its queries."""
    done = [each for each in result.scored_trials if each.trial.status == "done"]
    experiments = []
    for each in done:
        trial, hits = each.trial, each.hits
        assert hits is not None  # a trial that is done has answers
        name = request.name if len(done) == 1 else f"{request.name}/{trial.label} ({trial.request_text})"
        experiment = experiment_from_trial(
            trial, name, result.metadata["data"], tags=request.tags, note=request.note
        )
        experiments.append((experiment, scores_of_trial(hits), ShownTables()))
    return save_experiments(store_url(request.store), experiments)


def _parse_objective(text: str) -> dict[str, float]:
    match = _OBJECTIVE.fullmatch(text)
    if not match or not float(match[2]):
        raise InputError(f"an objective is a percentile and milliseconds, such as p99=10; found {text!r}")
    return {f"{match[1]}_ms": float(match[2])}
