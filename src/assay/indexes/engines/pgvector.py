"""pgvector: an index inside PostgreSQL, on the server at `url` or on one that is started for the index.

A search is a prepared statement on a connection of the searching thread.
"""

from __future__ import annotations

import threading
from typing import Annotated, Any, ClassVar
from uuid import uuid4

import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types import TypeInfo

from assay.core.errors import EngineError
from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions
from assay.indexes.servers.postgres import PostgresServer

_OPERATORS = {
    "l2": ("vector_l2_ops", "<->"),
    "ip": ("vector_ip_ops", "<#>"),
    "cosine": ("vector_cosine_ops", "<=>"),
}
_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_ROWS_PER_PIECE = 4096


class _Table(Index):
    package = "psycopg"
    method: ClassVar[str]

    def __init__(self, setup: Setup, url: str | None, memory: str, options: dict[str, int]) -> None:
        super().__init__(setup)
        workers = str(setup.threads - 1)
        self.settings = {
            "maintenance_work_mem": memory,
            "max_parallel_maintenance_workers": workers,
            "max_parallel_workers_per_gather": workers,
            "enable_seqscan": "off",
            "plan_cache_mode": "force_generic_plan",
        }
        self.options = ", ".join(f"{name} = {value}" for name, value in options.items())
        self.table = f"assay_{uuid4().hex}" if url else "vectors"
        self.operators, self.operator = _OPERATORS[setup.metric]
        self.thread_state, self.connections = threading.local(), list[_VectorConnection]()
        self.server = None if url else PostgresServer(setup.folder)
        self.url = url or (self.server.url if self.server else "")
        try:
            if self.server:
                self.server.start()
            self._thread_connection()
        except BaseException:
            self.close()
            raise

    def _thread_connection(self) -> _VectorConnection:
        """Return the connection of this thread, with the settings of the last `set_search`."""
        connection: _VectorConnection | None = getattr(self.thread_state, "connection", None)
        if connection is None:
            connection = self.thread_state.connection = _VectorConnection(self.url)
            self.connections.append(connection)
        if connection.settings is not self.settings:
            connection.set(self.settings)
        return connection

    def build(self, vectors: Rows) -> None:
        """Copy the vectors into a table, then index them."""
        run = self._thread_connection().run
        run(f"CREATE TABLE {self.table} (id integer, v vector({self.setup.d}))")
        with self._thread_connection().cursor.copy(
            f"COPY {self.table} FROM STDIN (FORMAT binary)".encode()
        ) as copy:
            copy.write(_SIGNATURE)
            for start in range(0, len(vectors), _ROWS_PER_PIECE):
                copy.write(_copy_format(vectors[start : start + _ROWS_PER_PIECE], start))
            copy.write(b"\xff\xff")
        name, using = f"{self.table}_index", f"{self.method} (v {self.operators})"
        run(f"CREATE INDEX {name} ON {self.table} USING {using} WITH ({self.options})")
        run(f"VACUUM (ANALYZE) {self.table}")

    def _set_and_check_plan(self, name: str, value: int) -> None:
        self.settings = {**self.settings, f"{self.method}.{name}": str(value)}
        zeros = f"'[{','.join('0' * self.setup.d)}]'"
        plan = self._thread_connection().run("EXPLAIN " + self._statement(10).replace("%b", zeros))
        text = "\n".join(line for (line,) in plan)
        if f"Index Scan using {self.table}_index" not in text:
            raise EngineError(f"PostgreSQL does not use the index; its plan is\n{text}")

    def _statement(self, k: int) -> str:
        return f"SELECT id FROM {self.table} ORDER BY v {self.operator} %b LIMIT {k}"

    def search(self, queries: Rows, k: int) -> Positions:
        """Run one statement per query; those of a batch are sent without waiting for the answers."""
        cursor, statement = self._thread_connection().cursor, self._statement(k).encode()
        if len(queries) == 1:
            cursor.execute(statement, (queries[0],), prepare=True)
            return pad_positions([[row[0] for row in cursor.fetchall()]], k)
        lists = []
        cursor.executemany(statement, [(query,) for query in queries], returning=True)
        for _ in queries:
            lists.append([row[0] for row in cursor.fetchall()])
            cursor.nextset()
        return pad_positions(lists, k)

    def load(self) -> None:
        """Do nothing if a server was started on the folder, which has the table."""
        if self.server is None:
            raise EngineError("a table on a server at a url is deleted when it is closed: build it again")

    def size(self) -> int:
        """Return the bytes of the index, which has its own copy of the vectors."""
        return int(self._thread_connection().run(f"SELECT pg_relation_size('{self.table}_index')")[0][0])

    def version(self) -> str:
        """Return the versions of the server and of the extension."""
        server = self._thread_connection().run("SHOW server_version")[0][0]
        extension = self._thread_connection().run(
            "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
        )[0][0]
        return f"pgvector {extension}, PostgreSQL {server}"

    def close(self) -> None:
        """Delete the table on a server at a url, or stop the server that was started."""
        try:
            if self.connections and self.server is None:
                self._thread_connection().run(f"DROP TABLE IF EXISTS {self.table}")
            for connection in self.connections:
                connection.connection.close()
        finally:
            if self.server:
                self.server.stop()


