"""What can be seen of a query before any search: how far it lies from landmarks of the base.

Where many landmarks are about as far as the nearest, the neighbours may be behind any of them.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.indexes.index import Rows

_SAMPLE = 40  # rows for each landmark
_ROUNDS = 6
_PER_ROOT = 1.6  # landmarks at most, times the root of the rows: a small base is searched in less time
_PLACES = (0, 1, 2, 4, 8, 16, 32)  # among the landmarks by distance; the farthest comes to them
_TINY = np.finfo(np.float32).tiny


class Landmarks(NamedTuple):
    """Middles of parts of the base, as a product with a query and a sum give what orders them."""

    factors: Rows  # dimensions × landmarks
    offsets: Rows
    metric: str

    def features(self, queries: Rows) -> Rows:
        """The distance of the nearest landmark, and how much farther others are, up to the farthest.

        Under inner product the length of the query does not count: its neighbours do not depend on it.
        """
        ordered = np.sort(queries @ self.factors + self.offsets, axis=1)  # faster than parting
        some = ordered[:, _places(ordered.shape[1])]
        squares = np.einsum("ij,ij->i", queries, queries)[:, None]
        if self.metric == "ip":
            some /= np.sqrt(np.maximum(squares, _TINY))
        else:
            some = np.sqrt(np.maximum(some + squares, 0))
        some[:, 1:] -= some[:, :1]
        return some


@cache
def _places(count: int) -> list[int]:
    return [*(place for place in _PLACES if place < count - 1), count - 1]


def landmarks(vectors: Rows, count: int, metric: str) -> Landmarks:
    """The middles that a few rounds of k-means find in a sample."""
    random = np.random.default_rng(0)
    count = max(2, min(count, round(_PER_ROOT * len(vectors) ** 0.5)))
    chosen = random.choice(len(vectors), min(len(vectors), _SAMPLE * count), replace=False)
    sample = vectors[np.sort(chosen)]
    middles = sample[np.sort(random.choice(len(sample), count, replace=False))]
    for _ in range(_ROUNDS):
        far = sample @ _factors(middles, "l2") + _offsets(middles)
        middles = _moved(middles, sample, far.argmin(axis=1))
    none = np.zeros(count, np.float32)
    return Landmarks(_factors(middles, metric), none if metric == "ip" else _offsets(middles), metric)


def _factors(middles: Rows, metric: str) -> Rows:
    return np.ascontiguousarray(middles.T * np.float32(-1 if metric == "ip" else -2))


def _offsets(middles: Rows) -> Rows:
    made: Rows = np.einsum("ij,ij->i", middles, middles)
    return made


def _moved(middles: Rows, sample: Rows, nearest: NDArray[np.intp]) -> Rows:
    """Each middle at the mean of what is nearest to it; one that is nearest to nothing stays."""
    order = np.argsort(nearest, kind="stable")
    there, starts = np.unique(nearest[order], return_index=True)
    made = middles.copy()
    sums = np.add.reduceat(sample[order], starts, axis=0)
    made[there] = sums / np.diff(np.append(starts, len(order)))[:, None]
    return made
