"""DuckDB with its extension vss, which is loaded from an installed package."""

from __future__ import annotations

import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar

import duckdb

from assay.core.errors import EngineError, MissingExtraError
from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions
from assay.indexes.parameter_bounds import require_at_least
from assay.indexes.parameter_meanings import BuildCandidates, LinkCount, SearchCandidates

_METRICS = {
    "l2": ("l2sq", "array_distance"),
    "ip": ("ip", "array_negative_inner_product"),
    "cosine": ("cosine", "array_cosine_distance"),
}
_ROWS_PER_INSERT = 65536


class HNSW(Index):
    """A hierarchical graph; a batch is a loop, because a join over several queries does not use the index."""

    package = "duckdb"
    smallest_search: ClassVar[dict[str, Any]] = {"ef_search": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        M: LinkCount = 16,
        M0: Annotated[int, Meaning("links of a node in the lowest layer, at least M", 2)] = 32,
        ef_construction: BuildCandidates = 128,
    ) -> None:
        require_at_least(2, M=M)
        require_at_least(M, M0=M0)
        require_at_least(1, ef_construction=ef_construction)
        super().__init__(setup)
        self.metric, self.distance = _METRICS[setup.metric]
        self.options = f"metric = '{self.metric}', M = {M}, M0 = {M0}, ef_construction = {ef_construction}"
        self.thread_state, self.checked_k = threading.local(), set[int]()
        self.search_slots = threading.Semaphore(
            setup.threads
        )  # vss ends the process if more threads search at once
        settings = {"threads": setup.threads, "allow_unsigned_extensions": True}
        self.database = duckdb.connect(setup.folder / "vectors.duckdb", config=settings)
        self.database.execute(f"LOAD '{_extension_file()}'")
        self.database.execute("SET hnsw_enable_experimental_persistence = true")

    def build(self, vectors: Rows) -> None:
        """Insert the vectors in order, so that a row id is a position, then index them."""
        run = self.database.execute
        run(f"CREATE TABLE vectors (v FLOAT[{self.setup.d}])")
        columns = ", ".join(f"column{i}" for i in range(self.setup.d))
        for start in range(0, len(vectors), _ROWS_PER_INSERT):
            self.database.register("piece", vectors[start : start + _ROWS_PER_INSERT].T.copy())
            run(f"INSERT INTO vectors SELECT array_value({columns}) FROM piece")
            self.database.unregister("piece")
        run(f"CREATE INDEX graph ON vectors USING HNSW (v) WITH ({self.options})")

    def set_search(self, *, ef_search: SearchCandidates = 64) -> None:
        """Set the number of candidates."""
        require_at_least(1, ef_search=ef_search)  # a smaller value would be ignored
        self.database.execute(f"SET GLOBAL hnsw_ef_search = {ef_search}")
        self.checked_k.clear()

    def search(self, queries: Rows, k: int) -> Positions:
        """Run one statement per query."""
        run, statement = self._cursor().execute, self._statement(k)
        if k not in self.checked_k:
            self._check_plan(queries[0], k)
        with self.search_slots:
            lists = [[row[0] for row in run(statement, (query,)).fetchall()] for query in queries]
        return pad_positions(lists, k)

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        if not hasattr(self.thread_state, "cursor"):
            self.thread_state.cursor = self.database.cursor()
        cursor: duckdb.DuckDBPyConnection = self.thread_state.cursor
        return cursor

    def _statement(self, k: int) -> str:
        return f"SELECT rowid FROM vectors ORDER BY {self.distance}(v, ?::FLOAT[{self.setup.d}]) LIMIT {k}"

    def _check_plan(self, query: Any, k: int) -> None:
        """Raise an error if the query plan does not use the index, unless all vectors are requested."""
        run = self._cursor().execute
        plan = str(run("EXPLAIN " + self._statement(k), (query,)).fetchall())
        n = run("SELECT count(*) FROM vectors").fetchall()[0][0]
        if "HNSW_INDEX_SCAN" not in plan and k < n:
            raise EngineError(f"DuckDB does not use the index for k = {k} of {n} vectors: use a smaller k")
        self.checked_k.add(k)

    def save(self) -> None:
        """Write the contents of memory to the file."""
        self.database.execute("CHECKPOINT")

    def load(self) -> None:
        """Do nothing: the file is open already."""

    def close(self) -> None:
        """Close the file."""
        self.database.close()


def _extension_file() -> Path:
    """Return the file of the extension for the installed version."""
    package = find_spec("duckdb_extension_vss")
    places = package.submodule_search_locations if package else None
    files = [path for place in places or () for path in Path(place).rglob("vss.duckdb_extension")]
    if not files:
        raise MissingExtraError("duckdb-extension-vss", "the engine duckdb", "duckdb")
    return files[0]
