"""LanceDB: indexes of a columnar table in a folder.

The number of threads is set by the environment (`LANCE_CPU_THREADS`) before the import, as the harness does.
LanceDB reads in additional threads, so the process is restricted to as many processors as threads.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import HnswFlat, HnswPq, HnswSq, IvfPq

from assay.core.errors import EngineError, InputError
from assay.core.parameters import Meaning
from assay.core.processes import limit_processors
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup
from assay.indexes.parameter_meanings import BuildCandidates, LinkCount, Lists, Probes, SearchCandidates

_GRAPHS = {"IVF_HNSW_SQ": HnswSq, "IVF_HNSW_PQ": HnswPq, "IVF_HNSW_FLAT": HnswFlat}


class _Table(Index):
    package = "lancedb"
    table: Any
    search_options: dict[str, int | None]

    def __init__(self, setup: Setup, kind: Any, options: dict[str, Any]) -> None:
        super().__init__(setup)
        metric = "dot" if setup.metric == "ip" else setup.metric
        self.config = kind(distance_type=metric, **options)
        limit_processors(setup.threads)
        self.database = lancedb.connect(setup.folder)

    def build(self, vectors: Rows) -> None:
        """Write the vectors as a table, then index them; LanceDB waits until the index is complete."""
        ids = pa.array(np.arange(len(vectors), dtype=np.int64))
        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), self.setup.d)
        self.table = self.database.create_table("vectors", pa.table({"id": ids, "v": column}))
        self.table.create_index("v", config=self.config)
        unindexed_count = self.table.index_stats(self.table.list_indices()[0].name).num_unindexed_rows
        if unindexed_count:
            raise EngineError(f"LanceDB did not index {unindexed_count} of {len(vectors)} vectors")

    def search(self, queries: Rows, k: int) -> Positions:
        """Search all queries in one call."""
        query = self.table.search(queries if len(queries) > 1 else queries[0], vector_column_name="v")
        query = query.select(["id", "_distance"]).limit(k)
        for name, value in self._options(k).items():
            query = getattr(query, name)(value)
        answer = query.to_arrow()
        return _to_positions(answer, len(queries), k)

    def _options(self, k: int) -> dict[str, int]:
        return {name: value for name, value in self.search_options.items() if value is not None}

    def load(self) -> None:
        """Open the table."""
        self.table = self.database.open_table("vectors")


def _to_positions(answer: Any, n: int, k: int) -> Positions:
    """Return an answer, which has the rows of all queries with the number of their query, as positions."""
    ids = answer["id"].to_numpy()
    query_numbers = (
        answer["query_index"].to_numpy() if "query_index" in answer.column_names else np.zeros(len(ids), int)
    )
    order = np.argsort(query_numbers, kind="stable")
    ids, query_numbers = ids[order], query_numbers[order]
    table = np.full((n, k), -1, np.int64)
    table[query_numbers, np.arange(len(query_numbers)) - np.searchsorted(query_numbers, query_numbers)] = ids
    return table


class IVFPQ(_Table):
    """Inverted lists of product-quantized vectors; `refine_factor` compares the best again exactly."""

    smallest_search: ClassVar[dict[str, Any]] = {"nprobes": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        num_partitions: Lists = 256,
        num_sub_vectors: Annotated[
            int | None, Meaning("parts of a vector that are quantized", 1, unset="chosen by LanceDB")
        ] = None,
        num_bits: Annotated[int, Meaning("bits of the code of a part", choices=(4, 8))] = 8,
    ) -> None:
        options = {"num_partitions": num_partitions, "num_sub_vectors": num_sub_vectors, "num_bits": num_bits}
        super().__init__(setup, IvfPq, options)

    def set_search(
        self,
        *,
        nprobes: Probes = 20,
        refine_factor: Annotated[
            int | None,
            Meaning(
                "multiple of k that is compared again with the original vectors",
                1,
                unset="none is compared again",
            ),
        ] = None,
    ) -> None:
        """Set the number of lists that are searched, and the multiple of k that is compared again."""
        self.search_options = {"nprobes": nprobes, "refine_factor": refine_factor}


class HNSW(_Table):
    """A graph in each partition; `index_type` is how vectors are stored: FLAT, SQ or PQ."""

    smallest_search: ClassVar[dict[str, Any]] = {"nprobes": 1, "ef": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        index_type: Annotated[
            str, Meaning("how the vectors in the graph are stored", choices=tuple(_GRAPHS))
        ] = "IVF_HNSW_SQ",
        num_partitions: Annotated[int, Meaning("partitions, each with a graph", 1)] = 1,
        m: LinkCount = 20,
        ef_construction: BuildCandidates = 300,
    ) -> None:
        if index_type not in _GRAPHS:
            raise InputError(f"index_type must be one of {', '.join(_GRAPHS)}, found {index_type!r}")
        options = {"num_partitions": num_partitions, "m": m, "ef_construction": ef_construction}
        super().__init__(setup, _GRAPHS[index_type], options)

    def set_search(
        self,
        *,
        ef: SearchCandidates = 64,
        nprobes: Annotated[int, Meaning("partitions that a search enters", 1)] = 1,
        refine_factor: Annotated[
            int | None,
            Meaning(
                "multiple of k that is compared again with the original vectors",
                1,
                unset="none is compared again",
            ),
        ] = None,
    ) -> None:
        """Set the number of candidates (at least k) and of partitions that are searched."""
        self.search_options = {"ef": ef, "nprobes": nprobes, "refine_factor": refine_factor}

    def _options(self, k: int) -> dict[str, int]:
        options = super()._options(k)
        return {**options, "ef": max(options["ef"], k * options.get("refine_factor", 1))}
