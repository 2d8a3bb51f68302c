"""The process of one engine: it builds, searches and measures times on request.

The other end of its socket is `assay.indexes.hosting.hosted`. Only NumPy and the engine are loaded here, so
that an engine can run in a separate environment.
"""

from __future__ import annotations

import ctypes
import gc
import math
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core import timing
from assay.core.errors import EngineError
from assay.core.parameters import Parameter, keyword_parameters
from assay.core.timing import SearchOne, Ticks, TimedAnswers
from assay.core.vectors import MappedVectors, Positions, Vectors
from assay.indexes.index import Index, Setup
from assay.indexes.registry import engine_version, load_engine, parameter_problems

_WARM_UP_SECONDS = 0.2, 1.0  # minimum and maximum


class EngineDescription(NamedTuple):
    """The properties and parameters of an engine."""

    metrics: tuple[str, ...]
    exact: bool
    holds_gil: bool
    can_load: bool  # it can load what it saved
    smallest_search: dict[str, Any]
    build: dict[str, Parameter]
    search: dict[str, Parameter]
    version: str  # of the installed package, and the digest of the source of an engine that is not of Assay
    file_parameters: tuple[str, ...] = ()  # parameters for building that name a file
    family: str = ""  # as declared; "": by its name


class BuildResult(NamedTuple):
    """The time, memory and size of an index that was built."""

    seconds: float
    memory_bytes: int | None
    disk_bytes: int | None
    version: str


def describe(name: str) -> EngineDescription:
    """Return the properties and parameters of the engine with this name."""
    engine = load_engine(name)
    return EngineDescription(
        engine.metrics,
        engine.exact,
        engine.holds_gil,
        engine.load is not Index.load,
        engine.smallest_search,
        keyword_parameters(engine.__init__),
        keyword_parameters(engine.set_search),
        engine_version(name),
        engine.file_parameters,
        engine.family,
    )


class Worker:
    """One engine and the calls that it serves."""

    def __init__(self) -> None:
        self.index: Index | None = None
        self.name = ""  # of the engine
        self._queries: tuple[Any, NDArray[np.float32]] | None = None
        self._requests: tuple[SearchOne, Sequence[Any], int, int] | None = None

    def describe(self, name: str) -> EngineDescription:
        """Return the properties and parameters of the engine with this name."""
        return describe(name)

    def problems(self, name: str, build: dict[str, Any], search: dict[str, Any]) -> dict[str, str]:
        """Return what is wrong with parameters."""
        return parameter_problems(load_engine(name), build, search)

    def open(self, name: str, build: dict[str, Any], setup: Setup) -> None:
        """Create an empty index and close the previous one."""
        self.close()
        self.index, self.name = load_engine(name)(setup, **build), name

    def build(self, base: Vectors) -> BuildResult:
        """Build the index and save it."""
        index, vectors = self._index(), map_rows(base)
        index.prepare()
        before = memory_bytes()
        begin = time.perf_counter()
        index.build(vectors)
        seconds = time.perf_counter() - begin
        del vectors
        gc.collect()
        after = memory_bytes()
        index.save()
        size = index.size()
        memory = max(0, after - before) if before is not None and after is not None else None
        disk = size if size is not None else folder_bytes(index)
        return BuildResult(seconds, memory, disk, engine_version(self.name, index.version()))

    def load(self) -> None:
        """Load the index that was saved."""
        self._index().load()

    def set_search(self, search: dict[str, Any]) -> None:
        """Set the parameters of the searches that follow."""
        self._index().set_search(**search)

    def warm_up(self, queries: Vectors, k: int, n: int | None, batch: bool) -> None:
        """Search for the first n queries without timing them; errors are ignored.

        If n is None, all queries are searched, for at most one second, and repeatedly for at least 0.2 s,
        because a processor that was idle needs some tenths of a second to reach its full speed.
        A batch is warmed up by batches: of n queries, or by batches that grow while there is time.
        """
        rows, begin = self._rows(queries)[:n].copy(), time.monotonic()
        (min_seconds, max_seconds), count = (
            (_WARM_UP_SECONDS, len(rows)) if n is None else ((0.0, math.inf), n)
        )
        search_count, elapsed_seconds, size = 0, 0.0, len(rows) if batch and n is not None else 1
        while elapsed_seconds <= max_seconds and (search_count < count or elapsed_seconds < min_seconds):
            at = search_count % len(rows)
            block = rows[at : at + size][: count - search_count if n is not None else None]
            with suppress(Exception):
                self._index().search(block, k)
            search_count += len(block)
            previous, elapsed_seconds = elapsed_seconds, time.monotonic() - begin
            if batch and n is None:
                affordable = (
                    (max_seconds - elapsed_seconds) * len(block) / max(elapsed_seconds - previous, 1e-9)
                )
                size = max(1, int(min(2 * size, affordable, len(rows))))

    def search_batch(self, queries: Vectors, k: int) -> TimedAnswers:
        """Search all queries in one call."""
        return timing.time_batch(self._index().search, self._rows(queries).copy(), k)

    def prepare_requests(self, queries: Vectors, numbers: Positions, k: int, clients: int = 1) -> None:
        """Prepare the queries with these numbers as requests of clients; this is not timed."""
        self._requests = None  # free the previous ones first
        search, items = self._index().requests(self._rows(queries)[numbers], k, clients)
        if len(items) != len(numbers):
            raise EngineError(
                f"requests() returned {len(items):,} items for {len(numbers):,} queries; expected one each"
            )
        self._requests = search, items, k, clients
        gc.collect()

    def search_single(self, start: int = 0) -> TimedAnswers:
        """Send the prepared requests one after another."""
        assert self._requests is not None
        return timing.time_closed_loop(*self._requests, start)

    def search_scheduled(self, start: int, due: Ticks) -> TimedAnswers:
        """Send each prepared request when it is due."""
        assert self._requests is not None
        return timing.time_schedule(*self._requests, start, due)

    def remark(self, queries: Vectors) -> str:
        """Return the remark of the engine about the searches for these queries."""
        return self._index().remark(self._rows(queries))

    def cpu_seconds(self) -> float:
        """Return the seconds of processor time used so far."""
        return time.process_time()

    def close(self) -> None:
        """Close the index."""
        index, self.index = self.index, None
        if index is not None:
            index.close()

    def _index(self) -> Index:
        assert self.index is not None
        return self.index

    def _rows(self, queries: Vectors) -> NDArray[np.float32]:
        """Return the queries as an array, cached because the same queries are searched repeatedly.

        Engines receive copies, because some write to their input.
        """
        key = getattr(queries, "path", None)
        if key is None or self._queries is None or self._queries[0] != key:
            self._queries = (key, np.array(queries.to_matrix(), np.float32, order="C"))
        return self._queries[1]


