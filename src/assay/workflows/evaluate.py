"""Score runs against judgments: what `assay eval` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assay import evaluation
from assay.core.errors import InputError
from assay.core.groups import RunBlocks
from assay.core.pair_probabilities import PairProbabilities
from assay.evaluation import DEFAULT_MEASURES, Evaluation
from assay.views.evaluation import evaluations_dict
from assay.workflows.inputs import RunWatch, Tables, read_configurations
from assay.workflows.recording import Recording, input_digests, record_runs
from assay.workflows.scoring import ScoringRequest

__all__ = ["DEFAULT_MEASURES", "EvaluateRequest", "EvaluateResult", "evaluate"]


@dataclass(frozen=True, kw_only=True)
class EvaluateRequest(ScoringRequest):
    """The runs to score and how to score them."""

    measures: Sequence[str] = DEFAULT_MEASURES
    only_common: bool = False
    unjudged: bool = False
    per_query: bool = False
    worst: int = 3  # how many of the worst queries to name
    population: str = "queries"  # what means are of, if the query table has inclusion probabilities
    pool: str | None = None  # the pool of the judgments, with inclusion probabilities

    def __post_init__(self) -> None:
        if self.worst < 0:
            raise InputError(f"--worst must be 0 or more, found {self.worst}")


@dataclass(frozen=True)
class EvaluateResult:
    """The evaluation of each run, and the tables they were made from."""

    evaluations: list[Evaluation]
    tables: Tables
    per_query: bool = False
    recordings: list[Recording] = field(default_factory=list)
    digests: Mapping[str, str] = field(default_factory=dict)  # of the inputs, if they were asked for

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluations as plain data, as `assay eval --format json` prints them."""
        return evaluations_dict(self.evaluations, self.per_query)


def evaluate(request: EvaluateRequest, watch: RunWatch | None = None) -> EvaluateResult:
    """Score each run; `watch` wraps a run while it is read, to report progress."""
    tables = request.files.open()
    configurations = read_configurations(request.config, [run.name for run in tables.runs], request.params)
    runs = request.prepare_runs(tables.runs)
    pool = _read_pool(request.pool) if request.pool else None
    evaluations = [_score(request, tables, watch(run) if watch else run, pool) for run in runs]
    digests = input_digests(tables, runs) if request.with_digests else {}
    result = EvaluateResult(evaluations, tables, request.per_query, digests=digests)
    if not request.with_recordings:
        return result
    recordings = record_runs(
        "eval", tables, runs, evaluations, configurations, only_common=request.only_common
    )
    return replace(result, recordings=recordings)


def _read_pool(path: str) -> PairProbabilities:
    from assay.datasets.pool_files import read_pool  # loads Polars

    return read_pool(path)


def _score(
    request: EvaluateRequest, tables: Tables, run: RunBlocks, pool: PairProbabilities | None
) -> Evaluation:
    return evaluation.evaluate(
        tables.qrels,
        run,
        request.measures,
        tables.queries,
        request.by,
        documents=tables.documents,
        only_common=request.only_common,
        unjudged=request.unjudged,
        level=request.level,
        seed=request.seed,
        order=request.order,
        population=request.population,
        pool=pool,
    )
