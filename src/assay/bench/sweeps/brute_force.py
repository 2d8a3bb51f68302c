"""Detection of engines that answer by brute force, which would otherwise look perfect.

Queries between distant vectors of the base are hard for every index. With the smallest search of an engine,
an index misses some of their neighbors; brute force misses none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.core.errors import EngineError
from assay.core.vectors import InMemoryVectors, Neighbors, Vectors
from assay.indexes.exact.truth import truth
from assay.indexes.hits import EPSILON, HitRule
from assay.indexes.hosting.hosted import HostedIndex

QUERY_COUNT = 256
K = 10
MINIMUM_VECTORS, MINIMUM_DIMENSIONS = 1000, 8  # below these, a small search may find every neighbor


class HardQueries(NamedTuple):
    """Queries for which an index with a small search must miss some neighbors."""

    queries: Vectors
    truth: Neighbors
    hit_rule: HitRule


def make_hard_queries(base: Vectors, metric: str, seed: int = 0) -> HardQueries | None:
    """Return queries between vectors of the base with their truth; None if the base is not suitable.

    A base is not suitable if it is too small, has too few dimensions or too large numbers, or has so many
    equal vectors that most queries have ties at K, in which case nearly every answer is a hit.
    """
    if len(base) < MINIMUM_VECTORS or base.d < MINIMUM_DIMENSIONS:
        return None
    rng = np.random.default_rng(seed)
    ends = [base.take(rng.integers(0, len(base), QUERY_COUNT)).astype(np.float64) for _ in range(2)]
    points = (ends[0] + ends[1]) / 2
    points += rng.normal(0, points.std() or 1.0, points.shape)
    if metric == "cosine":
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    if np.abs(points).max() > np.finfo(np.float32).max:
        return None
    queries = InMemoryVectors(points.astype(np.float32))
    neighbors = truth(base, queries, K + 1, metric)
    if _is_mostly_tied(neighbors):
        return None
    return HardQueries(queries, neighbors, HitRule(neighbors, K, base, queries, metric))


def _is_mostly_tied(neighbors: Neighbors) -> bool:
    """Return whether most queries have a neighbor after the K-th at the same distance."""
    assert neighbors.distances is not None
    last, beyond = neighbors.distances[:, K - 1], neighbors.distances[:, K]
    return bool(np.mean(np.abs(beyond - last) <= EPSILON * np.abs(last)) > 0.5)


def uses_index(index: HostedIndex, hard_queries: HardQueries | None) -> bool | None:
    """Return whether an engine misses neighbors with its smallest search; None if exact or undecidable."""
    if hard_queries is None or index.description.exact:
        return None
    try:
        timing = index.search(hard_queries.queries, K, index.description.smallest_search)
    except EngineError as error:
        raise EngineError(
            f"the check for brute force ({QUERY_COUNT} hard queries, smallest search) failed: {error}"
        ) from None
    hits = hard_queries.hit_rule.hits(timing.positions)
    return bool((hits.counts < hits.out_of).any())