def map_rows(vectors: Vectors) -> NDArray[np.float32]:
    """Return the vectors as a float32 array; a file of float32 is mapped, not copied.

    The mapping is private and writable, because some engines refuse or crash on read-only arrays.
    """
    if type(vectors) is MappedVectors and vectors.dtype == np.float32 and not vectors.row_prefix:
        return np.asarray(np.memmap(vectors.path, np.float32, "c", vectors.offset, vectors.shape))
    return np.ascontiguousarray(vectors.to_matrix(), np.float32)


def memory_bytes() -> int | None:
    """Return the private memory of this process and its children, without mapped files."""
    from assay.core.processes import marked_processes, private_bytes

    return private_bytes(marked_processes(os.environ.get("ASSAY_HOSTED", ""), os.getpid()))


def folder_bytes(index: Index) -> int | None:
    """Return the bytes of the files that an index saved, or None if it saved nothing."""
    files = [path for path in Path(index.setup.folder).rglob("*") if path.is_file()]
    return sum(_allocated_bytes(path.stat()) for path in files) if files else None


def _allocated_bytes(file: os.stat_result) -> int:
    """Return the bytes of a file that are allocated on disk, without holes."""
    return min(file.st_size, getattr(file, "st_blocks", file.st_size) * 512)


def main(fd: int) -> None:
    """Serve calls until the other end closes the connection."""
    _end_with_parent()
    _raise_oom_score()
    os.dup2(2, 1)  # what engines print goes to the log
    channel = Connection(fd)
    worker = Worker()
    while True:
        try:
            name, arguments = channel.recv()
        except EOFError:
            break
        try:
            answer = ("done", getattr(worker, name)(*arguments))
        except BaseException as error:
            traceback.print_exc()
            answer = (
                "failed",
                (type(error).__name__, timing.error_text(error), getattr(error, "exit_code", None)),
            )
        channel.send(answer)
    os._exit(0)  # some engines hang in their destructors


def _raise_oom_score() -> None:
    """Make Linux kill this process, not the sweep, when the machine runs out of memory."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _end_with_parent() -> None:
    """End this process when its parent is killed; only Linux supports this."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
