"""Annoy, a forest of random hyperplane trees in a memory-mapped file."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from annoy import AnnoyIndex

from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions
from assay.indexes.parameter_bounds import require_at_least
from assay.indexes.parameter_meanings import Seed

FILE = "index.annoy"
_METRICS: dict[str, Any] = {"l2": "euclidean", "ip": "dot", "cosine": "angular"}


class Forest(Index):
    """Trees of random splits; a search uses one thread, because Annoy searches one query at a time."""

    package = "annoy"
    smallest_search: ClassVar[dict[str, Any]] = {"search_k": 1}
    search_k: int

    def __init__(
        self,
        setup: Setup,
        *,
        n_trees: Annotated[int, Meaning("trees of the forest; more find more and take more memory", 1)] = 50,
        seed: Seed = 1,
    ) -> None:
        super().__init__(setup)
        require_at_least(1, n_trees=n_trees)
        self.n_trees = n_trees
        self.index = AnnoyIndex(setup.d, _METRICS[setup.metric])
        self.index.set_seed(seed)

    def build(self, vectors: Rows) -> None:
        """Add the vectors, then build the trees."""
        for position, row in enumerate(vectors):
            self.index.add_item(position, row.tolist())
        self.index.build(self.n_trees, n_jobs=self.setup.threads)

    def set_search(
        self,
        *,
        search_k: Annotated[
            int, Meaning("nodes that a search inspects; -1 is k times n_trees", 1, choices=(-1,))
        ] = -1,
    ) -> None:
        """Set the number of candidates; −1 means k times the number of trees."""
        if search_k != -1:
            require_at_least(1, search_k=search_k)
        self.search_k = search_k

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query."""
        search_one, search_k = self.index.get_nns_by_vector, self.search_k
        lists = [search_one(query, k, search_k) for query in queries.tolist()]
        return pad_positions(lists, k) if min(map(len, lists)) < k else np.array(lists, np.int64)

    def save(self) -> None:
        """Write the forest to a file, which Annoy then maps."""
        self.index.save(str(self.setup.folder / FILE))

    def load(self) -> None:
        """Map the file."""
        self.index.load(str(self.setup.folder / FILE))
