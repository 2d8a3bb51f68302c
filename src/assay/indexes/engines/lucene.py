"""What Elasticsearch and OpenSearch share: an index is loaded, merged and asked in the same way."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from assay.core.errors import EngineError
from assay.core.vectors import Positions
from assay.indexes.engines.http import Client, message, until
from assay.indexes.index import Index, Rows, Setup, padded

FIELD = "vector"
TOGETHER = 100  # queries in one request


class Lucene(Index):
    """An index of one vector field; every segment is merged before the first search."""

    settings: dict[str, Any]
    field: dict[str, Any]

    def __init__(
        self, setup: Setup, client: Client, shards: int, segments: int, batch: int, ready_timeout: float
    ) -> None:
        super().__init__(setup)
        self.client, self.path, self.made = client, f"/assay-{uuid4().hex}", False
        self.shards, self.segments, self.batch, self.ready_timeout = shards, segments, batch, ready_timeout

    def body(self, query: list[float], k: int) -> dict[str, Any]:
        """A search for one query."""
        raise NotImplementedError

    def build(self, vectors: Rows) -> None:
        """Create the index, load it, merge its segments and wait until that is done."""
        index = {"number_of_shards": self.shards, "number_of_replicas": 0, "refresh_interval": "-1"}
        mappings = {"dynamic": "strict", "properties": {FIELD: self.field}}
        self.client.call(
            "PUT", self.path, {"settings": {"index": {**index, **self.settings}}, "mappings": mappings}
        )
        self.made = True
        for start in range(0, len(vectors), self.batch):
            self._loaded(start, vectors[start : start + self.batch].tolist())
        self.client.call("POST", f"{self.path}/_refresh")
        self._merged()
        count = self.client.call("GET", f"{self.path}/_count")["count"]
        if count != len(vectors):
            raise EngineError(f"{self.client.where} holds {count:,} of {len(vectors):,} vectors")

    def _loaded(self, start: int, rows: list[Any]) -> None:
        lines: list[Any] = []
        for at, row in enumerate(rows, start):
            lines += [{"index": {"_id": str(at)}}, {FIELD: row}]
        answer = self.client.lines(f"{self.path}/_bulk", lines)
        if answer["errors"]:
            wrong = next(item["index"] for item in answer["items"] if "error" in item["index"])
            raise EngineError(f"{self.client.where} refused vector {wrong['_id']}: {message(wrong['error'])}")

    def _merged(self) -> None:
        asked = f"_forcemerge?max_num_segments={self.segments}&wait_for_completion=false"
        task = self.client.call("POST", f"{self.path}/{asked}")["task"]
        until(lambda: self._done(task), self.ready_timeout, f"{self.client.engine}'s index is not merged")
        self.client.call("POST", f"{self.path}/_refresh")

    def _done(self, task: str) -> bool:
        state = self.client.call("GET", f"/_tasks/{task}")
        if "error" in state:
            raise EngineError(f"{self.client.where} failed to merge: {message(state['error'])}")
        return bool(state["completed"])

    def search(self, queries: Rows, k: int) -> Positions:
        """One query by itself, several by `_msearch`."""
        bodies = [self.body(row, k) for row in queries.tolist()]
        if len(bodies) == 1:
            return padded([self._ids(self.client.call("POST", f"{self.path}/_search", bodies[0]))], k)
        found: list[list[int]] = []
        for start in range(0, len(bodies), TOGETHER):
            lines = [line for body in bodies[start : start + TOGETHER] for line in ({}, body)]
            answer = self.client.lines(f"{self.path}/_msearch", lines)
            found += [self._ids(response) for response in answer["responses"]]
        return padded(found, k)

    def _ids(self, answer: Any) -> list[int]:
        if "error" in answer:
            raise EngineError(f"{self.client.where} failed to search: {message(answer)}")
        if answer["timed_out"] or answer["_shards"]["failed"]:
            raise EngineError(f"{self.client.where} searched only a part: timed out, or a shard failed")
        return [int(hit["_id"]) for hit in answer["hits"]["hits"]]

    def size(self) -> int | None:
        """The bytes of the index on the server's disk."""
        answer = self.client.call("GET", f"{self.path}/_stats/store")
        return int(answer["_all"]["primaries"]["store"]["size_in_bytes"])

    def version(self) -> str:
        """The version of the server."""
        return str(self.client.call("GET", "/")["version"]["number"])

    def close(self) -> None:
        """Delete the index."""
        if self.made:
            self.made = False
            self.client.call("DELETE", self.path)
        self.client.close()
