"""Weaviate: a class of objects with vectors, over REST and GraphQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar
from uuid import UUID, uuid4

from assay.core.errors import EngineError
from assay.core.parameters import Meaning
from assay.indexes.index import Rows, Setup
from assay.indexes.parameter_meanings import BuildCandidates, LinkCount
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
from assay.remote.http import bearer_header, error_message

DISTANCES = {"l2": "l2-squared", "ip": "dot", "cosine": "cosine"}


class Weaviate(BatchedIndex):
    """A class of a Weaviate server with an HNSW index; `ef` is a setting of the class."""

    smallest_search: ClassVar[dict[str, Any]] = {"ef": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        url: Url,
        api_key: ApiKey = None,
        maxConnections: LinkCount = 32,  # the engine's own name
        efConstruction: BuildCandidates = 128,
        batch: Batch = 500,
        timeout: Timeout = 60.0,
        ready_timeout: ReadyTimeout = 3600.0,
    ) -> None:
        client = ServerClient("Weaviate", url, bearer_header(api_key), timeout)
        super().__init__(setup, client, batch, ready_timeout)
        self.name = f"Assay_{uuid4().hex}"
        self.hnsw = {"maxConnections": maxConnections, "efConstruction": efConstruction}
        self.set_search()

    def build(self, vectors: Rows) -> None:
        """Create the class, insert the vectors and wait until they are indexed."""
        config = {"distance": DISTANCES[self.setup.metric], "ef": self.ef, **self.hnsw}
        kinds = {"vectorizer": "none", "vectorIndexType": "hnsw", "vectorIndexConfig": config}
        self.client.call("POST", "/v1/schema", {"class": self.name, **kinds})
        self.is_created = True
        self.insert_all(vectors)
        wait_until(self._is_ready, self.ready_timeout, "Weaviate has not indexed the vectors")

    def insert(self, start: int, rows: list[list[float]]) -> None:
        """Insert rows as objects."""
        objects = [
            # the id of all zeros means no id, so ids start at 1
            {"class": self.name, "id": str(UUID(int=position + 1)), "vector": row}
            for position, row in enumerate(rows, start)
        ]
        for answer in self.client.call("POST", "/v1/batch/objects", {"objects": objects}):
            if answer["result"]["status"] != "SUCCESS":
                position, reason = UUID(answer["id"]).int - 1, error_message(answer["result"].get("errors"))
                raise EngineError(f"{self.client.label} refused vector {position}: {reason}")

    def _is_ready(self) -> bool:
        nodes = self.client.call("GET", f"/v1/nodes/{self.name}?output=verbose")["nodes"]
        shards = [shard for node in nodes for shard in node["shards"] or []]
        is_idle = all(not s["vectorQueueLength"] and s["vectorIndexingStatus"] == "READY" for s in shards)
        return bool(shards) and is_idle

    def set_search(
        self,
        *,
        ef: Annotated[
            int, Meaning("candidates that a search keeps; -1 lets Weaviate choose", 1, choices=(-1,))
        ] = 64,
    ) -> None:
        """Set the size of the search beam, on the server if the class exists; −1 lets Weaviate choose."""
        self.ef = ef
        if self.is_created:
            path = f"/v1/schema/{self.name}"
            schema = self.client.call("GET", path)
            schema["vectorIndexConfig"]["ef"] = ef
            self.client.call("PUT", path, schema)

    def query_body(self, query: list[float], k: int) -> dict[str, Any]:
        """Return the body of a search for one query."""
        clause = f"limit: {k}, nearVector: {{vector: {query}}}"
        return {"query": f"{{ Get {{ {self.name}({clause}) {{ _additional {{ id }} }} }} }}"}

    def search_one(self, body: dict[str, Any]) -> list[int]:
        """Search for one query."""
        return self._positions(self.client.call("POST", "/v1/graphql", body))

    def search_many(self, bodies: Sequence[dict[str, Any]]) -> list[list[int]]:
        """Search for several queries in one request."""
        return [self._positions(answer) for answer in self.client.call("POST", "/v1/graphql/batch", bodies)]

    def _positions(self, answer: Any) -> list[int]:
        if answer.get("errors"):
            raise EngineError(f"{self.client.label} failed to search: {error_message(answer['errors'])}")
        return [UUID(item["_additional"]["id"]).int - 1 for item in answer["data"]["Get"][self.name]]

    def version(self) -> str:
        """Return the version of the server."""
        return str(self.client.call("GET", "/v1/meta")["version"])

    def drop(self) -> None:
        """Delete the class with its objects."""
        self.client.call("DELETE", f"/v1/schema/{self.name}")
