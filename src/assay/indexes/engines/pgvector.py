"""pgvector: an index inside PostgreSQL, on the server of a `url` or on one that is started for it.

A search is a prepared statement, over a connection of the thread that asks.
"""

from __future__ import annotations

import threading
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types import TypeInfo

from assay.core.errors import EngineError
from assay.core.vectors import Positions
from assay.indexes.engines.postgres import Server
from assay.indexes.index import Index, Rows, Setup, padded

_OPERATORS = {
    "l2": ("vector_l2_ops", "<->"),
    "ip": ("vector_ip_ops", "<#>"),
    "cosine": ("vector_cosine_ops", "<=>"),
}
_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_AT_ONCE = 4096  # rows sent in one piece


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
        self.own, self.links = threading.local(), list[_Link]()
        self.server = None if url else Server(setup.folder)
        self.url = url or (self.server.url if self.server else "")
        try:
            if self.server:
                self.server.start()
            self._link()
        except BaseException:
            self.close()
            raise

    def _link(self) -> _Link:
        """The connection of this thread, set as the last `set_search` said."""
        link: _Link | None = getattr(self.own, "link", None)
        if link is None:
            link = self.own.link = _Link(self.url)
            self.links.append(link)
        if link.settings is not self.settings:
            link.set(self.settings)
        return link

    def build(self, vectors: Rows) -> None:
        """Copy the vectors into a table, then index them."""
        run = self._link().run
        run(f"CREATE TABLE {self.table} (id integer, v vector({self.setup.d}))")
        with self._link().cursor.copy(f"COPY {self.table} FROM STDIN (FORMAT binary)".encode()) as copy:
            copy.write(_SIGNATURE)
            for start in range(0, len(vectors), _AT_ONCE):
                copy.write(_copied(vectors[start : start + _AT_ONCE], start))
            copy.write(b"\xff\xff")
        name, using = f"{self.table}_index", f"{self.method} (v {self.operators})"
        run(f"CREATE INDEX {name} ON {self.table} USING {using} WITH ({self.options})")
        run(f"VACUUM (ANALYZE) {self.table}")

    def _set(self, name: str, value: int) -> None:
        self.settings = {**self.settings, f"{self.method}.{name}": str(value)}
        zeros = f"'[{','.join('0' * self.setup.d)}]'"
        plan = self._link().run("EXPLAIN " + self._statement(10).replace("%b", zeros))
        words = "\n".join(line for (line,) in plan)
        if f"Index Scan using {self.table}_index" not in words:
            raise EngineError(f"PostgreSQL does not use the index; its plan is\n{words}")

    def _statement(self, k: int) -> str:
        return f"SELECT id FROM {self.table} ORDER BY v {self.operator} %b LIMIT {k}"

    def search(self, queries: Rows, k: int) -> Positions:
        """One statement for each query; those of a batch are sent without waiting for the answers."""
        cursor, statement = self._link().cursor, self._statement(k).encode()
        if len(queries) == 1:
            cursor.execute(statement, (queries[0],), prepare=True)
            return padded([[row[0] for row in cursor.fetchall()]], k)
        found = []
        cursor.executemany(statement, [(query,) for query in queries], returning=True)
        for _ in queries:
            found.append([row[0] for row in cursor.fetchall()])
            cursor.nextset()
        return padded(found, k)

    def load(self) -> None:
        """Take up the table of the server that was started on the folder."""
        if self.server is None:
            raise EngineError("a table on a server of your own is dropped when it is closed: build it again")

    def size(self) -> int:
        """The bytes of the index, which holds the vectors once more."""
        return int(self._link().run(f"SELECT pg_relation_size('{self.table}_index')")[0][0])

    def version(self) -> str:
        """The versions of the server and of the extension."""
        server = self._link().run("SHOW server_version")[0][0]
        extension = self._link().run("SELECT extversion FROM pg_extension WHERE extname = 'vector'")[0][0]
        return f"pgvector {extension}, PostgreSQL {server}"

    def close(self) -> None:
        """Drop the table on a server that goes on; stop the server that was started."""
        try:
            if self.links and self.server is None:
                self._link().run(f"DROP TABLE IF EXISTS {self.table}")
            for link in self.links:
                link.connection.close()
        finally:
            if self.server:
                self.server.stop()


class HNSW(_Table):
    """A hierarchical graph."""

    method = "hnsw"
    least: ClassVar[dict[str, Any]] = {"ef_search": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        url: str | None = None,
        m: int = 16,
        ef_construction: int = 64,
        maintenance_work_mem: str = "1GB",
    ) -> None:
        super().__init__(setup, url, maintenance_work_mem, {"m": m, "ef_construction": ef_construction})

    def set_search(self, *, ef_search: int = 40) -> None:
        """Set how many candidates are held: no more than these are returned."""
        self._set("ef_search", ef_search)


class IVFFlat(_Table):
    """Inverted lists of whole vectors."""

    method = "ivfflat"
    least: ClassVar[dict[str, Any]] = {"probes": 1}

    def __init__(
        self, setup: Setup, *, url: str | None = None, lists: int = 1000, maintenance_work_mem: str = "1GB"
    ) -> None:
        super().__init__(setup, url, maintenance_work_mem, {"lists": lists})

    def set_search(self, *, probes: int = 10) -> None:
        """Set how many lists are gone through."""
        self._set("probes", probes)


class _Link:
    """A connection that knows vectors."""

    def __init__(self, url: str) -> None:
        self.settings: dict[str, str] | None = None
        self.connection = psycopg.connect(url, autocommit=True)
        self.run("SET client_min_messages = warning")
        self.run("CREATE EXTENSION IF NOT EXISTS vector")
        self.run("SELECT '[1]'::vector")  # from here on the settings of pgvector are known
        self.run("SELECT set_config(name, 'off', false) FROM pg_settings WHERE name LIKE '%.iterative_scan'")
        found = TypeInfo.fetch(self.connection, "vector")
        kind = type("_Known", (_Vector,), {"oid": found.oid if found else 0})
        self.connection.adapters.register_dumper(np.ndarray, kind)
        self.cursor = self.connection.cursor(binary=True)

    def run(self, statement: str) -> list[Any]:
        """Run a statement; what it gives."""
        cursor = self.connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []

    def set(self, settings: dict[str, str]) -> None:
        """Apply settings."""
        for name, value in settings.items():
            self.connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        self.settings = settings


class _Vector(Dumper):
    """A vector as pgvector sends it: how many, a zero, the numbers, the highest byte first."""

    format = Format.BINARY

    def dump(self, obj: Any) -> bytes:
        """The bytes of a vector."""
        numbers: bytes = obj.astype(">f4").tobytes()
        return len(obj).to_bytes(2, "big") + b"\0\0" + numbers


def _copied(rows: Rows, start: int) -> bytes:
    """Rows as the binary COPY takes them: the fields of a row are counted, and their bytes."""
    n, d = rows.shape
    lead = [
        ("fields", ">i2"),
        ("size", ">i4"),
        ("id", ">i4"),
        ("bytes", ">i4"),
        ("d", ">i2"),
        ("zero", ">i2"),
    ]
    made = np.zeros(n, [*lead, ("v", ">f4", (d,))])
    made["fields"], made["size"], made["bytes"], made["d"] = 2, 4, 4 + 4 * d, d
    made["id"], made["v"] = np.arange(start, start + n), rows
    return made.tobytes()
