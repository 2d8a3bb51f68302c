"""voyager: Spotify's successor of Annoy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import voyager

from assay.core.errors import InputError
from assay.core.vectors import Positions
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Rows, Setup, padded
from assay.indexes.reached import reached

FILE = "index.voyager"
_INT64 = np.dtype(np.int64)  # made once: a search is short
_KEPT = ("Float32", "Float8", "E4M3")


class HNSW(Index):
    """A hierarchical graph; `storage_data_type` is Float32, Float8 or E4M3."""

    package = "voyager"
    holds_gil = True
    least: ClassVar[dict[str, Any]] = {"query_ef": 1}
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
        at_least(2, M=M)
        at_least(1, ef_construction=ef_construction)
        if storage_data_type not in _KEPT:
            raise InputError(f"storage_data_type is one of {', '.join(_KEPT)}, found {storage_data_type!r}")
        self.graph = {"M": M, "ef_construction": ef_construction, "random_seed": random_seed}
        self.kept = getattr(voyager.StorageDataType, storage_data_type)

    def build(self, vectors: Rows) -> None:
        """Insert the vectors one after the other."""
        space = {"l2": "Euclidean", "ip": "InnerProduct", "cosine": "Cosine"}[self.setup.metric]
        self.index = voyager.Index(
            getattr(voyager.Space, space),
            num_dimensions=self.setup.d,
            max_elements=len(vectors),
            storage_data_type=self.kept,
            **self.graph,
        )
        self.index.add_items(vectors, num_threads=self.setup.threads)

    def set_search(self, *, query_ef: int = 64) -> None:
        """Set how many candidates are held."""
        at_least(1, query_ef=query_ef)
        self.query_ef = query_ef

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query; voyager refuses a `query_ef` below k."""
        ef = self.query_ef if self.query_ef > k else k
        try:
            found: Positions = self.index.query(queries, k, self.setup.threads, ef)[0].view(_INT64)
        except RuntimeError:  # a query reached fewer than k
            return padded([self._short(query, k, ef) for query in queries], k)
        return found

    def _short(self, query: Rows, k: int, ef: int) -> Sequence[int]:
        return reached(lambda few: self.index.query(query, few, 1, ef)[0].tolist(), k)

    def save(self) -> None:
        """Write the index to one file."""
        self.index.save(str(self.setup.folder / FILE))

    def load(self) -> None:
        """Read the index from its file."""
        self.index = voyager.Index.load(str(self.setup.folder / FILE))
