"""Milvus: a server, Zilliz Cloud (`https://…`), or a file of milvus-lite, by its `uri`.

A relative path of a file is in the folder of the index.
Set the token in the environment (`MILVUS_TOKEN`) rather than in parameters, which are recorded.
The adapter works with version 2.3 of the client, which a server of version 2.3 needs, and with 2.6 and later.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, ClassVar
from uuid import uuid4

import pymilvus
from pymilvus import DataType, MilvusClient

from assay.core.errors import EngineError, InputError
from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions

_METRICS = {"l2": "L2", "ip": "IP", "cosine": "COSINE"}
_BUILD_DEFAULTS: dict[str, dict[str, int]] = {  # by type of index
    "HNSW": {"M": 16, "efConstruction": 200},
    "IVF_FLAT": {"nlist": 1024},
    "IVF_SQ8": {"nlist": 1024},
    "IVF_PQ": {"nlist": 1024, "m": 8, "nbits": 8},
    "SCANN": {"nlist": 1024},
}
_SEARCH_DEFAULTS: dict[str, dict[str, int]] = {  # by type of index
    "FLAT": {},
    "HNSW": {"ef": 64},
    "IVF_FLAT": {"nprobe": 16},
    "IVF_SQ8": {"nprobe": 16},
    "IVF_PQ": {"nprobe": 16},
    "SCANN": {"nprobe": 16, "reorder_k": 100},
    "DISKANN": {"search_list": 100},
    "AUTOINDEX": {"level": 1},
}
_NOT_BELOW_K = ("ef", "reorder_k", "search_list")  # Milvus refuses values below k
_INSERT_BYTES, _QUERIES_PER_CALL = 8 << 20, 4096  # per call
_POLL_SECONDS = 0.1


class Milvus(Index):
    """An index of any type that the server supports; the threads are those of the server."""

    package = "pymilvus"
    smallest_search: ClassVar[dict[str, Any]] = {
        "ef": 1,
        "nprobe": 1,
        "reorder_k": 1,
        "search_list": 1,
        "level": 1,
    }

    def __init__(
        self,
        setup: Setup,
        *,
        uri: Annotated[str, Meaning("the address of a server, or the name of a file for Milvus Lite")],
        token: Annotated[
            str | None,
            Meaning(
                "the token of Zilliz Cloud, or user:password", unset="the environment variable MILVUS_TOKEN"
            ),
        ] = None,
        index_type: Annotated[
            str,
            Meaning(
                "the type of the index: HNSW, IVF_FLAT, IVF_SQ8, IVF_PQ, SCANN, DISKANN, FLAT or AUTOINDEX"
            ),
        ] = "HNSW",
        M: Annotated[int | None, Meaning("links of a node in the graph, for HNSW", 2, unset="16")] = None,
        efConstruction: Annotated[
            int | None, Meaning("candidates for the links of a new node, for HNSW", 1, unset="200")
        ] = None,
        nlist: Annotated[
            int | None,
            Meaning("lists into which the vectors are divided, for IVF and SCANN", 1, unset="1024"),
        ] = None,
        m: Annotated[
            int | None, Meaning("parts of a vector that are quantized, for IVF_PQ", 1, unset="8")
        ] = None,
        nbits: Annotated[int | None, Meaning("bits of the code of a part, for IVF_PQ", 1, unset="8")] = None,
    ) -> None:
        super().__init__(setup)
        options = {"M": M, "efConstruction": efConstruction, "nlist": nlist, "m": m, "nbits": nbits}
        self.index_type = index_type
        self.options = {**_BUILD_DEFAULTS.get(index_type, {}), **_without_none(options)}
        self.metric = _METRICS[setup.metric]
        self.is_lite = "://" not in uri
        self.name = "vectors" if self.is_lite else f"assay_{uuid4().hex}"
        address = str(setup.folder / uri) if self.is_lite else uri
        self.client: Any = MilvusClient(address, token=token or os.environ.get("MILVUS_TOKEN", ""))

    def build(self, vectors: Rows) -> None:
        """Insert the vectors, index them and load the index, waiting for each step.

        An index that is created before there are vectors is built in the background, or never.
        """
        self._create()
        self._insert(vectors)
        self._create_index()
        self._wait(lambda: self._indexed_count() >= len(vectors))
        self.client.load_collection(self.name)
        self._wait(lambda: self._row_count() == len(vectors))

    def _create(self) -> None:
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("v", DataType.FLOAT_VECTOR, dim=self.setup.d)
        self.client.create_collection(self.name, schema=schema, consistency_level="Eventually")

    def _insert(self, vectors: Rows) -> None:
        rows = max(1, _INSERT_BYTES // (4 * self.setup.d))
        for start in range(0, len(vectors), rows):
            piece = vectors[start : start + rows]
            self.client.insert(self.name, [{"id": start + i, "v": row} for i, row in enumerate(piece)])
        self._handler().flush([self.name])

    def _create_index(self) -> None:
        """Create the index by the connection: milvus-lite does not read the options of the client."""
        parameters = {"index_type": self.index_type, "metric_type": self.metric, "params": self.options}
        self._handler().create_index(self.name, "v", parameters, index_name="v")

    def _indexed_count(self) -> int:
        progress = self._handler().get_index_build_progress(self.name, "v")
        return int(progress["indexed_rows"]) - int(progress.get("pending_index_rows", 0))

    def _row_count(self) -> int:
        return int(self.client.query(self.name, filter="", output_fields=["count(*)"])[0]["count(*)"])

    @staticmethod
    def _wait(is_done: Callable[[], bool]) -> None:
        while not is_done():
            time.sleep(_POLL_SECONDS)

    def _handler(self) -> Any:
        """Return the connection of the client; version 2.3 of the client lacks some of its methods."""
        return self.client._get_connection()

    def set_search(
        self,
        *,
        ef: Annotated[int | None, Meaning("candidates that a search keeps, for HNSW", 1, unset="64")] = None,
        nprobe: Annotated[
            int | None, Meaning("lists that a search compares, for IVF and SCANN", 1, unset="16")
        ] = None,
        reorder_k: Annotated[
            int | None, Meaning("candidates that are compared again, for SCANN", 1, unset="100")
        ] = None,
        search_list: Annotated[
            int | None, Meaning("candidates that a search keeps, for DISKANN", 1, unset="100")
        ] = None,
        level: Annotated[
            int | None, Meaning("effort of a search, for AUTOINDEX of Zilliz Cloud", 1, unset="1")
        ] = None,
    ) -> None:
        """Set the parameters for this type of index; those of other types are ignored."""
        options = _without_none(
            {"ef": ef, "nprobe": nprobe, "reorder_k": reorder_k, "search_list": search_list, "level": level}
        )
        defaults = _SEARCH_DEFAULTS.get(self.index_type)
        if defaults is None:
            self.search_options = options
            return
        if options and defaults and not options.keys() & defaults.keys():
            requested_names, default_names = ", ".join(options), " and ".join(defaults)
            raise InputError(f"{self.index_type} is searched with {default_names}, found {requested_names}")
        self.search_options = {
            **defaults,
            **{name: value for name, value in options.items() if name in defaults},
        }

    def search(self, queries: Rows, k: int) -> Positions:
        """Search all queries in one call, or in several if there are many."""
        raised_options = {
            name: max(value, k) for name, value in self.search_options.items() if name in _NOT_BELOW_K
        }
        search_params = {"metric_type": self.metric, "params": {**self.search_options, **raised_options}}
        lists: list[list[int]] = []
        for start in range(0, len(queries), _QUERIES_PER_CALL):
            data = list(queries[start : start + _QUERIES_PER_CALL])
            answer = self.client.search(self.name, data=data, limit=k, search_params=search_params)
            lists += [[hit["id"] for hit in hits] for hits in answer]
        return pad_positions(lists, k)

    def load(self) -> None:
        """Load the collection from the file."""
        if not self.is_lite:
            raise EngineError("a collection on a server is deleted when it is closed: build it again")
        self.client.load_collection(self.name)

    def version(self) -> str:
        """Return the versions of the server and of the client."""
        return f"Milvus {self._handler().get_server_version()}, pymilvus {pymilvus.__version__}"

    def close(self) -> None:
        """Delete the collection on a server and close the connection."""
        with suppress(pymilvus.MilvusException):  # the server may be gone
            if not self.is_lite and self.client.has_collection(self.name):
                self.client.drop_collection(self.name)
        self.client.close()


def _without_none(options: dict[str, int | None]) -> dict[str, int]:
    return {name: value for name, value in options.items() if value is not None}
