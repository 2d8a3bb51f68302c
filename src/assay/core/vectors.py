"""Vectors and neighbours: the shapes of vector search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError

Matrix = NDArray[Any]  # n × d, of any type of TYPES
Positions = NDArray[np.int64]  # q × k places in the base; −1: nothing was returned
METRICS = ("l2", "ip", "cosine")
METRIC_NAMES = {  # as others call them
    "euclidean": "l2",
    "angular": "cosine",
    "normalized": "cosine",
    "dot": "ip",
    "dp": "ip",
    "inner_product": "ip",
    **{metric: metric for metric in METRICS},
}
TYPES = ("float32", "float16", "uint8", "int8", "float64")
_WINDOW = 32 << 20  # bytes of a file that are mapped at once for single rows


class Vectors(ABC):
    """Rows of numbers, in memory or in a file of which only what is asked for is read.

    >>> vectors = Held(np.eye(3, dtype=np.float32))
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
        """The rows from start up to stop."""

    def take(self, positions: NDArray[Any]) -> Matrix:
        """The rows at some positions, in their order."""
        made = np.empty((len(positions), self.d), self.dtype)
        order = np.argsort(positions, kind="stable")
        for at in order:
            made[at] = self.block(int(positions[at]), int(positions[at]) + 1)[0]
        return made

    def whole(self) -> Matrix:
        """All rows."""
        return self.block(0, len(self))

    def blocks(self, rows: int) -> Iterator[tuple[int, Matrix]]:
        """The rows, some at a time, each with the position of the first."""
        for start in range(0, len(self), rows):
            yield start, self.block(start, min(start + rows, len(self)))


def signed(positions: NDArray[Any]) -> Positions:
    """Positions as int64; the largest of a long unsigned type is how −1 looks in it.

    >>> signed(np.array([[3, 2**32 - 1]], np.uint32)).tolist()
    [[3, -1]]
    """
    made: Positions = positions.astype(np.int64)
    if positions.dtype.kind == "u" and positions.dtype.itemsize >= 4:
        made[positions == np.iinfo(positions.dtype).max] = -1
    return made


class Held(Vectors):
    """Vectors in memory."""

    def __init__(self, matrix: Any) -> None:
        made = np.asarray(matrix)
        if made.ndim != 2:
            raise InputError(f"vectors are a table of n rows and d columns, found {made.ndim} dimension(s)")
        if made.dtype.name not in TYPES:
            raise InputError(f"vectors are of type {', '.join(TYPES)}, found {made.dtype}")
        self.matrix: Matrix = made
        self.shape, self.dtype = made.shape, made.dtype

    def block(self, start: int, stop: int) -> Matrix:
        """The rows from start up to stop."""
        return self.matrix[start:stop]

    def take(self, positions: NDArray[Any]) -> Matrix:
        """The rows at some positions, in their order."""
        made: Matrix = self.matrix[positions]
        return made


@dataclass(frozen=True, eq=False)
class Mapped(Vectors):
    """Rows of a fixed size in a file: only the part that is asked for is mapped, so the file may be large."""

    path: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    offset: int = 0  # of the first row
    lead: int = 0  # bytes before the numbers of each row

    @property
    def stride(self) -> int:
        """The bytes from one row to the next."""
        return self.lead + self.shape[1] * self.dtype.itemsize

    def block(self, start: int, stop: int) -> Matrix:
        """The rows from start up to stop."""
        if stop <= start or not self.shape[1]:
            return np.empty((max(0, stop - start), self.shape[1]), self.dtype)
        size = (stop - start) * self.stride
        raw = np.memmap(self.path, np.uint8, "r", self.offset + start * self.stride, (size,))
        rows = np.asarray(raw).reshape(stop - start, self.stride)
        return rows[:, self.lead :].view(self.dtype)

    def take(self, positions: NDArray[Any]) -> Matrix:
        """The rows at some positions, in their order; the file is mapped a window at a time."""
        made = np.empty((len(positions), self.shape[1]), self.dtype)
        order = np.argsort(positions, kind="stable")
        ascending = np.asarray(positions)[order]
        done, rows = 0, max(1, _WINDOW // max(1, self.stride))
        while done < len(order):
            first = int(ascending[done])
            stop = int(np.searchsorted(ascending, first + rows))
            here = ascending[done:stop]
            made[order[done:stop]] = self.block(first, int(here[-1]) + 1)[here - first]
            done = stop
        return made


class Neighbors(NamedTuple):
    """The nearest of the base to each query, nearest first; −1 and NaN stand where there is none.

    Distances grow with distance under every metric: Euclidean for l2, 1 − cos for cosine, −⟨q, x⟩ for ip.
    """

    positions: Positions
    distances: NDArray[np.float64] | None = None

    @property
    def k(self) -> int:
        """How many there are for each query."""
        return int(self.positions.shape[1])


def checked_metric(metric: str) -> str:
    """A metric that there is."""
    if metric not in METRICS:
        raise InputError(f"the metric is one of {', '.join(METRICS)}, found {metric!r}")
    return metric
