"""Elasticsearch, with a `dense_vector` field, over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from assay.core.parameters import Meaning
from assay.indexes.index import Setup
from assay.indexes.parameter_meanings import BuildCandidates, LinkCount, SearchCandidates
from assay.indexes.servers.lucene import FIELD, Lucene
from assay.indexes.servers.server_index import ApiKey, Batch, ReadyTimeout, ServerClient, Timeout, Url

SIMILARITIES = {"l2": "l2_norm", "ip": "max_inner_product", "cosine": "cosine"}


class Elasticsearch(Lucene):
    """An index of an Elasticsearch server; `type` is that of `index_options`: hnsw, int8_hnsw, bbq_hnsw, ….

    Since version 9.4 small segments get no graph; `flat_index_threshold=0` always builds one.
    """

    smallest_search: ClassVar[dict[str, Any]] = {"num_candidates": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        url: Url,
        api_key: ApiKey = None,
        type: Annotated[str, Meaning("the type of the index, such as hnsw or int8_hnsw")] = "hnsw",  # noqa: A002  # the engine's own name
        m: LinkCount = 16,
        ef_construction: BuildCandidates = 100,
        flat_index_threshold: Annotated[
            int | None,
            Meaning(
                "vectors of a segment up to which it is compared completely; 0: none",
                -1,
                unset="not sent; the server decides",
            ),
        ] = None,
        number_of_shards: Annotated[int, Meaning("shards of the index", 1)] = 1,
        max_num_segments: Annotated[int, Meaning("segments of a shard after the merge", 1)] = 1,
        batch: Batch = 500,
        timeout: Timeout = 60.0,
        ready_timeout: ReadyTimeout = 3600.0,
    ) -> None:
        headers = {"Authorization": f"ApiKey {api_key}"} if api_key else {}
        client = ServerClient("Elasticsearch", url, headers, timeout)
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

    def set_search(self, *, num_candidates: SearchCandidates = 100) -> None:
        """Set the number of candidates per shard; the server requires at least k, so k is the minimum."""
        self.num_candidates = num_candidates

    def query_body(self, query: list[float], k: int) -> dict[str, Any]:
        """Return the body of a search for one query."""
        search = {
            "field": FIELD,
            "query_vector": query,
            "k": k,
            "num_candidates": max(k, self.num_candidates),
        }
        return {"knn": search, "size": k, "_source": False}
