"""Whether reranking more answers recovers the nearest neighbors of queries that fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.truth_ranks import truth_ranks
from assay.core.vectors import Neighbors
from assay.indexes.recall import mean_recall
from assay.stats.intervals import Estimate, estimate_share

NEAREST = 5  # true neighbors of which one is enough in `any_of_five`


class Reranking(NamedTuple):
    """What is among all answers of a trial that returns more than K, so that exact reranking finds it.

    The shares are of the queries whose recall at K is at most a limit: by the first K answers of the trial,
    or, if the same index was also asked for K answers only, by those. Only ids are compared: an id that is as
    near as the K-th true neighbor but not among them is no hit.
    """

    key: str
    label: str
    depth: int  # answers of each query
    baseline: str  # the key of the trial whose failing queries are counted
    queries: int  # failing queries
    nearest: Estimate  # share whose nearest neighbor is among the answers
    any_of_five: Estimate  # share with at least one of the five nearest
    whole: Estimate  # share with all K
    recall: Estimate  # at K of all queries, by the first K answers
    reranked_recall: Estimate  # and after reranking


def study_reranking(
    scored_trials: Sequence[ScoredTrial], truth: Neighbors | None, at_most: float = 0.3
) -> list[Reranking]:
    """Return what reranking recovers for every trial with more than K answers; none without the truth."""
    if truth is None:
        return []
    return [
        _study_trial(one, _baseline(one, scored_trials), truth, at_most)
        for one in scored_trials
        if _depth(one) > one.trial.k and one.hits is not None
    ]


def _depth(one: ScoredTrial) -> int:
    return 0 if one.returned_ids is None else one.returned_ids.shape[1]


def _baseline(one: ScoredTrial, scored_trials: Sequence[ScoredTrial]) -> ScoredTrial:
    """Return the trial of the same index and search that was asked for K answers, else the trial itself."""
    alike = (
        other
        for other in scored_trials
        if other.hits is not None
        and _depth(other) == one.trial.k
        and (other.trial.label, other.trial.threads) == (one.trial.label, one.trial.threads)
    )
    return next(alike, one)


def _study_trial(one: ScoredTrial, baseline: ScoredTrial, truth: Neighbors, at_most: float) -> Reranking:
    assert one.hits is not None
    assert baseline.hits is not None
    assert one.returned_ids is not None
    k, hits = one.trial.k, baseline.hits
    has_truth = hits.out_of > 0
    is_failing = (hits.counts <= np.floor(at_most * hits.out_of + 1e-9))[has_truth]
    ranks = truth_ranks(one.returned_ids[has_truth], truth.positions[has_truth, :k])
    found = np.stack([(ranks == rank).any(axis=1) for rank in range(k)], axis=1)
    failing = found[is_failing]
    count = len(failing)
    shares = failing[:, 0], failing[:, :NEAREST].any(axis=1), failing.all(axis=1)
    nearest, any_of_five, whole = (estimate_share(int(share.sum()), count) for share in shares)
    out_of = np.minimum(hits.out_of[has_truth], k)
    first = ((ranks[:, :k] >= 0) & (ranks[:, :k] < k)).sum(axis=1)
    before, reranked = (mean_recall(counts / out_of) for counts in (first, found.sum(axis=1)))
    key = one.trial.key
    return Reranking(
        key, one.trial.label, _depth(one), baseline.trial.key, count, nearest, any_of_five, whole,
        before, reranked,
    )  # fmt: skip
