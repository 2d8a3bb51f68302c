"""The Index protocol: what an engine must do to be measured.

An engine answers with positions and nothing else: distances, hits and times are taken from outside.
Its parameters are the keywords of `__init__` (for building) and of `set_search` (for searching), in the
engine's own spelling; their annotations and defaults are what is checked and documented.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import METRICS, Positions

Rows = NDArray[np.float32]  # contiguous, of unit length where the metric is cosine


class Setup(NamedTuple):
    """What an engine is told before it builds."""

    metric: str
    d: int
    threads: int
    folder: Path  # its own, empty; what it keeps on disk goes here


class Requests(NamedTuple):
    """Queries that are asked one by one: with `ask(request, k)` for each request."""

    ask: Callable[[Any, int], Positions]
    each: Sequence[Any]


class Index:
    """An index of one engine: subclass it, in one file per engine.

    `__init__(self, setup, *, M: int = 16)` takes the parameters of building by keyword,
    `set_search(self, *, ef: int = 64)` those of searching.
    """

    metrics: ClassVar[tuple[str, ...]] = METRICS
    exact: ClassVar[bool] = False  # answers by brute force, and says so
    holds_gil: ClassVar[bool] = False  # a search keeps other threads of Python waiting
    least: ClassVar[dict[str, Any]] = {}  # the smallest search there is: it must miss something
    files: ClassVar[tuple[str, ...]] = ()  # parameters of building that name a file: its content counts
    package: ClassVar[str] = ""  # the distribution whose version is recorded

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    def prepare(self) -> None:
        """Do what comes before building and is no part of it, such as compiling: it is not timed."""

    def build(self, vectors: Rows) -> None:
        """Take in the vectors; a row's position is its id."""
        raise NotImplementedError

    def set_search(self) -> None:
        """Set how the following searches are made."""

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query, nearest first; −1 where there are fewer."""
        raise NotImplementedError

    def requests(self, queries: Rows, k: int, clients: int) -> Requests:
        """The queries laid out to be asked one by one, by so many threads; no search is made here.

        What an answer is written to may be made here: this is not timed.
        """
        return Requests(self.search, one_by_one(queries))

    def remark(self, queries: Rows) -> str:
        """What is to be said of the searches for these queries, in one line; nothing where it is nothing."""
        return ""

    def save(self) -> None:
        """Write the index to `setup.folder`, where it is not there already; its size is taken there."""

    def load(self) -> None:
        """Take up the index that was saved in `setup.folder`, instead of building."""
        raise NotImplementedError

    def size(self) -> int | None:
        """The bytes the index takes on a server's disk; None: they are in `setup.folder`."""
        return None

    def version(self) -> str:
        """The version of the engine; nothing where it is no package."""
        from importlib.metadata import version

        return version(self.package) if self.package else ""

    def close(self) -> None:
        """Let go of what is held: connections, servers, files."""


def one_by_one(rows: NDArray[Any]) -> list[NDArray[Any]]:
    """Each row as a table of its own.

    >>> one_by_one(np.array([[1, 2], [3, 4]]))
    [array([[1, 2]]), array([[3, 4]])]
    """
    return [rows[i : i + 1] for i in range(len(rows))]


def padded(found: Any, k: int) -> Positions:
    """Lists of positions of any length as one table, −1 where a list is short.

    >>> padded([[3, 1], [2]], 3).tolist()
    [[3, 1, -1], [2, -1, -1]]
    """
    made = np.full((len(found), k), -1, np.int64)
    for row, positions in zip(made, found, strict=True):
        row[: len(positions)] = positions[:k]
    return made
