"""Where relevant documents are lost on their way through a search: the waterfall.

A search is seen as checkpoints in their order: the corpus, what exact search over the encoder's vectors would
have brought, what was retrieved, fused, filtered, reranked, and what was shown. A relevant document that is
not shown is lost at the checkpoint after the last one that still had it. So every relevant document is
counted once, and the parts add up to the whole, for every query.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from assay.core.errors import UndecidableError
from assay.core.tables import Qrels, Run
from assay.core.texts import Floats, Ints
from assay.stats.intervals import Estimate, estimate
from assay.stats.resampling import resampled_means

FOUND = "found"
_RESAMPLES = 2000


class Checkpoint(NamedTuple):
    """A place on the way: what it is called, how a loss there is told, and what it had."""

    name: str
    lost: str  # such as "lost by the index"
    holds: Run | Collection[str] | Mapping[str, Collection[str]]  # ids alone: the same for every query
    bounds: bool = True  # False: it tells losses apart, and later stages may show more than it had


class Shown(NamedTuple):
    """What a stage would have shown, were it the last, and those of which it is held against the best."""

    name: str
    documents: Mapping[str, Collection[str]]
    against: tuple[str, ...] = ()


class Part(NamedTuple):
    """A bar of the waterfall: how many relevant documents were lost there, of all, and for which queries."""

    name: str
    documents: int
    share: Estimate  # of all relevant documents; its interval is over queries
    queries: list[str]  # that lost some there, most first


class Ceiling(NamedTuple):
    """How much of what is relevant a checkpoint still had: no later stage can show more."""

    name: str
    recall: Estimate
    change: Estimate | None  # of the recall from the checkpoint before


class Step(NamedTuple):
    """What a stage added to what is shown, and what it took away from it."""

    name: str
    recall: Estimate
    against: str | None = None
    change: Estimate | None = None  # of the recall of each query
    came: int = 0  # relevant documents that are shown now
    left: int = 0  # that are no longer


@dataclass(frozen=True)
class Losses:
    """The waterfall of one search."""

    names: list[str]  # of the parts, the last is FOUND
    query_ids: list[str]
    counts: Ints  # queries × parts
    recalls: Floats  # queries × checkpoints
    checkpoints: list[str]
    level: float = 0.95
    left_out: int = 0  # queries that were not answered, so that nothing was lost on the way
    steps: Sequence[Step] = ()  # of a pipeline

    def parts(self, rows: Sequence[int] | None = None) -> list[Part]:
        """The bars, of all queries or of some."""
        counts = self.counts if rows is None else self.counts[list(rows)]
        ids = self.query_ids if rows is None else [self.query_ids[row] for row in rows]
        shares = _shares(counts, self.level)
        made = []
        for part, name in enumerate(self.names):
            column = counts[:, part]
            order = np.argsort(-column, kind="stable")[: int((column > 0).sum())]
            made.append(Part(name, int(column.sum()), shares[part], [ids[row] for row in order.tolist()]))
        return made

    def ceilings(self) -> list[Ceiling]:
        """The recall that each checkpoint still allows, and what changed on the way to it."""
        made = []
        for place, name in enumerate(self.checkpoints):
            column = self.recalls[:, place]
            change = column - self.recalls[:, place - 1] if place else None
            moved = None if change is None else estimate(change, "mean", self.level)
            made.append(Ceiling(name, estimate(column, "mean", self.level), moved))
        return made

    def of_query(self, query: str) -> dict[str, int]:
        """How many relevant documents of a query were lost where."""
        row = self.counts[self.query_ids.index(query)]
        return {name: int(count) for name, count in zip(self.names, row, strict=True) if count}

    def among(self, queries: Collection[str]) -> list[Part]:
        """The bars of these queries alone, as far as they are here."""
        wanted = frozenset(queries)
        return self.parts([row for row, query in enumerate(self.query_ids) if query in wanted])

    def to_dict(self) -> dict[str, Any]:
        """The waterfall as plain data."""
        parts = [{**p._asdict(), "share": p.share.to_dict()} for p in self.parts()]
        ceilings = [
            {"name": c.name, "recall": c.recall.to_dict(), "change": c.change and c.change.to_dict()}
            for c in self.ceilings()
        ]
        per_query = {query: self.of_query(query) for query in self.query_ids}
        steps = [
            {**s._asdict(), "recall": s.recall.to_dict(), "change": s.change and s.change.to_dict()}
            for s in self.steps
        ]
        made = {"parts": parts, "ceilings": ceilings, "steps": steps}
        return {**made, "per_query": per_query, "left_out": self.left_out}


def losses(
    qrels: Qrels,
    checkpoints: Sequence[Checkpoint],
    rel: int = 1,
    level: float = 0.95,
    only: Collection[str] | None = None,
    shown: Sequence[Shown] = (),
) -> Losses:
    """Follow every relevant document (of at least a grade) through the checkpoints, of all queries or some.

    Of what stages would have shown it is told beside that what each added and took away.

    >>> corpus = Checkpoint("corpus", "not in the corpus", {"a", "b"})
    >>> shown = Checkpoint("shown", "cut off", Run({"q": {"a": 1}}))
    >>> losses(Qrels({"q": {"a": 1, "b": 1, "c": 1}}), [corpus, shown]).of_query("q")
    {'not in the corpus': 1, 'cut off': 1, 'found': 1}
    """
    judged = {query: wanted for query, docs in qrels.to_dict().items() if (wanted := _wanted(docs, rel))}
    relevant = {query: wanted for query, wanted in judged.items() if only is None or query in only}
    if not relevant:
        raise UndecidableError(f"no query has a document of grade {rel} or more: nothing can be lost")
    held = [_of_query(checkpoint.holds) for checkpoint in checkpoints]
    bounds = [place for place, checkpoint in enumerate(checkpoints) if checkpoint.bounds]
    names = [checkpoint.lost for checkpoint in checkpoints] + [FOUND]
    counts = np.zeros((len(relevant), len(names)), np.int64)
    recalls = np.zeros((len(relevant), len(bounds)))
    for row, (query, wanted) in enumerate(relevant.items()):
        had = np.array([[doc in one(query) for one in held] for doc in wanted])
        recalls[row] = had.mean(axis=0)[bounds]
        counts[row] = np.bincount(_lost(had), minlength=len(names))
    places = [checkpoints[place].name for place in bounds]
    left_out, steps = len(judged) - len(relevant), _steps(relevant, shown, level)
    return Losses(names, list(relevant), counts, recalls, places, level, left_out, steps)


def _steps(relevant: Mapping[str, list[str]], shown: Sequence[Shown], level: float) -> list[Step]:
    """The stages, each held against the best of those before it."""
    made: list[Step] = []
    found = {one.name: _shown(relevant, one) for one in shown}
    recalls = {name: np.array([float(had.mean()) for had in of_it]) for name, of_it in found.items()}
    for one in shown:
        own = estimate(recalls[one.name], "mean", level)
        if not one.against:
            made.append(Step(one.name, own))
            continue
        best = max(one.against, key=lambda name: float(recalls[name].mean()))
        now, before = (np.concatenate(found[name]) for name in (one.name, best))
        change = estimate(recalls[one.name] - recalls[best], "mean", level)
        made.append(Step(one.name, own, best, change, int((now & ~before).sum()), int((before & ~now).sum())))
    return made


def _shown(relevant: Mapping[str, list[str]], one: Shown) -> list[np.ndarray[Any, Any]]:
    """Which relevant documents of each query are shown."""
    there = _of_query(one.documents)
    return [np.array([doc in there(query) for doc in wanted]) for query, wanted in relevant.items()]


def _wanted(docs: Mapping[str, float], rel: int) -> list[str]:
    return [doc for doc, grade in docs.items() if grade >= rel]


def _of_query(
    held: Run | Collection[str] | Mapping[str, Collection[str]],
) -> Callable[[str], Collection[str]]:
    """What was there for each query, quickly looked up."""
    holds = held.to_dict() if isinstance(held, Run) else held
    if not isinstance(holds, Mapping):
        everything = frozenset(holds)
        return lambda query: everything
    sets = {query: frozenset(docs) for query, docs in holds.items()}
    return lambda query: sets.get(query, frozenset())


def _lost(had: np.ndarray[Any, Any]) -> Ints:
    """For each document the checkpoint at which it was lost: the one after the last that had it."""
    places = np.arange(1, had.shape[1] + 1)
    made: Ints = np.where(had, places, 0).max(axis=1)
    return made


def _shares(counts: Ints, level: float) -> list[Estimate]:
    """The share of each part in all documents, with percentile intervals over resampled queries."""
    totals = counts.sum(axis=0)
    n = len(counts)
    shares = totals / max(1, totals.sum())
    if n < 2:
        return [Estimate(float(share), None, None, level, n) for share in shares]
    means = resampled_means(counts.astype(np.float64), _RESAMPLES, 0)
    drawn = means / np.maximum(means.sum(axis=1, keepdims=True), 1e-300)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return [
        Estimate(float(s), float(a), float(b), level, n) for s, a, b in zip(shares, low, high, strict=True)
    ]
