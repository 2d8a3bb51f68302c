"""SymphonyQG, a graph with quantized links, in the implementation of rabitqlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import rabitqlib

from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions, split_rows
from assay.indexes.parameter_bounds import require_at_least
from assay.indexes.short_answers import longest_answer

FILE = "index.symqg"
MIN_DIMENSIONS = 64  # rabitqlib cannot rotate fewer


class Graph(Index):
    """A graph of fixed degree; the degree is a multiple of 32 and below the number of vectors."""

    package = "rabitqlib"
    smallest_search: ClassVar[dict[str, Any]] = {"ef": 1}
    index: Any
    ef: int

    def __init__(
        self, setup: Setup, *, max_degree: int = 32, ef_construction: int = 200, quantization_bits: int = 0
    ) -> None:
        super().__init__(setup)
        self.padding = max(0, MIN_DIMENSIONS - setup.d)
        self.ef_construction = ef_construction
        # for vectors of unit length l2 and the cosine give the same order
        metric = "ip" if setup.metric == "ip" else "l2"
        self.index = rabitqlib.SymqgIndex(setup.d + self.padding, max_degree, metric, quantization_bits)

    def build(self, vectors: Rows) -> None:
        """Link the vectors and quantize the links."""
        self.index.build(self._pad(vectors), self.ef_construction, self.setup.threads)

    def _pad(self, rows: Rows) -> Rows:
        """Return the rows with columns of zeros added up to 64 dimensions, which changes no distance."""
        return np.pad(rows, ((0, 0), (0, self.padding))) if self.padding else rows

    def set_search(self, *, ef: int = 64) -> None:
        """Set the number of candidates; rabitqlib refuses fewer than k, so k is the minimum."""
        require_at_least(1, ef=ef)
        self.ef = ef

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the positions of the k nearest vectors to each query."""
        rows, ef = self._pad(queries), self.ef if self.ef > k else k
        try:
            positions: Positions = self.index.search(rows, k, ef, self.setup.threads)[0].astype(np.int64)
        except RuntimeError:  # fewer than k vectors were reached for a query
            return pad_positions([self._short_answer(row, k, ef) for row in split_rows(rows)], k)
        return positions

    def _short_answer(self, query: Rows, k: int, ef: int) -> Sequence[int]:
        return longest_answer(lambda count: self.index.search(query, count, ef, 1)[0][0].tolist(), k)

    def save(self) -> None:
        """Write the index to a file."""
        self.index.save(str(self.setup.folder / FILE))

    def load(self) -> None:
        """Read the index from its file."""
        self.index = rabitqlib.SymqgIndex.load(str(self.setup.folder / FILE))
