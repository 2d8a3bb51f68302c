"""Ranks of returned ids in the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Positions
from assay.indexes.hits import first_occurrences, ranks_in_truth

MISSING, DUPLICATE = -1, -2


def truth_ranks(returned_ids: Positions, truth: Positions) -> NDArray[np.int64]:
    """Return the rank of each returned id among the true neighbors of its query, 0 for the nearest.

    The rank of an id that is not among them is their number; MISSING marks positions without an id, DUPLICATE
    an id that was already returned.

    >>> truth_ranks(np.array([[7, 5, 5, 4, -1]]), np.array([[5, 6, 7]])).tolist()
    [[2, 0, -2, 3, -1]]
    """
    ranks = ranks_in_truth(returned_ids, truth)
    ranks[~first_occurrences(returned_ids)] = DUPLICATE
    ranks[returned_ids < 0] = MISSING
    return ranks
