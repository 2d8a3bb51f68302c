"""Pools: which pairs of a query and a document are judged, from the top of several runs.

Pools by depth and by strata have known inclusion probabilities; those of `adaptive_pooling` have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Bools, Floats, Ints
from assay.core.errors import InputError
from assay.core.groups import RunBlocks, ScatteredQueryError, Segments
from assay.core.tables import Qrels
from assay.judging.sampling import allocate

Tops = Mapping[str, Mapping[str, Sequence[str]]]  # run, query: documents, best first
MAX_STRATA = 5  # of the pairs of one query
PAIRS_PER_STRATUM = 3  # so that every stratum has two or more: joint probabilities are then above 0


class PoolFrame:
    """All pairs in the top of the runs, each with its rank in every run (0: not in its top)."""

    def __init__(self, runs: list[str], query_ids: list[str], query: Ints, doc_ids: list[str], ranks: Ints):
        self.runs, self.query_ids = runs, query_ids
        self.query, self.doc_ids, self.ranks = query, doc_ids, ranks  # a row for each pair, by query

    def __len__(self) -> int:
        return len(self.doc_ids)

    @cached_property
    def best_rank(self) -> Ints:
        """The best rank of each pair in any run."""
        best: Ints = np.where(self.ranks > 0, self.ranks, np.iinfo(np.int64).max).min(axis=1)
        return best

    @cached_property
    def offsets(self) -> Ints:
        """Where the pairs of each query begin and end."""
        return np.searchsorted(self.query, np.arange(len(self.query_ids) + 1))

    def cut(self, depth: int) -> tuple[PoolFrame, Ints]:
        """Return the frame of a smaller depth, and where its pairs are in this one."""
        rows = np.flatnonzero(self.best_rank <= depth)
        docs = [self.doc_ids[row] for row in rows.tolist()]
        ranks = np.where(self.ranks[rows] <= depth, self.ranks[rows], 0)
        return PoolFrame(self.runs, self.query_ids, self.query[rows], docs, ranks), rows

    def rows_of(self, query: int) -> slice:
        """The rows of the pairs of a query."""
        return slice(int(self.offsets[query]), int(self.offsets[query + 1]))

    def pairs(self, rows: Ints) -> list[tuple[str, str]]:
        """Return the query and the document of each of these rows."""
        return [(self.query_ids[self.query[row]], self.doc_ids[row]) for row in rows.tolist()]

    def grades(self, qrels: Qrels | None) -> Floats:
        """Return the grade of each pair, NaN for one that is not judged."""
        if qrels is None:
            return np.full(len(self), np.nan)
        judged = qrels.to_dict()
        none: Mapping[str, float] = {}
        values = [
            judged.get(self.query_ids[query], none).get(doc, np.nan)
            for query, doc in zip(self.query.tolist(), self.doc_ids, strict=True)
        ]
        grades = np.array(values, np.float64)
        return np.where(grades < 0, np.nan, grades)  # a grade below 0: pooled, not judged


def read_top(run: RunBlocks, depth: int) -> dict[str, list[str]]:
    """Return the first documents of each query of a run, best first."""
    try:
        return _top_of_blocks(run.blocks(), depth)
    except ScatteredQueryError:
        return _top_of_blocks(run.blocks_in_memory(), depth)


def _top_of_blocks(blocks: Iterable[Segments], depth: int) -> dict[str, list[str]]:
    tops: dict[str, list[str]] = {}
    for block in blocks:
        counts, ids = block.top(np.arange(len(block.query_ids)), depth)
        docs, ends = ids.tolist(), np.cumsum(counts).tolist()
        for query, end, count in zip(block.query_ids, ends, counts.tolist(), strict=True):
            tops[query] = docs[end - count : end]
    return tops


def build_pool_frame(tops: Tops, depth: int, query_ids: Sequence[str] | None = None) -> PoolFrame:
    """Return the pairs in the first `depth` documents of any run, of these queries or of all.

    >>> frame = build_pool_frame({"a": {"q": ["x", "y"]}, "b": {"q": ["y", "z"]}}, 2)
    >>> frame.doc_ids, frame.ranks.tolist()
    (['x', 'y', 'z'], [[1, 0], [2, 1], [0, 2]])
    """
    if depth < 1:
        raise InputError(f"--depth must be 1 or more, found {depth}")
    wanted = dict.fromkeys(query_ids) if query_ids is not None else None
    answered = dict.fromkeys(query for top in tops.values() for query in top)
    queries = [query for query in (answered if wanted is None else wanted) if query in answered]
    if not queries:
        raise InputError("the runs have none of the queries: check that both use the same query ids")
    query, docs, ranks = list[int](), list[str](), list[list[int]]()
    for number, query_id in enumerate(queries):
        places: dict[str, list[int]] = {}
        for column, top in enumerate(tops.values()):
            for rank, doc in enumerate(top.get(query_id, ())[:depth], 1):
                places.setdefault(doc, [0] * len(tops))[column] = rank
        query += [number] * len(places)
        docs += places
        ranks += places.values()
    table = np.array(ranks, np.int64).reshape(len(docs), len(tops))
    return PoolFrame(list(tops), queries, np.array(query, np.int64), docs, table)


class Pool(NamedTuple):
    """The pairs to be judged, as rows of a frame."""

    rows: Ints
    probabilities: Floats  # to be in the pool; NaN: unknown, as the choice depends on labels
    strata: Sequence[str] = ()  # of each pair, if pairs were drawn at random
    depth: int | None = None  # to which all pairs are in the pool


def pool_by_depth(frame: PoolFrame, judged: Bools, depth: int, budget: int | None = None) -> Pool:
    """Return all pairs down to a depth: the given one, or the largest that costs no more than the budget."""
    if budget is not None:
        costs = depth_costs(frame, judged, range(1, depth + 1))
        depth = int(np.searchsorted(costs, budget, "right"))
        if not depth:
            raise InputError(f"--budget {budget:,} is below the {costs[0]:,} pairs of depth 1")
    rows = np.flatnonzero((frame.best_rank <= depth) & ~judged)
    return Pool(rows, np.ones(len(rows)), depth=depth)


def depth_costs(frame: PoolFrame, judged: Bools, depths: Iterable[int]) -> Ints:
    """Return the number of pairs without a label down to each depth."""
    ranks = np.sort(frame.best_rank[~judged])
    counts: Ints = np.searchsorted(ranks, np.array(list(depths), np.int64), "right")
    return counts


def pool_by_strata(frame: PoolFrame, judged: Bools, budget: int, rng: np.random.Generator) -> Pool:
    """Return a stratified random sample of the pairs of each query, with its inclusion probabilities.

    Pairs are ordered by the sum of 1 / rank over runs and cut into strata of doubling size, from each of
    which equally many are drawn: the top nearly surely, the rest with known probabilities (as statAP;
    Pavlu and Aslam 2007). Pairs with labels are left out: they are in the pool for certain.
    """
    waiting = [np.flatnonzero(~judged[frame.rows_of(q)]) for q in range(len(frame.query_ids))]
    sizes = np.array([len(rows) for rows in waiting], np.int64)
    least = int(np.minimum(sizes, 2).sum())
    if budget < least:
        raise InputError(
            f"--method stratified needs --budget of at least {least:,}: two pairs for each query"
        )
    priors = np.divide(1.0, frame.ranks, where=frame.ranks > 0, out=np.zeros(frame.ranks.shape)).sum(axis=1)
    rows, chances, strata = list[Ints](), list[Floats](), list[str]()
    counts = allocate(min(budget, int(sizes.sum())), sizes)
    for query, count in enumerate(counts.tolist()):
        members = frame.offsets[query] + waiting[query]
        members = members[np.argsort(-priors[members], kind="stable")]
        for number, part in enumerate(_cut_doubling(members, count), 1):
            size = min(len(part.members), part.sample_size)
            rows.append(rng.choice(part.members, size, replace=False))
            chances.append(np.full(size, size / len(part.members)))
            strata += [str(number)] * size
    return Pool(np.concatenate(rows), np.concatenate(chances), strata)


class _Part(NamedTuple):
    members: Ints
    sample_size: int


def _cut_doubling(members: Ints, count: int) -> list[_Part]:
    """Return members cut into strata of doubling size, from each of which equally many are drawn."""
    if not count:
        return []
    strata = min(max(count // PAIRS_PER_STRATUM, 1), MAX_STRATA)
    shares = np.cumsum(2.0 ** np.arange(strata)) / (2**strata - 1)
    parts = np.split(members, np.round(shares[:-1] * len(members)).astype(np.int64))
    parts = [part for part in parts if len(part)]
    counts = allocate(count, np.array([len(part) for part in parts]))
    return [_Part(part, int(n)) for part, n in zip(parts, counts, strict=True)]


def shuffle_pairs(frame: PoolFrame, pool: Pool, rng: np.random.Generator) -> Pool:
    """Return a pool in a random order: the queries, and the documents of each."""
    queries = rng.permutation(len(frame.query_ids))
    order = np.lexsort((rng.random(len(pool.rows)), queries[frame.query[pool.rows]]))
    strata = [pool.strata[place] for place in order.tolist()] if pool.strata else ()
    return Pool(pool.rows[order], pool.probabilities[order], strata, pool.depth)
