"""sqlite-vec, exact search in SQLite; through apsw, because not every Python can load extensions."""

from __future__ import annotations

from threading import Lock
from typing import Annotated

import apsw
import sqlite_vec

from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions


class Flat(Index):
    """Exact search: every vector is compared; k is at most 4,096."""

    metrics = ("l2", "cosine")
    exact = True
    package = "sqlite-vec"

    def __init__(
        self,
        setup: Setup,
        *,
        chunk_size: Annotated[int, Meaning("vectors that are stored together, a multiple of 8", 8)] = 1024,
    ) -> None:
        super().__init__(setup)
        self.chunk_size = chunk_size
        self.lock = Lock()  # a connection serves one thread at a time
        self.database = apsw.Connection(str(setup.folder / "vectors.db"))
        self.database.enable_load_extension(True)
        self.database.load_extension(sqlite_vec.loadable_path())

    def build(self, vectors: Rows) -> None:
        """Insert the vectors, in one transaction."""
        column = f"v float[{self.setup.d}] distance_metric={self.setup.metric}"
        statement = f"CREATE VIRTUAL TABLE vectors USING vec0({column}, chunk_size={self.chunk_size})"
        with self.database:
            self.database.execute(statement)
            rows = ((position, row.tobytes()) for position, row in enumerate(vectors))
            self.database.executemany("INSERT INTO vectors (rowid, v) VALUES (?, ?)", rows)

    def search(self, queries: Rows, k: int) -> Positions:
        """Run one statement per query."""
        return pad_positions([self._nearest(query.tobytes(), k) for query in queries], k)

    def _nearest(self, query: bytes, k: int) -> list[int]:
        statement = "SELECT rowid FROM vectors WHERE v MATCH ? AND k = ? ORDER BY distance"
        with self.lock:
            return [row[0] for row in self.database.execute(statement, (query, k))]

    def load(self) -> None:
        """Do nothing: the file is open already."""

    def close(self) -> None:
        """Close the file."""
        self.database.close()
