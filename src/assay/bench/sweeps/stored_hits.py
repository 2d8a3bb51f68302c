"""Hits as they were counted during a sweep, for scoring without the vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.bench.sweeps.folder import SweepFolder
from assay.core.vectors import Neighbors
from assay.indexes.hits import HitRule, Hits


@dataclass(frozen=True)
class StoredHits:
    """The stored hits of a sweep: its K, its policy and the neighbors that each query can have.

    A hit rule needs the vectors under the policy `ties`. Stored hits need no vectors, but are valid only for
    the K and the policy of the sweep.
    """

    k: int
    policy: str
    out_of: NDArray[np.int64]  # K; 0: the query has no truth
    short_truths: int = 0  # queries whose truth has fewer than K distinct vectors

    def select(self, queries: NDArray[np.int64], counts: NDArray[np.int64]) -> Hits:
        """Return the hits by query; a query that was not sent is undefined."""
        hits, out_of = np.zeros(len(self.out_of), np.int64), np.zeros(len(self.out_of), np.int64)
        hits[queries] = counts
        out_of[queries] = self.out_of[queries]
        return Hits(np.minimum(hits, out_of), out_of, self.k, self.policy)


def open_stored_hits(folder: SweepFolder, truth: Neighbors | None = None) -> StoredHits:
    """Return the stored hits of a sweep; without the truth, every query counts as having K neighbors."""
    metadata = folder.metadata()
    k, policy = int(metadata["data"]["k"]), str(metadata["options"]["policy"])
    if truth is None:
        return StoredHits(k, policy, np.full(int(metadata["data"]["queries"]), k, np.int64))
    rule = HitRule(truth, k, policy="strict")
    return StoredHits(k, policy, rule.out_of, rule.short_truths)
