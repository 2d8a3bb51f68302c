"""Estimate measures from few human labels and many model labels: what `assay judge estimate` does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from assay.core.csv_rows import format_csv_row
from assay.core.errors import InputError
from assay.core.pair_probabilities import PairProbabilities
from assay.core.score_order import ScoreOrder
from assay.core.tables import Qrels, Run
from assay.datasets import open_run
from assay.datasets.output_files import open_for_writing, refuse_inputs_as_outputs
from assay.datasets.pool_files import read_pool
from assay.evaluation.evaluate import DEFAULT_ORDER
from assay.judging.estimate.estimates import LabelEstimate, LabelEstimates, estimate_from_labels
from assay.judging.estimate.next_labels import NextPair
from assay.judging.estimate.sampling import UNITS
from assay.workflows.inputs import RunWatch, TableFiles

__all__ = ["UNITS", "EstimateRequest", "EstimateResult", "RunEstimates", "assign_files", "estimate"]
_CHANCE = "inclusion_probability"


@dataclass(frozen=True, kw_only=True)
class EstimateRequest:
    """The labels of a model and of people, the runs, and how to estimate."""

    files: TableFiles  # whose qrels are the labels of the model
    human: str  # qrels
    measures: Sequence[str] = ()
    by: Sequence[str] = ()  # the columns to stratify and slice by
    pairs: str | None = None  # a pool with the inclusion probability of each labelled pair
    unit: str = "auto"
    is_fixed: bool = False
    population: str = "queries"  # what means are of, if the query table has inclusion probabilities
    next_count: int = 10  # how many pairs to name that people should label next
    next_file: str | None = None  # where to write them, with the labelled pairs and their probabilities
    level: float = 0.95
    seed: int = 0
    order: ScoreOrder = DEFAULT_ORDER

    def __post_init__(self) -> None:
        if self.next_count < 0:
            raise InputError(f"--next must be 0 or more, found {self.next_count}")


@dataclass(frozen=True)
class EstimateResult:
    """The estimates, and the file that the pairs to label next were written to."""

    estimates: LabelEstimates
    next_file: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the estimates as plain data, as `assay judge estimate --format json` prints them."""
        return self.estimates.to_dict()


@dataclass(frozen=True)
class RunEstimates:
    """Estimates with the keys of `assay eval` or `assay compare` before their own."""

    result: EstimateResult
    is_comparison: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the plain data that `assay eval` and `assay compare` print with --format json."""
        head = self._comparison() if self.is_comparison else self._evaluation()
        return {**head, **self.result.to_dict()}

    def _evaluation(self) -> dict[str, Any]:
        runs: dict[str, dict[str, Any]] = {}
        for e in self.result.estimates.estimates:
            run = runs.setdefault(e.target.run, {"name": e.target.run, "mean": {}})
            run["mean"][e.target.measure] = e.estimate.combined.to_dict()
        return {"runs": list(runs.values())}

    def _comparison(self) -> dict[str, Any]:
        candidates: dict[str, dict[str, Any]] = {}
        for e in self.result.estimates.differences:
            candidate = candidates.setdefault(e.target.run, {"name": e.target.run, "comparisons": []})
            candidate["comparisons"].append(self._difference(e))
        baseline = next((e.target.baseline for e in self.result.estimates.differences), None)
        return {"baseline": baseline, "candidates": list(candidates.values())}

    def _difference(self, e: LabelEstimate) -> dict[str, Any]:
        values = {
            (single.target.run, single.target.measure): single.estimate.combined.value
            for single in self.result.estimates.estimates
        }
        return {
            "measure": e.target.measure,
            "column": None,
            "slice": None,
            "baseline": values[e.target.baseline, e.target.measure],
            "candidate": values[e.target.run, e.target.measure],
            "difference": e.estimate.combined.to_dict(),
            "p": e.p,
        }


def estimate(request: EstimateRequest, watch: RunWatch | None = None) -> EstimateResult:
    """Estimate the measures; `watch` wraps a run while it is read, to report progress."""
    files = request.files
    inputs = (files.qrels, request.human, request.pairs, *files.runs, files.queries, files.documents)
    refuse_inputs_as_outputs((request.next_file,), inputs)
    tables = request.files.open()
    human = _read_human(request)
    runs = [request.order.apply(run) for run in tables.runs]
    result = estimate_from_labels(
        tables.qrels,
        human,
        [watch(run) for run in runs] if watch else runs,
        request.measures,
        tables.queries,
        request.by,
        documents=tables.documents,
        chances=_read_chances(request),
        population=request.population,
        unit=request.unit,
        level=request.level,
        is_fixed=request.is_fixed,
        next_count=request.next_count,
        seed=request.seed,
    )
    if request.next_file:
        _write_pool(result.next_labels.pool, request.next_file)
    return EstimateResult(result, request.next_file)


def _read_human(request: EstimateRequest) -> Qrels:
    return (
        replace(request.files, qrels=request.human, runs=(), names=(), queries=None, documents=None)
        .open()
        .qrels
    )


def _read_chances(request: EstimateRequest) -> Run | None:
    """Return the inclusion probabilities of a pool, or of the human labels if their file has them."""
    if request.pairs:
        return _to_run(read_pool(request.pairs))
    if request.human == "-" or request.human.startswith("dataset:"):
        return None
    try:
        return _to_run(read_pool(request.human))
    except InputError:  # it has no such column
        return None


def _to_run(pool: PairProbabilities) -> Run:
    names = ("query_id", "doc_id", "score")
    return Run(dict(zip(names, (list(pool.query_ids), list(pool.doc_ids), pool.probabilities), strict=True)))


def _write_pool(pool: Sequence[NextPair], path: str) -> None:
    """Write the labelled pairs and those to label next as CSV, or as JSON lines by the extension."""
    names = ("query_id", "doc_id", _CHANCE, "is_labelled")
    if path.endswith((".jsonl", ".ndjson")):
        lines = [json.dumps(dict(zip(names, pair, strict=True)), ensure_ascii=False) for pair in pool]
    else:
        rows = [
            [p.query_id, p.doc_id, repr(p.inclusion_probability), str(p.is_labelled).lower()] for p in pool
        ]
        lines = [format_csv_row(row) for row in (names, *rows)]
    with open_for_writing(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())


class AssignedFiles(NamedTuple):
    """The paths of the labels of the model and of people, and of the runs."""

    model: str
    human: str
    runs: list[str]


def assign_files(paths: Sequence[str], human: str | None, model: str | None) -> AssignedFiles:
    """Return which files of a command are labels and which are runs.

    With --human and --model, all other files are runs, except for judgments before them, which are not
    used; with one of the two, the first file is the labels of the other.
    """
    first, *rest = paths
    if not (human and model) and (not rest or _is_run(first)):
        wanted = "a model (--model FILE" if human else "people (--human FILE"
        raise InputError(
            f"expected the labels of {wanted}, or the first file) and a run, found {first} first"
        )
    if human and model:
        runs = [*paths] if first not in (human, model) and _is_run(first) else rest
    else:
        runs = rest
    if not runs:
        raise InputError("expected one run or more, found none")
    return AssignedFiles(model or first, human or first, runs)


def _is_run(path: str) -> bool:
    """Whether the beginning of a file can be read as a run."""
    if path == "-":
        return True
    try:
        next(iter(open_run(path).blocks()), None)
    except InputError:
        return False
    return True
