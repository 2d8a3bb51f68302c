"""The Index protocol: the methods that an engine implements to be measured.

An engine returns positions only; distances, hits and times are measured from outside. Its parameters are
the keyword arguments of `__init__` (for building) and of `set_search` (for searching), in the engine's own
spelling. Their annotations and defaults are checked and documented.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import METRICS, Positions

FAMILIES = ("graph", "partition", "tree", "exact", "other")
Rows = NDArray[np.float32]  # contiguous; of unit length if the metric is cosine


class Setup(NamedTuple):
    """The settings that an engine receives before it builds."""

    metric: str
    d: int
    threads: int
    folder: Path  # empty and for this index only; files of the index go here


class Requests(NamedTuple):
    """Queries that are sent one by one, by `ask(item, k)` for each item."""

    ask: Callable[[Any, int], Positions]
    items: Sequence[Any]


class Index:
    """An index of one engine; an adapter is a subclass in a file of its own.

    `__init__(self, setup, *, M: int = 16)` takes the parameters for building by keyword,
    `set_search(self, *, ef: int = 64)` the parameters for searching.
    """

    metrics: ClassVar[tuple[str, ...]] = METRICS
    exact: ClassVar[bool] = False  # compares every vector by design
    holds_gil: ClassVar[bool] = False  # a search blocks other Python threads
    smallest_search: ClassVar[
        dict[str, Any]
    ] = {}  # parameters of the smallest search; it must miss some neighbours
    file_parameters: ClassVar[
        tuple[str, ...]
    ] = ()  # parameters for building that name a file; its content identifies the index
    package: ClassVar[str] = ""  # the distribution whose version is recorded
    family: ClassVar[str] = ""  # one of FAMILIES, by which reports compare indexes; "": by its name

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    def prepare(self) -> None:
        """Do work that precedes building, such as compiling code; it is not timed."""

    def build(self, vectors: Rows) -> None:
        """Index the vectors; the id of a row is its position."""
        raise NotImplementedError

    def set_search(self) -> None:
        """Set the parameters of the searches that follow."""

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the k nearest positions to each query, nearest first, filled with −1 if there are fewer."""
        raise NotImplementedError

    def requests(self, queries: Rows, k: int, clients: int) -> Requests:
        """Prepare the queries to be sent one by one by a number of client threads, without searching.

        An engine may allocate the memory for answers here, because this is not timed.
        """
        return Requests(self.search, split_rows(queries))

    def remark(self, queries: Rows) -> str:
        """Return one line about the searches for these queries, or an empty string."""
        return ""

    def save(self) -> None:
        """Write the index to `setup.folder` unless it is there already; its size is measured there."""

    def load(self) -> None:
        """Load the index that was saved in `setup.folder`, instead of building it."""
        raise NotImplementedError

    def size(self) -> int | None:
        """Return the bytes of the index on a server's disk, or None if its files are in `setup.folder`."""
        return None

    def version(self) -> str:
        """Return the version of the engine, or an empty string if it is not a package."""
        from importlib.metadata import version

        return version(self.package) if self.package else ""

    def close(self) -> None:
        """Close connections, servers and files."""


def split_rows(rows: NDArray[Any]) -> list[NDArray[Any]]:
    """Return each row as a table of one row.

    >>> split_rows(np.array([[1, 2], [3, 4]]))
    [array([[1, 2]]), array([[3, 4]])]
    """
    return [rows[i : i + 1] for i in range(len(rows))]


def pad_positions(lists: Any, k: int) -> Positions:
    """Return lists of positions as one table of k columns, filled with −1 where a list is shorter.

    >>> pad_positions([[3, 1], [2]], 3).tolist()
    [[3, 1, -1], [2, -1, -1]]
    """
    table = np.full((len(lists), k), -1, np.int64)
    for row, positions in zip(table, lists, strict=True):
        row[: len(positions)] = positions[:k]
    return table
