"""hnswlib, the HNSW implementation of its inventors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import hnswlib

from assay.core.errors import InputError
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions
from assay.indexes.parameter_bounds import require_at_least
from assay.indexes.parameter_meanings import BuildCandidates, LinkCount, SearchCandidates, Seed
from assay.indexes.short_answers import longest_answer

FILE = "index.hnswlib"


class HNSW(Index):
    """A hierarchical graph."""

    package = "hnswlib"
    smallest_search: ClassVar[dict[str, Any]] = {"ef": 1}
    index: Any

    def __init__(
        self,
        setup: Setup,
        *,
        M: LinkCount = 16,
        ef_construction: BuildCandidates = 200,
        random_seed: Seed = 100,
    ) -> None:
        super().__init__(setup)
        _refuse_chroma_hnswlib()
        require_at_least(2, M=M)
        require_at_least(1, ef_construction=ef_construction)
        self.graph = {"M": M, "ef_construction": ef_construction, "random_seed": random_seed}

    def _create_index(self) -> Any:
        # for vectors of unit length the inner product and the cosine give the same order
        index = hnswlib.Index(space="l2" if self.setup.metric == "l2" else "ip", dim=self.setup.d)
        index.set_num_threads(self.setup.threads)
        return index

    def build(self, vectors: Rows) -> None:
        """Insert the vectors one by one."""
        self.index = self._create_index()
        self.index.init_index(max_elements=len(vectors), **self.graph)
        self.index.set_num_threads(self.setup.threads)
        self.index.add_items(vectors)

    def set_search(self, *, ef: SearchCandidates = 64) -> None:
        """Set the number of candidates; hnswlib stores it in the index."""
        require_at_least(1, ef=ef)
        self.index.set_ef(ef)

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the positions of the k nearest vectors to each query."""
        try:
            positions: Positions = self.index.knn_query(queries, k)[
                0
            ]  # unsigned; converted when the clock has stopped
        except RuntimeError:  # fewer than k vectors were reached for a query
            return pad_positions([self._short_answer(query, k) for query in queries], k)
        return positions

    def _short_answer(self, query: Rows, k: int) -> Sequence[int]:
        return longest_answer(lambda count: self.index.knn_query(query, count)[0][0].tolist(), k)

    def save(self) -> None:
        """Write the index to a file."""
        self.index.save_index(str(self.setup.folder / FILE))

    def load(self) -> None:
        """Read the index from its file."""
        self.index = self._create_index()
        self.index.load_index(str(self.setup.folder / FILE))
        self.index.set_num_threads(self.setup.threads)


def _refuse_chroma_hnswlib() -> None:
    """Raise an error if the module is that of chroma-hnswlib, which installs a file of the same name."""
    if hasattr(hnswlib.Index, "persist_dirty"):
        raise InputError(
            "chroma-hnswlib has replaced the module hnswlib: "
            "pip uninstall chroma-hnswlib, then pip install --force-reinstall hnswlib"
        )
