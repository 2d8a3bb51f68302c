"""nmslib: the library in which HNSW was first."""

from __future__ import annotations

from typing import Any, ClassVar

import nmslib
import numpy as np

from assay.core.vectors import Positions
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Rows, Setup, padded

FILE = "index.nmslib"
_INT64 = np.dtype(np.int64)  # made once: a search is short


class HNSW(Index):
    """A hierarchical graph; `post` 2 makes it once more after building."""

    package = "nmslib"
    least: ClassVar[dict[str, Any]] = {"efSearch": 1}

    def __init__(self, setup: Setup, *, M: int = 16, efConstruction: int = 200, post: int = 0) -> None:
        super().__init__(setup)
        at_least(2, M=M)
        at_least(1, efConstruction=efConstruction)
        at_least(0, post=post)
        self.graph = {"M": M, "efConstruction": efConstruction, "post": post}
        # vectors of unit length are ordered by the inner product as by the cosine
        self.index: Any = nmslib.init(method="hnsw", space="l2" if setup.metric == "l2" else "negdotprod")

    def build(self, vectors: Rows) -> None:
        """Insert the vectors one after the other."""
        self.index.addDataPointBatch(vectors)
        self.index.createIndex({**self.graph, "indexThreadQty": self.setup.threads})

    def set_search(self, *, efSearch: int = 64) -> None:
        """Set how many candidates are held; nmslib keeps this in the index."""
        at_least(1, efSearch=efSearch)
        self.index.setQueryTimeParams({"efSearch": efSearch})

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query."""
        if len(queries) == 1:
            one = self.index.knnQuery(queries[0], k)[0]
            return padded([one], k) if len(one) < k else one[None].astype(_INT64)
        found = [ids for ids, _ in self.index.knnQueryBatch(queries, k, self.setup.threads)]
        return padded(found, k) if min(map(len, found)) < k else np.array(found, _INT64)

    def save(self) -> None:
        """Write the graph to one file and the vectors beside it."""
        self.index.saveIndex(str(self.setup.folder / FILE), save_data=True)

    def load(self) -> None:
        """Read the graph and the vectors."""
        self.index.loadIndex(str(self.setup.folder / FILE), load_data=True)
