"""Chroma, a database in a folder that uses hnswlib."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import chromadb
import numpy as np
from chromadb.config import Settings

from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions
from assay.indexes.parameter_meanings import BuildCandidates, LinkCount, SearchCandidates

_COLLECTION = "vectors"


class Chroma(Index):
    """A hierarchical graph. Threads cannot be set; Chroma uses all processors of its process."""

    package = "chromadb"
    smallest_search: ClassVar[dict[str, Any]] = {"ef_search": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        max_neighbors: LinkCount = 16,
        ef_construction: BuildCandidates = 100,
        sync_threshold: Annotated[int, Meaning("vectors after which the index is written to disk", 1)] = 1000,
    ) -> None:
        super().__init__(setup)
        self.graph = {
            "space": setup.metric,
            "max_neighbors": max_neighbors,
            "ef_construction": ef_construction,
            "sync_threshold": sync_threshold,
        }
        self.client = self._open_client()

    def _open_client(self) -> Any:
        return chromadb.PersistentClient(self.setup.folder, Settings(anonymized_telemetry=False))

    def build(self, vectors: Rows) -> None:
        """Add the vectors in the largest batches that Chroma allows; ids are positions as text."""
        configuration: Any = {"hnsw": self.graph}
        collection = self.client.create_collection(
            _COLLECTION, configuration=configuration, embedding_function=None
        )
        batch = self.client.get_max_batch_size()
        for start in range(0, len(vectors), batch):
            piece = vectors[start : start + batch]
            collection.add(ids=[str(start + i) for i in range(len(piece))], embeddings=piece)
        collection.query(query_embeddings=vectors[:1], n_results=1, include=[])  # adds what is queued

    def set_search(self, *, ef_search: SearchCandidates = 100) -> None:
        """Set the number of candidates and reopen the folder, because Chroma reads the number only then."""
        collection = self.client.get_collection(_COLLECTION, embedding_function=None)
        collection.modify(configuration={"hnsw": {"ef_search": ef_search}})
        self.client.close()
        self.client = self._open_client()
        self.collection = self.client.get_collection(_COLLECTION, embedding_function=None)
        self.search(np.ones((1, self.setup.d), np.float32), 1)  # the first search loads the graph

    def search(self, queries: Rows, k: int) -> Positions:
        """Search all queries in one call."""
        lists = self.collection.query(query_embeddings=queries, n_results=k, include=[])["ids"]
        return pad_positions([[int(name) for name in names] for names in lists], k)

    def load(self) -> None:
        """Do nothing: the folder is open already."""

    def close(self) -> None:
        """Close the folder."""
        self.client.close()
