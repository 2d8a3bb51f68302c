"""Milvus: a server, Zilliz Cloud (`https://…`), or a file of milvus-lite, by its `uri`.

A file is in the folder of the index, unless its path begins elsewhere.
A token is better kept in the environment (`MILVUS_TOKEN`) than in parameters, which are recorded.
It works with the client of version 2.3, which the server of that time needs, and with those since 2.6.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar
from uuid import uuid4

import pymilvus
from pymilvus import DataType, MilvusClient

from assay.core.errors import EngineError, InputError
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, padded

_METRICS = {"l2": "L2", "ip": "IP", "cosine": "COSINE"}
_BUILD: dict[str, dict[str, int]] = {  # what an index of a type is built with where nothing is said
    "HNSW": {"M": 16, "efConstruction": 200},
    "IVF_FLAT": {"nlist": 1024},
    "IVF_SQ8": {"nlist": 1024},
    "IVF_PQ": {"nlist": 1024, "m": 8, "nbits": 8},
    "SCANN": {"nlist": 1024},
}
_SEARCH: dict[str, dict[str, int]] = {  # and what it is searched with
    "FLAT": {},
    "HNSW": {"ef": 64},
    "IVF_FLAT": {"nprobe": 16},
    "IVF_SQ8": {"nprobe": 16},
    "IVF_PQ": {"nprobe": 16},
    "SCANN": {"nprobe": 16, "reorder_k": 100},
    "DISKANN": {"search_list": 100},
    "AUTOINDEX": {"level": 1},
}
_NOT_BELOW_K = ("ef", "reorder_k", "search_list")  # Milvus refuses these when they are less than k
_BYTES, _QUERIES = 8 << 20, 4096  # sent in one piece
_PAUSE = 0.1  # seconds


class Milvus(Index):
    """An index of any type that the server knows. The threads are the server's."""

    package = "pymilvus"
    least: ClassVar[dict[str, Any]] = {"ef": 1, "nprobe": 1, "reorder_k": 1, "search_list": 1, "level": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        uri: str,
        token: str | None = None,
        index_type: str = "HNSW",
        M: int | None = None,
        efConstruction: int | None = None,
        nlist: int | None = None,
        m: int | None = None,
        nbits: int | None = None,
    ) -> None:
        super().__init__(setup)
        given = {"M": M, "efConstruction": efConstruction, "nlist": nlist, "m": m, "nbits": nbits}
        self.index_type = index_type
        self.options = {**_BUILD.get(index_type, {}), **_said(given)}
        self.metric = _METRICS[setup.metric]
        self.lite = "://" not in uri
        self.name = "vectors" if self.lite else f"assay_{uuid4().hex}"
        where = str(setup.folder / uri) if self.lite else uri
        self.client: Any = MilvusClient(where, token=token or os.environ.get("MILVUS_TOKEN", ""))

    def build(self, vectors: Rows) -> None:
        """Insert the vectors, then index them and load the index; wait for each to have ended.

        An index that is wanted before there are vectors is made in the background, or never.
        """
        self._create()
        self._insert(vectors)
        self._index()
        self._wait(lambda: self._indexed() >= len(vectors))
        self.client.load_collection(self.name)
        self._wait(lambda: self._counted() == len(vectors))

    def _create(self) -> None:
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("v", DataType.FLOAT_VECTOR, dim=self.setup.d)
        self.client.create_collection(self.name, schema=schema, consistency_level="Eventually")

    def _insert(self, vectors: Rows) -> None:
        rows = max(1, _BYTES // (4 * self.setup.d))
        for start in range(0, len(vectors), rows):
            piece = vectors[start : start + rows]
            self.client.insert(self.name, [{"id": start + i, "v": row} for i, row in enumerate(piece)])
        self._handler().flush([self.name])

    def _index(self) -> None:
        """Not by the client: it sends the options in a way that milvus-lite does not read."""
        wanted = {"index_type": self.index_type, "metric_type": self.metric, "params": self.options}
        self._handler().create_index(self.name, "v", wanted, index_name="v")

    def _indexed(self) -> int:
        progress = self._handler().get_index_build_progress(self.name, "v")
        return int(progress["indexed_rows"]) - int(progress.get("pending_index_rows", 0))

    def _counted(self) -> int:
        return int(self.client.query(self.name, filter="", output_fields=["count(*)"])[0]["count(*)"])

    @staticmethod
    def _wait(done: Callable[[], bool]) -> None:
        while not done():
            time.sleep(_PAUSE)

    def _handler(self) -> Any:
        """What the client works with: the client of 2.3 does not show all of it."""
        return self.client._get_connection()

    def set_search(
        self,
        *,
        ef: int | None = None,
        nprobe: int | None = None,
        reorder_k: int | None = None,
        search_list: int | None = None,
        level: int | None = None,
    ) -> None:
        """Set what the type of the index is searched with; what belongs to other types is left out."""
        given = _said(
            {"ef": ef, "nprobe": nprobe, "reorder_k": reorder_k, "search_list": search_list, "level": level}
        )
        known = _SEARCH.get(self.index_type)
        if known is None:
            self.chosen = given
            return
        if given and known and not given.keys() & known.keys():
            wrong, right = ", ".join(given), " and ".join(known)
            raise InputError(f"{self.index_type} is searched with {right}, found {wrong}")
        self.chosen = {**known, **{name: value for name, value in given.items() if name in known}}

    def search(self, queries: Rows, k: int) -> Positions:
        """All queries in one call, or in a few where they are many."""
        least = {name: max(value, k) for name, value in self.chosen.items() if name in _NOT_BELOW_K}
        how = {"metric_type": self.metric, "params": {**self.chosen, **least}}
        found: list[list[int]] = []
        for start in range(0, len(queries), _QUERIES):
            data = list(queries[start : start + _QUERIES])
            answer = self.client.search(self.name, data=data, limit=k, search_params=how)
            found += [[hit["id"] for hit in hits] for hits in answer]
        return padded(found, k)

    def load(self) -> None:
        """Load the collection of the file."""
        if not self.lite:
            raise EngineError("a collection on a server is dropped when it is closed: build it again")
        self.client.load_collection(self.name)

    def version(self) -> str:
        """The versions of the server and of the client."""
        return f"Milvus {self._handler().get_server_version()}, pymilvus {pymilvus.__version__}"

    def close(self) -> None:
        """Drop the collection on a server that goes on, and let go of it."""
        with suppress(pymilvus.MilvusException):  # a server that is gone has nothing to drop
            if not self.lite and self.client.has_collection(self.name):
                self.client.drop_collection(self.name)
        self.client.close()


def _said(given: dict[str, int | None]) -> dict[str, int]:
    return {name: value for name, value in given.items() if value is not None}
