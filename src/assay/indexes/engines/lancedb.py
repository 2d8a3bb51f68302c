"""LanceDB: indexes beside a table of columns in a folder.

Threads are set by the environment (`LANCE_CPU_THREADS`) before it is imported, as the harness does. It reads
in threads of its own beside these, so the process keeps itself to as many processors as it was given threads.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import HnswFlat, HnswPq, HnswSq, IvfPq

from assay.core.errors import EngineError, InputError
from assay.core.vectors import Positions
from assay.indexes.hosting.processes import threads_of
from assay.indexes.index import Index, Rows, Setup

_GRAPHS = {"IVF_HNSW_SQ": HnswSq, "IVF_HNSW_PQ": HnswPq, "IVF_HNSW_FLAT": HnswFlat}


class _Table(Index):
    package = "lancedb"
    table: Any
    chosen: dict[str, int | None]

    def __init__(self, setup: Setup, kind: Any, options: dict[str, Any]) -> None:
        super().__init__(setup)
        metric = "dot" if setup.metric == "ip" else setup.metric
        self.config = kind(distance_type=metric, **options)
        _keep_to(setup.threads)
        self.database = lancedb.connect(setup.folder)

    def build(self, vectors: Rows) -> None:
        """Write the vectors as a table, then index them; LanceDB waits until the index is there."""
        ids = pa.array(np.arange(len(vectors), dtype=np.int64))
        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), self.setup.d)
        self.table = self.database.create_table("vectors", pa.table({"id": ids, "v": column}))
        self.table.create_index("v", config=self.config)
        left = self.table.index_stats(self.table.list_indices()[0].name).num_unindexed_rows
        if left:
            raise EngineError(f"LanceDB left {left} of {len(vectors)} vectors out of the index")

    def search(self, queries: Rows, k: int) -> Positions:
        """All queries in one call."""
        asked = self.table.search(queries if len(queries) > 1 else queries[0], vector_column_name="v")
        asked = asked.select(["id", "_distance"]).limit(k)
        for name, value in self._options(k).items():
            asked = getattr(asked, name)(value)
        found = asked.to_arrow()
        return _table(found, len(queries), k)

    def _options(self, k: int) -> dict[str, int]:
        return {name: value for name, value in self.chosen.items() if value is not None}

    def load(self) -> None:
        """Open the table."""
        self.table = self.database.open_table("vectors")


def _keep_to(threads: int) -> None:
    """Let every thread of this process run on as many processors; those that it starts do as well."""
    if hasattr(os, "sched_setaffinity"):
        cpus = sorted(os.sched_getaffinity(0))[-threads:]
        for thread in threads_of(os.getpid()):
            os.sched_setaffinity(thread, cpus)


def _table(found: Any, n: int, k: int) -> Positions:
    """The answer as positions: rows of all queries below each other, each with the number of its query."""
    ids = found["id"].to_numpy()
    of = found["query_index"].to_numpy() if "query_index" in found.column_names else np.zeros(len(ids), int)
    order = np.argsort(of, kind="stable")
    ids, of = ids[order], of[order]
    made = np.full((n, k), -1, np.int64)
    made[of, np.arange(len(of)) - np.searchsorted(of, of)] = ids
    return made


class IVFPQ(_Table):
    """Inverted lists of codes of product quantization; `refine_factor` reads the best again as they are."""

    least: ClassVar[dict[str, Any]] = {"nprobes": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        num_partitions: int = 256,
        num_sub_vectors: int | None = None,
        num_bits: int = 8,
    ) -> None:
        given = {"num_partitions": num_partitions, "num_sub_vectors": num_sub_vectors, "num_bits": num_bits}
        super().__init__(setup, IvfPq, given)

    def set_search(self, *, nprobes: int = 20, refine_factor: int | None = None) -> None:
        """Set how many lists are gone through, and how many times k are compared again."""
        self.chosen = {"nprobes": nprobes, "refine_factor": refine_factor}


class HNSW(_Table):
    """A graph in each partition; `index_type` says how its vectors are kept: whole, SQ or PQ."""

    least: ClassVar[dict[str, Any]] = {"nprobes": 1, "ef": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        index_type: str = "IVF_HNSW_SQ",
        num_partitions: int = 1,
        m: int = 20,
        ef_construction: int = 300,
    ) -> None:
        if index_type not in _GRAPHS:
            raise InputError(f"index_type is one of {', '.join(_GRAPHS)}, found {index_type!r}")
        given = {"num_partitions": num_partitions, "m": m, "ef_construction": ef_construction}
        super().__init__(setup, _GRAPHS[index_type], given)

    def set_search(self, *, ef: int = 64, nprobes: int = 1, refine_factor: int | None = None) -> None:
        """Set how many candidates are held (k where k is more), in how many partitions."""
        self.chosen = {"ef": ef, "nprobes": nprobes, "refine_factor": refine_factor}

    def _options(self, k: int) -> dict[str, int]:
        options = super()._options(k)
        return {**options, "ef": max(options["ef"], k * options.get("refine_factor", 1))}
