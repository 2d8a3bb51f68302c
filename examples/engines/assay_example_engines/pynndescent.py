"""pynndescent, a graph built by nearest-neighbour descent and compiled by numba on first use."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import numba
import numpy as np
from pynndescent import NNDescent

from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup
from assay.indexes.parameter_bounds import require_at_least

FILE = "index.pickle"


class Descent(Index):
    """A pruned graph of near neighbours.

    `prepare` compiles the code on a few random vectors, so that the time of building and searching excludes
    it: compiling takes half a minute in each process that builds.
    """

    package = "pynndescent"
    holds_gil = True
    smallest_search: ClassVar[dict[str, Any]] = {"epsilon": 0.0}
    index: Any
    epsilon: float

    def __init__(
        self,
        setup: Setup,
        *,
        n_neighbors: int = 30,
        pruning_degree_multiplier: float = 1.5,
        diversify_prob: float = 1.0,
        random_state: int = 1,
    ) -> None:
        super().__init__(setup)
        require_at_least(2, n_neighbors=n_neighbors)
        self.graph = {
            "n_neighbors": n_neighbors,
            "pruning_degree_multiplier": pruning_degree_multiplier,
            "diversify_prob": diversify_prob,
            "random_state": random_state,
        }
        numba.set_num_threads(setup.threads)

    def prepare(self) -> None:
        """Compile the code that building and searching need."""
        vectors = np.random.default_rng(1).normal(size=(256, self.setup.d)).astype(np.float32)
        self._create_graph(vectors, n_neighbors=10).query(vectors[:2], 1, 0.1)

    def build(self, vectors: Rows) -> None:
        """Build the graph and prune it."""
        self.index = self._create_graph(vectors, **self.graph)

    def _create_graph(self, vectors: Rows, **graph: Any) -> Any:
        threads = self.setup.threads
        # for vectors of unit length l2 and the cosine give the same order
        metric = "inner_product" if self.setup.metric == "ip" else "euclidean"
        index = NNDescent(vectors, metric, n_jobs=threads, parallel_batch_queries=threads > 1, **graph)
        index.prepare()
        return index

    def set_search(self, *, epsilon: float = 0.1) -> None:
        """Set how far beyond the k-th nearest vector the graph is explored."""
        require_at_least(0, epsilon=epsilon)
        self.epsilon = float(epsilon)  # another type would compile the code again

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the k nearest positions to each query; pynndescent itself marks missing ones with −1."""
        positions: Positions = self.index.query(queries, k, self.epsilon)[0].astype(np.int64)
        return positions

    def save(self) -> None:
        """Write the index to a file."""
        with open(self.setup.folder / FILE, "wb") as file:
            pickle.dump(self.index, file, protocol=5)

    def load(self) -> None:
        """Read the index from its file."""
        with open(self.setup.folder / FILE, "rb") as file:
            self.index = pickle.load(file)
