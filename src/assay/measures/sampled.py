"""Measures of rankings of which only a random sample of the documents was judged.

A judged pair stands for 1 / π pairs, with π its inclusion probability (Horvitz and Thompson 1952). P, DCG
and the sums in AP are then unbiased; R, nDCG and AP divide by a total that is estimated, too, so that their
bias falls with the number of judged pairs (Aslam, Pavlu and Yilmaz 2006; Yilmaz, Kanoulas and Aslam 2008).
Pairs outside the pool count as irrelevant, as with any pool. Without a relevant document in the sample, R,
nDCG and AP of a query are undefined (NaN), unless all of its pairs were judged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from assay.core.arrays import Bools, Floats, Ints
from assay.core.errors import MeasureError
from assay.measures.formulas import Gain, gains
from assay.measures.measure import Measure
from assay.measures.rankings import Rankings


class SampledRankings:
    """Rankings whose judged documents are a random sample of the pool."""

    def __init__(self, rankings: Rankings, row: Ints, weights: Floats, strata: Ints, sizes: Ints) -> None:
        self.rankings = rankings
        self.row = row  # of each returned judged document, among the judgments
        self.weights = weights  # 1 / π of each judgment
        self.strata = strata  # of each judgment; pairs of one stratum are a simple random sample
        self.sizes = (
            sizes  # how many pairs were drawn from each stratum; 0 for a pair that is drawn by itself
        )

    @cached_property
    def returned_weights(self) -> Floats:
        """The weights of the returned judged documents."""
        return self.weights[self.row]

    def total(self, rows: Bools, factors: Floats | float = 1.0) -> Floats:
        """Return the estimated sum of factors over these returned documents, by query."""
        values = (self.returned_weights * factors)[rows]
        return self.rankings.per_query(rows, values)

    def relevant(self, rel: int) -> Floats:
        """Return the estimated number of relevant documents, by query."""
        hits = self.rankings.judged_grade >= rel
        counts = np.bincount(
            self.rankings.judged_query[hits], self.weights[hits], minlength=len(self.rankings)
        )
        return counts.astype(np.float64)

    def ratio(self, top: Floats, bottom: Floats) -> Floats:
        """Return top / bottom; without a bottom 0 for a query that was judged completely, else NaN."""
        largest = np.ones(len(self.rankings))
        np.maximum.at(largest, self.rankings.judged_query, self.weights)
        missing = np.where(largest > 1, np.nan, 0.0)
        ratios: Floats = np.divide(top, bottom, out=missing, where=bottom > 0)
        return ratios

    @cached_property
    def joint_weights(self) -> Floats:
        """1 / π of two documents of the same stratum together: N (N − 1) / (n (n − 1)); NaN if n is 1."""
        populations = np.zeros(len(self.sizes))
        populations[self.strata] = self.sizes[self.strata] * self.weights
        pairs = (self.sizes * (self.sizes - 1)).astype(np.float64)
        joint: Floats = populations * (populations - 1) / np.where(pairs == 0, np.nan, pairs)
        joint[populations <= 1 + 1e-9] = 0.0  # there are no two pairs
        return joint


def compute_sampled(measure: Measure, sample: SampledRankings) -> Floats:
    """Return the estimated value for each query; raise MeasureError if there is no such estimate."""
    formula = _FORMULAS.get(measure.name)
    if formula is None or (measure.name == "RBP" and not measure.params["rel"]):
        raise MeasureError(
            f"{measure} has no estimate from a random sample of judgments; "
            f"with --pool use {', '.join(name if name != 'RBP' else 'RBP(rel=1)' for name in _FORMULAS)}"
        )
    return formula(sample, measure.cutoff, **measure.params)


def _precision(s: SampledRankings, k: int | None, rel: int) -> Floats:
    depth = s.rankings.returned_counts.astype(np.float64) if k is None else np.full(len(s.rankings), float(k))
    hits = s.total(s.rankings.top(rel, k))
    shares: Floats = np.divide(hits, depth, out=np.zeros(len(depth)), where=depth > 0)
    return shares


def _recall(s: SampledRankings, k: int | None, rel: int) -> Floats:
    return s.ratio(s.total(s.rankings.top(rel, k)), s.relevant(rel))


def _dcg(s: SampledRankings, k: int | None, gain: Gain) -> Floats:
    r = s.rankings
    return s.total(r.top(1, k), gains(r.grade, gain) / np.log2(r.rank + 1))


def _ndcg(s: SampledRankings, k: int | None, gain: Gain) -> Floats:
    return s.ratio(_dcg(s, k, gain), _ideal_dcg(s, k, gain))


def _ideal_dcg(s: SampledRankings, k: int | None, gain: Gain) -> Floats:
    """Return the DCG of the best order of as many documents of each grade as the sample stands for."""
    r = s.rankings
    order = np.lexsort((-r.judged_grade, r.judged_query))
    order = order[r.judged_grade[order] >= 1]
    query, weights = r.judged_query[order], s.weights[order]
    total = np.concatenate(([0.0], np.cumsum(weights)))
    start = total[np.searchsorted(query, np.arange(len(r)))][query]
    ends = np.stack([total[:-1] - start, total[1:] - start])
    discounts = _sum_discounts(ends if k is None else np.minimum(ends, k))
    worth = gains(r.judged_grade[order], gain) * (discounts[1] - discounts[0])
    return np.bincount(query, worth, minlength=len(r)).astype(np.float64)


def _sum_discounts(places: Floats) -> Floats:
    """Return the sum of the discounts of so many places, a part of a place in proportion."""
    whole = np.floor(places + 1e-9).astype(np.int64)
    ranks = np.arange(1, int(whole.max(initial=0)) + 2)
    sums = np.concatenate(([0.0], np.cumsum(1 / np.log2(ranks + 1))))
    rest = np.maximum(places - whole, 0.0)
    totals: Floats = sums[whole] + rest / np.log2(whole + 2)
    return totals


def _average_precision(s: SampledRankings, k: int | None, rel: int) -> Floats:
    """Return the sum over pairs of relevant documents in the top k, over the relevant ones (as statAP)."""
    r = s.rankings
    rows = r.grade >= rel
    query, weights, stratum = r.query[rows], s.returned_weights[rows], s.strata[s.row[rows]]
    total = np.concatenate(([0.0], np.cumsum(weights)))
    above = total[:-1] - total[np.searchsorted(query, np.arange(len(r)))][query]
    same = _earlier_of_same(stratum)
    joint = s.joint_weights[stratum]
    if np.isnan(joint).any():
        raise MeasureError("AP needs at least two pairs of each stratum of the pool: draw a larger sample")
    sums = weights + weights * (above - weights * same) + joint * same
    within = np.ones(len(query), np.bool_) if k is None else r.rank[rows] <= k
    parts = np.where(within, sums / r.rank[rows], 0.0)
    return s.ratio(np.bincount(query, parts, minlength=len(r)).astype(np.float64), s.relevant(rel))


def _earlier_of_same(codes: Ints) -> Floats:
    """Return how many earlier entries have the same code.

    >>> _earlier_of_same(np.array([5, 7, 5, 5])).tolist()
    [0.0, 0.0, 1.0, 2.0]
    """
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    counts = np.empty(len(codes))
    counts[order] = np.arange(len(codes)) - np.searchsorted(ordered, ordered)
    return counts


def _rank_biased_precision(s: SampledRankings, k: int | None, rel: int, p: float) -> Floats:
    r = s.rankings
    return s.total(r.top(rel, k), (1 - p) * np.power(p, r.rank - 1.0))


_FORMULAS: dict[str, Callable[..., Floats]] = {
    "P": _precision,
    "R": _recall,
    "DCG": _dcg,
    "nDCG": _ndcg,
    "AP": _average_precision,
    "RBP": _rank_biased_precision,
}
