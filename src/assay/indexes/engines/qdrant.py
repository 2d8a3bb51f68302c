"""Qdrant: a server over HTTP, and the same index in process (qdrant-edge-py)."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import uuid4

from assay.core.errors import EngineError
from assay.core.vectors import Positions
from assay.indexes.engines.http import Client, until
from assay.indexes.index import Index, Rows, Setup, padded

DISTANCES = {"l2": "Euclid", "ip": "Dot", "cosine": "Cosine"}
TOGETHER = 100  # queries in one request


def unindexed(n: int, indexed: int, d: int, threshold: int) -> bool:
    """Whether more is left outside the graphs than the threshold (in KB) lets stay there."""
    return (n - indexed) * d * 4 > threshold * 1024


class Server(Index):
    """A collection of a Qdrant server; a segment below `indexing_threshold` KB would be searched whole."""

    least: ClassVar[dict[str, Any]] = {"hnsw_ef": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        url: str,
        api_key: str | None = None,
        m: int = 16,
        ef_construct: int = 100,
        indexing_threshold: int = 1,
        full_scan_threshold: int = 10,
        batch: int = 1000,
        timeout: float = 60.0,
        ready_timeout: float = 3600.0,
    ) -> None:
        super().__init__(setup)
        self.client = Client("Qdrant", url, {"api-key": api_key} if api_key else {}, timeout)
        self.path = f"/collections/assay-{uuid4().hex}"
        self.hnsw = {"m": m, "ef_construct": ef_construct, "full_scan_threshold": full_scan_threshold}
        self.threshold, self.batch, self.ready_timeout = indexing_threshold, batch, ready_timeout
        self.made = False
        self.set_search()

    def build(self, vectors: Rows) -> None:
        """Create the collection, load it and wait until it is indexed."""
        body = {
            "vectors": {"size": self.setup.d, "distance": DISTANCES[self.setup.metric]},
            "hnsw_config": self.hnsw,
            "optimizers_config": {"indexing_threshold": self.threshold},
        }
        self.client.call("PUT", self.path, body)
        self.made = True
        for start in range(0, len(vectors), self.batch):
            rows = vectors[start : start + self.batch].tolist()
            points = {"ids": list(range(start, start + len(rows))), "vectors": rows}
            self.client.call("PUT", f"{self.path}/points?wait=true", {"batch": points})
        until(lambda: self._ready(len(vectors)), self.ready_timeout, "Qdrant's collection is not indexed")

    def _ready(self, n: int) -> bool:
        info = self.client.call("GET", self.path)["result"]
        if info["status"] == "red" or info["optimizer_status"] != "ok":
            raise EngineError(f"{self.client.where} failed to index: {info['optimizer_status']}")
        left = unindexed(n, info["indexed_vectors_count"] or 0, self.setup.d, self.threshold)
        return bool(info["status"] == "green" and not left)

    def set_search(self, *, hnsw_ef: int = 128, exact: bool = False) -> None:
        """Set the size of the search beam; `exact` searches the whole."""
        self.params = {"hnsw_ef": hnsw_ef, "exact": exact}

    def search(self, queries: Rows, k: int) -> Positions:
        """One query by itself, several in batches."""
        asked = [{"query": row, "limit": k, "params": self.params} for row in queries.tolist()]
        if len(asked) == 1:
            return padded(
                [_ids(self.client.call("POST", f"{self.path}/points/query", asked[0])["result"])], k
            )
        found: list[list[int]] = []
        for start in range(0, len(asked), TOGETHER):
            body = {"searches": asked[start : start + TOGETHER]}
            answer = self.client.call("POST", f"{self.path}/points/query/batch", body)
            found += [_ids(result) for result in answer["result"]]
        return padded(found, k)

    def version(self) -> str:
        """The version of the server."""
        return str(self.client.call("GET", "/")["version"])

    def close(self) -> None:
        """Drop the collection."""
        if self.made:
            self.made = False
            self.client.call("DELETE", self.path)
        self.client.close()


def _ids(result: Any) -> list[int]:
    return [point["id"] for point in result["points"]]


class Edge(Index):
    """A shard of Qdrant in this process; it is indexed by `optimize`, and that is checked."""

    least: ClassVar[dict[str, Any]] = {"hnsw_ef": 1}
    package = "qdrant-edge-py"
    holds_gil = True

    def __init__(
        self,
        setup: Setup,
        *,
        m: int = 16,
        ef_construct: int = 100,
        indexing_threshold: int = 1,
        full_scan_threshold: int = 10,
        batch: int = 1000,
    ) -> None:
        super().__init__(setup)
        import qdrant_edge  # here, since the server's adapter beside it needs no library

        self.edge, self.threshold, self.batch = qdrant_edge, indexing_threshold, batch
        self.hnsw = qdrant_edge.HnswIndexConfig(m, ef_construct, full_scan_threshold, setup.threads)
        self.shard: Any = None
        self.set_search()

    def build(self, vectors: Rows) -> None:
        """Load the shard and build its graph."""
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
            points = [self.edge.Point(start + at, row) for at, row in enumerate(rows)]
            self.shard.update(self.edge.UpdateOperation.upsert_points(points))
        self.shard.optimize()
        indexed = self.shard.info().indexed_vectors_count
        if unindexed(len(vectors), indexed, self.setup.d, self.threshold):
            raise EngineError(
                f"qdrant-edge indexed {indexed:,} of {len(vectors):,} vectors; the rest is scanned"
            )

    def set_search(self, *, hnsw_ef: int = 128, exact: bool = False) -> None:
        """Set the size of the search beam; `exact` searches the whole."""
        self.params = self.edge.SearchParams(hnsw_ef=hnsw_ef, exact=exact)

    def search(self, queries: Rows, k: int) -> Positions:
        """All queries as one batch."""
        asked = [
            self.edge.QueryRequest(k, query=self.edge.Query.Nearest(row), params=self.params)
            for row in queries.tolist()
        ]
        found = self.shard.query_batch(self.edge.QueryBatchRequest(asked))
        return padded([[point.id for point in points] for points in found], k)

    def save(self) -> None:
        """Write what is pending."""
        self.shard.flush()

    def load(self) -> None:
        """Open the shard in `setup.folder`."""
        self.shard = self.edge.EdgeShard.load(str(self.setup.folder))

    def close(self) -> None:
        """Close the shard."""
        if self.shard is not None:
            self.shard.close()
            self.shard = None
