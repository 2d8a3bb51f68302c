"""SymphonyQG: a graph whose links are quantized, as rabitqlib has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import rabitqlib

from assay.core.vectors import Positions
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Rows, Setup, padded
from assay.indexes.reached import reached

FILE = "index.symqg"
NARROWEST = 64  # dimensions; rabitqlib rotates no fewer


class Graph(Index):
    """A graph of fixed degree (a multiple of 32, below the number of vectors)."""

    package = "rabitqlib"
    least: ClassVar[dict[str, Any]] = {"ef": 1}
    index: Any
    ef: int

    def __init__(
        self, setup: Setup, *, max_degree: int = 32, ef_construction: int = 200, quantization_bits: int = 0
    ) -> None:
        super().__init__(setup)
        self.missing = max(0, NARROWEST - setup.d)
        self.ef_construction = ef_construction
        # vectors of unit length are ordered by l2 as by the cosine
        metric = "ip" if setup.metric == "ip" else "l2"
        self.index = rabitqlib.SymqgIndex(setup.d + self.missing, max_degree, metric, quantization_bits)

    def build(self, vectors: Rows) -> None:
        """Link the vectors and quantize the links."""
        self.index.build(self._wide(vectors), self.ef_construction, self.setup.threads)

    def _wide(self, rows: Rows) -> Rows:
        """Rows with columns of 0 added where they are too few; no distance changes by it."""
        return np.pad(rows, ((0, 0), (0, self.missing))) if self.missing else rows

    def set_search(self, *, ef: int = 64) -> None:
        """Set how many candidates are held; rabitqlib refuses fewer than k, so k are held then."""
        at_least(1, ef=ef)
        self.ef = ef

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query."""
        wide, ef = self._wide(queries), self.ef if self.ef > k else k
        try:
            found: Positions = self.index.search(wide, k, ef, self.setup.threads)[0].astype(np.int64)
        except RuntimeError:  # a query reached fewer than k
            return padded([self._short(wide[i : i + 1], k, ef) for i in range(len(wide))], k)
        return found

    def _short(self, query: Rows, k: int, ef: int) -> Sequence[int]:
        return reached(lambda few: self.index.search(query, few, ef, 1)[0][0].tolist(), k)

    def save(self) -> None:
        """Write the index to one file."""
        self.index.save(str(self.setup.folder / FILE))

    def load(self) -> None:
        """Read the index from its file."""
        self.index = rabitqlib.SymqgIndex.load(str(self.setup.folder / FILE))