class HNSW(_Table):
    """A hierarchical graph."""

    method = "hnsw"
    smallest_search: ClassVar[dict[str, Any]] = {"ef_search": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        url: Annotated[str | None, Meaning("the address of a server", unset="a server is started")] = None,
        m: Annotated[
            int, Meaning("links of a node in the graph; more find more and take more memory", 2, 100)
        ] = 16,
        ef_construction: Annotated[
            int, Meaning("candidates for the links of a new node; at least 2 m", 4, 1000)
        ] = 64,
        maintenance_work_mem: Annotated[str, Meaning("memory for building, such as 1GB")] = "1GB",
    ) -> None:
        super().__init__(setup, url, maintenance_work_mem, {"m": m, "ef_construction": ef_construction})

    def set_search(
        self,
        *,
        ef_search: Annotated[
            int, Meaning("candidates that a search keeps, and the most neighbours that it returns", 1, 1000)
        ] = 40,
    ) -> None:
        """Set the number of candidates, which is also the maximum number of neighbours returned."""
        self._set_and_check_plan("ef_search", ef_search)


class IVFFlat(_Table):
    """Inverted lists of whole vectors."""

    method = "ivfflat"
    smallest_search: ClassVar[dict[str, Any]] = {"probes": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        url: Annotated[str | None, Meaning("the address of a server", unset="a server is started")] = None,
        lists: Annotated[int, Meaning("lists into which the vectors are divided", 1, 32768)] = 1000,
        maintenance_work_mem: Annotated[str, Meaning("memory for building, such as 1GB")] = "1GB",
    ) -> None:
        super().__init__(setup, url, maintenance_work_mem, {"lists": lists})

    def set_search(
        self,
        *,
        probes: Annotated[
            int, Meaning("lists that a search compares; more find more and take longer", 1, 32768)
        ] = 10,
    ) -> None:
        """Set the number of lists that are searched."""
        self._set_and_check_plan("probes", probes)


class _VectorConnection:
    """A connection that can send vectors."""

    def __init__(self, url: str) -> None:
        self.settings: dict[str, str] | None = None
        self.connection = psycopg.connect(url, autocommit=True)
        self.run("SET client_min_messages = warning")
        self.run("CREATE EXTENSION IF NOT EXISTS vector")
        self.run("SELECT '[1]'::vector")  # loads pgvector, so that its settings exist
        self.run("SELECT set_config(name, 'off', false) FROM pg_settings WHERE name LIKE '%.iterative_scan'")
        vector_type = TypeInfo.fetch(self.connection, "vector")
        dumper = type("_TypedVectorDumper", (_VectorDumper,), {"oid": vector_type.oid if vector_type else 0})
        self.connection.adapters.register_dumper(np.ndarray, dumper)
        self.cursor = self.connection.cursor(binary=True)

    def run(self, statement: str) -> list[Any]:
        """Run a statement and return its rows."""
        cursor = self.connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []

    def set(self, settings: dict[str, str]) -> None:
        """Apply settings."""
        for name, value in settings.items():
            self.connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        self.settings = settings


class _VectorDumper(Dumper):
    """The binary format of a vector in pgvector: its length, a zero and its numbers, in big-endian order."""

    format = Format.BINARY

    def dump(self, obj: Any) -> bytes:
        """Return the bytes of a vector."""
        numbers: bytes = obj.astype(">f4").tobytes()
        return len(obj).to_bytes(2, "big") + b"\0\0" + numbers


def _copy_format(rows: Rows, start: int) -> bytes:
    """Return rows in the binary format of COPY: the number of fields, then the size and bytes of each."""
    n, d = rows.shape
    fields = [
        ("fields", ">i2"),
        ("size", ">i4"),
        ("id", ">i4"),
        ("bytes", ">i4"),
        ("d", ">i2"),
        ("zero", ">i2"),
    ]
    records = np.zeros(n, [*fields, ("v", ">f4", (d,))])
    records["fields"], records["size"], records["bytes"], records["d"] = 2, 4, 4 + 4 * d, d
    records["id"], records["v"] = np.arange(start, start + n), rows
    return records.tobytes()
