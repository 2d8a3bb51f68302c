"""How bad failures are: where in the truth the answers of bad queries stand, and how many are far from it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Neighbors
from assay.indexes.study.observed import Observed
from assay.indexes.study.places import MISSING, places
from assay.indexes.study.ratios import ratio_of_sums
from assay.stats.intervals import Estimate, wilson

DEPTH, TIMES = 100, 5  # how much of the truth is looked at, and how many times K, where there is as much


class Severity(NamedTuple):
    """Of the queries that failed: how many ids fell where in the truth, and the share outside of it.

    An id that was returned twice counts once. Where nothing was returned, that is `missing`, and neither in a
    band nor outside. Ids alone are compared: one as near as the last of the truth, and not in it, is outside.
    """

    failed: int  # queries
    bands: tuple[
        int, ...
    ]  # ids between one edge and the next: edges 0, 10, 20 are the first ten, the next ten
    edges: tuple[int, ...]
    outside: Estimate  # with an interval over queries, since the ids of one query are not independent
    missing: int


def severity(observed: Observed, truth: Neighbors, at_most: float = 0.3) -> Severity | None:
    """Where what was returned to queries of so little recall stands in a truth of more than K; else None."""
    hits, returned = observed.hits, observed.returned
    if hits is None or returned is None:
        return None
    depth = min(truth.k, max(DEPTH, TIMES * hits.k))
    if depth <= hits.k:  # outside of it would say no more than the recall
        return None
    bad = np.flatnonzero((hits.out_of > 0) & (hits.counts <= np.floor(at_most * hits.out_of + 1e-9)))
    found = places(returned[bad, : hits.k], truth.positions[bad, :depth])
    edges = _edges(hits.k, depth)
    bands, _ = np.histogram(found, [*edges[:-1], edges[-1] - 0.5])
    outside = _share((found == depth).sum(axis=1), (found >= 0).sum(axis=1))
    return Severity(len(bad), tuple(bands.tolist()), edges, outside, int((found == MISSING).sum()))


def _share(outside: NDArray[Any], returned: NDArray[Any]) -> Estimate:
    found = ratio_of_sums(outside, returned)
    # Where all queries are alike, no sample of them differs: they are then counted as if each were one id.
    return wilson(found.value * found.n, found.n) if found.value in (0, 1) else found


def _edges(k: int, depth: int) -> tuple[int, ...]:
    return (0, *(times * k for times in (1, 2, 5) if times * k < depth), depth)
