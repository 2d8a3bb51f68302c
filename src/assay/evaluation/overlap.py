"""How alike two runs are, whatever their documents are worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.core.groups import expand
from assay.core.texts import Floats, Ints, Words, mix
from assay.evaluation.matching import Tops
from assay.stats import Estimate, estimate

DEEP = 100  # documents of each query that are looked at
_PERSISTENCE = 0.9


class Overlap(NamedTuple):
    """The likeness of two runs' rankings, averaged over the queries."""

    k: int
    jaccard: Estimate  # documents in both top k, over documents in either
    rbo: Estimate  # rank-biased overlap, p = 0.9
    same_first: Estimate  # share of queries with the same first document
    same_order: Estimate  # share of queries with the same top k in the same order


def overlap(
    first: Tops,
    second: Tops,
    k: int = 10,
    level: float = 0.95,
    seed: int = 0,
    kept: Ints | None = None,
) -> Overlap:
    """Compare the first documents of each query (of those kept); one without any in either is left out."""
    query, rank, other = _shared(first, second)
    lengths, others = np.diff(first.offsets), np.diff(second.offsets)
    made = (
        _jaccard(query, np.maximum(rank, other), np.minimum(lengths, k), np.minimum(others, k), k),
        rank_biased_overlap(query, np.maximum(rank, other), lengths, others),
    )
    there = np.maximum(lengths, others) > 0
    in_place = (rank == other) & (rank <= k)
    places = np.bincount(query[in_place], minlength=len(lengths))
    firsts = np.bincount(query[in_place & (rank == 1)], minlength=len(lengths))
    same = (places == np.minimum(lengths, k)) & (places == np.minimum(others, k))
    shares = [np.where(there, flags, np.nan) for flags in (firsts > 0, same)]
    rows = np.arange(len(lengths)) if kept is None else kept
    means = [estimate(values[rows], "mean", level, seed) for values in made]
    return Overlap(k, means[0], means[1], *(estimate(values[rows], "share", level) for values in shares))


def _shared(first: Tops, second: Tops) -> tuple[Ints, Ints, Ints]:
    """The documents that stand in both lists of a query: query and both ranks."""
    (query, rank, keys), (_, other, others) = _listed(first), _listed(second)
    _, at, also = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
    return query[at], rank[at], other[also]


def _listed(tops: Tops) -> tuple[Ints, Ints, Words]:
    """Query, rank and a number for query and document together, of all documents."""
    lengths = np.diff(tops.offsets)
    query = np.repeat(np.arange(len(lengths)), lengths)
    rank = expand(np.ones_like(lengths), lengths)
    return query, rank, mix(mix(query.astype(np.uint64) + np.uint64(1)) ^ tops.ids.keys())


def _jaccard(query: Ints, deepest: Ints, lengths: Ints, others: Ints, k: int) -> Floats:
    both = np.bincount(query[deepest <= k], minlength=len(lengths))
    either = lengths + others - both
    made: Floats = np.divide(both, either, where=either > 0, out=np.full(len(lengths), np.nan))
    return made


def rank_biased_overlap(
    query: Ints, deepest: Ints, lengths: Ints, others: Ints, p: float = _PERSISTENCE
) -> Floats:
    """Rank-biased overlap of each query, extrapolated past the lists' ends (Webber 2010, eq. 32).

    `deepest` is the larger of both ranks of a document that stands in both lists.
    """
    short, long = np.minimum(lengths, others), np.maximum(lengths, others)
    depth = int(long.max(initial=1))
    found = np.zeros((len(lengths), depth + 1))
    np.add.at(found, (query, deepest), 1.0)
    shared = np.cumsum(found, axis=1)  # documents in both lists down to each rank
    d = np.arange(1, depth + 1)
    rows = np.arange(len(lengths))
    at_short, at_long = shared[rows, short], shared[rows, long]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = at_short / short  # agreement where the shorter list ends, kept up past it
        beyond = np.where(d > short[:, None], share[:, None] * (d - short[:, None]) / d, 0.0)
        terms = np.where(d <= long[:, None], (shared[:, 1:] / d + beyond) * p**d, 0.0)
        rest = ((at_long - at_short) / long + share) * p**long
        made = (1 - p) / p * terms.sum(axis=1) + rest
    return np.where(short > 0, made, np.where(long > 0, 0.0, np.nan))
