"""Whether an engine really uses an index: one that falls back to brute force looks perfect.

Queries between far vectors of the base are hard for every index. At the smallest search an engine has, an
index misses some of their neighbours; brute force misses none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.core.errors import EngineError
from assay.core.vectors import Held, Neighbors, Vectors
from assay.indexes.exact.truth import truth
from assay.indexes.hits import EPSILON, Judge
from assay.indexes.hosting.hosted import Hosted

QUERIES = 256
K = 10
FEWEST, FLATTEST = 1000, 8  # vectors, dimensions: of fewer, the smallest search may well find all


class Hard(NamedTuple):
    """Queries at which an index must fail when it looks at little."""

    queries: Vectors
    truth: Neighbors
    judge: Judge


def hard_queries(base: Vectors, metric: str, seed: int = 0) -> Hard | None:
    """Queries between vectors of the base, with their truth; None where the base cannot tell.

    It is too small, of too few dimensions or too large numbers, or so many of its vectors are equal that
    most queries have ties at K: then nearly every answer is a hit.
    """
    if len(base) < FEWEST or base.d < FLATTEST:
        return None
    rng = np.random.default_rng(seed)
    ends = [base.take(rng.integers(0, len(base), QUERIES)).astype(np.float64) for _ in range(2)]
    made = (ends[0] + ends[1]) / 2
    made += rng.normal(0, made.std() or 1.0, made.shape)
    if metric == "cosine":
        made /= np.linalg.norm(made, axis=1, keepdims=True)
    if np.abs(made).max() > np.finfo(np.float32).max:
        return None
    queries = Held(made.astype(np.float32))
    found = truth(base, queries, K + 1, metric)
    if _tied(found):
        return None
    return Hard(queries, found, Judge(found, K, base, queries, metric))


def _tied(found: Neighbors) -> bool:
    """Whether for most queries the next after the K-th is as near as the K-th."""
    assert found.distances is not None
    last, beyond = found.distances[:, K - 1], found.distances[:, K]
    return bool(np.mean(np.abs(beyond - last) <= EPSILON * np.abs(last)) > 0.5)


def indexed(index: Hosted, hard: Hard | None) -> bool | None:
    """Whether an engine misses something at its smallest search; None where it is exact or cannot be told."""
    if hard is None or index.described.exact:
        return None
    try:
        answer = index.search(hard.queries, K, index.described.least)
    except EngineError as error:
        raise EngineError(
            f"asked whether it is an index, by {QUERIES} hard queries at its smallest search: {error}"
        ) from None
    hits = hard.judge.hits(answer.positions)
    return bool((hits.counts < hits.out_of).any())
