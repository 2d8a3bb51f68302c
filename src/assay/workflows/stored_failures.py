"""Find the failing queries of an experiment from what the store keeps of it, and send them to annotation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from assay.core.errors import InputError, UndecidableError
from assay.core.rankings import Rankings
from assay.core.recent_values import RecentValues
from assay.core.records import Experiment
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.evaluation.failures import DEFAULT_TOP, Failure, Failures, failures
from assay.evaluation.stage_losses import FOUND, StageLosses
from assay.measures import Measure, parse
from assay.store.rankings import read_qrels, read_queries, read_rankings, read_texts
from assay.store.store import Store
from assay.views.failures import failures_dict
from assay.workflows.stored_losses import read_losses
from assay.workflows.stores import open_existing_store

DEFAULT_MEASURE = "R@10"
_NOT_QUALITY = ("Judged", "RBPResidual")
_FREQUENCY = "frequency"  # of a query in a log
_LISTED = 50  # experiments to choose from, the newest
_MOST_VALUES = 20  # of a column that makes slices by itself


@dataclass(frozen=True, kw_only=True)
class StoredFailuresRequest:
    """The experiment, what counts as a failure, and which of the failing queries to show."""

    experiment: str = ""  # empty: the newest whose rankings are kept
    measure: str = DEFAULT_MEASURE
    below: float = 0.5
    cause: str = ""
    stage: str = ""  # of the losses; those that lost a document there
    column: str = ""  # of a slice
    value: str = ""
    store: str | None = None


@dataclass(frozen=True)
class StoredFailures:
    """The failing queries of an experiment, as far as what is kept of it tells."""

    experiment: Experiment
    experiments: Sequence[Experiment]  # those to choose from
    failures: Failures | None  # None: the rankings or the judgments are not kept
    losses: StageLosses | None
    shown: Sequence[Failure]  # those of the cause, the stage and the slice
    missing: Sequence[str]  # what is not kept: rankings, judgments, query texts, document texts
    measures: Sequence[str] = ()
    columns: Sequence[str] = ()
    unread: int = 0  # relevant documents whose texts are not kept

    def to_dict(self) -> dict[str, Any]:
        """Return the failures as plain data, with the keys that `assay failures --format json` prints."""
        return {
            "experiment": self.experiment.id,
            "missing": list(self.missing),
            **({} if self.failures is None else failures_dict(self.failures)),
            "shown": [failure.query_id for failure in self.shown],
            "losses": None if self.losses is None else self.losses.to_dict(),
        }


@dataclass(frozen=True)
class NoExperiment:
    """No experiment in the store has rankings."""

    def to_dict(self) -> dict[str, Any]:
        """Return that there is none."""
        return {"experiment": None}


@dataclass(frozen=True)
class _KeptTables:
    """What the store keeps of an experiment, as far as causes need it."""

    rankings: Rankings | None
    qrels: Qrels | None
    queries: Queries | None
    documents: Documents | None
    unread: int


_tables = RecentValues[_KeptTables](2)  # by the database and the digests
_failures = RecentValues[Failures](8)


def find_stored_failures(request: StoredFailuresRequest) -> StoredFailures | NoExperiment:
    """Return the failing queries of an experiment with their causes."""
    with open_existing_store(request.store) as store:
        listed = [e for e in store.list(limit=_LISTED * 4, metrics_of=()) if "rankings" in e.digests][
            :_LISTED
        ]
        if not request.experiment and not listed:
            return NoExperiment()
        experiment = store.get(request.experiment or listed[0].id)
        key = (store.database.url, tuple(sorted(experiment.digests.items())))
        tables = _tables.get(key, lambda: _read_tables(store, experiment))
        losses = read_losses(store, experiment)
    missing = _missing_tables(tables)
    if tables.rankings is None or tables.qrels is None:
        return StoredFailures(experiment, listed, None, losses, (), missing)
    columns = _slice_columns(tables.queries)
    measure = str(parse(request.measure))
    measures = _known_measures(experiment, tables.rankings, measure)
    if measure not in measures:
        raise UndecidableError(
            f"{measure} needs more documents than are kept of {experiment.name} ({experiment.id}): "
            f"choose {', '.join(measures)}"
        )
    diagnosis = (*key, experiment.id, measure, request.below)
    result = _failures.get(diagnosis, lambda: _diagnose(tables, experiment, measure, request.below, columns))
    return StoredFailures(
        experiment,
        listed,
        result,
        losses,
        _select(result.failing, losses, request),
        missing,
        measures,
        columns,
        tables.unread,
    )


def _read_tables(store: Store, experiment: Experiment) -> _KeptTables:
    """Return the tables of an experiment, which never change."""
    rankings, qrels = read_rankings(store, experiment), read_qrels(store, experiment)
    documents, unread = _read_documents(store, experiment, rankings, qrels)
    return _KeptTables(rankings, qrels, read_queries(store, experiment), documents, unread)


def _read_documents(
    store: Store, experiment: Experiment, rankings: Rankings | None, qrels: Qrels | None
) -> tuple[Documents | None, int]:
    """Return the documents that were shown or are relevant, and how many relevant ones have no text.

    A relevant document without a text is in the table all the same: it may be in the corpus.
    """
    collection = experiment.digests.get("documents")
    if collection is None or rankings is None or qrels is None:
        return None, 0
    relevant = qrels.frame.filter(pl.col("grade") > 0)["doc_id"].unique(maintain_order=True).to_list()
    ids = list(dict.fromkeys([*rankings.frame["doc_id"].unique(maintain_order=True), *relevant]))
    texts = read_texts(store, collection, ids)
    names = list(dict.fromkeys(["title", "text", *(name for fields in texts.values() for name in fields)]))
    columns: dict[str, list[Any]] = {
        name: [texts.get(doc_id, {}).get(name, "" if name in ("title", "text") else None) for doc_id in ids]
        for name in names
    }
    return Documents({"doc_id": ids, **columns}), sum(doc_id not in texts for doc_id in relevant)


def _missing_tables(tables: _KeptTables) -> list[str]:
    has_query_texts = tables.queries is not None and "text" in tables.queries.columns
    kept = {
        "rankings": tables.rankings is not None,
        "judgments": tables.qrels is not None,
        "texts of queries": has_query_texts,
        "texts of documents": tables.documents is not None,
    }
    return [name for name, is_kept in kept.items() if not is_kept]


def _slice_columns(queries: Queries | None) -> list[str]:
    """Return the columns that make slices."""
    if queries is None:
        return []
    columns = {name: values for name, values in queries.columns.items() if name not in ("query_id", "text")}
    return [name for name, values in columns.items() if _makes_slices(name, values)]


def _makes_slices(name: str, values: Sequence[Any]) -> bool:
    """Return whether a column has few values, or is the frequency, which makes head, torso and tail."""
    if name == _FREQUENCY:
        return all(isinstance(value, int | float | None) for value in values) and len(set(values)) > 1
    is_plain = all(isinstance(value, str | int | bool | None) for value in values)
    return is_plain and 1 < len(set(values)) <= _MOST_VALUES


def _known_measures(experiment: Experiment, rankings: Rankings, asked: str) -> list[str]:
    """Return the measures that the kept documents suffice for: stored ones, and the one that is asked for."""
    depth = max(DEFAULT_TOP, _kept_depth(rankings))
    stored = [metric.measure for metric in experiment.metrics if not metric.column]
    measures = dict.fromkeys([DEFAULT_MEASURE, *stored, asked])
    return [name for name in measures if _is_known(parse(name), depth)]


def _is_known(measure: Measure, depth: int) -> bool:
    """Return whether a measure says how good a search is, and needs no more documents than there are."""
    return measure.name not in _NOT_QUALITY and measure.depth is not None and measure.depth <= depth


def _kept_depth(rankings: Rankings) -> int:
    most = rankings.frame["rank"].max()
    return most if isinstance(most, int) else 0


def _diagnose(
    tables: _KeptTables, experiment: Experiment, measure: str, below: float, columns: Sequence[str]
) -> Failures:
    assert tables.rankings is not None
    run = Run(tables.rankings.to_dict(), name=experiment.id)
    depth = max(parse(measure).depth or DEFAULT_TOP, _kept_depth(tables.rankings))
    return failures(
        tables.qrels,
        run,
        measure,
        below,
        tables.queries,
        columns,
        documents=tables.documents,
        depth=depth,
    )


def _select(
    failing: Sequence[Failure], losses: StageLosses | None, request: StoredFailuresRequest
) -> list[Failure]:
    """Return the failing queries of the cause, the stage and the slice."""
    lost = _queries_lost_at(losses, request.stage) if request.stage else frozenset()
    return [
        failure
        for failure in failing
        if request.cause in ("", failure.cause)
        and (not request.stage or failure.query_id in lost)
        and (not request.column or failure.slices.get(request.column) == request.value)
    ]


def _queries_lost_at(losses: StageLosses | None, stage: str) -> frozenset[str]:
    parts = [] if losses is None else losses.parts()
    names = [part.name for part in parts if part.name != FOUND]
    if stage not in names:
        raise InputError(f"stage: expected one of {', '.join(names) or 'none'}, found {stage!r}")
    return frozenset(next(part.queries for part in parts if part.name == stage))
