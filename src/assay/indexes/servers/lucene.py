"""The base class of the adapters of Elasticsearch and OpenSearch, which share most of their API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from assay.core.errors import EngineError
from assay.indexes.index import Rows, Setup
from assay.indexes.servers.server_index import BatchedIndex, ServerClient, wait_until
from assay.remote.http import error_message

FIELD = "vector"


class Lucene(BatchedIndex):
    """An index of one vector field; its segments are merged before the first search."""

    settings: dict[str, Any]
    field: dict[str, Any]

    def __init__(
        self, setup: Setup, client: ServerClient, shards: int, segments: int, batch: int, ready_timeout: float
    ) -> None:
        super().__init__(setup, client, batch, ready_timeout)
        self.path, self.shards, self.segments = f"/assay-{uuid4().hex}", shards, segments

    def build(self, vectors: Rows) -> None:
        """Create the index, insert the vectors and merge the segments."""
        index = {"number_of_shards": self.shards, "number_of_replicas": 0, "refresh_interval": "-1"}
        mappings = {"dynamic": "strict", "properties": {FIELD: self.field}}
        self.client.call(
            "PUT", self.path, {"settings": {"index": {**index, **self.settings}}, "mappings": mappings}
        )
        self.is_created = True
        self.insert_all(vectors)
        self.client.call("POST", f"{self.path}/_refresh")
        self._merge()
        count = self.client.call("GET", f"{self.path}/_count")["count"]
        if count != len(vectors):
            raise EngineError(f"{self.client.label} has {count:,} of {len(vectors):,} vectors")

    def insert(self, start: int, rows: list[list[float]]) -> None:
        """Insert rows by `_bulk`."""
        lines: list[Any] = []
        for position, row in enumerate(rows, start):
            lines += [{"index": {"_id": str(position)}}, {FIELD: row}]
        answer = self.client.call_lines(f"{self.path}/_bulk", lines)
        if answer["errors"]:
            item = next(item["index"] for item in answer["items"] if "error" in item["index"])
            reason = error_message(item["error"])
            raise EngineError(f"{self.client.label} refused vector {item['_id']}: {reason}")

    def _merge(self) -> None:
        path = f"{self.path}/_forcemerge?max_num_segments={self.segments}&wait_for_completion=false"
        task = self.client.call("POST", path)["task"]
        problem = f"{self.client.engine} has not merged the index"
        wait_until(lambda: self._is_merged(task), self.ready_timeout, problem)
        self.client.call("POST", f"{self.path}/_refresh")

    def _is_merged(self, task: str) -> bool:
        state = self.client.call("GET", f"/_tasks/{task}")
        if "error" in state:
            raise EngineError(f"{self.client.label} failed to merge: {error_message(state['error'])}")
        return bool(state["completed"])

    def search_one(self, body: dict[str, Any]) -> list[int]:
        """Search by `_search`."""
        return self._positions(self.client.call("POST", f"{self.path}/_search", body))

    def search_many(self, bodies: Sequence[dict[str, Any]]) -> list[list[int]]:
        """Search by `_msearch`."""
        lines = [line for body in bodies for line in ({}, body)]
        answer = self.client.call_lines(f"{self.path}/_msearch", lines)
        return [self._positions(response) for response in answer["responses"]]

    def _positions(self, answer: Any) -> list[int]:
        if "error" in answer:
            raise EngineError(f"{self.client.label} failed to search: {error_message(answer)}")
        if answer["timed_out"] or answer["_shards"]["failed"]:
            raise EngineError(f"{self.client.label} searched only a part: it timed out, or a shard failed")
        return [int(hit["_id"]) for hit in answer["hits"]["hits"]]

    def size(self) -> int | None:
        """Return the bytes of the index on the server's disk."""
        answer = self.client.call("GET", f"{self.path}/_stats/store")
        return int(answer["_all"]["primaries"]["store"]["size_in_bytes"])

    def version(self) -> str:
        """Return the version of the server."""
        return str(self.client.call("GET", "/")["version"]["number"])

    def drop(self) -> None:
        """Delete the index."""
        self.client.call("DELETE", self.path)
