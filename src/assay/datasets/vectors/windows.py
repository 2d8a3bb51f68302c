"""Rows of files that are unpacked a stretch at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Matrix, Vectors

_STRETCH = 32 << 20  # bytes that are kept of what was read last


class Windowed(Vectors):
    """Vectors that are read by stretches, of which the last is kept: neighbours in the file come for free.

    The file is opened for each stretch, so that processes and threads share nothing.
    """

    def __init__(self, path: str, part: str, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self.path, self.part, self.shape, self.dtype = path, part, shape, dtype
        self._kept: tuple[int, Matrix] | None = None

    @abstractmethod
    def stretch(self, start: int, stop: int) -> Matrix:
        """The rows from start up to stop, from the file."""

    def block(self, start: int, stop: int) -> Matrix:
        """The rows from start up to stop."""
        if self._kept is not None:
            first, rows = self._kept
            if first <= start and stop <= first + len(rows):
                return rows[start - first : stop - first]
        if stop - start >= self._rows:
            return self.stretch(start, stop)
        rows = self.stretch(start, min(len(self), start + self._rows))
        self._kept = (start, rows)
        return rows[: max(0, stop - start)]

    def take(self, positions: NDArray[Any]) -> Matrix:
        """The rows at some positions, in their order; each stretch of the file is read once."""
        made = np.empty((len(positions), self.d), self.dtype)
        order = np.argsort(positions, kind="stable")
        for some in _together(positions[order], order, self._rows):
            first = int(positions[some[0]])
            made[some] = self.stretch(first, int(positions[some[-1]]) + 1)[positions[some] - first]
        return made

    @property
    def _rows(self) -> int:
        """How many rows a stretch has."""
        return max(1, _STRETCH // max(1, self.d * self.dtype.itemsize))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}


def _together(ordered: NDArray[Any], order: NDArray[Any], rows: int) -> Iterator[NDArray[Any]]:
    """Which positions lie within one stretch."""
    at = 0
    while at < len(ordered):
        end = int(np.searchsorted(ordered, ordered[at] + rows))
        yield order[at:end]
        at = end
