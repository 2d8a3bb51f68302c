"""Budgets for groups of queries, from easy to hard, with a given mean.

The budget of a group grows as exp(slope × score). Of a few slopes, the one with the highest recall of the
training queries is chosen; 0, the same budget for all, is one of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.indexes.index import Rows

GROUPS = 8
SLOPES = np.arange(0, 2.01, 0.25)
_Numbers = NDArray[Any]


class QueryGroups(NamedTuple):
    """The training queries in groups of about equal size, by their scores."""

    edges: Rows  # scores between the groups
    scores: Rows  # the mean of each group
    shares: Rows  # of the queries
    levels: _Numbers  # budgets that were measured
    recall: Rows  # groups × levels: mean recall, each capped at the target

    def group_of(self, scores: Rows) -> NDArray[np.intp]:
        """Return the group of each query."""
        return np.searchsorted(self.edges, scores)

    def budgets(self, mean: float) -> NDArray[np.int64]:
        """Return the budget of each group; the mean over the training queries does not exceed `mean`."""
        candidates = [self._budgets_at_slope(slope, mean) for slope in SLOPES]
        return max(candidates, key=self.expected_recall)  # of equal ones the smallest slope

    def expected_recall(self, budgets: _Numbers) -> float:
        """Return the recall of the training queries at these budgets, interpolated between levels."""
        log_levels = np.log(self.levels)
        rows = zip(self.shares, budgets, self.recall, strict=True)
        return float(
            sum(share * np.interp(np.log(budget), log_levels, recall) for share, budget, recall in rows)
        )

    def _budgets_at_slope(self, slope: float, mean: float) -> NDArray[np.int64]:
        weights = np.exp(slope * (self.scores - self.scores.mean()))
        low, high = 0.0, 1 + mean / weights.min()
        for _ in range(40):
            factor = (low + high) / 2
            fits = self.shares @ self._round_budgets(factor * weights, mean) <= mean * (
                1 + 1e-6
            )  # tolerance for rounded shares
            low, high = (factor, high) if fits else (low, factor)
        return self._round_budgets(low * weights, mean)

    def _round_budgets(self, budgets: _Numbers, mean: float) -> NDArray[np.int64]:
        """Return the budgets as integers within the measured range."""
        ends = min(self.levels[0], mean), max(self.levels[-1], mean)
        rounded_budgets: NDArray[np.int64] = np.rint(np.clip(budgets, *ends)).astype(np.int64)
        return rounded_budgets


def group_queries(scores: Rows, levels: _Numbers, recall: Rows) -> QueryGroups:
    """Return groups of training queries; `recall` has a row per query and a column per level."""
    cuts = np.quantile(scores, np.linspace(0, 1, GROUPS + 1)[1:-1], method="lower")
    edges = np.unique(cuts[cuts < scores.max()])  # so that no group is empty
    members = [np.searchsorted(edges, scores) == group for group in range(len(edges) + 1)]
    return QueryGroups(
        edges,
        np.array([scores[mask].mean() for mask in members]),
        np.array([mask.mean() for mask in members]),
        levels,
        np.array([recall[mask].mean(axis=0) for mask in members]),
    )
