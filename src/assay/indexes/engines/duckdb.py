"""DuckDB: an index of its extension vss, which is loaded from the file in the package."""

from __future__ import annotations

import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import duckdb

from assay.core.errors import EngineError, MissingExtraError
from assay.core.vectors import Positions
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Rows, Setup, padded

_METRICS = {
    "l2": ("l2sq", "array_distance"),
    "ip": ("ip", "array_negative_inner_product"),
    "cosine": ("cosine", "array_cosine_distance"),
}
_AT_ONCE = 65536  # rows inserted in one piece


class HNSW(Index):
    """A hierarchical graph; a batch is a loop, since a join over many queries does not use the index."""

    package = "duckdb"
    least: ClassVar[dict[str, Any]] = {"ef_search": 1}

    def __init__(self, setup: Setup, *, M: int = 16, M0: int = 32, ef_construction: int = 128) -> None:
        at_least(2, M=M)
        at_least(M, M0=M0)
        at_least(1, ef_construction=ef_construction)
        super().__init__(setup)
        self.metric, self.distance = _METRICS[setup.metric]
        self.options = f"metric = '{self.metric}', M = {M}, M0 = {M0}, ef_construction = {ef_construction}"
        self.own, self.verified = threading.local(), set[int]()
        self.turns = threading.Semaphore(setup.threads)  # vss ends the process where more search at once
        settings = {"threads": setup.threads, "allow_unsigned_extensions": True}
        self.database = duckdb.connect(setup.folder / "vectors.duckdb", config=settings)
        self.database.execute(f"LOAD '{_extension()}'")
        self.database.execute("SET hnsw_enable_experimental_persistence = true")

    def build(self, vectors: Rows) -> None:
        """Insert the vectors in their order, so that a row's number is its position, then index them."""
        run = self.database.execute
        run(f"CREATE TABLE vectors (v FLOAT[{self.setup.d}])")
        columns = ", ".join(f"column{i}" for i in range(self.setup.d))
        for start in range(0, len(vectors), _AT_ONCE):
            self.database.register("piece", vectors[start : start + _AT_ONCE].T.copy())
            run(f"INSERT INTO vectors SELECT array_value({columns}) FROM piece")
            self.database.unregister("piece")
        run(f"CREATE INDEX graph ON vectors USING HNSW (v) WITH ({self.options})")

    def set_search(self, *, ef_search: int = 64) -> None:
        """Set how many candidates are held."""
        at_least(1, ef_search=ef_search)  # with less, it would search with its default
        self.database.execute(f"SET GLOBAL hnsw_ef_search = {ef_search}")
        self.verified.clear()

    def search(self, queries: Rows, k: int) -> Positions:
        """One statement for each query."""
        run, statement = self._cursor().execute, self._statement(k)
        if k not in self.verified:
            self._verify(queries[0], k)
        with self.turns:
            found = [[row[0] for row in run(statement, (query,)).fetchall()] for query in queries]
        return padded(found, k)

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        if not hasattr(self.own, "cursor"):
            self.own.cursor = self.database.cursor()
        cursor: duckdb.DuckDBPyConnection = self.own.cursor
        return cursor

    def _statement(self, k: int) -> str:
        return f"SELECT rowid FROM vectors ORDER BY {self.distance}(v, ?::FLOAT[{self.setup.d}]) LIMIT {k}"

    def _verify(self, query: Any, k: int) -> None:
        """That the index is used; where all vectors are asked for there is nothing to search."""
        run = self._cursor().execute
        plan = str(run("EXPLAIN " + self._statement(k), (query,)).fetchall())
        n = run("SELECT count(*) FROM vectors").fetchall()[0][0]
        if "HNSW_INDEX_SCAN" not in plan and k < n:
            raise EngineError(f"DuckDB does not use the index for k = {k} among {n} vectors: ask for fewer")
        self.verified.add(k)

    def save(self) -> None:
        """Write what is in memory to the file."""
        self.database.execute("CHECKPOINT")

    def load(self) -> None:
        """Nothing: the file was opened."""

    def close(self) -> None:
        """Close the file."""
        self.database.close()


def _extension() -> Path:
    """The file of the extension, for the version that is installed."""
    package = find_spec("duckdb_extension_vss")
    places = package.submodule_search_locations if package else None
    found = [path for place in places or () for path in Path(place).rglob("vss.duckdb_extension")]
    if not found:
        raise MissingExtraError("duckdb-extension-vss", "the engine duckdb", "duckdb")
    return found[0]
