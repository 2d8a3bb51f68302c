"""vectorlite: hnswlib inside SQLite; by apsw, since not every Python may load extensions."""

from __future__ import annotations

from threading import Lock
from typing import Any, ClassVar

import apsw
import vectorlite_py

from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, padded

_SEARCH = "SELECT rowid FROM vectors WHERE knn_search(v, knn_param(?, ?, ?))"


class HNSW(Index):
    """A hierarchical graph, in memory; it is written when the connection closes."""

    package = "vectorlite-py"
    least: ClassVar[dict[str, Any]] = {"ef": 1}

    def __init__(self, setup: Setup, *, M: int = 16, ef_construction: int = 200) -> None:
        super().__init__(setup)
        self.M, self.ef_construction = M, ef_construction
        self.lock = Lock()  # one connection answers one thread at a time
        self.database = self._opened()

    def _opened(self) -> apsw.Connection:
        database = apsw.Connection(str(self.setup.folder / "vectors.db"))
        database.enable_load_extension(True)
        database.load_extension(vectorlite_py.vectorlite_path())
        return database

    def build(self, vectors: Rows) -> None:
        """Insert the vectors one after the other."""
        column = f"v float32[{self.setup.d}] {self.setup.metric}"
        graph = f"hnsw(max_elements={len(vectors)}, M={self.M}, ef_construction={self.ef_construction})"
        file = str(self.setup.folder / "vectors.hnsw").replace("'", "''")
        with self.database:
            self.database.execute(
                f"CREATE VIRTUAL TABLE vectors USING vectorlite({column}, {graph}, '{file}')"
            )
            rows = ((at, row.tobytes()) for at, row in enumerate(vectors))
            self.database.executemany("INSERT INTO vectors (rowid, v) VALUES (?, ?)", rows)

    def set_search(self, *, ef: int = 64) -> None:
        """Set how many candidates are held."""
        self.ef = ef

    def search(self, queries: Rows, k: int) -> Positions:
        """One statement for each query."""
        return padded([self._nearest(query.tobytes(), k) for query in queries], k)

    def _nearest(self, query: bytes, k: int) -> list[int]:
        with self.lock:
            return [row[0] for row in self.database.execute(_SEARCH, (query, k, self.ef))]

    def save(self) -> None:
        """Close and open again: only closing writes."""
        self.database.close()
        self.database = self._opened()

    def load(self) -> None:
        """Nothing: the file was opened, and the first search reads the graph."""

    def close(self) -> None:
        """Close the file."""
        self.database.close()
