"""SVS, Intel's Vamana graph; the published package has a proprietary licence of Intel."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
import svs
from numpy.typing import NDArray

from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup
from assay.indexes.parameter_bounds import require_at_least
from assay.indexes.parameter_meanings import BuildCandidates, SearchCandidates

PARTS = ("config", "graph", "data")


class Vamana(Index):
    """A flat graph over uncompressed vectors; `alpha` is 1.2 for l2 and 0.95 for ip by default."""

    package = "scalable-vs"
    holds_gil = True
    smallest_search: ClassVar[dict[str, Any]] = {"search_window_size": 1}
    index: Any

    def __init__(
        self,
        setup: Setup,
        *,
        graph_max_degree: Annotated[
            int, Meaning("links of a node in the graph; more find more and take more memory", 1)
        ] = 32,
        window_size: BuildCandidates = 128,
        alpha: Annotated[
            float | None,
            Meaning(
                "how much longer a link may be than the shortest path to its node",
                0,
                unset="1.2, under ip 0.95",
            ),
        ] = None,
    ) -> None:
        super().__init__(setup)
        require_at_least(1, graph_max_degree=graph_max_degree, window_size=window_size)
        self.is_l2 = setup.metric != "ip"  # for unit vectors l2 and the cosine give the same order
        self.distance = svs.DistanceType.L2 if self.is_l2 else svs.DistanceType.MIP
        self.graph = svs.VamanaBuildParameters(
            graph_max_degree=graph_max_degree,
            window_size=window_size,
            alpha=alpha if alpha is not None else 1.2 if self.is_l2 else 0.95,
        )

    def build(self, vectors: Rows) -> None:
        """Build the graph."""
        index = svs.Vamana.build(self.graph, vectors, self.distance, num_threads=self.setup.threads)
        self._set_index(index, vectors[0].copy())

    def _set_index(self, index: Any, first: Rows) -> None:
        self.index, self.first_vector = index, first

    def set_search(self, *, search_window_size: SearchCandidates = 64) -> None:
        """Set the number of candidates; SVS uses k if this is smaller."""
        require_at_least(1, search_window_size=search_window_size)
        self.index.search_window_size = search_window_size

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the positions of the k nearest vectors to each query."""
        ids, distances = self.index.search(queries, k)
        positions: Positions = ids.view(np.int64)
        return positions if positions[:, -1].all() else self._without_blanks(positions, distances, queries)

    def _without_blanks(self, positions: Positions, distances: Rows, queries: Rows) -> Positions:
        """Replace the position 0 with distance 0 that SVS returns for missing neighbours by −1."""
        is_zero = positions == 0
        is_found = (is_zero.cumsum(axis=1) == 1) & self._is_at_distance_zero(queries)[:, None]
        return np.where(is_zero & (distances == 0) & ~is_found, -1, positions)

    def _is_at_distance_zero(self, queries: Rows) -> NDArray[np.bool_]:
        """Return for each query whether the first vector really has distance 0."""
        flags: NDArray[np.bool_]
        flags = (queries == self.first_vector).all(axis=1) if self.is_l2 else queries @ self.first_vector == 0
        return flags

    def save(self) -> None:
        """Write the index to three folders."""
        self.index.save(*self._folders())

    def load(self) -> None:
        """Read the index from its folders."""
        config, graph, data = self._folders()
        loader = svs.VectorDataLoader(data, svs.DataType.float32, dims=self.setup.d)
        threads = self.setup.threads
        index = svs.Vamana(config, svs.GraphLoader(graph), loader, self.distance, num_threads=threads)
        self._set_index(index, index.reconstruct(np.zeros(1, np.uint64))[0])

    def _folders(self) -> list[str]:
        return [str(self.setup.folder / part) for part in PARTS]
