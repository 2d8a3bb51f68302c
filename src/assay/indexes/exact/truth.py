"""Exact neighbours: the nearest k of a base to each query, and nothing left to chance.

Single precision only says which rows may be near (`score_limits`, `candidates`); double precision measures
these and decides, and of rows at the same distance the first in the base wins. So the result does not
depend on blocks, threads, parts or machines. Memory does not depend on the size of the base.
"""

from __future__ import annotations

import os
from functools import reduce
from pathlib import Path
from threading import Lock

from assay.core.errors import InputError
from assay.core.vectors import Neighbors, Vectors, checked_metric
from assay.core.vectors_check import refuse_faults, refuse_mismatch
from assay.indexes.exact.part_results import Checkpoint
from assay.indexes.exact.part_search import BLOCK, Task
from assay.indexes.exact.sharding import Progress, Runner, Threads, cut, merged

_PART = 8e12  # operations of a part: about a minute or two of work that an interruption may cost


def truth(
    base: Vectors,
    queries: Vectors,
    k: int,
    metric: str,
    *,
    threads: int | None = None,
    block: int = BLOCK,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    runner: Runner | None = None,
    parts: int | None = None,
) -> Neighbors:
    """The nearest k of the base to each query, nearest first, then in the base's order.

    `checkpoint` is a folder for the parts that are done: a call that was interrupted is taken up there.

    >>> import numpy as np
    >>> from assay.core.vectors import Held
    >>> base, queries = Held(np.array([[0, 0], [3, 4], [3, 4]], np.uint8)), Held(np.array([[3, 3]], np.uint8))
    >>> found = truth(base, queries, 2, "l2")
    >>> found.positions.tolist(), found.distances.tolist()
    ([[1, 2]], [[1.0, 1.0]])
    """
    _check(base, queries, k, metric, block)
    rows = queries.whole()
    runner = runner or Threads(threads or os.cpu_count() or 1)
    tasks = cut(Task(0, len(base), k, metric, block), _part_rows(base, queries, parts))
    kept = Checkpoint.of(checkpoint, base, queries, tasks)
    done = {task: found for task in tasks if (found := kept.get(task)) is not None}
    tell = _Told(len(base) * len(queries), progress)
    tell(sum(task.stop - task.start for task in done) * len(queries))
    todo = [task for task in tasks if task not in done]
    made = list(done.values())
    for task, found in runner(base, rows, todo, tell):
        kept.put(task, found)
        made = [reduce(merged, [*made, found])]
    return reduce(merged, made)


def _part_rows(base: Vectors, queries: Vectors, parts: int | None) -> int:
    if parts is not None:
        return max(1, -(-len(base) // parts))
    return max(1, BLOCK, round(_PART / (2 * max(1, base.d) * max(1, len(queries)))))


class _Told:
    """Counts what was done, from any thread, and tells who wants to know."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.done, self.total, self.progress, self._lock = 0, total, progress, Lock()

    def __call__(self, pairs: int) -> None:
        with self._lock:
            self.done += pairs
            if self.progress:
                self.progress(self.done, self.total)


def _check(base: Vectors, queries: Vectors, k: int, metric: str, block: int) -> None:
    checked_metric(metric)
    refuse_mismatch(base, queries)
    for name, vectors in (("base", base), ("queries", queries)):
        if not len(vectors) or not vectors.d:
            raise InputError(f"{name}: {len(vectors):,} rows of {vectors.d} dimensions; there must be some")
    if block < 1:
        raise InputError(f"a block has at least one row, found {block}")
    if k < 1:
        raise InputError(f"k is at least 1, found {k}")
    if k > len(base):
        raise InputError(f"k is {k:,}, but the base has {len(base):,} vectors: ask for at most {len(base):,}")
    refuse_faults(queries, metric, "queries")


def cut_at(found: Neighbors, k: int) -> tuple[Neighbors, int]:
    """The nearest k of more, and for how many queries the next is as near as the last of them.

    >>> import numpy as np
    >>> cut_at(Neighbors(np.array([[4, 1, 7]]), np.array([[0.5, 2.0, 2.0]])), 2)[1]
    1
    """
    assert found.distances is not None
    first = Neighbors(found.positions[:, :k], found.distances[:, :k])
    return first, int((found.distances[:, k - 1 : k] == found.distances[:, k : k + 1]).sum())
