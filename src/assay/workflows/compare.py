"""Compare candidate runs with a baseline: what `assay compare` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assay.core.errors import InputError
from assay.evaluation.compare import COMPARISON_MEASURES, DEFAULT_MARGIN, Comparisons
from assay.evaluation.compare import compare as compare_runs
from assay.stats.corrections import CORRECTIONS
from assay.stats.paired_tests import TESTS
from assay.views.compare import comparisons_dict
from assay.views.readings import describe_reading
from assay.workflows.inputs import RunWatch, Tables, read_configurations
from assay.workflows.recording import Recording, input_digests, record_runs
from assay.workflows.scoring import ScoringRequest

__all__ = [
    "COMPARISON_MEASURES",
    "CORRECTIONS",
    "DEFAULT_MARGIN",
    "TESTS",
    "CompareRequest",
    "CompareResult",
    "compare",
]


@dataclass(frozen=True, kw_only=True)
class CompareRequest(ScoringRequest):
    """The runs to compare, the first of them the baseline, and how to compare them."""

    measures: Sequence[str] = COMPARISON_MEASURES
    test: str = "t"
    correction: str = "holm"
    margin: float = DEFAULT_MARGIN  # the smallest difference that matters
    permutations: int | None = None
    only_common: bool = False
    movers: int = 3  # how many winners and losers to name

    def __post_init__(self) -> None:
        if self.movers < 0:
            raise InputError(f"--movers must be 0 or more, found {self.movers}")


@dataclass(frozen=True)
class CompareResult:
    """The comparisons, and the texts of the queries they name."""

    comparisons: Comparisons
    texts: Mapping[str, str]
    movers: int = 3
    recordings: list[Recording] = field(default_factory=list)
    digests: Mapping[str, str] = field(default_factory=dict)  # of the inputs, if they were asked for

    def to_dict(self) -> dict[str, Any]:
        """Return the comparisons as plain data, as `assay compare --format json` prints them."""
        return comparisons_dict(self.comparisons, self.movers)


def compare(request: CompareRequest, watch: RunWatch | None = None) -> CompareResult:
    """Compare the runs; `watch` wraps a run while it is read, to report progress."""
    tables = request.files.open()
    configurations = read_configurations(request.config, [run.name for run in tables.runs], request.params)
    runs = request.prepare_runs(tables.runs)
    watched = [watch(run) for run in runs] if watch else runs
    comparisons = _compare(request, tables._replace(runs=watched), configurations)
    digests = input_digests(tables, runs) if request.with_digests else {}
    result = CompareResult(comparisons, tables.texts(), request.movers, digests=digests)
    if not request.with_recordings:
        return result
    recordings = record_runs(
        "compare",
        tables,
        runs,
        comparisons.evaluations,
        configurations,
        only_common=request.only_common,
        result={"readings": [describe_reading(reading) for reading in comparisons.readings]},
    )
    return replace(result, recordings=recordings)


def _compare(
    request: CompareRequest, tables: Tables, configurations: Mapping[str, Mapping[str, Any]]
) -> Comparisons:
    baseline, *candidates = tables.runs
    return compare_runs(
        tables.qrels,
        baseline,
        candidates,
        request.measures,
        tables.queries,
        request.by,
        documents=tables.documents,
        only_common=request.only_common,
        configurations=configurations,
        test=request.test,
        correction=request.correction,
        margin=request.margin,
        level=request.level,
        seed=request.seed,
        order=request.order,
        permutations=request.permutations,
    )
