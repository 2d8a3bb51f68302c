"""USearch, a hierarchical graph with compact number types."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from usearch.index import Index as USearch

from assay.core.errors import InputError
from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions
from assay.indexes.parameter_bounds import require_at_least
from assay.indexes.parameter_meanings import BuildCandidates, LinkCount, SearchCandidates

FILE = "index.usearch"
_INT64 = np.dtype(np.int64)  # created once, because a search is short
_DTYPES = ("f32", "bf16", "f16", "i8")


class HNSW(Index):
    """A hierarchical graph; `dtype` is the type of stored numbers: f32, bf16, f16 or i8."""

    package = "usearch"
    smallest_search: ClassVar[dict[str, Any]] = {"expansion_search": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        connectivity: LinkCount = 16,
        expansion_add: BuildCandidates = 128,
        dtype: Annotated[str, Meaning("how a component is stored", choices=tuple(_DTYPES))] = "f32",
    ) -> None:
        super().__init__(setup)
        if dtype not in _DTYPES:
            raise InputError(f"dtype must be one of {', '.join(_DTYPES)}, found {dtype!r}")
        require_at_least(2, connectivity=connectivity)
        require_at_least(1, expansion_add=expansion_add)
        # for vectors of unit length the inner product and the cosine give the same order
        self.index: Any = USearch(
            ndim=setup.d,
            metric="l2sq" if setup.metric == "l2" else "ip",
            dtype=dtype,
            connectivity=connectivity,
            expansion_add=expansion_add,
        )

    def build(self, vectors: Rows) -> None:
        """Insert the vectors one by one."""
        self.index.add(np.arange(len(vectors)), vectors, threads=self.setup.threads)

    def set_search(self, *, expansion_search: SearchCandidates = 64) -> None:
        """Set the number of candidates; USearch stores it in the index."""
        require_at_least(1, expansion_search=expansion_search)
        self.index.expansion_search = expansion_search

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the positions of the k nearest vectors to each query."""
        matches = self.index.search(queries, k, threads=self.setup.threads)
        positions: Positions = matches.keys.view(_INT64)
        if len(queries) == 1:  # a list of any length
            return positions[None] if len(positions) == k else pad_positions([positions], k)
        if matches.counts.min() < k:
            positions[np.arange(k) >= matches.counts[:, None]] = -1
        return positions

    def save(self) -> None:
        """Write the index to a file."""
        self.index.save(str(self.setup.folder / FILE))

    def load(self) -> None:
        """Read the index from its file."""
        self.index.load(str(self.setup.folder / FILE))
