"""Find the queries that fail and their likely causes: what `assay failures` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assay.core.errors import InputError
from assay.core.groups import RunBlocks
from assay.evaluation.failures import DEFAULT_DEPTH, Failures, failures
from assay.views.failures import DEFAULT_QUERIES_SHOWN, failures_dict
from assay.workflows.inputs import RunWatch, Tables, read_configurations
from assay.workflows.recording import Recording, input_digests, record_runs
from assay.workflows.scoring import ScoringRequest

__all__ = ["DEFAULT_DEPTH", "DEFAULT_QUERIES_SHOWN", "FailuresRequest", "FailuresResult", "find_failures"]


@dataclass(frozen=True, kw_only=True)
class FailuresRequest(ScoringRequest):
    """The run to look at, and what counts as a failure."""

    exact: str | None = None  # the run of exact search
    measure: str = "R@10"
    below: float = 0.5
    depth: int = DEFAULT_DEPTH  # how many documents a reranker reads
    show: int = DEFAULT_QUERIES_SHOWN  # how many queries to show

    def __post_init__(self) -> None:
        if self.show < 0:
            raise InputError(f"--show must be 0 or more, found {self.show}")


@dataclass(frozen=True)
class FailuresResult:
    """The failing queries of the run."""

    failures: Failures
    recordings: list[Recording] = field(default_factory=list)
    digests: Mapping[str, str] = field(default_factory=dict)  # of the inputs, if they were asked for

    def to_dict(self) -> dict[str, Any]:
        """Return the failures as plain data, as `assay failures --format json` prints them."""
        return failures_dict(self.failures)


def find_failures(request: FailuresRequest, watch: RunWatch | None = None) -> FailuresResult:
    """Find the failing queries; `watch` wraps a run while it is read, to report progress."""
    exact = [] if request.exact is None else [request.exact]
    files = request.files
    names = (*files.names, *exact) if files.names else ()
    tables = replace(files, runs=(*files.runs, *exact), names=names).open()
    configurations = read_configurations(request.config, [tables.runs[0].name], request.params)
    runs = request.prepare_runs(tables.runs)
    run_failures = _find(request, tables, [watch(run) for run in runs] if watch else runs)
    result = FailuresResult(run_failures, digests=input_digests(tables, runs) if request.with_digests else {})
    if not request.with_recordings:
        return result
    causes = {cause: len(failing) for cause, failing in run_failures.by_cause.items()}
    evaluations = [run_failures.evaluation]
    recordings = record_runs(
        "failures", tables, runs[:1], evaluations, configurations, result={"causes": causes}
    )
    return replace(result, recordings=recordings)


def _find(request: FailuresRequest, tables: Tables, runs: Sequence[RunBlocks]) -> Failures:
    run, *exact = runs
    return failures(
        tables.qrels,
        run,
        request.measure,
        request.below,
        tables.queries,
        request.by,
        documents=tables.documents,
        exact=exact[0] if exact else None,
        depth=request.depth,
        level=request.level,
        seed=request.seed,
        order=request.order,
    )
