"""Measure how far raters agree: what `assay judge agreement` does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assay.core.errors import InputError
from assay.core.groups import RunBlocks, ScatteredQueryError, Segments
from assay.judging.agreement import AgreementReport, compute_agreement
from assay.measures import parse
from assay.workflows.inputs import TableFiles
from assay.workflows.judgment_inputs import open_judgments

DEFAULT_MEASURE = "nDCG@10"


@dataclass(frozen=True, kw_only=True)
class AgreementRequest:
    """The judgments of two raters or more, and what else to show."""

    judgments: Sequence[str]  # paths, JUDGE=PATH, project:NAME or dataset:NAME
    columns: Sequence[str] = ()  # NAME=COLUMN of the judgments
    labels: Sequence[str] = ()  # TEXT=GRADE
    file_format: str | None = None  # of the judgments
    queries: str | None = None
    documents: str | None = None
    by: Sequence[str] = ()  # the columns to slice by
    runs: Sequence[str] = ()  # scored by the labels of each rater
    names: Sequence[str] = ()  # of the runs
    measure: str = DEFAULT_MEASURE
    disagreements: int = 5  # how many to list
    level: float = 0.95
    seed: int = 0
    store: str | None = None

    def __post_init__(self) -> None:
        if self.disagreements < 0:
            raise InputError(f"--disagreements must be 0 or more, found {self.disagreements}")
        parse(self.measure)  # raises an error before files are read


@dataclass(frozen=True)
class AgreementResult:
    """How far the raters agree."""

    report: AgreementReport

    def to_dict(self) -> dict[str, Any]:
        """Return the agreement as plain data, as `assay judge agreement --format json` prints it."""
        return self.report.to_dict()


def measure_agreement(request: AgreementRequest) -> AgreementResult:
    """Return how far the raters of judgments agree, and where they do not."""
    judgments = open_judgments(
        request.judgments, request.columns, request.store, request.labels, request.file_format
    )
    files = TableFiles(
        runs=request.runs, names=request.names, queries=request.queries, documents=request.documents
    )
    queries, documents = files.open_unjudged()
    runs = [_RunInMemory(run) for run in files.open_runs()] if request.runs else []
    report = compute_agreement(
        judgments,
        queries,
        documents,
        request.by,
        runs,
        request.measure,
        request.disagreements,
        request.level,
        request.seed,
    )
    return AgreementResult(report)


class _RunInMemory:
    """A run whose blocks are read once and kept: it is scored by the labels of each rater."""

    def __init__(self, run: RunBlocks) -> None:
        self.name, self.tag, self.rank_changes, self._run = run.name, run.tag, run.rank_changes, run

    @cached_property
    def _blocks(self) -> list[Segments]:
        try:
            return list(self._run.blocks())
        except ScatteredQueryError:
            return list(self._run.blocks_in_memory())

    def blocks(self) -> Iterable[Segments]:
        """Return the blocks of complete queries."""
        return self._blocks

    blocks_in_memory = blocks
