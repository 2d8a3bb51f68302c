"""Run one search system over the queries of a project, score it, and write its results to a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.core.errors import FormatError, InputError, UndecidableError
from assay.core.files import write_atomically
from assay.core.tables import Qrels, Run
from assay.datasets import write
from assay.evaluation import Evaluation, evaluate
from assay.evaluation.overlap import OVERLAP_DEPTH
from assay.evaluation.stage_losses import LossPart, StageLosses
from assay.search.query_results import QueryResults
from assay.search.run_queries import RunOptions, Watch, run_queries
from assay.search.searcher import build_run
from assay.workflows.loss_waterfall import SHOWN_DOCUMENTS, LossWaterfall, answers_by_stage
from assay.workflows.systems import SearchSystems

JOURNALS = "journals"  # in the folder of the results: the finished queries, so that a run can be resumed


@dataclass(frozen=True)
class SystemRun:
    """A system that was run: its answers, scores and losses."""

    name: str
    results: QueryResults
    configuration: Mapping[str, Any]
    run: Run | None  # None: nothing was returned for any query
    evaluation: Evaluation | None = None  # None: there are no judgments, or nothing to score
    losses: StageLosses | None = None
    problem: str = ""  # why there is nothing to score

    @property
    def is_scored(self) -> bool:
        """Whether there are scores to record."""
        return self.evaluation is not None and self.run is not None

    @property
    def figures(self) -> dict[str, float]:
        """The numbers other than scores, by name, as `assay gate` reads them."""
        results = self.results
        figures = {
            "qps": results.qps,
            "cost_per_1k_queries": results.cost_per_1k,
            "failed": len(results.failures),
        }
        return {name: float(value) for name, value in figures.items() if value is not None}

    @cached_property
    def slice_losses(self) -> dict[str, list[LossPart]]:
        """The losses of each slice, by its column and value."""
        if self.evaluation is None or self.losses is None:
            return {}
        ids, losses = self.evaluation.scores.query_ids, self.losses
        return {
            f"{part.column}: {part.value}": losses.parts_of_queries([ids[row] for row in part.rows])
            for part in self.evaluation.slices
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the run as plain data, without its documents."""
        return {
            **self.results.to_dict(),
            "configuration": self.configuration,
            "scores": self.evaluation and self.evaluation.to_dict(),
            "losses": self.losses and self.losses.to_dict(),
            "problem": self.problem or None,
        }


def run_system(
    systems: SearchSystems,
    name: str,
    folder: str | Path,
    options: RunOptions | None = None,
    *,
    measures: Sequence[str] = (),
    by: Sequence[str] = (),
    shown: int | None = None,
    watch: Watch | None = None,
) -> SystemRun:
    """Run one system and write its results to a folder; queries finished there before are not sent again."""
    options, folder = options or systems.options, Path(folder)
    shown = min(SHOWN_DOCUMENTS, options.k) if shown is None else shown
    if not 1 <= shown <= options.k:
        raise InputError(f"shown: expected 1 to {options.k}, the documents asked for, found {shown}")
    searcher, data = systems.searcher(name), systems.data
    results = run_queries(searcher, data.queries, options, folder / JOURNALS, watch)
    run, problem = _run_or_problem(results)
    _delete_runs(name, folder, systems.names)
    if run is not None:
        results = replace(results, remarks=_write_runs(run, results, folder))
    system = SystemRun(name, results, searcher.configuration(), run, problem=problem)
    if data.qrels is not None and run is not None:
        # the top documents are kept for a comparison with other systems
        evaluation = evaluate(data.qrels, run, measures, data.queries, by, keep=OVERLAP_DEPTH)
        waterfall = LossWaterfall(systems, searcher, results, options, shown, folder / JOURNALS)
        system = replace(system, evaluation=evaluation, losses=_losses_or_none(waterfall, data.qrels))
    _write_results(system, folder)
    return system


def _write_results(system: SystemRun, folder: Path) -> None:
    plain = json.dumps(system.to_dict(), ensure_ascii=False, indent=1)
    latencies = (
        {"query_id": query, "latency_ms": nanoseconds / 1e6}
        for query, nanoseconds in system.results.latencies.items()
    )
    texts = {
        "json": plain,
        "figures.json": json.dumps(system.figures),
        "latencies.jsonl": "\n".join(map(json.dumps, latencies)),
    }
    for suffix, text in texts.items():
        with write_atomically(folder / f"{system.name}.{suffix}") as path:
            path.write_text(text + "\n", encoding="utf-8")


def _run_or_problem(results: QueryResults) -> tuple[Run | None, str]:
    """Return the run, or None and why there is none."""
    try:
        return results.run(), ""
    except UndecidableError as error:
        return None, str(error)


def _losses_or_none(waterfall: LossWaterfall, qrels: Qrels) -> StageLosses | None:
    try:
        return waterfall.losses(qrels)
    except UndecidableError:
        return None


def _delete_runs(name: str, folder: Path, names: Sequence[str]) -> None:
    """Delete the run and the stages of an earlier run, which would be taken for those of this one."""
    others = tuple(f"{other}." for other in names if other.startswith(f"{name}."))
    own = re.compile(re.escape(name) + r"(\.\d+-[\w.-]+)?\.run")
    for path in folder.glob("*.run"):
        if own.fullmatch(path.name) and not path.name.startswith(others):
            path.unlink()


def _write_runs(run: Run, results: QueryResults, folder: Path) -> list[str]:
    """Write the run and the output of each stage; return a remark for each file in another format."""
    remarks = _write_run(run, folder / f"{results.name}.run")
    for number, (stage, answers) in enumerate(answers_by_stage(results).items(), 1):
        if any(answers.values()):
            slug = re.sub(r"[^\w.-]+", "-", stage)
            stage_run = build_run(stage, {query: list(scores.items()) for query, scores in answers.items()})
            remarks += _write_run(stage_run, folder / f"{results.name}.{number}-{slug}.run")
    return remarks


def _write_run(run: Run, path: Path) -> list[str]:
    """Write a run as TREC, or as JSONL if an id does not fit: readers recognise the format by the content."""
    try:
        write(run, path, format="trec")
    except FormatError:
        write(run, path, format="jsonl")
        return [f"{path.name} is JSONL: a TREC run cannot hold its ids (blanks, or # at the beginning)"]
    return []
