"""Weaviate: a class of objects with vectors, over REST and GraphQL."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID, uuid4

from assay.core.errors import EngineError
from assay.core.vectors import Positions
from assay.indexes.engines.http import Client, bearer, message, until
from assay.indexes.index import Index, Rows, Setup, padded

DISTANCES = {"l2": "l2-squared", "ip": "dot", "cosine": "cosine"}
TOGETHER = 100  # queries in one request


class Weaviate(Index):
    """A class of a Weaviate server with an HNSW index; `ef` belongs to the class and is changed there."""

    least: ClassVar[dict[str, Any]] = {"ef": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        url: str,
        api_key: str | None = None,
        maxConnections: int = 32,  # the engine's own words
        efConstruction: int = 128,
        batch: int = 500,
        timeout: float = 60.0,
        ready_timeout: float = 3600.0,
    ) -> None:
        super().__init__(setup)
        self.client = Client("Weaviate", url, bearer(api_key), timeout)
        self.name, self.made = f"Assay_{uuid4().hex}", False
        self.hnsw = {"maxConnections": maxConnections, "efConstruction": efConstruction}
        self.batch, self.ready_timeout = batch, ready_timeout
        self.set_search()

    def build(self, vectors: Rows) -> None:
        """Create the class, load it and wait until its queue is empty."""
        config = {"distance": DISTANCES[self.setup.metric], "ef": self.ef, **self.hnsw}
        kinds = {"vectorizer": "none", "vectorIndexType": "hnsw", "vectorIndexConfig": config}
        self.client.call("POST", "/v1/schema", {"class": self.name, **kinds})
        self.made = True
        for start in range(0, len(vectors), self.batch):
            self._loaded(start, vectors[start : start + self.batch].tolist())
        until(self._ready, self.ready_timeout, "Weaviate's vectors are not indexed")

    def _loaded(self, start: int, rows: list[Any]) -> None:
        objects = [
            # the id of all zeros stands for none, so ids begin with 1
            {"class": self.name, "id": str(UUID(int=at + 1)), "vector": row}
            for at, row in enumerate(rows, start)
        ]
        for made in self.client.call("POST", "/v1/batch/objects", {"objects": objects}):
            if made["result"]["status"] != "SUCCESS":
                at = UUID(made["id"]).int - 1
                raise EngineError(
                    f"{self.client.where} refused vector {at}: {message(made['result'].get('errors'))}"
                )

    def _ready(self) -> bool:
        nodes = self.client.call("GET", f"/v1/nodes/{self.name}?output=verbose")["nodes"]
        shards = [shard for node in nodes for shard in node["shards"] or []]
        idle = all(not s["vectorQueueLength"] and s["vectorIndexingStatus"] == "READY" for s in shards)
        return bool(shards) and idle

    def set_search(self, *, ef: int = 64) -> None:
        """Set the size of the search beam, on the server once the class is there; −1: Weaviate's choice."""
        self.ef = ef
        if self.made:
            path = f"/v1/schema/{self.name}"
            kept = self.client.call("GET", path)
            kept["vectorIndexConfig"]["ef"] = ef
            self.client.call("PUT", path, kept)

    def search(self, queries: Rows, k: int) -> Positions:
        """One query by itself, several in batches."""
        asked = [self._asked(row, k) for row in queries.tolist()]
        if len(asked) == 1:
            return padded([self._ids(self.client.call("POST", "/v1/graphql", asked[0]))], k)
        found: list[list[int]] = []
        for start in range(0, len(asked), TOGETHER):
            answers = self.client.call("POST", "/v1/graphql/batch", asked[start : start + TOGETHER])
            found += [self._ids(answer) for answer in answers]
        return padded(found, k)

    def _asked(self, query: list[float], k: int) -> dict[str, str]:
        near = f"limit: {k}, nearVector: {{vector: {query}}}"
        return {"query": f"{{ Get {{ {self.name}({near}) {{ _additional {{ id }} }} }} }}"}

    def _ids(self, answer: Any) -> list[int]:
        if answer.get("errors"):
            raise EngineError(f"{self.client.where} failed to search: {message(answer['errors'])}")
        return [UUID(found["_additional"]["id"]).int - 1 for found in answer["data"]["Get"][self.name]]

    def version(self) -> str:
        """The version of the server."""
        return str(self.client.call("GET", "/v1/meta")["version"])

    def close(self) -> None:
        """Delete the class with its objects."""
        if self.made:
            self.made = False
            self.client.call("DELETE", f"/v1/schema/{self.name}")
        self.client.close()
