"""Type aliases of the NumPy arrays that tables are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # loading numpy.typing takes longer than scoring a small file
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int64]
    Words = NDArray[np.uint64]
    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
else:
    Bytes = Ints = Words = Bools = Floats = np.ndarray
