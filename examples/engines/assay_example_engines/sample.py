"""An engine that compares each query with a random share of the vectors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions


class Sample(Index):
    """Brute force over a random share of the vectors: it needs no library beyond NumPy."""

    metrics = ("l2",)
    smallest_search: ClassVar[dict[str, Any]] = {"share": 0.01}  # it must miss some neighbours
    package = "assay-example-engines"  # the distribution whose version is recorded

    def __init__(self, setup: Setup, *, seed: int = 0) -> None:
        super().__init__(setup)  # setup.metric, setup.d, setup.threads, setup.folder
        self.seed = seed

    def build(self, vectors: Rows) -> None:
        """Copy the vectors in a random order."""
        self.order = np.random.default_rng(self.seed).permutation(len(vectors))
        self.vectors = vectors[self.order]

    def set_search(self, *, share: float = 0.5) -> None:
        """Set the share of the vectors that a search compares."""
        self.compared = self.vectors[: max(1, round(share * len(self.vectors)))]

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the positions of the k nearest vectors to each query."""
        distances = (self.compared**2).sum(axis=1) - 2 * queries @ self.compared.T
        return pad_positions(self.order[np.argsort(distances, axis=1)[:, :k]], k)

    def save(self) -> None:
        """Write the index to setup.folder, where its size is measured."""
        np.savez(self.setup.folder / "index.npz", order=self.order, vectors=self.vectors)

    def load(self) -> None:
        """Read the index from setup.folder, after an interrupted sweep or for more clients."""
        with np.load(self.setup.folder / "index.npz") as file:
            self.order, self.vectors = file["order"], file["vectors"]
