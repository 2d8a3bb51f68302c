"""pynndescent: a graph found by descent, compiled by numba when it is first used."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import numba
import numpy as np
from pynndescent import NNDescent

from assay.core.vectors import Positions
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Rows, Setup

FILE = "index.pickle"


class Descent(Index):
    """A graph of near neighbours, pruned.

    What must be compiled is compiled before anything is built, on a few vectors of chance, so that neither
    building nor searching is timed with it: it takes half a minute in every process that builds.
    """

    package = "pynndescent"
    holds_gil = True
    least: ClassVar[dict[str, Any]] = {"epsilon": 0.0}
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
        at_least(2, n_neighbors=n_neighbors)
        self.graph = {
            "n_neighbors": n_neighbors,
            "pruning_degree_multiplier": pruning_degree_multiplier,
            "diversify_prob": diversify_prob,
            "random_state": random_state,
        }
        numba.set_num_threads(setup.threads)

    def prepare(self) -> None:
        """Compile."""
        few = np.random.default_rng(1).normal(size=(256, self.setup.d)).astype(np.float32)
        self._made(few, n_neighbors=10).query(few[:2], 1, 0.1)

    def build(self, vectors: Rows) -> None:
        """Find the graph and prune it."""
        self.index = self._made(vectors, **self.graph)

    def _made(self, vectors: Rows, **graph: Any) -> Any:
        threads = self.setup.threads
        # vectors of unit length are ordered by l2 as by the cosine
        metric = "inner_product" if self.setup.metric == "ip" else "euclidean"
        made = NNDescent(vectors, metric, n_jobs=threads, parallel_batch_queries=threads > 1, **graph)
        made.prepare()
        return made

    def set_search(self, *, epsilon: float = 0.1) -> None:
        """Set how far beyond the k-th nearest the graph is explored."""
        at_least(0, epsilon=epsilon)
        self.epsilon = float(epsilon)  # another type would be compiled again

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query; −1 is pynndescent's own sign for nothing."""
        found: Positions = self.index.query(queries, k, self.epsilon)[0].astype(np.int64)
        return found

    def save(self) -> None:
        """Write the index to one file."""
        with open(self.setup.folder / FILE, "wb") as file:
            pickle.dump(self.index, file, protocol=5)

    def load(self) -> None:
        """Read the index from its file."""
        with open(self.setup.folder / FILE, "rb") as file:
            self.index = pickle.load(file)
