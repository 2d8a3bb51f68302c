"""ScaNN: a tree of partitions whose vectors are hashed with an eye to the direction of the error."""

from __future__ import annotations

from math import isqrt
from typing import Any, ClassVar

import numpy as np
from scann.scann_ops.py import scann_ops_pybind

from assay.core.vectors import Positions
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Rows, Setup, padded


class Tree(Index):
    """Partitions, hashed vectors, and an exact second look; `num_leaves` is √n where it is not given."""

    package = "scann"
    least: ClassVar[dict[str, Any]] = {"leaves_to_search": 1, "pre_reorder_num_neighbors": 1}
    searcher: Any
    pre_reorder_num_neighbors: int
    leaves_to_search: int

    def __init__(
        self,
        setup: Setup,
        *,
        num_leaves: int | None = None,
        training_sample_size: int = 100_000,
        dimensions_per_block: int = 2,
        anisotropic_quantization_threshold: float = 0.2,
        reorder: bool = True,
    ) -> None:
        super().__init__(setup)
        at_least(1, num_leaves=1 if num_leaves is None else num_leaves)
        at_least(1, dimensions_per_block=dimensions_per_block, training_sample_size=training_sample_size)
        self.num_leaves, self.training_sample_size = num_leaves, training_sample_size
        self.hashing = {
            "dimensions_per_block": dimensions_per_block,
            "anisotropic_quantization_threshold": anisotropic_quantization_threshold,
            "training_sample_size": training_sample_size,
        }
        self.reorder = reorder

    def build(self, vectors: Rows) -> None:
        """Train the partitions and the codes, and hash the vectors."""
        # vectors of unit length are ordered by the inner product as by the cosine
        measure = "squared_l2" if self.setup.metric == "l2" else "dot_product"
        leaves = self.num_leaves or max(1, isqrt(len(vectors)))
        made = scann_ops_pybind.builder(vectors, 10, measure).set_n_training_threads(self.setup.threads)
        made = made.tree(leaves, 1, training_sample_size=self.training_sample_size).score_ah(**self.hashing)
        self._take((made.reorder(100) if self.reorder else made).build())

    def _take(self, searcher: Any) -> None:
        searcher.set_num_threads(self.setup.threads)
        self.searcher = searcher

    def set_search(self, *, leaves_to_search: int = 10, pre_reorder_num_neighbors: int = 100) -> None:
        """Set how many leaves are opened and how many candidates are looked at again; below k, ScaNN
        returns no more than those.
        """
        at_least(1, leaves_to_search=leaves_to_search, pre_reorder_num_neighbors=pre_reorder_num_neighbors)
        self.leaves_to_search = leaves_to_search
        self.pre_reorder_num_neighbors = pre_reorder_num_neighbors

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query."""
        how = (k, self.pre_reorder_num_neighbors, self.leaves_to_search)
        if len(queries) == 1:
            found = self.searcher.search(queries[0], *how)[0]
            return found.astype(np.int64)[None] if len(found) == k else padded([found], k)
        many = self.searcher.search_batched if self.setup.threads == 1 else self._parallel
        found, distances = many(queries, *how)
        # where there is nothing more, ScaNN fills up with position 0 at no distance
        return _widened(np.where(np.isnan(distances), -1, found.astype(np.int64)), k)

    def _parallel(self, queries: Rows, *how: int) -> Any:
        size = max(1, min(256, len(queries) // self.setup.threads))  # else one thread takes all
        return self.searcher.search_batched_parallel(queries, *how, batch_size=size)

    def save(self) -> None:
        """Write the index to some files."""
        self.searcher.serialize(str(self.setup.folder))

    def load(self) -> None:
        """Read the index from its files."""
        self._take(scann_ops_pybind.load_searcher(str(self.setup.folder)))


def _widened(found: Positions, k: int) -> Positions:
    """A table of k columns, where ScaNN gives as many as the longest answer has."""
    return found if found.shape[1] == k else padded(found, k)
