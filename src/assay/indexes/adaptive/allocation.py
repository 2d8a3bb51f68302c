"""Who gets how much: budgets for groups of queries, from easy to hard, with a given mean.

A group's budget grows as exp(lean × score). Of a few leanings the one is taken that finds most for the
training queries; 0 is among them: the same budget for all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.indexes.index import Rows

GROUPS = 8
LEANINGS = np.arange(0, 2.01, 0.25)
_Numbers = NDArray[Any]


class Groups(NamedTuple):
    """The training queries in groups of about the same size, by their scores."""

    edges: Rows  # scores between the groups
    scores: Rows  # the mean of each group
    shares: Rows  # of the queries
    levels: _Numbers  # budgets that were tried
    recall: Rows  # groups × levels: the mean, where what is beyond the target does not count

    def of(self, scores: Rows) -> NDArray[np.intp]:
        """The group of each query."""
        return np.searchsorted(self.edges, scores)

    def budgets(self, mean: float) -> NDArray[np.int64]:
        """The budget of each group, the mean over the training queries being no more than asked."""
        made = [self._leaning(lean, mean) for lean in LEANINGS]
        return max(made, key=self.found)  # the first of equals: the least lean

    def found(self, budgets: _Numbers) -> float:
        """The recall of the training queries at these budgets, read between the levels that were tried."""
        at = np.log(self.levels)
        rows = zip(self.shares, budgets, self.recall, strict=True)
        return float(sum(share * np.interp(np.log(budget), at, recall) for share, budget, recall in rows))

    def _leaning(self, lean: float, mean: float) -> NDArray[np.int64]:
        raw = np.exp(lean * (self.scores - self.scores.mean()))
        low, high = 0.0, 1 + mean / raw.min()
        for _ in range(40):
            factor = (low + high) / 2
            fits = self.shares @ self._rounded(factor * raw, mean) <= mean * (1 + 1e-6)  # shares are rounded
            low, high = (factor, high) if fits else (low, factor)
        return self._rounded(low * raw, mean)

    def _rounded(self, budgets: _Numbers, mean: float) -> NDArray[np.int64]:
        """Whole budgets within what was tried."""
        ends = min(self.levels[0], mean), max(self.levels[-1], mean)
        made: NDArray[np.int64] = np.rint(np.clip(budgets, *ends)).astype(np.int64)
        return made


def grouped(scores: Rows, levels: _Numbers, recall: Rows) -> Groups:
    """Groups of training queries; `recall` has a row for each query and a column for each level."""
    cuts = np.quantile(scores, np.linspace(0, 1, GROUPS + 1)[1:-1], method="lower")
    edges = np.unique(cuts[cuts < scores.max()])  # so that no group is empty
    members = [np.searchsorted(edges, scores) == group for group in range(len(edges) + 1)]
    return Groups(
        edges,
        np.array([scores[some].mean() for some in members]),
        np.array([some.mean() for some in members]),
        levels,
        np.array([recall[some].mean(axis=0) for some in members]),
    )
