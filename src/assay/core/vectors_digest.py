"""A name for the content of vectors: the same in whatever file they lie."""

from __future__ import annotations

import numpy as np

from assay.core.vectors import Vectors
from assay.core.vectors_check import pieces


def digest(vectors: Vectors) -> str:
    """A short name for shape, type and numbers, made some rows at a time.

    >>> from assay.core.vectors import Held
    >>> first = np.array([[1, 2], [3, 4]], np.uint8)
    >>> digest(Held(first)) == digest(Held(first[::-1])), digest(Held(first)) == digest(Held(first.copy()))
    (False, True)
    """
    from hashlib import blake2b

    n, d = vectors.shape
    made = blake2b(f"vectors {n} {d} {vectors.dtype.name} ".encode(), digest_size=16)
    for _, block in pieces(vectors):
        made.update(np.ascontiguousarray(block, block.dtype.newbyteorder("<")).tobytes())
    return made.hexdigest()
