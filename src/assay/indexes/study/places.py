"""Where what was returned stands in the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Positions
from assay.indexes.hits import first

MISSING, AGAIN = -1, -2


def places(found: Positions, truth: Positions) -> NDArray[np.int64]:
    """The place of each returned id among the neighbours of its query, 0 the nearest.

    One that is not among them has their number as its place; MISSING stands where nothing was returned,
    AGAIN where the id stood before.

    >>> places(np.array([[7, 5, 5, 4, -1]]), np.array([[5, 6, 7]])).tolist()
    [[2, 0, -2, 3, -1]]
    """
    depth = truth.shape[1]
    size = (
        max(int(found.max(initial=0)), int(truth.max(initial=0))) + 2
    )  # −1 is nobody's id in the row before
    rows = np.arange(len(found))[:, None] * size
    order = np.argsort(truth, axis=1, kind="stable")
    keys, wanted = (rows + np.take_along_axis(truth, order, axis=1)).ravel(), rows + found
    at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    made: NDArray[np.int64] = np.where(keys[at] == wanted, order.ravel()[at], depth)
    made[~first(found)] = AGAIN
    made[found < 0] = MISSING
    return made
