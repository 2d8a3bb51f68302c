"""Vectors that are small and known, and what is nearest to them."""

from typing import Any

import numpy as np

from assay.indexes.exact.distances import pair_distances

N, D = 41, 8


def rows(metric: str, n: int = N, seed: int = 1) -> Any:
    """Vectors of different lengths, or of unit length under cosine."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, D)) * rng.uniform(0.5, 2, (n, 1))
    if metric == "cosine":
        values /= np.linalg.norm(values, axis=1, keepdims=True)
    return values.astype(np.float32)


def nearest(metric: str, queries: Any, base: Any, k: int) -> list[list[int]]:
    """The k nearest of the base to each query."""
    far = [pair_distances(metric, np.repeat(q[None], len(base), 0), base) for q in queries]
    return [np.argsort(row, kind="stable")[:k].tolist() for row in far]
