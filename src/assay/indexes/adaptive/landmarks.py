"""Features of a query that are known before any search: its distances to landmarks of the base.

If many landmarks are about as near as the nearest, the neighbours may be close to any of them.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.indexes.index import Rows

_ROWS_PER_LANDMARK = 40  # in the sample
_ROUNDS = 6
_LANDMARKS_PER_ROOT = 1.6  # at most this many landmarks times the square root of the rows
_RANKS = (0, 1, 2, 4, 8, 16, 32)  # of the landmarks by distance; the farthest is added
_TINY = np.finfo(np.float32).tiny


class Landmarks(NamedTuple):
    """Cluster centers of the base, as the factors and offsets that give their scores for a query."""

    factors: Rows  # dimensions × landmarks
    offsets: Rows
    metric: str

    def features(self, queries: Rows) -> Rows:
        """Return the distance of the nearest landmark and how much farther others are, up to the farthest.

        For the inner product the length of the query is divided out, because neighbours do not depend on it.
        """
        scores = np.sort(queries @ self.factors + self.offsets, axis=1)  # faster than a partition
        features = scores[:, _feature_ranks(scores.shape[1])]
        squares = np.einsum("ij,ij->i", queries, queries)[:, None]
        if self.metric == "ip":
            features /= np.sqrt(np.maximum(squares, _TINY))
        else:
            features = np.sqrt(np.maximum(features + squares, 0))
        features[:, 1:] -= features[:, :1]
        return features


@cache
def _feature_ranks(count: int) -> list[int]:
    return [*(rank for rank in _RANKS if rank < count - 1), count - 1]


def find_landmarks(vectors: Rows, count: int, metric: str) -> Landmarks:
    """Return the centers that a few rounds of k-means find in a sample."""
    random = np.random.default_rng(0)
    count = max(2, min(count, round(_LANDMARKS_PER_ROOT * len(vectors) ** 0.5)))
    sample_rows = random.choice(len(vectors), min(len(vectors), _ROWS_PER_LANDMARK * count), replace=False)
    sample = vectors[np.sort(sample_rows)]
    centers = sample[np.sort(random.choice(len(sample), count, replace=False))]
    for _ in range(_ROUNDS):
        distances = sample @ _factors(centers, "l2") + _offsets(centers)
        centers = _update_centers(centers, sample, distances.argmin(axis=1))
    zeros = np.zeros(count, np.float32)
    return Landmarks(_factors(centers, metric), zeros if metric == "ip" else _offsets(centers), metric)


def _factors(centers: Rows, metric: str) -> Rows:
    return np.ascontiguousarray(centers.T * np.float32(-1 if metric == "ip" else -2))


def _offsets(centers: Rows) -> Rows:
    offsets: Rows = np.einsum("ij,ij->i", centers, centers)
    return offsets


def _update_centers(centers: Rows, sample: Rows, nearest: NDArray[np.intp]) -> Rows:
    """Return each center as the mean of the rows nearest to it; a center without rows stays where it is."""
    order = np.argsort(nearest, kind="stable")
    nonempty, starts = np.unique(nearest[order], return_index=True)
    means = centers.copy()
    sums = np.add.reduceat(sample[order], starts, axis=0)
    means[nonempty] = sums / np.diff(np.append(starts, len(order)))[:, None]
    return means
