"""The overlap of two runs, regardless of relevance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints, Words
from assay.core.groups import expand_ranges
from assay.core.strings import mix
from assay.evaluation.matching import Tops
from assay.stats import Estimate, estimate
from assay.stats.bounded_means import UNIT

OVERLAP_DEPTH = 100  # the number of documents of each query that are compared
_PERSISTENCE = 0.9


class Overlap(NamedTuple):
    """The similarity of the rankings of two runs, averaged over the queries."""

    k: int
    jaccard: Estimate  # documents in both top k, over documents in either
    rbo: Estimate  # rank-biased overlap, p = 0.9
    same_first: Estimate  # share of queries with the same first document
    same_order: Estimate  # share of queries with the same top k in the same order


def measure_overlap(
    first: Tops,
    second: Tops,
    k: int = 10,
    level: float = 0.95,
    rows: Ints | None = None,
) -> Overlap:
    """Compare the first documents of each query (of these rows); a query without any is left out."""
    query, rank, other = _shared_documents(first, second)
    lengths, others = np.diff(first.offsets), np.diff(second.offsets)
    similarities = (
        _jaccard(query, np.maximum(rank, other), np.minimum(lengths, k), np.minimum(others, k), k),
        rank_biased_overlap(query, np.maximum(rank, other), lengths, others),
    )
    has_documents = np.maximum(lengths, others) > 0
    in_place = (rank == other) & (rank <= k)
    places = np.bincount(query[in_place], minlength=len(lengths))
    firsts = np.bincount(query[in_place & (rank == 1)], minlength=len(lengths))
    same = (places == np.minimum(lengths, k)) & (places == np.minimum(others, k))
    shares = [np.where(has_documents, flags, np.nan) for flags in (firsts > 0, same)]
    kept_rows = np.arange(len(lengths)) if rows is None else rows
    means = [estimate(values[kept_rows], "mean", level, bounds=UNIT) for values in similarities]
    return Overlap(k, means[0], means[1], *(estimate(values[kept_rows], "share", level) for values in shares))


def _shared_documents(first: Tops, second: Tops) -> tuple[Ints, Ints, Ints]:
    """The documents that are in both lists of a query: query and both ranks."""
    (query, rank, keys), (_, other, others) = _document_keys(first), _document_keys(second)
    _, places, other_places = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
    return query[places], rank[places], other[other_places]


def _document_keys(tops: Tops) -> tuple[Ints, Ints, Words]:
    """Query, rank and a key of query and document, for all documents."""
    lengths = np.diff(tops.offsets)
    query = np.repeat(np.arange(len(lengths)), lengths)
    rank = expand_ranges(np.ones_like(lengths), lengths)
    return query, rank, mix(mix(query.astype(np.uint64) + np.uint64(1)) ^ tops.ids.keys())


def _jaccard(query: Ints, deepest: Ints, lengths: Ints, others: Ints, k: int) -> Floats:
    both = np.bincount(query[deepest <= k], minlength=len(lengths))
    either = lengths + others - both
    similarity: Floats = np.divide(both, either, where=either > 0, out=np.full(len(lengths), np.nan))
    return similarity


def rank_biased_overlap(
    query: Ints, deepest: Ints, lengths: Ints, others: Ints, p: float = _PERSISTENCE
) -> Floats:
    """Rank-biased overlap of each query, extrapolated past the lists' ends (Webber 2010, eq. 32).

    `deepest` is the larger of both ranks of a document that is in both lists.
    """
    short, long = np.minimum(lengths, others), np.maximum(lengths, others)
    depth = int(long.max(initial=1))
    new_shared = np.zeros((len(lengths), depth + 1))
    np.add.at(new_shared, (query, deepest), 1.0)
    shared = np.cumsum(new_shared, axis=1)  # documents in both lists down to each rank
    d = np.arange(1, depth + 1)
    rows = np.arange(len(lengths))
    at_short, at_long = shared[rows, short], shared[rows, long]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = at_short / short  # the agreement at the end of the shorter list, assumed to continue
        beyond = np.where(d > short[:, None], share[:, None] * (d - short[:, None]) / d, 0.0)
        terms = np.where(d <= long[:, None], (shared[:, 1:] / d + beyond) * p**d, 0.0)
        rest = ((at_long - at_short) / long + share) * p**long
        overlap = (1 - p) / p * terms.sum(axis=1) + rest
    return np.where(short > 0, overlap, np.where(long > 0, 0.0, np.nan))
