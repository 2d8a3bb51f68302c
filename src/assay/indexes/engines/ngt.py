"""NGT: Yahoo Japan's graph, entered through a tree; ANNG as it is grown, ONNG where its links are re-made."""

from __future__ import annotations

import shutil
from typing import Any, ClassVar

import ngtpy
import numpy as np

from assay.core.vectors import Positions
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Rows, Setup, padded

GROWN, REMADE = "anng", "onng"


class Graph(Index):
    """A graph with a tree; with `num_of_outgoings` and `num_of_incomings` (10 and 120 are usual) an ONNG."""

    package = "ngt"
    holds_gil = True
    least: ClassVar[dict[str, Any]] = {"epsilon": -0.9}
    index: Any

    def __init__(
        self,
        setup: Setup,
        *,
        edge_size_for_creation: int = 10,
        edge_size_for_search: int = 40,
        num_of_outgoings: int = 0,
        num_of_incomings: int = 0,
    ) -> None:
        super().__init__(setup)
        at_least(1, edge_size_for_creation=edge_size_for_creation, edge_size_for_search=edge_size_for_search)
        at_least(0, num_of_outgoings=num_of_outgoings, num_of_incomings=num_of_incomings)
        self.edges = {
            "edge_size_for_creation": edge_size_for_creation,
            "edge_size_for_search": edge_size_for_search,
        }
        self.links = {"num_of_outgoings": num_of_outgoings, "num_of_incomings": num_of_incomings}
        self.home = str(setup.folder / (REMADE if any(self.links.values()) else GROWN))

    def build(self, vectors: Rows) -> None:
        """Grow the graph, and re-make its links where that is asked for."""
        grown = str(self.setup.folder / GROWN)
        # vectors of unit length are ordered by l2 as by the cosine
        kind = "Inner Product" if self.setup.metric == "ip" else "L2"
        ngtpy.create(grown, self.setup.d, distance_type=kind, **self.edges)
        self.index = ngtpy.Index(grown, log_disabled=True)
        self.index.batch_insert(vectors, num_threads=self.setup.threads)
        if self.home != grown:
            self._remake(grown)

    def _remake(self, grown: str) -> None:
        self.index.save()
        self.index.close()
        optimizer = ngtpy.Optimizer(log_disabled=True, **self.links)
        optimizer.set_processing_modes(search_parameter_optimization=False, accuracy_table_generation=False)
        optimizer.execute(grown, self.home)
        shutil.rmtree(grown)
        self.load()

    def set_search(self, *, epsilon: float = 0.1, edge_size: int | None = None) -> None:
        """Set how far beyond the k-th nearest the graph is explored, and how many links are followed."""
        at_least(-1, epsilon=epsilon)
        self.index.set(
            epsilon=epsilon, edge_size=self.edges["edge_size_for_search"] if edge_size is None else edge_size
        )

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query; a batch uses the threads of OpenMP."""
        if len(queries) == 1:
            found = self.index.search(queries[0], k, with_distance=False)
            return found.astype(np.int64)[None] if len(found) == k else padded([found], k)
        results = ngtpy.BatchResults()
        self.index.batch_search(queries, results, k, False)
        return _table(results, k)

    def save(self) -> None:
        """Write the index to its folder."""
        self.index.save()

    def load(self) -> None:
        """Read the index from its folder."""
        self.index = ngtpy.Index(self.home, log_disabled=True)

    def close(self) -> None:
        """Let the index go."""
        if hasattr(self, "index"):
            self.index.close()


def _table(results: Any, k: int) -> Positions:
    found = results.get_ids()
    if found.ndim == 2 and found.shape[1] == k:
        made: Positions = found.astype(np.int64)
        return made
    ends = results.get_index()
    return padded(np.split(results.get_indexed_ids(), ends[1:-1]), k)
