"""Annoy: a forest of random cuts, in a file that is mapped."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from annoy import AnnoyIndex

from assay.core.vectors import Positions
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Rows, Setup, padded

FILE = "index.annoy"
_METRICS: dict[str, Any] = {"l2": "euclidean", "ip": "dot", "cosine": "angular"}


class Forest(Index):
    """Trees of random cuts; a search uses one thread, for Annoy has no search of many queries."""

    package = "annoy"
    least: ClassVar[dict[str, Any]] = {"search_k": 1}
    search_k: int

    def __init__(self, setup: Setup, *, n_trees: int = 50, seed: int = 1) -> None:
        super().__init__(setup)
        at_least(1, n_trees=n_trees)
        self.n_trees = n_trees
        self.index = AnnoyIndex(setup.d, _METRICS[setup.metric])
        self.index.set_seed(seed)

    def build(self, vectors: Rows) -> None:
        """Add the vectors, then grow the trees."""
        for position, row in enumerate(vectors):
            self.index.add_item(position, row.tolist())
        self.index.build(self.n_trees, n_jobs=self.setup.threads)

    def set_search(self, *, search_k: int = -1) -> None:
        """Set how many candidates are looked at; −1: k times the trees."""
        if search_k != -1:
            at_least(1, search_k=search_k)
        self.search_k = search_k

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query."""
        ask, search_k = self.index.get_nns_by_vector, self.search_k
        found = [ask(query, k, search_k) for query in queries.tolist()]
        return padded(found, k) if min(map(len, found)) < k else np.array(found, np.int64)

    def save(self) -> None:
        """Write the forest to one file; Annoy goes on with it from there."""
        self.index.save(str(self.setup.folder / FILE))

    def load(self) -> None:
        """Map the file."""
        self.index.load(str(self.setup.folder / FILE))
