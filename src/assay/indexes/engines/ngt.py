"""NGT, Yahoo Japan's graph with a tree for the entry points: ANNG, or ONNG with optimized links."""

from __future__ import annotations

import shutil
from typing import Annotated, Any, ClassVar

import ngtpy
import numpy as np

from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions
from assay.indexes.parameter_bounds import require_at_least

GROWN_FOLDER, REBUILT_FOLDER = "anng", "onng"


class Graph(Index):
    """A graph with a tree; an ONNG if `num_of_outgoings` and `num_of_incomings` are set (10 and 120)."""

    package = "ngt"
    holds_gil = True
    smallest_search: ClassVar[dict[str, Any]] = {"epsilon": -0.9}
    index: Any

    def __init__(
        self,
        setup: Setup,
        *,
        edge_size_for_creation: Annotated[int, Meaning("links of a node when the graph is built", 1)] = 10,
        edge_size_for_search: Annotated[
            int, Meaning("links of a node that a search follows, unless edge_size is set", 1)
        ] = 40,
        num_of_outgoings: Annotated[
            int, Meaning("outgoing links of a node of ONNG; 0: no ONNG is built", 0)
        ] = 0,
        num_of_incomings: Annotated[
            int, Meaning("incoming links of a node of ONNG; 0: no ONNG is built", 0)
        ] = 0,
    ) -> None:
        super().__init__(setup)
        require_at_least(
            1, edge_size_for_creation=edge_size_for_creation, edge_size_for_search=edge_size_for_search
        )
        require_at_least(0, num_of_outgoings=num_of_outgoings, num_of_incomings=num_of_incomings)
        self.edges = {
            "edge_size_for_creation": edge_size_for_creation,
            "edge_size_for_search": edge_size_for_search,
        }
        self.links = {"num_of_outgoings": num_of_outgoings, "num_of_incomings": num_of_incomings}
        self.index_folder = str(setup.folder / (REBUILT_FOLDER if any(self.links.values()) else GROWN_FOLDER))

    def build(self, vectors: Rows) -> None:
        """Build the graph and, if requested, optimize its links."""
        folder = str(self.setup.folder / GROWN_FOLDER)
        # for vectors of unit length l2 and the cosine give the same order
        kind = "Inner Product" if self.setup.metric == "ip" else "L2"
        ngtpy.create(folder, self.setup.d, distance_type=kind, **self.edges)
        self.index = ngtpy.Index(folder, log_disabled=True)
        self.index.batch_insert(vectors, num_threads=self.setup.threads)
        if self.index_folder != folder:
            self._rebuild_links(folder)

    def _rebuild_links(self, folder: str) -> None:
        self.index.save()
        self.index.close()
        optimizer = ngtpy.Optimizer(log_disabled=True, **self.links)
        optimizer.set_processing_modes(search_parameter_optimization=False, accuracy_table_generation=False)
        optimizer.execute(folder, self.index_folder)
        shutil.rmtree(folder)
        self.load()

    def set_search(
        self,
        *,
        epsilon: Annotated[
            float, Meaning("how far beyond the k-th nearest vector the graph is explored", -1)
        ] = 0.1,
        edge_size: Annotated[
            int | None, Meaning("links of a node that a search follows", unset="edge_size_for_search")
        ] = None,
    ) -> None:
        """Set how far beyond the k-th nearest vector to explore the graph, and how many links to follow."""
        require_at_least(-1, epsilon=epsilon)
        self.index.set(
            epsilon=epsilon, edge_size=self.edges["edge_size_for_search"] if edge_size is None else edge_size
        )

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the positions of the k nearest vectors to each query; a batch uses OpenMP threads."""
        if len(queries) == 1:
            positions = self.index.search(queries[0], k, with_distance=False)
            return positions.astype(np.int64)[None] if len(positions) == k else pad_positions([positions], k)
        results = ngtpy.BatchResults()
        self.index.batch_search(queries, results, k, False)
        return _to_positions(results, k)

    def save(self) -> None:
        """Write the index to its folder."""
        self.index.save()

    def load(self) -> None:
        """Read the index from its folder."""
        self.index = ngtpy.Index(self.index_folder, log_disabled=True)

    def close(self) -> None:
        """Close the index."""
        if hasattr(self, "index"):
            self.index.close()


def _to_positions(results: Any, k: int) -> Positions:
    ids = results.get_ids()
    if ids.ndim == 2 and ids.shape[1] == k:
        positions: Positions = ids.astype(np.int64)
        return positions
    ends = results.get_index()
    return pad_positions(np.split(results.get_indexed_ids(), ends[1:-1]), k)
