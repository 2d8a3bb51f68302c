"""SVS: Intel's Vamana graph; the published package is under a licence of Intel's own, not an open one."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import svs
from numpy.typing import NDArray

from assay.core.vectors import Positions
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Rows, Setup

PARTS = ("config", "graph", "data")


class Vamana(Index):
    """A flat graph over vectors as they are; `alpha` is 1.2 for l2 and 0.95 for ip where it is not given."""

    package = "scalable-vs"
    holds_gil = True
    least: ClassVar[dict[str, Any]] = {"search_window_size": 1}
    index: Any

    def __init__(
        self,
        setup: Setup,
        *,
        graph_max_degree: int = 32,
        window_size: int = 128,
        alpha: float | None = None,
    ) -> None:
        super().__init__(setup)
        at_least(1, graph_max_degree=graph_max_degree, window_size=window_size)
        self.l2 = setup.metric != "ip"  # vectors of unit length are ordered by l2 as by the cosine
        self.distance = svs.DistanceType.L2 if self.l2 else svs.DistanceType.MIP
        self.graph = svs.VamanaBuildParameters(
            graph_max_degree=graph_max_degree,
            window_size=window_size,
            alpha=alpha if alpha is not None else 1.2 if self.l2 else 0.95,
        )

    def build(self, vectors: Rows) -> None:
        """Link the vectors."""
        made = svs.Vamana.build(self.graph, vectors, self.distance, num_threads=self.setup.threads)
        self._take(made, vectors[0].copy())

    def _take(self, index: Any, first: Rows) -> None:
        self.index, self.first = index, first

    def set_search(self, *, search_window_size: int = 64) -> None:
        """Set how many candidates are held; SVS holds k where this is smaller."""
        at_least(1, search_window_size=search_window_size)
        self.index.search_window_size = search_window_size

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query."""
        found, distances = self.index.search(queries, k)
        positions: Positions = found.view(np.int64)
        return positions if positions[:, -1].all() else self._without_blanks(positions, distances, queries)

    def _without_blanks(self, found: Positions, distances: Rows, queries: Rows) -> Positions:
        """SVS leaves position 0 and distance 0 where it reached nothing more."""
        zero = found == 0
        real = (zero.cumsum(axis=1) == 1) & self._at_nought(queries)[:, None]
        return np.where(zero & (distances == 0) & ~real, -1, found)

    def _at_nought(self, queries: Rows) -> NDArray[np.bool_]:
        """Whether the first vector is truly at distance 0."""
        made: NDArray[np.bool_]
        made = (queries == self.first).all(axis=1) if self.l2 else queries @ self.first == 0
        return made

    def save(self) -> None:
        """Write the index to three folders."""
        self.index.save(*self._folders())

    def load(self) -> None:
        """Read the index from its folders."""
        config, graph, data = self._folders()
        loader = svs.VectorDataLoader(data, svs.DataType.float32, dims=self.setup.d)
        threads = self.setup.threads
        made = svs.Vamana(config, svs.GraphLoader(graph), loader, self.distance, num_threads=threads)
        self._take(made, made.reconstruct(np.zeros(1, np.uint64))[0])

    def _folders(self) -> list[str]:
        return [str(self.setup.folder / part) for part in PARTS]
