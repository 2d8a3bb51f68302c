"""The work of each kind of job: one workflow each, which reports how far it is and returns a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

from assay.bench.sweeps.progress import Progress, ProgressCallback
from assay.bench.sweeps.sweep import Sweep
from assay.core.groups import RunBlocks, Segments
from assay.core.score_order import WrappedRun
from assay.models.ask_all import AskProgress
from assay.search.run_queries import RunProgress, Watch
from assay.workflows.bench import BenchRequest, bench, save_trials
from assay.workflows.job_settings import read_job_settings
from assay.workflows.llm_judge import judge_with_llm
from assay.workflows.recording import SavedExperiment, SaveRequest
from assay.workflows.run import RunRequest, run_systems
from assay.workflows.saving import save
from assay.workflows.serve_settings import check_may_start
from assay.workflows.uploads import Upload, evaluate_upload, remove_files

_BENCH_FOLDER = "bench-results"


class Report(Protocol):
    """Where work says how far it is."""

    def progress(self, done: int | None = None, total: int | None = None, phase: str = "") -> None:
        """Say how far the work is."""

    def write(self, line: str) -> None:
        """Add a line to the log."""


class _CountedRun(WrappedRun):
    """A run that reports how many of its rows were scored."""

    report: Report

    def convert_blocks(self, blocks: Iterable[Segments]) -> Iterator[Segments]:
        """Return the blocks, and count their rows."""
        rows = 0
        for block in blocks:
            yield block
            rows += len(block)
            self.report.progress(done=rows, phase="rows scored")


def _evaluate(request: Mapping[str, Any], report: Report, store: str) -> str:
    upload = Upload(**{**request, "store": store})

    def watch(run: RunBlocks) -> RunBlocks:
        counted = _CountedRun(run)
        counted.report = report
        return counted

    report.write(f"scoring {', '.join(upload.names.values())}")
    saved = evaluate_upload(upload, watch)
    remove_files(upload.folder)
    return _location(saved)


def _location(saved: list[SavedExperiment]) -> str:
    if len(saved) == 1:
        return f"/experiments/{saved[0].id}"
    name = saved[0].name.partition("/")[0] if saved else ""
    return f"/experiments?{urlencode({'where': f'name ~ {name!r}'})}" if saved else ""


def _run(request: Mapping[str, Any], report: Report, store: str) -> str:
    name, project = request["name"], request["project"]
    check_may_start(name, project)  # it may have been forbidden since the job was started

    @contextmanager
    def watch(system: str) -> Iterator[Watch]:
        def show(progress: RunProgress) -> None:
            failed = f", {progress.failed} failed" if progress.failed else ""
            report.progress(progress.done, progress.total, f"queries of {system}{failed}")

        yield show

    result = run_systems(RunRequest(project=project, systems=[name]), watch)
    for error in result.errors.values():
        raise error
    saved = save(SaveRequest(name=name, store=store), result.recordings) if result.recordings else []
    report.write(f"{len(saved)} saved; the files are in {result.folder.name}")
    return _location(saved)


def _bench(request: Mapping[str, Any], report: Report, store: str) -> str:
    project = Path(request["project"])
    file = project.parent / request["name"]

    @contextmanager
    def watch(sweep: Sweep) -> Iterator[ProgressCallback]:
        labels = {trial.key: trial.case.label for trial in sweep.planned_trials}
        ended: set[str] = set()

        def show(step: Progress) -> None:
            if step.kind in ("known", "done", "failed"):
                ended.add(step.key)
                report.write(f"{step.kind}: {labels.get(step.key, step.key)} {step.message}".strip())
            report.progress(len(ended), len(labels), f"{step.kind} {labels.get(step.key, '')}".strip())

        report.progress(0, len(labels), "trials")
        yield show

    result = bench(BenchRequest(file=str(file), out=str(project.parent / _BENCH_FOLDER)), watch=watch)
    saved = save_trials(SaveRequest(name=file.stem, store=store), result) if result.has_answers else []
    return _location(saved)


def _judge(request: Mapping[str, Any], report: Report, store: str) -> str:
    judge = read_job_settings(request["project"]).judges[request["name"]]

    def watch(progress: AskProgress) -> None:
        report.progress(progress.done, progress.total, "pairs judged")

    result = judge_with_llm(judge, watch)
    if result.labels is not None:
        labels = result.labels
        report.write(f"{labels.asked - labels.missing} of {labels.asked} pairs labelled: {judge.out}")
    return "/judges"


WORK: Mapping[str, Callable[[Mapping[str, Any], Report, str], str]] = {
    "evaluate": _evaluate,
    "run": _run,
    "bench": _bench,
    "judge": _judge,
}
