"""The files of TEXMEX: before every row an int32 that says how many numbers it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import FormatError
from assay.core.vectors import Mapped, Matrix, Neighbors, Vectors
from assay.core.vectors_check import pieces
from assay.datasets.sinks import writing
from assay.datasets.vectors.formats import Place, VectorFormat
from assay.datasets.vectors.headers import head, size_of
from assay.datasets.vectors.truth import refuse_distances, refuse_large

_LEAD = 4
_MOST = 1 << 20  # dimensions that are believed


@dataclass(frozen=True, eq=False)
class Led(Mapped):
    """Rows that say each how long they are; that is checked for every row that is read."""

    lead: int = _LEAD

    def block(self, start: int, stop: int) -> Matrix:
        """The rows from start up to stop."""
        if stop <= start:
            return np.empty((0, self.d), self.dtype)
        rows: Any = np.memmap(self.path, self._row, "r", start * self.stride, (stop - start,))
        self._check(np.asarray(rows["d"]), np.arange(start, stop))
        return np.asarray(rows["row"])

    def take(self, positions: NDArray[Any]) -> Matrix:
        """The rows at some positions, in their order, each read by itself."""
        raw = Mapped(self.path, (len(self), self.stride), np.dtype(np.uint8)).take(positions)
        rows: Any = raw.view(self._row)[:, 0]
        self._check(rows["d"], positions)
        return np.ascontiguousarray(rows["row"])

    @property
    def _row(self) -> np.dtype[Any]:
        return np.dtype([("d", "<i4"), ("row", self.dtype, (self.d,))])

    def _check(self, found: NDArray[Any], positions: NDArray[Any]) -> None:
        wrong = np.flatnonzero(found != self.d)
        if len(wrong):
            at = wrong[0]
            raise FormatError(
                f"row {positions[at]:,} says it has {found[at]:,} numbers, and the first row {self.d:,}; "
                "every row must have the same: fetch or write the file again",
                self.path,
            )


def read(where: Place, made: VectorFormat, role: str) -> Vectors:
    """The vectors of a file, mapped."""
    return _rows(where.path, np.dtype(made.types[0]))


def _rows(path: str, dtype: np.dtype[Any]) -> Led:
    size = size_of(path)
    if size < _LEAD:
        raise FormatError(f"has {size} bytes; expected at least one row", path)
    d = int(np.frombuffer(head(path, _LEAD), "<i4")[0])
    if not 0 < d <= _MOST:
        raise FormatError(
            f"the first row says it has {d:,} numbers; expected 1 to {_MOST:,}: it is no such file", path
        )
    stride = _LEAD + d * dtype.itemsize
    n, rest = divmod(size, stride)
    if rest:
        raise FormatError(
            f"ends in row {n:,}: each row of {d:,} {dtype.name} takes {stride:,} bytes, found {rest:,} "
            "of the last; fetch it again",
            path,
        )
    return Led(path, (n, d), dtype)


def write(vectors: Vectors, where: Place, made: VectorFormat) -> None:
    """Write vectors, some rows at a time."""
    with writing(where.path) as file:
        for _, block in pieces(vectors):
            file.write(_led(block, made.types[0]).tobytes())


def _led(block: Matrix, dtype: str) -> NDArray[Any]:
    """Rows with their length before them."""
    d = block.shape[1]
    made = np.empty(len(block), [("d", "<i4"), ("row", dtype, (d,))])
    made["d"], made["row"] = d, block
    return made


def read_neighbors(where: Place, made: VectorFormat) -> Neighbors:
    """The neighbours of an .ivecs file; it has no distances."""
    return Neighbors(_rows(where.path, np.dtype(np.int32)).whole().astype(np.int64))


def write_neighbors(neighbors: Neighbors, where: Place, made: VectorFormat) -> None:
    """Write positions as int32."""
    refuse_distances(neighbors, where.path)
    refuse_large(neighbors, where.path, np.iinfo(np.int32).max)
    with writing(where.path) as file:
        file.write(_led(neighbors.positions, "int32").tobytes())
