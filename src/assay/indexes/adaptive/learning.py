"""Learning from training queries: one half fits the difficulty model, the other half the allocation.

How well a model predicts the queries that it was fitted to says nothing about other queries.
"""

from __future__ import annotations

import numpy as np

from assay.indexes.adaptive.allocation import QueryGroups, group_queries
from assay.indexes.adaptive.difficulty import DifficultyModel, fit_difficulty
from assay.indexes.adaptive.training import TrainingRecall
from assay.indexes.index import Rows


def learn_allocation(features: Rows, training: TrainingRecall) -> tuple[DifficultyModel, QueryGroups]:
    """Return the model of one half of the queries, and groups of the other half for the allocation."""
    order = np.random.default_rng(0).permutation(len(features))
    first, second = order[: len(order) // 2], order[len(order) // 2 :]
    difficulty = fit_difficulty(features[first], training.needed_budgets[first])
    return difficulty, group_queries(
        difficulty.scores(features[second]), training.levels, training.recall[second]
    )
