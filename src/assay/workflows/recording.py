"""What a result hands to `save`: its evaluations with everything that is recorded of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import InputError
from assay.core.groups import RunBlocks
from assay.core.recorded_run import RecordedRun, TopDocuments
from assay.core.score_order import ScoreOrder
from assay.core.tables import Documents, Qrels, Queries, Scores
from assay.evaluation import Evaluation
from assay.workflows.inputs import Tables
from assay.workflows.settings import PROJECT_FILE


@dataclass(frozen=True, kw_only=True)
class SaveRequest:
    """The name under which results are recorded, where, and the files recorded with them."""

    name: str
    store: str | None = None  # None: as `store_url` finds it
    tags: Sequence[str] = ()
    note: str = ""
    figures: str | None = None  # the path of costs and other numbers by name
    latencies: str | None = None  # the path of a file with a column latency_ms
    project: str | Path = PROJECT_FILE  # its [store] is used if no store is given
    with_texts: bool = True  # keep the texts of queries and of the documents in the rankings

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InputError("--save expects a name, found none")


@dataclass(frozen=True, kw_only=True)
class Recording:
    """An evaluation and everything that is recorded with it."""

    evaluation: Evaluation
    kind: str
    label: str = ""  # set if a request records several: the name is then NAME/label
    qrels: Qrels | None = None
    judgments: str | None = None  # the file with what each judge said
    queries: Queries | None = None
    documents: Documents | None = None
    run: str | None = None  # the digest of the run
    tops: Sequence[TopDocuments] = ()  # its first documents
    only_common: bool = False
    configuration: Mapping[str, Any] = field(default_factory=dict)
    latency: Mapping[str, float] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    losses: Scores | None = None  # of relevant documents by stage


class SavedExperiment(NamedTuple):
    """An experiment that was recorded."""

    name: str
    id: str
    store: str  # its URL, without secrets


def record_runs(
    kind: str,
    tables: Tables,
    runs: Sequence[RunBlocks],
    evaluations: Sequence[Evaluation],
    configurations: Mapping[str, Mapping[str, Any]],
    *,
    only_common: bool = False,
    result: Mapping[str, Any] | None = None,
) -> list[Recording]:
    """Return the recordings of evaluations, in the order of their runs, which `digest_runs` has wrapped."""
    return [
        Recording(
            evaluation=evaluation,
            kind=kind,
            label=evaluation.name if len(evaluations) > 1 else "",
            qrels=tables.qrels,
            judgments=tables.judgments,
            queries=tables.queries,
            documents=tables.documents,
            run=run_digest(run),
            tops=first_documents_of(run),
            only_common=only_common,
            configuration=configurations.get(evaluation.name, {}),
            result=result,
        )
        for evaluation, run in zip(evaluations, runs, strict=True)
    ]


def digest_runs(runs: Sequence[RunBlocks], order: ScoreOrder) -> list[RunBlocks]:
    """Wrap runs so that their digests and first documents are known once they are scored."""
    return [RecordedRun(run, order=order) for run in runs]


def input_digests(tables: Tables, runs: Sequence[RunBlocks]) -> dict[str, str]:
    """Return the digests of the tables and of the runs, which `digest_runs` has wrapped, by name."""
    named = {"judgments": tables.qrels, "queries": tables.queries, "documents": tables.documents}
    digests = {name: table.digest for name, table in named.items() if table is not None}
    return digests | {f"run {run.name}": digest for run in runs if (digest := run_digest(run))}


def run_digest(run: RunBlocks) -> str | None:
    """Return the digest of a run that was wrapped by `digest_runs` and scored, else None."""
    return run.digest if isinstance(run, RecordedRun) else None


def first_documents_of(run: RunBlocks) -> Sequence[TopDocuments]:
    """Return the first documents of a run that was wrapped by `digest_runs` and scored, else none."""
    return run.tops if isinstance(run, RecordedRun) else ()
