"""At which stage of a search relevant documents are lost.

A search is a sequence of checkpoints: the corpus, what exact search over the encoder's vectors would
return, what was retrieved, fused, filtered, reranked, and what was shown. A relevant document that is
not shown is lost at the checkpoint after the last one that had it. So every relevant document is
counted once, and the parts add up to the whole for every query.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.core.errors import UndecidableError
from assay.core.tables import Qrels, Run
from assay.stats.bounded_means import UNIT
from assay.stats.intervals import Estimate, estimate
from assay.stats.paired_differences import subtract
from assay.stats.resampling import resampled_means

FOUND = "found"
_RESAMPLES = 2000


class Checkpoint(NamedTuple):
    """A stage of the search: its name, the name of a loss there, and the documents it had."""

    name: str
    loss_name: str  # such as "lost by the index"
    documents: Run | Collection[str] | Mapping[str, Collection[str]]  # ids alone: the same for every query
    is_ceiling: bool = True  # False: it only divides losses, and later stages may show more than it had


class StageOutput(NamedTuple):
    """The documents that a stage would show if it were the last, and the stages it is compared with."""

    name: str
    documents: Mapping[str, Collection[str]]
    against: tuple[str, ...] = ()


class LossPart(NamedTuple):
    """How many relevant documents were lost at one stage, and for which queries."""

    name: str
    documents: int
    share: Estimate  # of all relevant documents; its interval is over queries
    queries: list[str]  # the queries that lost documents there, most first


class RecallCeiling(NamedTuple):
    """The recall at a checkpoint: no later stage can show more."""

    name: str
    recall: Estimate
    change: Estimate | None  # of the recall since the checkpoint before


class StageEffect(NamedTuple):
    """How many relevant documents a stage adds to the documents shown, and how many it removes."""

    name: str
    recall: Estimate
    against: str | None = None
    change: Estimate | None = None  # of the recall of each query
    added_documents: int = 0  # relevant documents that are shown now
    removed_documents: int = 0  # relevant documents that are no longer shown

    def to_dict(self) -> dict[str, Any]:
        """Return the effect as plain data."""
        return {
            "name": self.name,
            "recall": self.recall.to_dict(),
            "against": self.against,
            "change": self.change and self.change.to_dict(),
            "came": self.added_documents,
            "left": self.removed_documents,
        }


@dataclass(frozen=True)
class StageLosses:
    """The relevant documents of one search that were lost at each stage."""

    names: list[str]  # of the parts; the last is FOUND
    query_ids: list[str]
    counts: Ints  # queries × parts
    recalls: Floats  # queries × checkpoints
    checkpoints: list[str]
    level: float = 0.95
    excluded_queries: int = 0  # the number of queries that were not answered
    steps: Sequence[StageEffect] = ()  # of a pipeline

    def parts(self, rows: Sequence[int] | None = None) -> list[LossPart]:
        """The losses at each stage, of all queries or of some rows."""
        counts = self.counts if rows is None else self.counts[list(rows)]
        ids = self.query_ids if rows is None else [self.query_ids[row] for row in rows]
        shares = _estimate_shares(counts, self.level)
        parts = []
        for part, name in enumerate(self.names):
            column = counts[:, part]
            order = np.argsort(-column, kind="stable")[: int((column > 0).sum())]
            parts.append(
                LossPart(name, int(column.sum()), shares[part], [ids[row] for row in order.tolist()])
            )
        return parts

    def ceilings(self) -> list[RecallCeiling]:
        """The recall that each checkpoint still allows, and its change since the checkpoint before."""
        ceilings = []
        for place, name in enumerate(self.checkpoints):
            column = self.recalls[:, place]
            change = subtract(column, self.recalls[:, place - 1]) if place else None
            change_estimate = None if change is None else estimate(change, "mean", self.level)
            ceilings.append(
                RecallCeiling(name, estimate(column, "mean", self.level, bounds=UNIT), change_estimate)
            )
        return ceilings

    def of_query(self, query: str) -> dict[str, int]:
        """How many relevant documents of a query were lost at each stage."""
        row = self.counts[self.query_ids.index(query)]
        return {name: int(count) for name, count in zip(self.names, row, strict=True) if count}

    def parts_of_queries(self, queries: Collection[str]) -> list[LossPart]:
        """The losses at each stage of these queries alone."""
        query_set = frozenset(queries)
        return self.parts([row for row, query in enumerate(self.query_ids) if query in query_set])

    def to_dict(self) -> dict[str, Any]:
        """The losses as plain data."""
        parts = [{**p._asdict(), "share": p.share.to_dict()} for p in self.parts()]
        ceilings = [
            {"name": c.name, "recall": c.recall.to_dict(), "change": c.change and c.change.to_dict()}
            for c in self.ceilings()
        ]
        per_query = {query: self.of_query(query) for query in self.query_ids}
        return {
            "parts": parts,
            "ceilings": ceilings,
            "steps": [step.to_dict() for step in self.steps],
            "per_query": per_query,
            "left_out": self.excluded_queries,
        }


def trace_losses(
    qrels: Qrels,
    checkpoints: Sequence[Checkpoint],
    rel: int = 1,
    level: float = 0.95,
    only: Collection[str] | None = None,
    stage_outputs: Sequence[StageOutput] = (),
) -> StageLosses:
    """Trace every relevant document (of at least a grade) through the checkpoints, of all queries or some.

    `stage_outputs` are the documents that stages would show, for what each stage adds and removes.

    >>> corpus = Checkpoint("corpus", "not in the corpus", {"a", "b"})
    >>> shown = Checkpoint("shown", "cut off", Run({"q": {"a": 1}}))
    >>> trace_losses(Qrels({"q": {"a": 1, "b": 1, "c": 1}}), [corpus, shown]).of_query("q")
    {'not in the corpus': 1, 'cut off': 1, 'found': 1}
    """
    all_relevant = {
        query: documents
        for query, docs in qrels.to_dict().items()
        if (documents := _relevant_documents(docs, rel))
    }
    relevant = {
        query: documents for query, documents in all_relevant.items() if only is None or query in only
    }
    if not relevant:
        raise UndecidableError(f"no query has a document of grade {rel} or more, so nothing can be lost")
    lookups = [_document_lookup(checkpoint.documents) for checkpoint in checkpoints]
    ceiling_places = [place for place, checkpoint in enumerate(checkpoints) if checkpoint.is_ceiling]
    names = [checkpoint.loss_name for checkpoint in checkpoints] + [FOUND]
    counts = np.zeros((len(relevant), len(names)), np.int64)
    recalls = np.zeros((len(relevant), len(ceiling_places)))
    for row, (query, documents) in enumerate(relevant.items()):
        has_document = np.array([[doc in lookup(query) for lookup in lookups] for doc in documents])
        recalls[row] = has_document.mean(axis=0)[ceiling_places]
        counts[row] = np.bincount(_loss_places(has_document), minlength=len(names))
    ceiling_names = [checkpoints[place].name for place in ceiling_places]
    excluded = len(all_relevant) - len(relevant)
    effects = _stage_effects(relevant, stage_outputs, level)
    return StageLosses(names, list(relevant), counts, recalls, ceiling_names, level, excluded, effects)


def _stage_effects(
    relevant: Mapping[str, list[str]], stage_outputs: Sequence[StageOutput], level: float
) -> list[StageEffect]:
    """The effect of each stage, compared with the best of the stages before it."""
    effects: list[StageEffect] = []
    is_shown = {stage.name: _shown_relevant(relevant, stage) for stage in stage_outputs}
    recalls = {
        name: np.array([float(flags_of_query.mean()) for flags_of_query in flags])
        for name, flags in is_shown.items()
    }
    for stage in stage_outputs:
        recall_estimate = estimate(recalls[stage.name], "mean", level, bounds=UNIT)
        if not stage.against:
            effects.append(StageEffect(stage.name, recall_estimate))
            continue
        best = max(stage.against, key=lambda name: float(recalls[name].mean()))
        now, before = (np.concatenate(is_shown[name]) for name in (stage.name, best))
        change = estimate(subtract(recalls[stage.name], recalls[best]), "mean", level)
        effects.append(
            StageEffect(
                stage.name,
                recall_estimate,
                best,
                change,
                int((now & ~before).sum()),
                int((before & ~now).sum()),
            )
        )
    return effects


def _shown_relevant(relevant: Mapping[str, list[str]], stage: StageOutput) -> list[np.ndarray[Any, Any]]:
    """Which relevant documents of each query are shown."""
    lookup = _document_lookup(stage.documents)
    return [np.array([doc in lookup(query) for doc in documents]) for query, documents in relevant.items()]


def _relevant_documents(docs: Mapping[str, float], rel: int) -> list[str]:
    return [doc for doc, grade in docs.items() if grade >= rel]


def _document_lookup(
    documents: Run | Collection[str] | Mapping[str, Collection[str]],
) -> Callable[[str], Collection[str]]:
    """A function that returns the documents of a query."""
    documents_by_query = documents.to_dict() if isinstance(documents, Run) else documents
    if not isinstance(documents_by_query, Mapping):
        all_documents = frozenset(documents_by_query)
        return lambda query: all_documents
    sets = {query: frozenset(docs) for query, docs in documents_by_query.items()}
    return lambda query: sets.get(query, frozenset())


def _loss_places(has_document: np.ndarray[Any, Any]) -> Ints:
    """For each document the checkpoint at which it was lost: the one after the last that had it."""
    places = np.arange(1, has_document.shape[1] + 1)
    last_places: Ints = np.where(has_document, places, 0).max(axis=1)
    return last_places


def _estimate_shares(counts: Ints, level: float) -> list[Estimate]:
    """The share of each part in all documents, with percentile intervals over resampled queries."""
    totals = counts.sum(axis=0)
    n = len(counts)
    shares = totals / max(1, totals.sum())
    if n < 2:
        return [Estimate(float(share), None, None, level, n) for share in shares]
    means = resampled_means(counts.astype(np.float64), _RESAMPLES, 0)
    sampled_shares = means / np.maximum(means.sum(axis=1, keepdims=True), 1e-300)
    low, high = np.quantile(sampled_shares, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return [
        Estimate(float(s), float(a), float(b), level, n, is_resampled=True)
        for s, a, b in zip(shares, low, high, strict=True)
    ]
