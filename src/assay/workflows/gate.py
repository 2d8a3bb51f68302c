"""Decide whether a candidate passes the rules of a project: what `assay gate` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.core.arrays import Floats
from assay.core.groups import RunBlocks
from assay.core.score_order import ScoreOrder
from assay.datasets.latencies import percentiles, read_latencies
from assay.evaluation.configuration import differing_settings
from assay.evaluation.evaluate import DEFAULT_ORDER
from assay.evaluation.gate import CandidateMeasurements, GateVerdict, evaluate_for_rules, gate_evaluations
from assay.views.checks import describe_verdict
from assay.views.gate import verdict_dict
from assay.workflows.inputs import RunWatch, Tables
from assay.workflows.project import SystemFiles, open_project
from assay.workflows.recording import Recording, digest_runs, first_documents_of, input_digests, run_digest
from assay.workflows.settings import PROJECT_FILE, read_settings


@dataclass(frozen=True, kw_only=True)
class GateRequest:
    """The project whose rules decide, and the runs that replace those it names."""

    project: str | Path = PROJECT_FILE
    candidate: str | None = None
    baseline: str | None = None
    order: ScoreOrder = DEFAULT_ORDER  # in which scores order documents
    with_recordings: bool = False  # prepare what `save` records
    with_digests: bool = False  # compute the digests of the inputs, for a page


@dataclass(frozen=True)
class GateResult:
    """The verdict on the candidate."""

    verdict: GateVerdict
    recordings: list[Recording] = field(default_factory=list)
    digests: Mapping[str, str] = field(default_factory=dict)  # of the inputs, if they were asked for

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 0 passed, 1 failed, 3 undecided."""
        return self.verdict.exit_code

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data, as `assay gate --format json` prints it."""
        return verdict_dict(self.verdict)


def decide_gate(request: GateRequest, watch: RunWatch | None = None) -> GateResult:
    """Check the rules of the project; `watch` wraps a run while it is read, to report progress."""
    project = open_project(request.project, candidate=request.candidate, baseline=request.baseline)
    project.check_files()
    tables, system = project.files.open(), project.candidate
    is_digested = request.with_recordings or request.with_digests
    runs = digest_runs(tables.runs, request.order) if is_digested else tables.runs
    latencies = None if system.latencies is None else read_latencies(system.latencies)
    verdict = gate_evaluations(
        project.rules,
        evaluate_for_rules(
            project.rules,
            tables.qrels,
            [watch(run) for run in runs] if watch else runs,
            tables.queries,
            tables.documents,
            request.order,
        ),
        CandidateMeasurements(latencies, system.figure_values),
    )
    verdict = _add_configurations(
        verdict, dict(zip([run.name for run in runs], project.systems, strict=True))
    )
    result = GateResult(verdict, digests=input_digests(tables, runs) if request.with_digests else {})
    if not request.with_recordings:
        return result
    # what the project names beside its candidate's run is not of a run that replaces it
    files = SystemFiles() if request.candidate else system
    return replace(result, recordings=_recordings(verdict, tables, runs[-1], files, latencies))


def _add_configurations(verdict: GateVerdict, systems: Mapping[str, SystemFiles]) -> GateVerdict:
    """Add the settings that differ between the configurations of the systems."""
    if verdict.comparisons is None:
        return verdict
    settings = {name: read_settings(files.config) for name, files in systems.items() if files.config}
    comparisons = replace(verdict.comparisons, configuration=differing_settings(settings))
    return replace(verdict, comparisons=comparisons)


def _recordings(
    verdict: GateVerdict, tables: Tables, run: RunBlocks, files: SystemFiles, latencies: Floats | None
) -> list[Recording]:
    """Return the candidate with its verdict, if it could be evaluated."""
    if verdict.evaluation is None:
        return []
    recording = Recording(
        evaluation=verdict.evaluation,
        kind="gate",
        qrels=tables.qrels,
        judgments=tables.judgments,
        queries=tables.queries,
        documents=tables.documents,
        run=run_digest(run),
        tops=first_documents_of(run),
        configuration=read_settings(files.config) if files.config else {},
        latency=percentiles(latencies) if files.latencies and latencies is not None else {},
        figures=files.figures if isinstance(files.figures, Mapping) else {},
        result={"verdict": verdict.status, "words": describe_verdict(verdict)},
    )
    return [recording]
