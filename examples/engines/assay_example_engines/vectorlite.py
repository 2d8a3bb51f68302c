"""vectorlite, hnswlib inside SQLite; through apsw, because not every Python can load extensions."""

from __future__ import annotations

from threading import Lock
from typing import Any, ClassVar

import apsw
import vectorlite_py

from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions

_SEARCH = "SELECT rowid FROM vectors WHERE knn_search(v, knn_param(?, ?, ?))"


class HNSW(Index):
    """A hierarchical graph in memory, written when the connection is closed."""

    package = "vectorlite-py"
    smallest_search: ClassVar[dict[str, Any]] = {"ef": 1}

    def __init__(self, setup: Setup, *, M: int = 16, ef_construction: int = 200) -> None:
        super().__init__(setup)
        self.M, self.ef_construction = M, ef_construction
        self.lock = Lock()  # a connection serves one thread at a time
        self.database = self._open_database()

    def _open_database(self) -> apsw.Connection:
        database = apsw.Connection(str(self.setup.folder / "vectors.db"))
        database.enable_load_extension(True)
        database.load_extension(vectorlite_py.vectorlite_path())
        return database

    def build(self, vectors: Rows) -> None:
        """Insert the vectors one by one."""
        column = f"v float32[{self.setup.d}] {self.setup.metric}"
        graph = f"hnsw(max_elements={len(vectors)}, M={self.M}, ef_construction={self.ef_construction})"
        file = str(self.setup.folder / "vectors.hnsw").replace("'", "''")
        with self.database:
            self.database.execute(
                f"CREATE VIRTUAL TABLE vectors USING vectorlite({column}, {graph}, '{file}')"
            )
            rows = ((position, row.tobytes()) for position, row in enumerate(vectors))
            self.database.executemany("INSERT INTO vectors (rowid, v) VALUES (?, ?)", rows)

    def set_search(self, *, ef: int = 64) -> None:
        """Set the number of candidates."""
        self.ef = ef

    def search(self, queries: Rows, k: int) -> Positions:
        """Run one statement per query."""
        return pad_positions([self._nearest(query.tobytes(), k) for query in queries], k)

    def _nearest(self, query: bytes, k: int) -> list[int]:
        with self.lock:
            return [row[0] for row in self.database.execute(_SEARCH, (query, k, self.ef))]

    def save(self) -> None:
        """Close and reopen the database: only closing it writes the graph."""
        self.database.close()
        self.database = self._open_database()

    def load(self) -> None:
        """Do nothing: the file is open already, and the first search reads the graph."""

    def close(self) -> None:
        """Close the file."""
        self.database.close()
