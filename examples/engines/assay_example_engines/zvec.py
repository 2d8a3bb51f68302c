"""zvec, Alibaba's in-process vector database."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import zvec

from assay.core.errors import EngineError, InputError
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup
from assay.indexes.parameter_bounds import require_at_least

FOLDER, FIELD = "collection", "vector"
INSERT_SIZE = 1000  # documents per insert
MAX_CANDIDATES = 2048  # zvec refuses more


class HNSW(Index):
    """A hierarchical graph in a collection; zvec searches one query per call."""

    package = "zvec"
    smallest_search: ClassVar[dict[str, Any]] = {"ef": 1}
    collection: Any
    query_parameters: Any

    def __init__(self, setup: Setup, *, m: int = 16, ef_construction: int = 200) -> None:
        super().__init__(setup)
        require_at_least(1, m=m, ef_construction=ef_construction)
        # only the first call in a process has an effect
        zvec.init(log_level=zvec.LogLevel.ERROR, query_threads=setup.threads, optimize_threads=setup.threads)
        # for vectors of unit length the inner product and the cosine give the same order
        metric = zvec.MetricType.L2 if setup.metric == "l2" else zvec.MetricType.IP
        self.graph = zvec.HnswIndexParam(metric_type=metric, m=m, ef_construction=ef_construction)
        self.path = str(setup.folder / FOLDER)

    def build(self, vectors: Rows) -> None:
        """Insert the vectors, build the graph and open it read-only."""
        field = zvec.VectorSchema(FIELD, zvec.DataType.VECTOR_FP32, self.setup.d, index_param=self.graph)
        collection = zvec.create_and_open(self.path, zvec.CollectionSchema("assay", vectors=field))
        for start in range(0, len(vectors), INSERT_SIZE):
            _insert(collection, vectors, start)
        collection.optimize(zvec.OptimizeOption(concurrency=self.setup.threads))
        collection.close()
        self.load()

    def set_search(self, *, ef: int = 64) -> None:
        """Set the number of candidates; zvec uses k if this is smaller."""
        if not 1 <= ef <= MAX_CANDIDATES:
            raise InputError(f"ef must be between 1 and {MAX_CANDIDATES} in zvec, found {ef}")
        self.query_parameters = zvec.HnswQueryParam(ef=ef)

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the positions of the k nearest vectors to each query, one query per call."""
        positions = np.empty((len(queries), k), np.int64)
        search, parameters = self.collection.query_internal_ids, self.query_parameters
        for row, query in zip(positions, queries, strict=True):
            row[:] = search(zvec.Query(FIELD, vector=query, param=parameters), topk=k)
        return positions

    def load(self) -> None:
        """Open the collection read-only."""
        self.collection = zvec.open(self.path, zvec.CollectionOption(read_only=True))
        _check_collection(self.collection)

    def close(self) -> None:
        """Close the collection."""
        if hasattr(self, "collection"):
            self.collection.close()


def _insert(collection: Any, vectors: Rows, start: int) -> None:
    rows = enumerate(vectors[start : start + INSERT_SIZE], start)
    answers = collection.insert([zvec.Doc(str(i), vectors={FIELD: row}) for i, row in rows])
    refused = [answer for answer in answers if not answer.ok()]
    if refused:
        raise EngineError(f"zvec refused {len(refused)} vectors: {refused[0].message()}")


def _check_collection(collection: Any) -> None:
    """Check that the ids which zvec returns are positions and that all vectors are in the graph."""
    n, share = collection.stats.doc_count, collection.stats.index_completeness[FIELD]
    if share < 1:
        raise EngineError(f"zvec has only {share:.0%} of the vectors in its graph")
    ids = np.unique(np.linspace(0, n - 1, 1000).astype(np.int64))
    if collection.resolve_internal_ids(ids) != [str(i) for i in ids]:
        raise EngineError("zvec numbers the vectors in an order other than that of insertion")
