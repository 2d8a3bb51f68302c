"""What is learnt of training queries: which are hard, from one half; what that is worth, from the other.

How well a model tells the queries that it was fitted to says nothing about others.
"""

from __future__ import annotations

import numpy as np

from assay.indexes.adaptive.allocation import Groups, grouped
from assay.indexes.adaptive.difficulty import Difficulty, fitted
from assay.indexes.adaptive.training import Tried
from assay.indexes.index import Rows


def learnt(features: Rows, found: Tried) -> tuple[Difficulty, Groups]:
    """How hard queries are, and groups of others, which budgets are chosen for."""
    order = np.random.default_rng(0).permutation(len(features))
    first, second = order[: len(order) // 2], order[len(order) // 2 :]
    difficulty = fitted(features[first], found.needed[first])
    return difficulty, grouped(difficulty.scores(features[second]), found.levels, found.recall[second])
