"""Exact neighbours: the nearest k rows of a base to each query, deterministically.

Single precision selects the rows that may be near (`score_limits`, `candidates`); their distances in double
precision decide, and rows at the same distance are ordered by position. So the result does not depend on
blocks, threads, parts or machines. Memory does not depend on the size of the base.
"""

from __future__ import annotations

import os
from functools import reduce
from pathlib import Path
from threading import Lock

from assay.core.errors import InputError
from assay.core.vector_faults import refuse_faults, refuse_mismatch
from assay.core.vectors import Neighbors, Vectors, check_metric
from assay.indexes.exact.part_results import PartResults
from assay.indexes.exact.part_search import BLOCK_ROWS, Task
from assay.indexes.exact.sharding import PairProgress, Runner, ThreadRunner, merge_neighbors, split_task

_PART_OPERATIONS = 8e12  # one or two minutes of work, which an interruption may cost


def truth(
    base: Vectors,
    queries: Vectors,
    k: int,
    metric: str,
    *,
    threads: int | None = None,
    block: int = BLOCK_ROWS,
    progress: PairProgress | None = None,
    checkpoint: str | Path | None = None,
    runner: Runner | None = None,
    parts: int | None = None,
) -> Neighbors:
    """Return the nearest k rows of the base to each query, ordered by distance, then by position.

    `checkpoint` is a folder for finished parts, from which an interrupted call is resumed.

    >>> import numpy as np
    >>> from assay.core.vectors import InMemoryVectors
    >>> base = InMemoryVectors(np.array([[0, 0], [3, 4], [3, 4]], np.uint8))
    >>> queries = InMemoryVectors(np.array([[3, 3]], np.uint8))
    >>> found = truth(base, queries, 2, "l2")
    >>> found.positions.tolist(), found.distances.tolist()
    ([[1, 2]], [[1.0, 1.0]])
    """
    _check(base, queries, k, metric, block)
    rows = queries.to_matrix()
    runner = runner or ThreadRunner(threads or os.cpu_count() or 1)
    tasks = split_task(Task(0, len(base), k, metric, block), _part_rows(base, queries, parts))
    saved_parts = PartResults.open(checkpoint, base, queries, tasks)
    finished_parts = {task: result for task in tasks if (result := saved_parts.get(task)) is not None}
    report = _ProgressCounter(len(base) * len(queries), progress)
    report(sum(task.stop - task.start for task in finished_parts) * len(queries))
    remaining_tasks = [task for task in tasks if task not in finished_parts]
    results = list(finished_parts.values())
    for task, result in runner(base, rows, remaining_tasks, report):
        saved_parts.put(task, result)
        results = [reduce(merge_neighbors, [*results, result])]
    return reduce(merge_neighbors, results)


def _part_rows(base: Vectors, queries: Vectors, parts: int | None) -> int:
    if parts is not None:
        return max(1, -(-len(base) // parts))
    return max(1, BLOCK_ROWS, round(_PART_OPERATIONS / (2 * max(1, base.d) * max(1, len(queries)))))


class _ProgressCounter:
    """Counts the pairs that are done, from any thread, and reports the progress."""

    def __init__(self, total: int, progress: PairProgress | None) -> None:
        self.count, self.total, self.progress, self._lock = 0, total, progress, Lock()

    def __call__(self, pairs: int) -> None:
        with self._lock:
            self.count += pairs
            if self.progress:
                self.progress(self.count, self.total)


def _check(base: Vectors, queries: Vectors, k: int, metric: str, block: int) -> None:
    check_metric(metric)
    refuse_mismatch(base, queries)
    for name, vectors in (("base", base), ("queries", queries)):
        if not len(vectors) or not vectors.d:
            raise InputError(
                f"{name}: expected rows and dimensions, found {len(vectors):,} rows of {vectors.d} dimensions"
            )
    if block < 1:
        raise InputError(f"a block must have at least one row, found {block}")
    if k < 1:
        raise InputError(f"k must be 1 or more, found {k}")
    if k > len(base):
        raise InputError(f"k must be at most {len(base):,}, the number of vectors in the base; found {k:,}")
    refuse_faults(queries, metric, "queries")


def truncate_neighbors(neighbors: Neighbors, k: int) -> tuple[Neighbors, int]:
    """Return the nearest k of more neighbours, and for how many queries the next is as near as the k-th.

    >>> import numpy as np
    >>> truncate_neighbors(Neighbors(np.array([[4, 1, 7]]), np.array([[0.5, 2.0, 2.0]])), 2)[1]
    1
    """
    assert neighbors.distances is not None
    nearest = Neighbors(neighbors.positions[:, :k], neighbors.distances[:, :k])
    return nearest, int((neighbors.distances[:, k - 1 : k] == neighbors.distances[:, k : k + 1]).sum())
