"""Redis with its search module: hashes with a vector, over the Redis protocol (RESP2)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar
from uuid import uuid4

from assay.core.errors import EngineError, InputError
from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Rows, Setup, pad_positions
from assay.indexes.parameter_meanings import BuildCandidates, SearchCandidates
from assay.indexes.servers.redis_connection import RedisConnection, Word
from assay.indexes.servers.server_index import (
    ApiKey,
    Batch,
    ReadyTimeout,
    ServerIndex,
    Timeout,
    Url,
    wait_until,
)

DISTANCES = {"l2": "L2", "ip": "IP", "cosine": "COSINE"}


class Redis(ServerIndex):
    """An index over hashes of a Redis server; `algorithm` is HNSW or FLAT, which is exact."""

    smallest_search: ClassVar[dict[str, Any]] = {"EF_RUNTIME": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        url: Url,
        api_key: ApiKey = None,
        algorithm: Annotated[
            str, Meaning("a graph, or the comparison of all vectors", choices=("HNSW", "FLAT"))
        ] = "HNSW",
        M: Annotated[
            int, Meaning("links of a node in the graph; more find more and take more memory", 1)
        ] = 16,
        EF_CONSTRUCTION: BuildCandidates = 200,  # the engine's own name
        batch: Batch = 1000,
        timeout: Timeout = 60.0,
        ready_timeout: ReadyTimeout = 3600.0,
    ) -> None:
        if algorithm not in ("HNSW", "FLAT"):
            raise InputError(f"algorithm: expected HNSW or FLAT, found {algorithm!r}")
        self.redis = RedisConnection(url, api_key, timeout)
        super().__init__(setup, self.redis, ready_timeout)
        self.name, self.is_flat = f"assay-{uuid4().hex}", algorithm == "FLAT"
        graph = {} if self.is_flat else {"M": M, "EF_CONSTRUCTION": EF_CONSTRUCTION}
        self.kind: dict[str, Word] = {
            "TYPE": "FLOAT32",
            "DIM": setup.d,
            "DISTANCE_METRIC": DISTANCES[setup.metric],
            **graph,
        }
        self.batch = batch
        self.set_search()

    def build(self, vectors: Rows) -> None:
        """Create the index, write the hashes and wait until all are indexed."""
        words = [word for pair in self.kind.items() for word in pair]
        schema: list[Word] = ["ON", "HASH", "PREFIX", 1, f"{self.name}:", "SCHEMA", "vector", "VECTOR"]
        self.redis.call(
            "FT.CREATE", self.name, *schema, "FLAT" if self.is_flat else "HNSW", len(words), *words
        )
        self.is_created = True
        for start in range(0, len(vectors), self.batch):
            rows = enumerate(vectors[start : start + self.batch], start)
            self.redis.call_many([("HSET", f"{self.name}:{i}", "vector", row.tobytes()) for i, row in rows])
        wait_until(
            lambda: self._is_ready(len(vectors)), self.ready_timeout, "Redis has not indexed all vectors"
        )

    def _info(self) -> dict[str, Any]:
        reply = self.redis.call("FT.INFO", self.name)
        return {key.decode(): value for key, value in zip(reply[::2], reply[1::2], strict=True)}

    def _is_ready(self, n: int) -> bool:
        info = self._info()
        if int(info["hash_indexing_failures"]):
            failures = int(info["hash_indexing_failures"])
            raise EngineError(f"{self.redis.label} could not index {failures:,} vectors")
        return (
            int(info["num_docs"]) == n and float(info["percent_indexed"]) == 1 and not int(info["indexing"])
        )

    def set_search(self, *, EF_RUNTIME: SearchCandidates = 64) -> None:  # the engine's own name
        """Set the size of the search beam; FLAT has no such parameter."""
        self.ef = EF_RUNTIME

    def search(self, queries: Rows, k: int) -> Positions:
        """Send all searches at once, then read the replies in order."""
        replies = self.redis.call_many([self._search_command(row.tobytes(), k) for row in queries])
        start = len(self.name) + 1
        return pad_positions([[int(key[start:]) for key in reply[1::2]] for reply in replies], k)

    def _search_command(self, query: bytes, k: int) -> list[Word]:
        params: list[Word] = ["k", k, "query", query]
        clause = "KNN $k @vector $query"
        if not self.is_flat:
            params, clause = [*params, "ef", self.ef], f"{clause} EF_RUNTIME $ef"
        # a search that times out returns partial results: the default of half a second would truncate answers
        limits: list[Word] = ["RETURN", 1, "distance", "TIMEOUT", round(self.redis.timeout * 1000)]
        order: list[Word] = ["SORTBY", "distance", "LIMIT", 0, k]
        parameters: list[Word] = ["PARAMS", len(params), *params, "DIALECT", 2]
        return ["FT.SEARCH", self.name, f"*=>[{clause} AS distance]", *limits, *order, *parameters]

    def version(self) -> str:
        """Return the version of the server."""
        lines: list[str] = self.redis.call("INFO", "server").decode().splitlines()
        return next(line.partition(":")[2] for line in lines if line.startswith("redis_version:"))

    def drop(self) -> None:
        """Delete the index and its hashes."""
        self.redis.call("FT.DROPINDEX", self.name, "DD")
