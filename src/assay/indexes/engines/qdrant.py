"""Qdrant: a server over HTTP, and the same index in this process (qdrant-edge-py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar
from uuid import uuid4

from assay.core.errors import EngineError
from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions
from assay.indexes.parameter_meanings import SearchCandidates
from assay.indexes.servers.server_index import (
    ApiKey,
    Batch,
    BatchedIndex,
    ReadyTimeout,
    ServerClient,
    Timeout,
    Url,
    wait_until,
)

DISTANCES = {"l2": "Euclid", "ip": "Dot", "cosine": "Cosine"}

Links = Annotated[int, Meaning("links of a node in the graph; more find more and take more memory", 0)]
LinkCandidates = Annotated[
    int, Meaning("candidates for the links of a new node; more build a better graph more slowly", 4)
]
IndexingThreshold = Annotated[int, Meaning("KB of vectors of a segment from which a graph is built", 0)]


def has_unindexed(n: int, indexed: int, d: int, threshold: int) -> bool:
    """Return whether more vectors are outside the graphs than the threshold (in KB) allows."""
    return (n - indexed) * d * 4 > threshold * 1024


class Server(BatchedIndex):
    """A collection of a Qdrant server; segments smaller than `indexing_threshold` KB get no graph."""

    smallest_search: ClassVar[dict[str, Any]] = {"hnsw_ef": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        url: Url,
        api_key: ApiKey = None,
        m: Links = 16,
        ef_construct: LinkCandidates = 100,
        indexing_threshold: IndexingThreshold = 1,
        full_scan_threshold: Annotated[
            int, Meaning("KB of vectors up to which a search compares all", 10)
        ] = 10,
        batch: Batch = 1000,
        timeout: Timeout = 60.0,
        ready_timeout: ReadyTimeout = 3600.0,
    ) -> None:
        client = ServerClient("Qdrant", url, {"api-key": api_key} if api_key else {}, timeout)
        super().__init__(setup, client, batch, ready_timeout)
        self.path = f"/collections/assay-{uuid4().hex}"
        self.hnsw = {"m": m, "ef_construct": ef_construct, "full_scan_threshold": full_scan_threshold}
        self.threshold = indexing_threshold
        self.set_search()

    def build(self, vectors: Rows) -> None:
        """Create the collection, insert the vectors and wait until they are indexed."""
        body = {
            "vectors": {"size": self.setup.d, "distance": DISTANCES[self.setup.metric]},
            "hnsw_config": self.hnsw,
            "optimizers_config": {"indexing_threshold": self.threshold},
        }
        self.client.call("PUT", self.path, body)
        self.is_created = True
        self.insert_all(vectors)
        problem = "Qdrant has not indexed the collection"
        wait_until(lambda: self._is_ready(len(vectors)), self.ready_timeout, problem)

    def insert(self, start: int, rows: list[list[float]]) -> None:
        """Insert rows as points."""
        points = {"ids": list(range(start, start + len(rows))), "vectors": rows}
        self.client.call("PUT", f"{self.path}/points?wait=true", {"batch": points})

    def _is_ready(self, n: int) -> bool:
        info = self.client.call("GET", self.path)["result"]
        if info["status"] == "red" or info["optimizer_status"] != "ok":
            raise EngineError(f"{self.client.label} failed to index: {info['optimizer_status']}")
        is_behind = has_unindexed(n, info["indexed_vectors_count"] or 0, self.setup.d, self.threshold)
        return bool(info["status"] == "green" and not is_behind)

    def set_search(
        self,
        *,
        hnsw_ef: SearchCandidates = 128,
        exact: Annotated[bool, Meaning("whether a search compares all vectors")] = False,
    ) -> None:
        """Set the size of the search beam; `exact` compares all vectors."""
        self.params = {"hnsw_ef": hnsw_ef, "exact": exact}

    def query_body(self, query: list[float], k: int) -> dict[str, Any]:
        """Return the body of a search for one query."""
        return {"query": query, "limit": k, "params": self.params}

    def search_one(self, body: dict[str, Any]) -> list[int]:
        """Search for one query."""
        return _positions(self.client.call("POST", f"{self.path}/points/query", body)["result"])

    def search_many(self, bodies: Sequence[dict[str, Any]]) -> list[list[int]]:
        """Search for several queries in one request."""
        answer = self.client.call("POST", f"{self.path}/points/query/batch", {"searches": bodies})
        return [_positions(result) for result in answer["result"]]

    def version(self) -> str:
        """Return the version of the server."""
        return str(self.client.call("GET", "/")["version"])

    def drop(self) -> None:
        """Delete the collection."""
        self.client.call("DELETE", self.path)


def _positions(result: Any) -> list[int]:
    return [point["id"] for point in result["points"]]


class Edge(Index):
    """A shard of Qdrant in this process; it is indexed by `optimize`, and the result is checked."""

    smallest_search: ClassVar[dict[str, Any]] = {"hnsw_ef": 1}
    package = "qdrant-edge-py"
    holds_gil = True

    def __init__(
        self,
        setup: Setup,
        *,
        m: Links = 16,
        ef_construct: LinkCandidates = 100,
        indexing_threshold: IndexingThreshold = 1,
        full_scan_threshold: Annotated[
            int, Meaning("KB of vectors up to which a search compares all", 0)
        ] = 10,
        batch: Annotated[int, Meaning("vectors that are added at a time", 1)] = 1000,
    ) -> None:
        super().__init__(setup)
        import qdrant_edge  # imported here, because the adapter of the server needs no library

        self.edge, self.threshold, self.batch = qdrant_edge, indexing_threshold, batch
        self.hnsw = qdrant_edge.HnswIndexConfig(m, ef_construct, full_scan_threshold, setup.threads)
        self.shard: Any = None
        self.set_search()

    def build(self, vectors: Rows) -> None:
        """Fill the shard and build its graph."""
        distance = getattr(self.edge.Distance, DISTANCES[self.setup.metric])
        config = self.edge.EdgeConfig(
            vectors=self.edge.EdgeVectorParams(self.setup.d, distance),
            hnsw_config=self.hnsw,
            optimizers=self.edge.EdgeOptimizersConfig(
                default_segment_number=1, indexing_threshold=self.threshold
            ),
            max_search_threads=self.setup.threads,
        )
        self.shard = self.edge.EdgeShard.create(str(self.setup.folder), config)
        for start in range(0, len(vectors), self.batch):
            rows = vectors[start : start + self.batch].tolist()
            points = [self.edge.Point(start + i, row) for i, row in enumerate(rows)]
            self.shard.update(self.edge.UpdateOperation.upsert_points(points))
        self.shard.optimize()
        indexed = self.shard.info().indexed_vectors_count
        if has_unindexed(len(vectors), indexed, self.setup.d, self.threshold):
            raise EngineError(
                f"qdrant-edge indexed {indexed:,} of {len(vectors):,} vectors; the others would be scanned"
            )

    def set_search(
        self,
        *,
        hnsw_ef: SearchCandidates = 128,
        exact: Annotated[bool, Meaning("whether a search compares all vectors")] = False,
    ) -> None:
        """Set the size of the search beam; `exact` compares all vectors."""
        self.params = self.edge.SearchParams(hnsw_ef=hnsw_ef, exact=exact)

    def search(self, queries: Rows, k: int) -> Positions:
        """Search all queries as one batch."""
        searches = [
            self.edge.QueryRequest(k, query=self.edge.Query.Nearest(row), params=self.params)
            for row in queries.tolist()
        ]
        answers = self.shard.query_batch(self.edge.QueryBatchRequest(searches))
        return pad_positions([[point.id for point in points] for points in answers], k)

    def save(self) -> None:
        """Write pending changes."""
        self.shard.flush()

    def load(self) -> None:
        """Open the shard in `setup.folder`."""
        self.shard = self.edge.EdgeShard.load(str(self.setup.folder))

    def close(self) -> None:
        """Close the shard."""
        if self.shard is not None:
            self.shard.close()
            self.shard = None
