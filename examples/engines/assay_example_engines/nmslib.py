"""nmslib, the library in which HNSW was first published."""

from __future__ import annotations

from typing import Any, ClassVar

import nmslib
import numpy as np

from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions
from assay.indexes.parameter_bounds import require_at_least

FILE = "index.nmslib"
_INT64 = np.dtype(np.int64)  # created once, because a search is short


class HNSW(Index):
    """A hierarchical graph; `post=2` rebuilds it once after insertion."""

    package = "nmslib"
    smallest_search: ClassVar[dict[str, Any]] = {"efSearch": 1}

    def __init__(self, setup: Setup, *, M: int = 16, efConstruction: int = 200, post: int = 0) -> None:
        super().__init__(setup)
        require_at_least(2, M=M)
        require_at_least(1, efConstruction=efConstruction)
        require_at_least(0, post=post)
        self.graph = {"M": M, "efConstruction": efConstruction, "post": post}
        # for vectors of unit length the inner product and the cosine give the same order
        self.index: Any = nmslib.init(method="hnsw", space="l2" if setup.metric == "l2" else "negdotprod")

    def build(self, vectors: Rows) -> None:
        """Insert the vectors one by one."""
        self.index.addDataPointBatch(vectors)
        self.index.createIndex({**self.graph, "indexThreadQty": self.setup.threads})

    def set_search(self, *, efSearch: int = 64) -> None:
        """Set the number of candidates; nmslib stores it in the index."""
        require_at_least(1, efSearch=efSearch)
        self.index.setQueryTimeParams({"efSearch": efSearch})

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the positions of the k nearest vectors to each query."""
        if len(queries) == 1:
            ids = self.index.knnQuery(queries[0], k)[0]
            return pad_positions([ids], k) if len(ids) < k else ids[None].astype(_INT64)
        lists = [ids for ids, _ in self.index.knnQueryBatch(queries, k, self.setup.threads)]
        return pad_positions(lists, k) if min(map(len, lists)) < k else np.array(lists, _INT64)

    def save(self) -> None:
        """Write the graph and the vectors to two files."""
        self.index.saveIndex(str(self.setup.folder / FILE), save_data=True)

    def load(self) -> None:
        """Read the graph and the vectors."""
        self.index.loadIndex(str(self.setup.folder / FILE), load_data=True)
