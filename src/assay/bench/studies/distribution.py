"""The distribution of recall over queries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.indexes.recall import mean_recall
from assay.measures.formulas import reaches
from assay.stats.intervals import Estimate, estimate_share


class RecallDistribution(NamedTuple):
    """The distribution of recall: the number of queries with 0, 1, … K hits."""

    counts: NDArray[np.int64]

    @property
    def k(self) -> int:
        """The number of neighbors K."""
        return len(self.counts) - 1

    @property
    def n(self) -> int:
        """The number of queries."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float | None:
        """The mean recall.

        >>> RecallDistribution(np.array([1, 0, 3])).mean
        0.75
        """
        return float(self.counts @ np.arange(len(self.counts))) / (self.k * self.n) if self.n else None

    def recall(self, level: float = 0.95) -> Estimate:
        """Return the mean recall with its interval."""
        return mean_recall(np.repeat(np.arange(len(self.counts)) / self.k, self.counts), level)

    def robustness(self, delta: float, level: float = 0.95) -> Estimate:
        """Return the share of queries whose recall reaches δ."""
        hits = np.arange(len(self.counts), dtype=np.float64)
        is_reached = reaches(hits, np.full(len(hits), float(self.k)), delta) > 0
        return estimate_share(int(self.counts[is_reached].sum()), self.n, level)

    def curve(self, level: float = 0.95) -> list[tuple[float, Estimate]]:
        """Return robustness at every possible δ: 1/K, 2/K, … 1."""
        deltas = [j / self.k for j in range(1, self.k + 1)]
        return [(delta, self.robustness(delta, level)) for delta in deltas]

    def percentile(self, share: float) -> float | None:
        """Return the recall that at most this share of queries stay below.

        >>> [RecallDistribution(np.array([bad, 0, 100 - bad])).percentile(0.01) for bad in (1, 2)]
        [1.0, 0.0]
        """
        if not self.n:
            return None
        below = np.cumsum(self.counts)
        return min(int(np.searchsorted(below, share * self.n + 1e-9, side="right")), self.k) / self.k
