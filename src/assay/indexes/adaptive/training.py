"""What training queries find at growing budgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Held, Positions
from assay.indexes.exact.truth import truth
from assay.indexes.hits import Judge
from assay.indexes.index import Rows, Setup

Ask = Callable[[Rows, int, int], Positions]  # queries, budget, k
_SERVED = 0.999  # of the training queries: more budget would teach nothing
_STEP = 2**0.5


class Lesson(NamedTuple):
    """How training queries are asked."""

    k: int
    target: float  # the recall at which a query is served
    most: int  # of the budget


class Tried(NamedTuple):
    """The recall of training queries at each level of the budget, what is beyond the target cut off."""

    levels: NDArray[np.int64]
    recall: Rows  # queries × levels
    target: float

    @property
    def needed(self) -> NDArray[np.int64]:
        """The least level at which a query reaches the target; where none does, the last."""
        reached = _reached(self.recall, self.target)
        reached[:, -1] = True
        found: NDArray[np.int64] = self.levels[reached.argmax(axis=1)]
        return found


def tried(ask: Ask, base: Rows, queries: Rows, setup: Setup, lesson: Lesson) -> Tried:
    """Search with growing budgets until nearly all training queries reach the target."""
    held, asked = Held(base), Held(queries)
    exact = truth(held, asked, lesson.k, setup.metric, threads=setup.threads)
    judge = Judge(exact, lesson.k, held, asked, setup.metric)
    columns: list[Rows] = []
    levels = ladder(lesson.most)
    for level in levels:
        found = judge.hits(ask(queries, level, lesson.k)).recall
        columns.append(np.minimum(found, lesson.target).astype(np.float32))
        if _reached(columns[-1], lesson.target).mean() >= _SERVED:
            break
    return Tried(np.array(levels[: len(columns)]), np.column_stack(columns), lesson.target)


def _reached(recall: Rows, target: float) -> NDArray[np.bool_]:
    made: NDArray[np.bool_] = recall >= target - 1e-6
    return made


def ladder(most: int) -> list[int]:
    """Budgets from 1 to the most, each about 1.4 times the one before.

    >>> ladder(12)
    [1, 2, 3, 4, 6, 8, 11, 12]
    """
    steps = int(np.log(most) / np.log(_STEP)) + 1
    return sorted({round(_STEP**step) for step in range(steps)} | {most})
