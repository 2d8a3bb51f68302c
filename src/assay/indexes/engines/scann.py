"""ScaNN, a tree of partitions with anisotropic vector quantization."""

from __future__ import annotations

from math import isqrt
from typing import Annotated, Any, ClassVar

import numpy as np
from scann.scann_ops.py import scann_ops_pybind

from assay.core.errors import InputError
from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions
from assay.indexes.parameter_bounds import require_at_least


class Tree(Index):
    """Partitions of quantized vectors with exact reordering; `num_leaves` is √n by default."""

    package = "scann"
    smallest_search: ClassVar[dict[str, Any]] = {"leaves_to_search": 1, "pre_reorder_num_neighbors": 1}
    searcher: Any
    pre_reorder_num_neighbors: int
    leaves_to_search: int

    def __init__(
        self,
        setup: Setup,
        *,
        num_leaves: Annotated[
            int | None, Meaning("leaves into which the vectors are divided", 1, unset="the square root of n")
        ] = None,
        training_sample_size: Annotated[int, Meaning("vectors to train with", 1)] = 100_000,
        dimensions_per_block: Annotated[int, Meaning("dimensions that are quantized together", 1)] = 2,
        anisotropic_quantization_threshold: Annotated[
            float, Meaning("how much errors along the vector count more than others")
        ] = 0.2,
        reorder: Annotated[
            bool, Meaning("whether candidates are compared again with the original vectors")
        ] = True,
        soar_lambda: Annotated[
            float | None,
            Meaning(
                "how much SOAR, which stores each vector in a second leaf, prefers a leaf whose error is "
                "orthogonal; ip and cosine only",
                0,
                unset="each vector is in one leaf",
            ),
        ] = None,
        overretrieve_factor: Annotated[
            float | None,
            Meaning("how many more leaves SOAR looks at before duplicates go", 1, 2, unset="that of ScaNN"),
        ] = None,
    ) -> None:
        super().__init__(setup)
        require_at_least(1, num_leaves=1 if num_leaves is None else num_leaves)
        require_at_least(1, dimensions_per_block=dimensions_per_block)
        require_at_least(1, training_sample_size=training_sample_size)
        self.num_leaves, self.training_sample_size, self.reorder = num_leaves, training_sample_size, reorder
        self.hashing = {
            "dimensions_per_block": dimensions_per_block,
            "anisotropic_quantization_threshold": anisotropic_quantization_threshold,
            "training_sample_size": training_sample_size,
        }
        self.soar = _soar_options(setup.metric, soar_lambda, overretrieve_factor)

    def build(self, vectors: Rows) -> None:
        """Train the partitions and the codes, and quantize the vectors."""
        # for vectors of unit length the inner product and the cosine give the same order
        measure = "squared_l2" if self.setup.metric == "l2" else "dot_product"
        leaves = self.num_leaves or max(1, isqrt(len(vectors)))
        builder = scann_ops_pybind.builder(vectors, 10, measure).set_n_training_threads(self.setup.threads)
        tree = {"training_sample_size": self.training_sample_size, **self.soar}
        builder = builder.tree(leaves, 1, **tree).score_ah(**self.hashing)
        self._set_searcher((builder.reorder(100) if self.reorder else builder).build())

    def _set_searcher(self, searcher: Any) -> None:
        searcher.set_num_threads(self.setup.threads)
        self.searcher = searcher

    def set_search(
        self,
        *,
        leaves_to_search: Annotated[
            int, Meaning("leaves that a search compares; more find more and take longer", 1)
        ] = 10,
        pre_reorder_num_neighbors: Annotated[
            int, Meaning("candidates that are compared again, and the most neighbours that are returned", 1)
        ] = 100,
    ) -> None:
        """Set the number of leaves that are searched and of candidates that are reordered.

        ScaNN returns no more neighbours than candidates, even if k is larger.
        """
        require_at_least(
            1, leaves_to_search=leaves_to_search, pre_reorder_num_neighbors=pre_reorder_num_neighbors
        )
        self.leaves_to_search = leaves_to_search
        self.pre_reorder_num_neighbors = pre_reorder_num_neighbors

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the positions of the k nearest vectors to each query."""
        options = (k, self.pre_reorder_num_neighbors, self.leaves_to_search)
        if len(queries) == 1:
            positions = self.searcher.search(queries[0], *options)[0]
            return positions.astype(np.int64)[None] if len(positions) == k else pad_positions([positions], k)
        search_many = self.searcher.search_batched if self.setup.threads == 1 else self._search_parallel
        positions, distances = search_many(queries, *options)
        # ScaNN fills missing neighbours with position 0 and distance NaN
        return _pad_columns(np.where(np.isnan(distances), -1, positions.astype(np.int64)), k)

    def _search_parallel(self, queries: Rows, *options: int) -> Any:
        size = max(1, min(256, len(queries) // self.setup.threads))  # otherwise one thread takes all queries
        return self.searcher.search_batched_parallel(queries, *options, batch_size=size)

    def save(self) -> None:
        """Write the index to files."""
        self.searcher.serialize(str(self.setup.folder))

    def load(self) -> None:
        """Read the index from its files."""
        self._set_searcher(scann_ops_pybind.load_searcher(str(self.setup.folder)))


def _soar_options(
    metric: str, soar_lambda: float | None, overretrieve_factor: float | None
) -> dict[str, float]:
    """Return the options of SOAR (Sun et al. 2023), which ScaNN has for the inner product only."""
    if soar_lambda is None:
        if overretrieve_factor is not None:
            raise InputError("overretrieve_factor needs soar_lambda")
        return {}
    if metric == "l2":
        raise InputError("soar_lambda needs the metric ip or cosine, found l2")
    options = {"soar_lambda": soar_lambda}
    return options if overretrieve_factor is None else options | {"overretrieve_factor": overretrieve_factor}


def _pad_columns(positions: Positions, k: int) -> Positions:
    """Return a table of k columns; ScaNN returns as many as the longest answer has."""
    return positions if positions.shape[1] == k else pad_positions(positions, k)
