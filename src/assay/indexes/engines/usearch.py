"""usearch."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from usearch.index import Index as USearch

from assay.core.errors import InputError
from assay.core.vectors import Positions
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Rows, Setup, padded

FILE = "index.usearch"
_INT64 = np.dtype(np.int64)  # made once: a search is short
_DTYPES = ("f32", "bf16", "f16", "i8")


class HNSW(Index):
    """A hierarchical graph; `dtype` is how numbers are kept: f32, bf16, f16, i8."""

    package = "usearch"
    least: ClassVar[dict[str, Any]] = {"expansion_search": 1}

    def __init__(
        self, setup: Setup, *, connectivity: int = 16, expansion_add: int = 128, dtype: str = "f32"
    ) -> None:
        super().__init__(setup)
        if dtype not in _DTYPES:
            raise InputError(f"dtype is one of {', '.join(_DTYPES)}, found {dtype!r}")
        at_least(2, connectivity=connectivity)
        at_least(1, expansion_add=expansion_add)
        # vectors of unit length are ordered by the inner product as by the cosine
        self.index: Any = USearch(
            ndim=setup.d,
            metric="l2sq" if setup.metric == "l2" else "ip",
            dtype=dtype,
            connectivity=connectivity,
            expansion_add=expansion_add,
        )

    def build(self, vectors: Rows) -> None:
        """Insert the vectors one after the other."""
        self.index.add(np.arange(len(vectors)), vectors, threads=self.setup.threads)

    def set_search(self, *, expansion_search: int = 64) -> None:
        """Set how many candidates are held; usearch keeps this in the index."""
        at_least(1, expansion_search=expansion_search)
        self.index.expansion_search = expansion_search

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query."""
        found = self.index.search(queries, k, threads=self.setup.threads)
        positions: Positions = found.keys.view(_INT64)
        if len(queries) == 1:  # a list, as long as it is
            return positions[None] if len(positions) == k else padded([positions], k)
        if found.counts.min() < k:
            positions[np.arange(k) >= found.counts[:, None]] = -1
        return positions

    def save(self) -> None:
        """Write the index to one file."""
        self.index.save(str(self.setup.folder / FILE))

    def load(self) -> None:
        """Read the index from its file."""
        self.index.load(str(self.setup.folder / FILE))
