"""Vectors of files that can only be read in windows of consecutive rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Matrix, Vectors

_WINDOW_BYTES = 32 << 20  # bytes of the window that is kept in memory


class WindowedVectors(Vectors):
    """Vectors that are read in windows, of which the last is kept in memory for reads of nearby rows.

    The file is opened for each window, so that processes and threads share nothing.
    """

    def __init__(self, path: str, part: str, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self.path, self.part, self.shape, self.dtype = path, part, shape, dtype
        self._last_window: tuple[int, Matrix] | None = None

    @abstractmethod
    def read_window(self, start: int, stop: int) -> Matrix:
        """Read the rows from start up to stop from the file."""

    def block(self, start: int, stop: int) -> Matrix:
        """Return the rows from start up to stop."""
        if self._last_window is not None:
            first, rows = self._last_window
            if first <= start and stop <= first + len(rows):
                return rows[start - first : stop - first]
        if stop - start >= self._window_rows:
            return self.read_window(start, stop)
        rows = self.read_window(start, min(len(self), start + self._window_rows))
        self._last_window = (start, rows)
        return rows[: max(0, stop - start)]

    def take(self, positions: NDArray[Any]) -> Matrix:
        """Return the rows at these positions, in their order; each window of the file is read once."""
        return self._take_in_windows(positions, self._window_rows, self.read_window)

    @property
    def _window_rows(self) -> int:
        """The number of rows of a window."""
        return max(1, _WINDOW_BYTES // max(1, self.d * self.dtype.itemsize))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last_window": None}
