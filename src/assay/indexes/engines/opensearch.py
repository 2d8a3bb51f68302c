"""OpenSearch: a `knn_vector` field, over HTTP."""

from __future__ import annotations

from typing import Any, ClassVar

from assay.core.errors import EngineError
from assay.indexes.engines.http import Client, bearer
from assay.indexes.engines.lucene import FIELD, Lucene
from assay.indexes.index import Rows, Setup

SPACES = {"l2": "l2", "ip": "innerproduct", "cosine": "cosinesimil"}


class OpenSearch(Lucene):
    """An index of an OpenSearch server, by HNSW of the engine `faiss` or `lucene`.

    Below `approximate_threshold` vectors a segment gets no graph and is searched whole: 0 always builds it.
    """

    least: ClassVar[dict[str, Any]] = {"ef_search": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        url: str,
        api_key: str | None = None,
        engine: str = "faiss",
        m: int = 16,
        ef_construction: int = 100,
        approximate_threshold: int | None = 0,
        number_of_shards: int = 1,
        max_num_segments: int = 1,
        batch: int = 500,
        timeout: float = 60.0,
        ready_timeout: float = 3600.0,
    ) -> None:
        client = Client("OpenSearch", url, bearer(api_key), timeout)
        super().__init__(setup, client, number_of_shards, max_num_segments, batch, ready_timeout)
        self.settings = {"knn": True}
        if approximate_threshold is not None:
            self.settings["knn.advanced.approximate_threshold"] = approximate_threshold
        self.field = {
            "type": "knn_vector",
            "dimension": setup.d,
            "method": {
                "name": "hnsw",
                "engine": engine,
                "space_type": SPACES[setup.metric],
                "parameters": {"m": m, "ef_construction": ef_construction},
            },
        }
        self.set_search()

    def build(self, vectors: Rows) -> None:
        """Create, load and merge the index, and read its graph into memory."""
        super().build(vectors)
        shards = self.client.call("GET", f"/_plugins/_knn/warmup{self.path}")["_shards"]
        if shards["failed"]:
            raise EngineError(
                f"{self.client.where} could not load {shards['failed']} of {shards['total']} shards"
            )

    def set_search(self, *, ef_search: int = 100) -> None:
        """Set the size of the search beam."""
        self.ef_search = ef_search

    def body(self, query: list[float], k: int) -> dict[str, Any]:
        """A search for one query."""
        asked = {"vector": query, "k": k, "method_parameters": {"ef_search": self.ef_search}}
        return {"query": {"knn": {FIELD: asked}}, "size": k, "_source": False}
