"""The severity of failures: the ranks in the truth of ids returned to failing queries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.bench.studies.bootstrap_ratio import ratio_of_sums
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.truth_ranks import MISSING, truth_ranks
from assay.core.vectors import Neighbors
from assay.stats.intervals import Estimate, estimate_share

TRUTH_DEPTH = 100  # true neighbors that are considered, if the truth has as many
DEPTH_FACTOR = 5  # and at least this multiple of K


class Severity(NamedTuple):
    """The ranks in the truth of the ids returned to failing queries, and the share outside the truth.

    An id that was returned twice counts once. A position without an id counts as `missing`, neither in a band
    nor outside. Only ids are compared: an id that is as near as the last true neighbor but not in the truth
    is outside.
    """

    failed: int  # number of failing queries
    bands: tuple[
        int, ...
    ]  # ids between one edge and the next: edges 0, 10, 20 make the first ten and the next ten
    edges: tuple[int, ...]
    outside: Estimate  # with an interval over queries, since ids of one query are not independent
    missing: int


def failure_severity(scored_trial: ScoredTrial, truth: Neighbors, at_most: float = 0.3) -> Severity | None:
    """Return the severity for queries with at most this recall; None unless the truth is deeper than K."""
    hits, returned_ids = scored_trial.hits, scored_trial.returned_ids
    if hits is None or returned_ids is None:
        return None
    depth = min(truth.k, max(TRUTH_DEPTH, DEPTH_FACTOR * hits.k))
    if depth <= hits.k:  # being outside the truth would be the same as a miss
        return None
    failed_queries = np.flatnonzero(
        (hits.out_of > 0) & (hits.counts <= np.floor(at_most * hits.out_of + 1e-9))
    )
    ranks = truth_ranks(returned_ids[failed_queries, : hits.k], truth.positions[failed_queries, :depth])
    edges = _band_edges(hits.k, depth)
    bands, _ = np.histogram(ranks, [*edges[:-1], edges[-1] - 0.5])
    outside = _outside_share((ranks == depth).sum(axis=1), (ranks >= 0).sum(axis=1))
    return Severity(len(failed_queries), tuple(bands.tolist()), edges, outside, int((ranks == MISSING).sum()))


def _outside_share(outside_counts: NDArray[Any], returned_counts: NDArray[Any]) -> Estimate:
    share = ratio_of_sums(outside_counts, returned_counts)
    # If all queries are equal, resampling shows no variation: count each query as one id instead.
    return estimate_share(share.value * share.n, share.n) if share.value in (0, 1) else share


def _band_edges(k: int, depth: int) -> tuple[int, ...]:
    return (0, *(times * k for times in (1, 2, 5) if times * k < depth), depth)
