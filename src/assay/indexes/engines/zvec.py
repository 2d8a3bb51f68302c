"""zvec: Alibaba's vector database in a process; one query at a time."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import zvec

from assay.core.errors import EngineError, InputError
from assay.core.vectors import Positions
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Rows, Setup

FOLDER, FIELD = "collection", "vector"
AT_ONCE = 1000  # documents in an insert
WIDEST = 2048  # candidates; beyond it zvec refuses


class HNSW(Index):
    """A hierarchical graph in a collection; zvec searches one query at a time."""

    package = "zvec"
    least: ClassVar[dict[str, Any]] = {"ef": 1}
    collection: Any
    how: Any

    def __init__(self, setup: Setup, *, m: int = 16, ef_construction: int = 200) -> None:
        super().__init__(setup)
        at_least(1, m=m, ef_construction=ef_construction)
        # the first call in a process decides; zvec ignores those that follow
        zvec.init(log_level=zvec.LogLevel.ERROR, query_threads=setup.threads, optimize_threads=setup.threads)
        # vectors of unit length are ordered by the inner product as by the cosine
        metric = zvec.MetricType.L2 if setup.metric == "l2" else zvec.MetricType.IP
        self.graph = zvec.HnswIndexParam(metric_type=metric, m=m, ef_construction=ef_construction)
        self.home = str(setup.folder / FOLDER)

    def build(self, vectors: Rows) -> None:
        """Insert the vectors, build the graph, and open it for reading only."""
        field = zvec.VectorSchema(FIELD, zvec.DataType.VECTOR_FP32, self.setup.d, index_param=self.graph)
        made = zvec.create_and_open(self.home, zvec.CollectionSchema("assay", vectors=field))
        for start in range(0, len(vectors), AT_ONCE):
            _insert(made, vectors, start)
        made.optimize(zvec.OptimizeOption(concurrency=self.setup.threads))
        made.close()
        self.load()

    def set_search(self, *, ef: int = 64) -> None:
        """Set how many candidates are held; zvec holds k where this is smaller."""
        if not 1 <= ef <= WIDEST:
            raise InputError(f"ef is between 1 and {WIDEST} in zvec, found {ef}")
        self.how = zvec.HnswQueryParam(ef=ef)

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query, one query after another."""
        made = np.empty((len(queries), k), np.int64)
        ask, how = self.collection.query_internal_ids, self.how
        for row, query in zip(made, queries, strict=True):
            row[:] = ask(zvec.Query(FIELD, vector=query, param=how), topk=k)
        return made

    def load(self) -> None:
        """Open the collection for reading only."""
        self.collection = zvec.open(self.home, zvec.CollectionOption(read_only=True))
        _checked(self.collection)

    def close(self) -> None:
        """Close the collection."""
        if hasattr(self, "collection"):
            self.collection.close()


def _insert(collection: Any, vectors: Rows, start: int) -> None:
    rows = enumerate(vectors[start : start + AT_ONCE], start)
    answers = collection.insert([zvec.Doc(str(i), vectors={FIELD: row}) for i, row in rows])
    refused = [answer for answer in answers if not answer.ok()]
    if refused:
        raise EngineError(f"zvec refused {len(refused)} vectors: {refused[0].message()}")


def _checked(collection: Any) -> None:
    """The numbers that zvec answers with must be the positions, and all vectors in the graph."""
    n, share = collection.stats.doc_count, collection.stats.index_completeness[FIELD]
    if share < 1:
        raise EngineError(f"zvec put only {share:.0%} of the vectors in its graph")
    some = np.unique(np.linspace(0, n - 1, 1000).astype(np.int64))
    if collection.resolve_internal_ids(some) != [str(i) for i in some]:
        raise EngineError("zvec numbers the vectors in another order than they were inserted")
