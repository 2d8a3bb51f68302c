"""Parts of the base, who searches them, and how their results become one.

A part's result is exact and told in positions of the whole base, so that parts can be joined in any
order: the result is that of a single pass, bit for bit.
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
from assay.indexes.exact.part_search import Seen, Task, search

_ADDRESS = re.compile(r"(?:ray://)?\[?([^\s/]+?)\]?:(\d{1,5})")
_REACHED = 10.0  # seconds within which a cluster takes a connection: Ray itself tries for many minutes


class Runner(Protocol):
    """Whoever searches parts of the base; each result is given out as soon as it is there."""

    def __call__(
        self, base: Vectors, queries: NDArray[Any], tasks: Sequence[Task], seen: Seen
    ) -> Iterator[tuple[Task, Neighbors]]:
        """The result of each task; `seen` is told of pairs of a query and a row that were looked at."""
        ...


def cut(whole: Task, rows: int) -> list[Task]:
    """A task as tasks of some rows each.

    >>> [(task.start, task.stop) for task in cut(Task(0, 10, 3, "l2"), 4)]
    [(0, 4), (4, 8), (8, 10)]
    """
    starts = range(whole.start, whole.stop, rows)
    return [whole._replace(start=start, stop=min(start + rows, whole.stop)) for start in starts]


def merged(first: Neighbors, second: Neighbors) -> Neighbors:
    """The nearest of two results for the same queries, as many as each has places.

    >>> one = Neighbors(np.array([[4, 1]]), np.array([[0.5, 2.0]]))
    >>> two = Neighbors(np.array([[0, -1]]), np.array([[2.0, np.nan]]))
    >>> merged(one, two).positions.tolist()
    [[4, 0]]
    """
    assert first.distances is not None
    assert second.distances is not None
    positions = np.hstack([first.positions, second.positions])
    distances = np.hstack([first.distances, second.distances])
    order = np.lexsort((positions, distances))[:, : first.k]  # what is not there (NaN) comes last
    return Neighbors(np.take_along_axis(positions, order, 1), np.take_along_axis(distances, order, 1))


class Threads:
    """Search one part after the other, in some threads of this process."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(
        self, base: Vectors, queries: NDArray[Any], tasks: Sequence[Task], seen: Seen
    ) -> Iterator[tuple[Task, Neighbors]]:
        """The results, one after the other."""
        for task in tasks:
            yield task, search(base, queries, task, lambda rows: seen(rows * len(queries)), self.count)


class Ray:
    """Search on a cluster of Ray: the address of one that runs, or `local` for one on this machine.

    The base is opened by each worker where it is a file, so it must lie at the same path for all.
    """

    def __init__(self, address: str, workers: int | None = None) -> None:
        self.address, self.workers = address, workers

    def __call__(
        self, base: Vectors, queries: NDArray[Any], tasks: Sequence[Task], seen: Seen
    ) -> Iterator[tuple[Task, Neighbors]]:
        """The results, in the order in which the workers have them."""
        ray = self._connected()
        remote = ray.remote(num_cpus=1)(_alone)
        shared = ray.put(base), ray.put(queries)
        waiting = {remote.remote(*shared, task): task for task in tasks}
        try:
            while waiting:
                (ready, *_), _ = ray.wait(list(waiting))
                task = waiting.pop(ready)
                found = _unwrapped(ray, ready)
                seen((task.stop - task.start) * len(queries))
                yield task, found
        finally:
            for left in waiting:
                ray.cancel(left)

    def parts(self) -> int:
        """Into how many parts work is best cut: a few for each processor, as none is like the other."""
        return 2 * int(self._connected().cluster_resources().get("CPU", 1))

    def _connected(self) -> Any:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody else needs to know
        try:
            import ray
        except ImportError:
            raise MissingExtraError("ray", "a search on a cluster", "ray") from None
        if not ray.is_initialized():
            _refuse_address(self.address)
            alone = {"num_cpus": self.workers, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
            where = alone if self.address == "local" else {"address": self.address}
            try:
                ray.init(**where, log_to_driver=False, logging_level="ERROR")
            except Exception as error:  # of no class of its own where a part of Ray does not start
                raise EngineError(f"Ray ({self.address}) cannot be used: {error}") from None
        return ray


def _refuse_address(address: str) -> None:
    """Refuse what is no address, and one at which nobody answers."""
    if address in ("local", "auto"):
        return
    found = _ADDRESS.fullmatch(address)
    if not found or int(found[2]) > 65535:
        raise InputError(f"a cluster of Ray is HOST:PORT, auto or local; found {address!r}")
    try:
        socket.create_connection((found[1], int(found[2])), _REACHED).close()
    except OSError as error:
        raise InputError(
            f"no cluster of Ray is reached at {address} ({error}): start one there (ray start --head), "
            "or one on this machine with local"
        ) from None


def _unwrapped(ray: Any, ready: Any) -> Neighbors:
    """A worker's result; its error is raised as if it were ours."""
    try:
        found: Neighbors = ray.get(ready)
    except ray.exceptions.RayTaskError as error:
        raise error.cause or error from None
    return found


def _alone(base: Vectors, queries: NDArray[Any], task: Task) -> Neighbors:
    """What one worker of a cluster does."""
    return search(base, queries, task)


Progress = Callable[[int, int], None]  # pairs of a query and a row that are done, and all
