"""voyager, Spotify's successor of Annoy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import voyager

from assay.core.errors import InputError
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions
from assay.indexes.parameter_bounds import require_at_least
from assay.indexes.short_answers import longest_answer

FILE = "index.voyager"
_INT64 = np.dtype(np.int64)  # created once, because a search is short
_STORAGE_TYPES = ("Float32", "Float8", "E4M3")


class HNSW(Index):
    """A hierarchical graph; `storage_data_type` is Float32, Float8 or E4M3."""

    package = "voyager"
    holds_gil = True
    smallest_search: ClassVar[dict[str, Any]] = {"query_ef": 1}
    index: Any
    query_ef: int

    def __init__(
        self,
        setup: Setup,
        *,
        M: int = 16,
        ef_construction: int = 200,
        random_seed: int = 1,
        storage_data_type: str = "Float32",
    ) -> None:
        super().__init__(setup)
        require_at_least(2, M=M)
        require_at_least(1, ef_construction=ef_construction)
        if storage_data_type not in _STORAGE_TYPES:
            raise InputError(
                f"storage_data_type must be one of {', '.join(_STORAGE_TYPES)}, found {storage_data_type!r}"
            )
        self.graph = {"M": M, "ef_construction": ef_construction, "random_seed": random_seed}
        self.storage_type = getattr(voyager.StorageDataType, storage_data_type)

    def build(self, vectors: Rows) -> None:
        """Insert the vectors one by one."""
        space = {"l2": "Euclidean", "ip": "InnerProduct", "cosine": "Cosine"}[self.setup.metric]
        self.index = voyager.Index(
            getattr(voyager.Space, space),
            num_dimensions=self.setup.d,
            max_elements=len(vectors),
            storage_data_type=self.storage_type,
            **self.graph,
        )
        self.index.add_items(vectors, num_threads=self.setup.threads)

    def set_search(self, *, query_ef: int = 64) -> None:
        """Set the number of candidates."""
        require_at_least(1, query_ef=query_ef)
        self.query_ef = query_ef

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the k nearest positions to each query; voyager refuses a `query_ef` below k."""
        ef = self.query_ef if self.query_ef > k else k
        try:
            positions: Positions = self.index.query(queries, k, self.setup.threads, ef)[0].view(_INT64)
        except RuntimeError:  # fewer than k vectors were reached for a query
            return pad_positions([self._short_answer(query, k, ef) for query in queries], k)
        return positions

    def _short_answer(self, query: Rows, k: int, ef: int) -> Sequence[int]:
        return longest_answer(lambda count: self.index.query(query, count, 1, ef)[0].tolist(), k)

    def save(self) -> None:
        """Write the index to a file."""
        self.index.save(str(self.setup.folder / FILE))

    def load(self) -> None:
        """Read the index from its file."""
        self.index = voyager.Index.load(str(self.setup.folder / FILE))
