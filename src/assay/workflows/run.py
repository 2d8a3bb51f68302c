"""Run search systems over the queries of a project, score and compare them: what `assay run` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from assay.core.errors import AssayError, InputError, UndecidableError
from assay.core.recorded_run import first_documents
from assay.evaluation import DEFAULT_MEASURES, Evaluation
from assay.evaluation.compare import ComparisonOptions, Comparisons, compare_evaluations
from assay.search.run_queries import RunProgress, Watch
from assay.views.compare import comparisons_dict
from assay.workflows.latency_objective import check_slo, slo_dict
from assay.workflows.recording import Recording
from assay.workflows.settings import PROJECT_FILE
from assay.workflows.stored_losses import losses_table
from assay.workflows.system_run import SystemRun, run_system
from assay.workflows.systems import (
    DEFAULT_FOLDER,
    EMBEDDINGS,
    OptionOverrides,
    SearchData,
    SearchSystems,
    results_folder,
)

__all__ = [
    "DEFAULT_FOLDER",
    "DEFAULT_MEASURES",
    "RunProgress",
    "RunRequest",
    "RunResult",
    "Watch",
    "run_systems",
]
T = TypeVar("T")
SystemWatch = Callable[[str], AbstractContextManager[Watch | None]]  # the progress of the system of a name
ErrorReport = Callable[[str, AssayError], None]  # the name of a system that could not be run, and why


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The systems to run and how to score them."""

    project: str | Path = PROJECT_FILE
    systems: Sequence[str] = ()  # names; none runs every system of the project
    out: str | Path | None = None  # the folder of the results; None: `runs`, next to the project
    measures: Sequence[str] = DEFAULT_MEASURES
    by: Sequence[str] = ()  # the columns to slice by
    shown: int | None = None  # how many documents a person sees
    slo: float | None = None  # milliseconds
    options: OptionOverrides = field(default_factory=OptionOverrides)

    def __post_init__(self) -> None:
        check_slo(self.slo)

    @property
    def folder(self) -> Path:
        """The folder of the results."""
        return results_folder(self.project, self.out)


@dataclass(frozen=True)
class RunResult:
    """The systems that were run, with their scores and comparisons."""

    requested: list[str]  # the names of the systems, the baseline first
    systems: list[SystemRun]
    errors: dict[str, AssayError]  # why systems could not be run, by name
    comparisons: Comparisons | None  # None: fewer than two systems have scores, or the baseline has none
    data: SearchData
    folder: Path
    slo: float | None = None

    @property
    def exit_code(self) -> int:
        """0; 1 if queries or some systems failed; 3 if no system returned a document to score."""
        if not self.systems:
            return next(iter(self.errors.values())).exit_code
        if all(system.problem for system in self.systems) and not self.errors:
            return UndecidableError.exit_code
        return int(bool(self.errors) or any(system.results.failures for system in self.systems))

    @property
    def is_without_baseline(self) -> bool:
        """Whether there are several systems and the baseline has no scores to compare with."""
        baseline = self.requested[0]
        return len(self.systems) > 1 and (baseline in self.errors or bool(self.systems[0].problem))

    @property
    def evaluations(self) -> list[Evaluation]:
        """The evaluations of the systems that have one."""
        return [system.evaluation for system in self.systems if system.evaluation is not None]

    @property
    def unscored(self) -> list[str]:
        """The names of the systems without scores, which cannot be recorded."""
        return [system.name for system in self.systems if not system.is_scored]

    @property
    def recordings(self) -> list[Recording]:
        """The systems with scores, as `save` records them."""
        return [self._recording(system) for system in self.systems if system.is_scored]

    def _recording(self, system: SystemRun) -> Recording:
        assert system.evaluation is not None
        assert system.run is not None
        percentiles = system.results.latency.percentiles()
        return Recording(
            evaluation=system.evaluation,
            kind="run",
            label=system.name if len(self.requested) > 1 else "",
            qrels=self.data.qrels,
            queries=self.data.queries,
            documents=self.data.documents,
            run=system.run.digest,
            tops=first_documents(system.run),
            configuration=system.configuration,
            latency={name: ms for name, ms in percentiles.items() if ms is not None},
            figures=system.figures,
            losses=None if system.losses is None else losses_table(system.losses),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, as `assay run --format json` prints it."""
        plain: dict[str, Any] = {"systems": [self._system_dict(system) for system in self.systems]}
        if self.errors:
            plain["lost"] = {name: str(error) for name, error in self.errors.items()}
        if self.comparisons is not None:
            plain["comparison"] = comparisons_dict(self.comparisons)
        return plain

    def _system_dict(self, system: SystemRun) -> dict[str, Any]:
        plain = {**system.to_dict(), **slo_dict(system.results, self.slo)}
        slices = {
            name: [{**part._asdict(), "share": part.share.to_dict()} for part in parts]
            for name, parts in system.slice_losses.items()
        }
        return {**plain, "losses": {**plain["losses"], "slices": slices}} if slices else plain


def run_systems(
    request: RunRequest, watch: SystemWatch | None = None, report: ErrorReport | None = None
) -> RunResult:
    """Run the systems, score each once, and compare them with the first.

    `watch` is asked for the progress callback of each system. A system that cannot be run is left out:
    `report` is called with its name and the error at once. Wrong use (InputError) ends the whole run.
    """
    with closing(SearchSystems(request.project, request.folder / EMBEDDINGS)) as systems:
        names = systems.select_names(list(request.systems))
        runner = _Runner(request, systems, watch or (lambda name: nullcontext()), report)
        ready = runner.for_each(names, runner.open)
        runs = runner.for_each(ready, runner.run)
        comparisons = _compare(names[0], runs) if runs else None
        return RunResult(names, runs, runner.errors, comparisons, systems.data, request.folder, request.slo)


@dataclass
class _Runner:
    """The steps of a run, each done for every system whose steps before it succeeded."""

    request: RunRequest
    systems: SearchSystems
    watch: SystemWatch
    report: ErrorReport | None
    errors: dict[str, AssayError] = field(default_factory=dict)

    def for_each(self, names: Sequence[str], step: Callable[[str], T]) -> list[T]:
        """Return what a step gives for each system; record the error of a system that fails."""
        values = []
        for name in names:
            try:
                values.append(step(name))
            except InputError:
                raise
            except AssayError as error:
                self.errors[name] = error
                if self.report:
                    self.report(name, error)
        return values

    def open(self, name: str) -> str:
        """Build a system, check that it can answer the queries, and return its name."""
        self.systems.searcher(name).check_queries(self.systems.data.queries)
        return name

    def run(self, name: str) -> SystemRun:
        """Run and score a system."""
        with self.watch(name) as progress:
            return run_system(
                self.systems,
                name,
                self.request.folder,
                self.request.options.apply(self.systems.options),
                measures=self.request.measures,
                by=self.request.by,
                shown=self.request.shown,
                watch=progress,
            )


def _compare(baseline: str, runs: Sequence[SystemRun]) -> Comparisons | None:
    """Compare the evaluations of several systems; None if the baseline or all others have none."""
    evaluations = [system.evaluation for system in runs if system.evaluation is not None]
    has_baseline = runs[0].name == baseline and runs[0].evaluation is not None
    if not has_baseline or len(evaluations) < 2:
        return None
    return compare_evaluations(evaluations, ComparisonOptions())
