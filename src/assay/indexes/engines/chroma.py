"""Chroma: hnswlib behind a database in a folder."""

from __future__ import annotations

from typing import Any, ClassVar

import chromadb
import numpy as np
from chromadb.config import Settings

from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, padded

_NAME = "vectors"


class Chroma(Index):
    """A hierarchical graph. Threads cannot be set: it uses the processors it is allowed."""

    package = "chromadb"
    least: ClassVar[dict[str, Any]] = {"ef_search": 1}

    def __init__(
        self, setup: Setup, *, max_neighbors: int = 16, ef_construction: int = 100, sync_threshold: int = 1000
    ) -> None:
        super().__init__(setup)
        self.graph = {
            "space": setup.metric,
            "max_neighbors": max_neighbors,
            "ef_construction": ef_construction,
            "sync_threshold": sync_threshold,
        }
        self.client = self._opened()

    def _opened(self) -> Any:
        return chromadb.PersistentClient(self.setup.folder, Settings(anonymized_telemetry=False))

    def build(self, vectors: Rows) -> None:
        """Add the vectors, as many at once as Chroma takes; their ids are their positions in words."""
        configuration: Any = {"hnsw": self.graph}
        made = self.client.create_collection(_NAME, configuration=configuration, embedding_function=None)
        most = self.client.get_max_batch_size()
        for start in range(0, len(vectors), most):
            piece = vectors[start : start + most]
            made.add(ids=[str(start + i) for i in range(len(piece))], embeddings=piece)
        made.query(query_embeddings=vectors[:1], n_results=1, include=[])  # what is waiting is added now

    def set_search(self, *, ef_search: int = 100) -> None:
        """Set how many candidates are held, and open the folder again: until then the old number counts."""
        made = self.client.get_collection(_NAME, embedding_function=None)
        made.modify(configuration={"hnsw": {"ef_search": ef_search}})
        self.client.close()
        self.client = self._opened()
        self.collection = self.client.get_collection(_NAME, embedding_function=None)
        self.search(np.ones((1, self.setup.d), np.float32), 1)  # the first search reads the graph

    def search(self, queries: Rows, k: int) -> Positions:
        """All queries in one call."""
        found = self.collection.query(query_embeddings=queries, n_results=k, include=[])["ids"]
        return padded([[int(name) for name in names] for names in found], k)

    def load(self) -> None:
        """Nothing: the folder was opened."""

    def close(self) -> None:
        """Close the folder."""
        self.client.close()
