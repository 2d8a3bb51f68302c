"""The digest of vectors, which does not depend on the format of their file."""

from __future__ import annotations

import numpy as np

from assay.core.vector_faults import row_blocks
from assay.core.vectors import Vectors


def digest_vectors(vectors: Vectors) -> str:
    """Return the digest of shape, type and numbers, computed block by block.

    >>> from assay.core.vectors import InMemoryVectors
    >>> vectors = InMemoryVectors(np.array([[1, 2], [3, 4]], np.uint8))
    >>> reverse = InMemoryVectors(vectors.matrix[::-1])
    >>> digest_vectors(vectors) == digest_vectors(reverse)
    False
    """
    from hashlib import blake2b

    n, d = vectors.shape
    hasher = blake2b(f"vectors {n} {d} {vectors.dtype.name} ".encode(), digest_size=16)
    for _, block in row_blocks(vectors):
        hasher.update(np.ascontiguousarray(block, block.dtype.newbyteorder("<")).tobytes())
    return hasher.hexdigest()
