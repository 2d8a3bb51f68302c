"""Elasticsearch: a `dense_vector` field, over HTTP."""

from __future__ import annotations

from typing import Any, ClassVar

from assay.indexes.engines.http import Client
from assay.indexes.engines.lucene import FIELD, Lucene
from assay.indexes.index import Setup

SIMILARITIES = {"l2": "l2_norm", "ip": "max_inner_product", "cosine": "cosine"}


class Elasticsearch(Lucene):
    """An index of an Elasticsearch server; `type` is that of `index_options`: hnsw, int8_hnsw, bbq_hnsw, ….

    From 9.4 on small segments get no graph: `flat_index_threshold=0` always builds it.
    """

    least: ClassVar[dict[str, Any]] = {"num_candidates": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        url: str,
        api_key: str | None = None,
        type: str = "hnsw",  # noqa: A002  # the engine's own word
        m: int = 16,
        ef_construction: int = 100,
        flat_index_threshold: int | None = None,
        number_of_shards: int = 1,
        max_num_segments: int = 1,
        batch: int = 500,
        timeout: float = 60.0,
        ready_timeout: float = 3600.0,
    ) -> None:
        headers = {"Authorization": f"ApiKey {api_key}"} if api_key else {}
        client = Client("Elasticsearch", url, headers, timeout)
        super().__init__(setup, client, number_of_shards, max_num_segments, batch, ready_timeout)
        options: dict[str, Any] = {"type": type, "m": m, "ef_construction": ef_construction}
        if flat_index_threshold is not None:
            options["flat_index_threshold"] = flat_index_threshold
        self.settings = {}
        self.field = {
            "type": "dense_vector",
            "dims": setup.d,
            "index": True,
            "similarity": SIMILARITIES[setup.metric],
            "index_options": options,
        }
        self.set_search()

    def set_search(self, *, num_candidates: int = 100) -> None:
        """Set how many candidates a shard looks at; the server takes no less than k, so k is the least."""
        self.num_candidates = num_candidates

    def body(self, query: list[float], k: int) -> dict[str, Any]:
        """A search for one query."""
        asked = {"field": FIELD, "query_vector": query, "k": k, "num_candidates": max(k, self.num_candidates)}
        return {"knn": asked, "size": k, "_source": False}
