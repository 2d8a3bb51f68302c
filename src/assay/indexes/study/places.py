"""Where what was returned stands in the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Positions
from assay.indexes.hits import first, where_in

MISSING, AGAIN = -1, -2


def places(found: Positions, truth: Positions) -> NDArray[np.int64]:
    """The place of each returned id among the neighbours of its query, 0 the nearest.

    One that is not among them has their number as its place; MISSING stands where nothing was returned,
    AGAIN where the id stood before.

    >>> places(np.array([[7, 5, 5, 4, -1]]), np.array([[5, 6, 7]])).tolist()
    [[2, 0, -2, 3, -1]]
    """
    made = where_in(found, truth)
    made[~first(found)] = AGAIN
    made[found < 0] = MISSING
    return made
