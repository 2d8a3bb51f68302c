"""What engines that are servers share: an HTTP client, waiting for an index, and the life of an index."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Protocol

from assay.core.errors import EngineError
from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup, pad_positions
from assay.remote.errors import RemoteError
from assay.remote.http import HttpClient, compact_json, parse_url

Url = Annotated[str, Meaning("the address of the server")]
ApiKey = Annotated[str | None, Meaning("the key or password of the server", unset="none is sent")]
Batch = Annotated[int, Meaning("vectors that are sent in one request", 1)]
Timeout = Annotated[float, Meaning("seconds after which a request fails", 0)]
ReadyTimeout = Annotated[float, Meaning("seconds after which an index that is not ready fails", 0)]
QUERIES_PER_REQUEST = 100
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 2.0  # seconds between two checks of a server that is not ready


class ServerClient:
    """A server that is called with JSON; a failed call raises an EngineError and is not repeated."""

    def __init__(self, engine: str, url: str, headers: Mapping[str, str], timeout: float) -> None:
        parts = parse_url(url, ("http", "https"))
        self.engine, self.label = engine, f"{engine} at {parts.hostname}:{parts.port or '(default port)'}"
        self.http = HttpClient(url, headers, label=self.label, timeout=timeout)

    def call(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """Return the JSON of the response, or None if it is empty."""
        target = self.http.base_path + path
        try:
            return self.http.call(method, target, body, content_type=content_type, allow_empty=True)
        except RemoteError as error:
            raise EngineError(f"{error.reason} ({method} {path}){_hint(error)}") from None

    def call_lines(self, path: str, rows: Iterable[Any]) -> Any:
        """Return the JSON of the response to a POST of one JSON value per line."""
        content = b"".join(compact_json(row) + b"\n" for row in rows)
        return self.call("POST", path, content, "application/x-ndjson")

    def close(self) -> None:
        """Close the connections."""
        self.http.close()


def _hint(error: RemoteError) -> str:
    if error.kind == "timeout":
        return "; raise timeout"
    return "; give a valid api_key" if error.status in (401, 403) else ""


def wait_until(is_ready: Callable[[], bool], seconds: float, problem: str) -> None:
    """Check repeatedly, with growing pauses, until a server is ready; raise an error after some seconds."""
    end, pause = time.monotonic() + seconds, _FIRST_PAUSE
    while not is_ready():
        if time.monotonic() + pause > end:
            raise EngineError(f"{problem} after {seconds:g} s; raise ready_timeout or check the server")
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)


class Connection(Protocol):
    """A connection to a server."""

    def close(self) -> None:
        """Close the connection."""


class ServerIndex(Index):
    """An index on a server, which is deleted when it is closed.

    A subclass sets `is_created` once there is something to delete, and implements `drop`.
    """

    def __init__(self, setup: Setup, connection: Connection, ready_timeout: float) -> None:
        super().__init__(setup)
        self.connection, self.ready_timeout, self.is_created = connection, ready_timeout, False

    def drop(self) -> None:
        """Delete the index on the server."""
        raise NotImplementedError

    def close(self) -> None:
        """Delete the index on the server and close the connection."""
        if self.is_created:
            self.is_created = False
            self.drop()
        self.connection.close()


class BatchedIndex(ServerIndex):
    """An index on an HTTP server that takes batches of vectors and of queries.

    A subclass implements `insert`, `query_body`, `search_one` and `search_many`.
    """

    def __init__(self, setup: Setup, client: ServerClient, batch: int, ready_timeout: float) -> None:
        super().__init__(setup, client, ready_timeout)
        self.client, self.batch = client, batch

    def insert(self, start: int, rows: list[list[float]]) -> None:
        """Insert rows; the first has the position `start`."""
        raise NotImplementedError

    def insert_all(self, vectors: Rows) -> None:
        """Insert all vectors in batches."""
        for start in range(0, len(vectors), self.batch):
            self.insert(start, vectors[start : start + self.batch].tolist())

    def query_body(self, query: list[float], k: int) -> dict[str, Any]:
        """Return the body of a search for one query."""
        raise NotImplementedError

    def search_one(self, body: dict[str, Any]) -> list[int]:
        """Return the positions found for one query."""
        raise NotImplementedError

    def search_many(self, bodies: Sequence[dict[str, Any]]) -> list[list[int]]:
        """Return the positions found for each of several queries, searched in one request."""
        raise NotImplementedError

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the positions of the k nearest vectors to each query; several queries share a request."""
        bodies = [self.query_body(row, k) for row in queries.tolist()]
        if len(bodies) == 1:
            return pad_positions([self.search_one(bodies[0])], k)
        lists: list[list[int]] = []
        for start in range(0, len(bodies), QUERIES_PER_REQUEST):
            lists += self.search_many(bodies[start : start + QUERIES_PER_REQUEST])
        return pad_positions(lists, k)
