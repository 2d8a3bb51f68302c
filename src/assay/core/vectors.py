"""Vectors and neighbours: the arrays of vector search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError

Matrix = NDArray[Any]  # n × d, of any type of TYPES
Positions = NDArray[np.int64]  # q × k positions in the base; −1: no neighbour
METRICS = ("l2", "ip", "cosine")
METRIC_NAMES = {  # the names of other tools
    "euclidean": "l2",
    "angular": "cosine",
    "normalized": "cosine",
    "dot": "ip",
    "dp": "ip",
    "inner_product": "ip",
    **{metric: metric for metric in METRICS},
}
TYPES = ("float32", "float16", "uint8", "int8", "float64")
_WINDOW_BYTES = 32 << 20  # bytes of a file that are mapped at once to read single rows


class Vectors(ABC):
    """Rows of numbers, in memory or in a file of which only the requested rows are read.

    >>> vectors = InMemoryVectors(np.eye(3, dtype=np.float32))
    >>> vectors.shape, vectors.block(1, 3).shape, vectors.take(np.array([2]))[0].tolist()
    ((3, 3), (2, 3), [0.0, 0.0, 1.0])
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return self.shape[1]

    @abstractmethod
    def block(self, start: int, stop: int) -> Matrix:
        """Return the rows from start up to stop."""

    def take(self, positions: NDArray[Any]) -> Matrix:
        """Return the rows at these positions, in their order."""
        rows = np.empty((len(positions), self.d), self.dtype)
        order = np.argsort(positions, kind="stable")
        for at in order:
            rows[at] = self.block(int(positions[at]), int(positions[at]) + 1)[0]
        return rows

    def _take_in_windows(
        self, positions: NDArray[Any], window_rows: int, read: Callable[[int, int], Matrix]
    ) -> Matrix:
        """Return the rows at these positions, with one read for all that are in the same window."""
        taken = np.empty((len(positions), self.d), self.dtype)
        order = np.argsort(positions, kind="stable")
        ascending = np.asarray(positions)[order]
        start = 0
        while start < len(order):
            first = int(ascending[start])
            stop = int(np.searchsorted(ascending, first + window_rows))
            window = ascending[start:stop]
            taken[order[start:stop]] = read(first, int(window[-1]) + 1)[window - first]
            start = stop
        return taken

    def to_matrix(self) -> Matrix:
        """Return all rows."""
        return self.block(0, len(self))

    def blocks(self, rows: int) -> Iterator[tuple[int, Matrix]]:
        """Yield the rows in blocks, each with the position of its first row."""
        for start in range(0, len(self), rows):
            yield start, self.block(start, min(start + rows, len(self)))


def signed_positions(positions: NDArray[Any]) -> Positions:
    """Return positions as int64; the largest number of a long unsigned type stands for −1.

    >>> signed_positions(np.array([[3, 2**32 - 1]], np.uint32)).tolist()
    [[3, -1]]
    """
    signed: Positions = positions.astype(np.int64)
    if positions.dtype.kind == "u" and positions.dtype.itemsize >= 4:
        signed[positions == np.iinfo(positions.dtype).max] = -1
    return signed


class InMemoryVectors(Vectors):
    """Vectors in memory."""

    def __init__(self, matrix: Any) -> None:
        array = np.asarray(matrix)
        if array.ndim != 2:
            raise InputError(f"vectors are a table of n rows and d columns, found {array.ndim} dimension(s)")
        if array.dtype.name not in TYPES:
            raise InputError(f"vectors are of type {', '.join(TYPES)}, found {array.dtype}")
        self.matrix: Matrix = array
        self.shape, self.dtype = array.shape, array.dtype

    def block(self, start: int, stop: int) -> Matrix:
        """Return the rows from start up to stop."""
        return self.matrix[start:stop]

    def take(self, positions: NDArray[Any]) -> Matrix:
        """Return the rows at these positions, in their order."""
        rows: Matrix = self.matrix[positions]
        return rows


@dataclass(frozen=True, eq=False)
class MappedVectors(Vectors):
    """Rows of a fixed size in a file: only the requested rows are mapped, so the file may be large."""

    path: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    offset: int = 0  # of the first row
    row_prefix: int = 0  # bytes before the numbers of each row

    @property
    def stride(self) -> int:
        """The number of bytes from one row to the next."""
        return self.row_prefix + self.shape[1] * self.dtype.itemsize

    def block(self, start: int, stop: int) -> Matrix:
        """Return the rows from start up to stop."""
        if stop <= start or not self.shape[1]:
            return np.empty((max(0, stop - start), self.shape[1]), self.dtype)
        size = (stop - start) * self.stride
        raw = np.memmap(self.path, np.uint8, "r", self.offset + start * self.stride, (size,))
        rows = np.asarray(raw).reshape(stop - start, self.stride)
        return rows[:, self.row_prefix :].view(self.dtype)

    def take(self, positions: NDArray[Any]) -> Matrix:
        """Return the rows at these positions, in their order; the file is mapped one window at a time."""
        return self._take_in_windows(positions, max(1, _WINDOW_BYTES // max(1, self.stride)), self.block)


class Neighbors(NamedTuple):
    """The nearest neighbours of each query in the base, nearest first; −1 and NaN if there are fewer.

    A smaller distance is nearer under every metric: Euclidean for l2, 1 − cos for cosine, −⟨q, x⟩ for ip.
    """

    positions: Positions
    distances: NDArray[np.float64] | None = None

    @property
    def k(self) -> int:
        """The number of neighbours of each query."""
        return int(self.positions.shape[1])


def check_metric(metric: str) -> str:
    """Return the metric; raise InputError if it is unknown."""
    if metric not in METRICS:
        raise InputError(f"the metric is one of {', '.join(METRICS)}, found {metric!r}")
    return metric
