"""Redis with its search module: hashes with a vector, over the Redis protocol (RESP2)."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import uuid4

from assay.core.errors import EngineError, InputError
from assay.core.vectors import Positions
from assay.indexes.engines.http import until
from assay.indexes.engines.resp import Connection, Word
from assay.indexes.index import Index, Rows, Setup, padded

DISTANCES = {"l2": "L2", "ip": "IP", "cosine": "COSINE"}


class Redis(Index):
    """An index over hashes of a Redis server; `algorithm` is HNSW, or FLAT, which is exact."""

    least: ClassVar[dict[str, Any]] = {"EF_RUNTIME": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        url: str,
        api_key: str | None = None,
        algorithm: str = "HNSW",
        M: int = 16,
        EF_CONSTRUCTION: int = 200,  # the engine's own word
        batch: int = 1000,
        timeout: float = 60.0,
        ready_timeout: float = 3600.0,
    ) -> None:
        super().__init__(setup)
        if algorithm not in ("HNSW", "FLAT"):
            raise InputError(f"algorithm: expected HNSW or FLAT, found {algorithm!r}")
        self.link = Connection(url, api_key, timeout)
        self.name, self.made, self.flat = f"assay-{uuid4().hex}", False, algorithm == "FLAT"
        graph = {} if self.flat else {"M": M, "EF_CONSTRUCTION": EF_CONSTRUCTION}
        self.kind: dict[str, Word] = {
            "TYPE": "FLOAT32",
            "DIM": setup.d,
            "DISTANCE_METRIC": DISTANCES[setup.metric],
            **graph,
        }
        self.batch, self.ready_timeout = batch, ready_timeout
        self.set_search()

    def build(self, vectors: Rows) -> None:
        """Create the index, write the hashes and wait until all are indexed."""
        words = [word for pair in self.kind.items() for word in pair]
        over: list[Word] = ["ON", "HASH", "PREFIX", 1, f"{self.name}:", "SCHEMA", "vector", "VECTOR"]
        self.link.call("FT.CREATE", self.name, *over, "FLAT" if self.flat else "HNSW", len(words), *words)
        self.made = True
        for start in range(0, len(vectors), self.batch):
            rows = enumerate(vectors[start : start + self.batch], start)
            self.link.calls([("HSET", f"{self.name}:{at}", "vector", row.tobytes()) for at, row in rows])
        until(lambda: self._ready(len(vectors)), self.ready_timeout, "Redis has not indexed all vectors")

    def _info(self) -> dict[str, Any]:
        told = self.link.call("FT.INFO", self.name)
        return {key.decode(): value for key, value in zip(told[::2], told[1::2], strict=True)}

    def _ready(self, n: int) -> bool:
        info = self._info()
        if int(info["hash_indexing_failures"]):
            raise EngineError(
                f"{self.link.where} could not index {int(info['hash_indexing_failures']):,} vectors"
            )
        return (
            int(info["num_docs"]) == n and float(info["percent_indexed"]) == 1 and not int(info["indexing"])
        )

    def set_search(self, *, EF_RUNTIME: int = 64) -> None:  # the engine's own word
        """Set the size of the search beam; FLAT has none."""
        self.ef = EF_RUNTIME

    def search(self, queries: Rows, k: int) -> Positions:
        """All queries are sent together, and the replies read in turn."""
        found = self.link.calls([self._asked(row.tobytes(), k) for row in queries])
        start = len(self.name) + 1
        return padded([[int(key[start:]) for key in reply[1::2]] for reply in found], k)

    def _asked(self, query: bytes, k: int) -> list[Word]:
        params: list[Word] = ["k", k, "asked", query]
        near = "KNN $k @vector $asked"
        if not self.flat:
            params, near = [*params, "ef", self.ef], f"{near} EF_RUNTIME $ef"
        # a search that runs out of time returns what it has: the server's own half second would cut answers
        limits: list[Word] = ["RETURN", 1, "distance", "TIMEOUT", round(self.link.timeout * 1000)]
        order: list[Word] = ["SORTBY", "distance", "LIMIT", 0, k]
        given: list[Word] = ["PARAMS", len(params), *params, "DIALECT", 2]
        return ["FT.SEARCH", self.name, f"*=>[{near} AS distance]", *limits, *order, *given]

    def version(self) -> str:
        """The version of the server."""
        lines: list[str] = self.link.call("INFO", "server").decode().splitlines()
        return next(line.partition(":")[2] for line in lines if line.startswith("redis_version:"))

    def close(self) -> None:
        """Drop the index and its hashes."""
        if self.made:
            self.made = False
            self.link.call("FT.DROPINDEX", self.name, "DD")
        self.link.close()
