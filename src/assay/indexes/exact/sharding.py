"""Parts of the base: runners that search them, and the merging of their results.

The result of a part is exact and uses positions of the whole base, so parts can be merged in any order; the
result is identical, bit for bit, to that of a single pass.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import EngineError, InputError, MissingExtraError
from assay.core.vectors import Neighbors, Vectors
from assay.indexes.exact.part_search import RowCallback, Task, search_part

_ADDRESS_PATTERN = re.compile(r"(?:ray://)?\[?([^\s/]+?)\]?:(\d{1,5})")
_CONNECT_SECONDS = 10.0  # to connect to a cluster; Ray itself tries for many minutes


class Runner(Protocol):
    """A callable that searches parts of the base and yields each result as soon as it is available."""

    def __call__(
        self, base: Vectors, queries: NDArray[Any], tasks: Sequence[Task], report: RowCallback
    ) -> Iterator[tuple[Task, Neighbors]]:
        """Yield each task with its result; call `report` with the number of pairs searched."""
        ...


def split_task(whole: Task, rows: int) -> list[Task]:
    """Split a task into tasks of at most `rows` rows.

    >>> [(task.start, task.stop) for task in split_task(Task(0, 10, 3, "l2"), 4)]
    [(0, 4), (4, 8), (8, 10)]
    """
    starts = range(whole.start, whole.stop, rows)
    return [whole._replace(start=start, stop=min(start + rows, whole.stop)) for start in starts]


def merge_neighbors(first: Neighbors, second: Neighbors) -> Neighbors:
    """Return the nearest of two results for the same queries, as many as the first has places.

    >>> one = Neighbors(np.array([[4, 1]]), np.array([[0.5, 2.0]]))
    >>> two = Neighbors(np.array([[0, -1]]), np.array([[2.0, np.nan]]))
    >>> merge_neighbors(one, two).positions.tolist()
    [[4, 0]]
    """
    assert first.distances is not None
    assert second.distances is not None
    positions = np.hstack([first.positions, second.positions])
    distances = np.hstack([first.distances, second.distances])
    order = np.lexsort((positions, distances))[:, : first.k]  # missing neighbours (NaN) come last
    return Neighbors(np.take_along_axis(positions, order, 1), np.take_along_axis(distances, order, 1))


class ThreadRunner:
    """Search one part after another, in threads of this process."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(
        self, base: Vectors, queries: NDArray[Any], tasks: Sequence[Task], report: RowCallback
    ) -> Iterator[tuple[Task, Neighbors]]:
        """Yield the results, one after another."""
        for task in tasks:
            yield task, search_part(base, queries, task, lambda rows: report(rows * len(queries)), self.count)


class RayRunner:
    """Search on a Ray cluster: the address of a running one, or `local` for one on this machine.

    Each worker opens the base if it is a file, so the file must have the same path on all machines.
    """

    def __init__(self, address: str, workers: int | None = None) -> None:
        self.address, self.workers = address, workers

    def __call__(
        self, base: Vectors, queries: NDArray[Any], tasks: Sequence[Task], report: RowCallback
    ) -> Iterator[tuple[Task, Neighbors]]:
        """Yield the results in the order in which workers finish."""
        ray = self._connect()
        remote = ray.remote(num_cpus=1)(_search_task)
        shared = ray.put(base), ray.put(queries)
        waiting = {remote.remote(*shared, task): task for task in tasks}
        try:
            while waiting:
                (finished, *_), _ = ray.wait(list(waiting))
                task = waiting.pop(finished)
                result = _task_result(ray, finished)
                report((task.stop - task.start) * len(queries))
                yield task, result
        finally:
            for task_ref in waiting:
                ray.cancel(task_ref)

    def part_count(self) -> int:
        """Return the number of parts to split the work into: two per processor, to balance the load."""
        return 2 * int(self._connect().cluster_resources().get("CPU", 1))

    def _connect(self) -> Any:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # disable usage reports
        try:
            import ray
        except ImportError:
            raise MissingExtraError("ray", "a search on a cluster", "ray") from None
        if not ray.is_initialized():
            _refuse_address(self.address)
            local_options = {
                "num_cpus": self.workers,
                "include_dashboard": False,
                "_node_ip_address": "127.0.0.1",
            }
            options = local_options if self.address == "local" else {"address": self.address}
            try:
                ray.init(**options, log_to_driver=False, logging_level="ERROR")
            except Exception as error:  # Ray has no error class of its own for parts that do not start
                raise EngineError(f"cannot use Ray ({self.address}): {error}") from None
        return ray


def _refuse_address(address: str) -> None:
    """Raise an error if this is not an address, or if nothing answers there."""
    if address in ("local", "auto"):
        return
    match = _ADDRESS_PATTERN.fullmatch(address)
    if not match or int(match[2]) > 65535:
        raise InputError(
            f"expected the address of a Ray cluster, HOST:PORT, auto or local; found {address!r}"
        )
    try:
        socket.create_connection((match[1], int(match[2])), _CONNECT_SECONDS).close()
    except OSError as error:
        raise InputError(
            f"cannot reach a Ray cluster at {address} ({error}): start one there (ray start --head), "
            "or use local for one on this machine"
        ) from None


def _task_result(ray: Any, reference: Any) -> Neighbors:
    """Return the result of a worker, or raise its error."""
    try:
        result: Neighbors = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause or error from None
    return result


def _search_task(base: Vectors, queries: NDArray[Any], task: Task) -> Neighbors:
    """Search one task in a worker of a cluster."""
    return search_part(base, queries, task)


PairProgress = Callable[[int, int], None]  # pairs of query and row that are done, and their total
