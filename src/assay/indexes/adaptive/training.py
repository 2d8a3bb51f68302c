"""The recall of training queries at growing budgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import InMemoryVectors, Positions
from assay.indexes.exact.truth import truth
from assay.indexes.hits import HitRule
from assay.indexes.index import Rows, Setup

BudgetSearch = Callable[[Rows, int, int], Positions]  # queries, budget, k
_SERVED_SHARE = 0.999  # share of the training queries that reach the target before measuring stops
_STEP = 2**0.5


class TrainingGoal(NamedTuple):
    """The recall that training queries should reach, and the largest budget to try."""

    k: int
    target: float  # recall
    max_budget: int  # largest budget to try


class TrainingRecall(NamedTuple):
    """The recall of training queries at each budget level, capped at the target."""

    levels: NDArray[np.int64]
    recall: Rows  # queries × levels
    target: float

    @property
    def needed_budgets(self) -> NDArray[np.int64]:
        """The lowest level at which each query reaches the target, or the last level if none does."""
        reaches_target = _reaches_target(self.recall, self.target)
        reaches_target[:, -1] = True
        levels: NDArray[np.int64] = self.levels[reaches_target.argmax(axis=1)]
        return levels


def measure_training_recall(
    search: BudgetSearch, base: Rows, queries: Rows, setup: Setup, goal: TrainingGoal
) -> TrainingRecall:
    """Search with growing budgets until nearly all training queries reach the target."""
    base_vectors, query_vectors = InMemoryVectors(base), InMemoryVectors(queries)
    exact = truth(base_vectors, query_vectors, goal.k, setup.metric, threads=setup.threads)
    hit_rule = HitRule(exact, goal.k, base_vectors, query_vectors, setup.metric)
    columns: list[Rows] = []
    levels = budget_levels(goal.max_budget)
    for level in levels:
        recall = hit_rule.hits(search(queries, level, goal.k)).recall
        columns.append(np.minimum(recall, goal.target).astype(np.float32))
        if _reaches_target(columns[-1], goal.target).mean() >= _SERVED_SHARE:
            break
    return TrainingRecall(np.array(levels[: len(columns)]), np.column_stack(columns), goal.target)


def _reaches_target(recall: Rows, target: float) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = recall >= target - 1e-6
    return flags


def budget_levels(max_budget: int) -> list[int]:
    """Return budgets from 1 to the largest, each about 1.4 times the previous one.

    >>> budget_levels(12)
    [1, 2, 3, 4, 6, 8, 11, 12]
    """
    steps = int(np.log(max_budget) / np.log(_STEP)) + 1
    return sorted({round(_STEP**step) for step in range(steps)} | {max_budget})
