"""Vectors in another type, and some of their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vectors import TYPES, Matrix, Vectors


class Converted(Vectors):
    """Vectors in another type; a number that the type does not hold is refused, rounding is not.

    >>> from assay.core.vectors import Held
    >>> Converted(Held(np.array([[1.0, 2.0]])), "uint8").whole()
    array([[1, 2]], dtype=uint8)
    """

    def __init__(self, source: Vectors, dtype: str) -> None:
        if dtype not in TYPES:
            raise InputError(f"vectors are of type {', '.join(TYPES)}, found {dtype!r}")
        self.source, self.shape, self.dtype = source, source.shape, np.dtype(dtype)

    def block(self, start: int, stop: int) -> Matrix:
        """The rows from start up to stop."""
        return self._made(self.source.block(start, stop), np.arange(start, stop))

    def take(self, positions: NDArray[Any]) -> Matrix:
        """The rows at some positions, in their order."""
        return self._made(self.source.take(positions), positions)

    def _made(self, rows: Matrix, positions: NDArray[Any]) -> Matrix:
        with np.errstate(all="ignore"):
            made = rows.astype(self.dtype)
            lost = ~np.isfinite(made) & np.isfinite(rows) if self.dtype.kind == "f" else made != rows
        if lost.any():
            at, column = np.argwhere(lost)[0]
            raise InputError(
                f"row {positions[at]:,} holds {rows[at, column]!s}, which {self.dtype.name} has no room for: "
                "scale the vectors first, or choose another type"
            )
        return made


class Some(Vectors):
    """The rows of vectors from start up to stop.

    >>> from assay.core.vectors import Held
    >>> Some(Held(np.eye(3)), 1, 3).whole().tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    def __init__(self, source: Vectors, start: int, stop: int) -> None:
        if not 0 <= start < stop <= len(source):
            raise InputError(f"expected rows between 0 and {len(source):,}, found {start:,} to {stop:,}")
        self.source, self.start = source, start
        self.shape, self.dtype = (stop - start, source.d), source.dtype

    def block(self, start: int, stop: int) -> Matrix:
        """The rows from start up to stop."""
        return self.source.block(self.start + start, self.start + min(stop, len(self)))

    def take(self, positions: NDArray[Any]) -> Matrix:
        """The rows at some positions, in their order."""
        return self.source.take(positions + self.start)


def fitted(vectors: Vectors, types: tuple[str, ...], dtype: str | None, label: str) -> Vectors:
    """Vectors in a type that a format holds: as asked for, as they are, or wider without any loss."""
    name = dtype or _kept(vectors.dtype, types)
    if name not in types:
        problem = f"holds {', '.join(types)}, and the vectors are {dtype or vectors.dtype.name}"
        raise InputError(
            f"{label}: the format {problem}: convert them (dtype={types[0]!r}, --dtype {types[0]}), "
            "or choose another format"
        )
    return vectors if name == vectors.dtype.name else Converted(vectors, name)


def _kept(dtype: np.dtype[Any], types: tuple[str, ...]) -> str | None:
    if dtype.name in types:
        return dtype.name
    return next((name for name in types if np.can_cast(dtype, name, "safe")), None)
