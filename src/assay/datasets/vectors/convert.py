"""Vectors in another type, and slices of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vectors import TYPES, Matrix, Vectors


class ConvertedVectors(Vectors):
    """Vectors in another type; numbers may be rounded, but must be in the range of the type.

    >>> from assay.core.vectors import InMemoryVectors
    >>> ConvertedVectors(InMemoryVectors(np.array([[1.0, 2.0]])), "uint8").to_matrix()
    array([[1, 2]], dtype=uint8)
    """

    def __init__(self, source: Vectors, dtype: str) -> None:
        if dtype not in TYPES:
            raise InputError(f"vectors are of type {', '.join(TYPES)}, found {dtype!r}")
        self.source, self.shape, self.dtype = source, source.shape, np.dtype(dtype)

    def block(self, start: int, stop: int) -> Matrix:
        """Return the rows from start up to stop."""
        return self._convert(self.source.block(start, stop), np.arange(start, stop))

    def take(self, positions: NDArray[Any]) -> Matrix:
        """Return the rows at these positions, in their order."""
        return self._convert(self.source.take(positions), positions)

    def _convert(self, rows: Matrix, positions: NDArray[Any]) -> Matrix:
        with np.errstate(all="ignore"):
            converted = rows.astype(self.dtype)
            is_lost = (
                ~np.isfinite(converted) & np.isfinite(rows) if self.dtype.kind == "f" else converted != rows
            )
        if is_lost.any():
            at, column = np.argwhere(is_lost)[0]
            raise InputError(
                f"row {positions[at]:,} holds {rows[at, column]!s}, which {self.dtype.name} cannot hold: "
                "scale the vectors first, or choose another type"
            )
        return converted


class VectorSlice(Vectors):
    """The rows of vectors from start up to stop.

    >>> from assay.core.vectors import InMemoryVectors
    >>> VectorSlice(InMemoryVectors(np.eye(3)), 1, 3).to_matrix().tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    def __init__(self, source: Vectors, start: int, stop: int) -> None:
        if not 0 <= start < stop <= len(source):
            raise InputError(f"expected rows between 0 and {len(source):,}, found {start:,} to {stop:,}")
        self.source, self.start = source, start
        self.shape, self.dtype = (stop - start, source.d), source.dtype

    def block(self, start: int, stop: int) -> Matrix:
        """Return the rows from start up to stop."""
        return self.source.block(self.start + start, self.start + min(stop, len(self)))

    def take(self, positions: NDArray[Any]) -> Matrix:
        """Return the rows at these positions, in their order."""
        return self.source.take(positions + self.start)


def convert_to_fit(vectors: Vectors, types: tuple[str, ...], dtype: str | None, label: str) -> Vectors:
    """Return vectors in a type that a format can hold: `dtype`, their own, or a wider one without loss."""
    name = dtype or _lossless_type(vectors.dtype, types)
    if name not in types:
        problem = f"can hold {', '.join(types)}, but the vectors are {dtype or vectors.dtype.name}"
        raise InputError(
            f"{label}: the format {problem}: convert them (dtype={types[0]!r}, --dtype {types[0]}), "
            "or choose another format"
        )
    return vectors if name == vectors.dtype.name else ConvertedVectors(vectors, name)


def _lossless_type(dtype: np.dtype[Any], types: tuple[str, ...]) -> str | None:
    if dtype.name in types:
        return dtype.name
    return next((name for name in types if np.can_cast(dtype, name, "safe")), None)
