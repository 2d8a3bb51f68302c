"""OpenSearch, with a `knn_vector` field, over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from assay.core.errors import EngineError
from assay.core.parameters import Meaning
from assay.indexes.index import Rows, Setup
from assay.indexes.parameter_meanings import BuildCandidates, LinkCount, SearchCandidates
from assay.indexes.servers.lucene import FIELD, Lucene
from assay.indexes.servers.server_index import ApiKey, Batch, ReadyTimeout, ServerClient, Timeout, Url
from assay.remote.http import bearer_header

SPACES = {"l2": "l2", "ip": "innerproduct", "cosine": "cosinesimil"}


class OpenSearch(Lucene):
    """An index of an OpenSearch server, with HNSW of the engine `faiss` or `lucene`.

    A segment with fewer than `approximate_threshold` vectors gets no graph; 0 always builds one.
    """

    smallest_search: ClassVar[dict[str, Any]] = {"ef_search": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        url: Url,
        api_key: ApiKey = None,
        engine: Annotated[str, Meaning("the library of the graph", choices=("faiss", "lucene"))] = "faiss",
        m: LinkCount = 16,
        ef_construction: BuildCandidates = 100,
        approximate_threshold: Annotated[
            int | None,
            Meaning(
                "vectors of a segment from which a graph is built; 0: always, -1: never",
                -1,
                unset="not sent; the server decides",
            ),
        ] = 0,
        number_of_shards: Annotated[int, Meaning("shards of the index", 1)] = 1,
        max_num_segments: Annotated[int, Meaning("segments of a shard after the merge", 1)] = 1,
        batch: Batch = 500,
        timeout: Timeout = 60.0,
        ready_timeout: ReadyTimeout = 3600.0,
    ) -> None:
        client = ServerClient("OpenSearch", url, bearer_header(api_key), timeout)
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
        """Create, fill and merge the index, and load its graph into memory."""
        super().build(vectors)
        shards = self.client.call("GET", f"/_plugins/_knn/warmup{self.path}")["_shards"]
        if shards["failed"]:
            raise EngineError(
                f"{self.client.label} could not load {shards['failed']} of {shards['total']} shards"
            )

    def set_search(self, *, ef_search: SearchCandidates = 100) -> None:
        """Set the size of the search beam."""
        self.ef_search = ef_search

    def query_body(self, query: list[float], k: int) -> dict[str, Any]:
        """Return the body of a search for one query."""
        search = {"vector": query, "k": k, "method_parameters": {"ef_search": self.ef_search}}
        return {"query": {"knn": {FIELD: search}}, "size": k, "_source": False}
