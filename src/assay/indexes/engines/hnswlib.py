"""hnswlib: the graph of its inventors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import hnswlib

from assay.core.errors import InputError
from assay.core.vectors import Positions
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Rows, Setup, padded
from assay.indexes.reached import reached

FILE = "index.hnswlib"


class HNSW(Index):
    """A hierarchical graph."""

    package = "hnswlib"
    least: ClassVar[dict[str, Any]] = {"ef": 1}
    index: Any

    def __init__(
        self, setup: Setup, *, M: int = 16, ef_construction: int = 200, random_seed: int = 100
    ) -> None:
        super().__init__(setup)
        _genuine()
        at_least(2, M=M)
        at_least(1, ef_construction=ef_construction)
        self.graph = {"M": M, "ef_construction": ef_construction, "random_seed": random_seed}

    def _empty(self) -> Any:
        # vectors of unit length are ordered by the inner product as by the cosine
        made = hnswlib.Index(space="l2" if self.setup.metric == "l2" else "ip", dim=self.setup.d)
        made.set_num_threads(self.setup.threads)
        return made

    def build(self, vectors: Rows) -> None:
        """Insert the vectors one after the other."""
        self.index = self._empty()
        self.index.init_index(max_elements=len(vectors), **self.graph)
        self.index.set_num_threads(self.setup.threads)
        self.index.add_items(vectors)

    def set_search(self, *, ef: int = 64) -> None:
        """Set how many candidates are held; hnswlib keeps this in the index."""
        at_least(1, ef=ef)
        self.index.set_ef(ef)

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query."""
        try:
            found: Positions = self.index.knn_query(queries, k)[0]  # unsigned: turned when no clock runs
        except RuntimeError:  # a query reached fewer than k
            return padded([self._short(query, k) for query in queries], k)
        return found

    def _short(self, query: Rows, k: int) -> Sequence[int]:
        return reached(lambda few: self.index.knn_query(query, few)[0][0].tolist(), k)

    def save(self) -> None:
        """Write the index to one file."""
        self.index.save_index(str(self.setup.folder / FILE))

    def load(self) -> None:
        """Read the index from its file."""
        self.index = self._empty()
        self.index.load_index(str(self.setup.folder / FILE))
        self.index.set_num_threads(self.setup.threads)


def _genuine() -> None:
    """chroma-hnswlib installs the same file; only that one writes its index piece by piece."""
    if hasattr(hnswlib.Index, "persist_dirty"):
        raise InputError(
            "the module hnswlib is that of chroma-hnswlib, which replaced it: "
            "pip uninstall chroma-hnswlib, then pip install --force-reinstall hnswlib"
        )
