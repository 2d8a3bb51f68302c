"""The formulas of the measures, over whole columns.

A measure of trec_eval has the value that trec_eval 10 gives it, including 0 for a query without
relevant documents. Measures that trec_eval does not have are undefined (NaN) for such a query.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.core.errors import MeasureError
from assay.measures.measure import REQUIRED, Measure, define
from assay.measures.rankings import Rankings

Cutoff = int | None
Gain = Literal["linear", "exp"]
_INFAP_EPSILON = 0.00001
_HIGHEST_EXP = 1000  # a double holds 2^1023


def _divide(top: Floats, bottom: Floats | float, otherwise: float = 0.0) -> Floats:
    """top / bottom, or `otherwise` if bottom is 0."""
    safe = np.where(np.asarray(bottom) == 0, 1.0, bottom)
    return np.where(np.asarray(bottom) == 0, otherwise, top / safe)


@define("P", rel=1, aliases=("Precision",))
def precision(r: Rankings, k: Cutoff, rel: int) -> Floats:
    """Of the top k places, the share with a relevant document (without k: of all returned)."""
    return _divide(r.hits(rel, k), r.returned_counts.astype(np.float64) if k is None else float(k))


@define("R", rel=1, aliases=("Recall",))
def recall(r: Rankings, k: Cutoff, rel: int) -> Floats:
    """Of the relevant documents, the share in the top k."""
    return _divide(r.hits(rel, k), r.relevant(rel))


@define("RCap", cutoff="required", rel=1)
def capped_recall(r: Rankings, k: int, rel: int) -> Floats:
    """Hits in the top k over the most there could be: the smaller of k and the relevant (BEIR)."""
    return _divide(r.hits(rel, k), np.minimum(r.relevant(rel), k), np.nan)


@define("F", rel=1, beta=1.0, aliases=("F1",))
def f_measure(r: Rankings, k: Cutoff, rel: int, beta: float) -> Floats:
    """The weighted harmonic mean of P and R; beta above 1 weighs R more (van Rijsbergen 1979)."""
    p, r_value, share = precision(r, k, rel), recall(r, k, rel), 1 / (1 + beta * beta)
    return _divide(p * r_value, share * r_value + (1 - share) * p)


@define("Success", cutoff="required", kind="share", rel=1, aliases=("HitRate", "Hit"))
def success(r: Rankings, k: int, rel: int) -> Floats:
    """Whether a relevant document is in the top k; its mean is the hit rate."""
    return (r.hits(rel, k) > 0).astype(np.float64)


@define("RR", rel=1, aliases=("MRR",))
def reciprocal_rank(r: Rankings, k: Cutoff, rel: int) -> Floats:
    """One over the rank of the first relevant document, 0 if there is none in the top k."""
    first = r.top(rel, k) & (r.running_hits(rel) == 1)
    return r.per_query(first, 1.0 / r.rank[first])


@define("AP", rel=1, aliases=("MAP",))
def average_precision(r: Rankings, k: Cutoff, rel: int) -> Floats:
    """Precision at each relevant document in the top k, over all relevant documents."""
    rows = r.top(rel, k)
    return _divide(r.per_query(rows, r.running_hits(rel)[rows] / r.rank[rows]), r.relevant(rel))


@define("gmAP", cutoff="none", kind="geometric", rel=1, aliases=("GMAP",))
def geometric_ap(r: Rankings, k: None, rel: int) -> Floats:
    """AP, aggregated by the geometric mean of its values (at least 0.00001): low values weigh more."""
    return average_precision(r, None, rel)


def gains(grade: Ints, gain: Gain) -> Floats:
    """The gain of each grade: the grade itself, or 2 to its power minus 1."""
    positive = np.maximum(grade, 0).astype(np.float64)
    if gain == "exp" and positive.max(initial=0) > _HIGHEST_EXP:
        raise MeasureError(
            f"gain='exp' is 2 to the power of a grade of at most {_HIGHEST_EXP}, found "
            f"{positive.max():.0f}: use gain='linear' or a shorter scale of grades"
        )
    return positive if gain == "linear" else np.exp2(positive) - 1.0


@define("DCG", gain="linear")
def dcg(r: Rankings, k: Cutoff, gain: Gain) -> Floats:
    """The sum of gain / log2(rank + 1) over the top k (Järvelin and Kekäläinen 2002, eq. 2)."""
    rows = r.top(1, k)
    return r.per_query(rows, gains(r.grade[rows], gain) / np.log2(r.rank[rows] + 1))


@define("nDCG", gain="linear")
def ndcg(r: Rankings, k: Cutoff, gain: Gain) -> Floats:
    """DCG over the DCG of the best order of all judged documents, cut at the same k."""
    query, rank, grade = r.ideal
    rows = (grade >= 1) if k is None else (grade >= 1) & (rank <= k)
    weights = gains(grade[rows], gain) / np.log2(rank[rows] + 1)
    best = np.bincount(query[rows], weights, minlength=len(r)).astype(np.float64)
    return _divide(dcg(r, k, gain), best)


@define("Rprec", cutoff="none", rel=1, aliases=("RPrecision",))
def r_precision(r: Rankings, k: None, rel: int) -> Floats:
    """Precision at the rank that equals the number of relevant documents."""
    within = (r.grade >= rel) & (r.rank <= r.relevant(rel)[r.query])
    return _divide(r.per_query(within), r.relevant(rel))


@define("bpref", cutoff="none", rel=1)
def bpref(r: Rankings, k: None, rel: int) -> Floats:
    """Of the pairs of a relevant and a judged irrelevant document, the share in the right order."""
    relevant, irrelevant = r.relevant(rel), r.irrelevant(rel)
    rows = r.grade >= rel
    above = r.running_sums((r.grade >= 0) & ~rows)[rows]
    most, pairs = relevant[r.query[rows]], np.minimum(relevant, irrelevant)[r.query[rows]]
    return _divide(r.per_query(rows, 1.0 - _divide(np.minimum(above, most), pairs)), relevant)


@define("infAP", cutoff="none", rel=1)
def inferred_ap(r: Rankings, k: None, rel: int) -> Floats:
    """AP inferred from a judged sample of the pool (Yilmaz and Aslam 2006); grade -1: not judged."""
    rows = r.grade >= rel
    rank, pooled_before = r.rank[rows].astype(np.float64), r.judged_before[rows].astype(np.float64)
    relevant = r.running_hits(rel)[rows] - 1.0
    irrelevant = r.running_sums((r.grade >= 0) & (r.grade < rel))[rows]
    share = (relevant + _INFAP_EPSILON) / (relevant + irrelevant + 2 * _INFAP_EPSILON)
    return _divide(r.per_query(rows, 1.0 / rank + pooled_before / rank * share), r.relevant(rel))


@define("ERR", max_grade=None)
def expected_reciprocal_rank(r: Rankings, k: Cutoff, max_grade: int | None) -> Floats:
    """Expected 1/rank at which a user stops, satisfied with chance (2^g - 1) / 2^max (Chapelle 2009)."""
    top = r.top_grade if max_grade is None else max_grade
    grade = np.clip(r.grade, 0, top).astype(np.float64)
    stops = np.exp2(grade - top) - np.exp2(-float(top))  # the same as above, without overflow for any grade
    reach_chance, continue_chance = np.ones(len(stops)), np.ones(len(r))
    for rows in r.rows_by_place:
        reach_chance[rows] = continue_chance[r.query[rows]]
        continue_chance[r.query[rows]] *= 1.0 - stops[rows]
    top_rows = r.top(1, k)
    return r.per_query(top_rows, (stops * reach_chance / r.rank)[top_rows])


@define("RBP", rel=None, p=0.9)
def rank_biased_precision(r: Rankings, k: Cutoff, rel: int | None, p: float) -> Floats:
    """The gain of a user who continues to the next document with chance p (Moffat and Zobel 2008).

    The gain is grade / highest grade of the query, or 1 from the grade `rel` on.
    """
    rows = r.top(rel or 1, k)
    highest = np.maximum(r.top_grades, 1)[r.query[rows]]
    gain: Floats = np.ones(len(highest)) if rel else r.grade[rows] / highest
    chance: Floats = np.power(p, r.rank[rows] - 1.0)
    return r.per_query(rows, (1 - p) * gain * chance)


@define("RBPResidual", cutoff="none", lower_is_better=True, p=0.9)
def rbp_residual(r: Rankings, k: None, p: float) -> Floats:
    """What RBP could still gain from unjudged documents and beyond the end; 0 if all were judged."""
    depth = r.returned_counts.astype(np.float64)
    is_judged = r.grade >= 0
    chance: Floats = np.power(p, r.rank[is_judged] - 1.0)
    judged_weight = r.per_query(is_judged, (1 - p) * chance)
    return np.where(r.unjudged(None) > 0, 1.0 - judged_weight, 0.0) * (depth > 0)


@define("IPrec", cutoff="recall", rel=1)
def interpolated_precision(r: Rankings, level: float, rel: int) -> Floats:
    """The best precision at or after the rank where recall reaches the level, as trec_eval 10."""
    needed_hits = np.floor(level * r.relevant(rel) + 0.5)
    rows = r.grade >= rel
    query, number = r.query[rows], r.running_hits(rel)[rows]
    at_or_after = number >= needed_hits[query]
    best = np.zeros(len(r))
    np.maximum.at(best, query[at_or_after], (number / r.rank[rows])[at_or_after])
    return best


@define("11pt", cutoff="none", rel=1, aliases=("Pt11",))
def eleven_points(r: Rankings, k: None, rel: int) -> Floats:
    """The mean of IPrec at recall 0, 0.1, … 1."""
    levels = [interpolated_precision(r, level / 10, rel) for level in range(11)]
    mean: Floats = np.mean(levels, axis=0)
    return mean


@define("Judged")
def judged_share(r: Rankings, k: Cutoff) -> Floats:
    """Of the documents returned in the top k, the share that was judged."""
    depth = r.returned_counts if k is None else np.minimum(r.returned_counts, k)
    return _divide(r.hits(0, k), depth.astype(np.float64), np.nan)


@define("ZeroHit", cutoff="required", kind="share", lower_is_better=True, rel=1)
def zero_hit(r: Rankings, k: int, rel: int) -> Floats:
    """Whether a query has relevant documents and none of them in the top k."""
    return np.where(r.relevant(rel) > 0, (r.hits(rel, k) == 0) * 1.0, np.nan)


@define("Robustness", cutoff="required", kind="share", delta=REQUIRED, rel=1)
def robustness(r: Rankings, k: int, delta: float, rel: int) -> Floats:
    """Whether recall in the top k reaches delta; its mean is Robustness-δ@K (arXiv 2507.00379)."""
    relevant = r.relevant(rel)
    return np.where(relevant > 0, reaches(r.hits(rel, k), relevant, delta), np.nan)


def reaches(hits: Floats, relevant: Floats, delta: float) -> Floats:
    """1 if the hits are a share delta of the relevant, in whole documents: 0.07 * 100 is above 7.

    >>> reaches(np.array([7.0, 6.0]), np.array([100.0, 100.0]), 0.07).tolist()
    [1.0, 0.0]
    """
    flags: Floats = (hits >= np.ceil(delta * relevant - 1e-9)).astype(np.float64)
    return flags


@define("Quantile", cutoff="none", kind="quantile", of=REQUIRED, q=0.5)
def quantile(r: Rankings, k: None, of: Measure, q: float) -> Floats:
    """A measure aggregated by the value that a share q of the queries does not exceed."""
    return of.compute(r)
