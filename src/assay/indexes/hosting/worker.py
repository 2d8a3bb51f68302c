"""The process in which one engine lives: it builds, searches and times when it is told to.

The other end of its socket is `assay.indexes.hosting.hosted`. Only
NumPy and the engine are loaded here, so that an engine may live in an environment of its own.
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

from assay.core.errors import EngineError
from assay.core.vectors import Mapped, Positions, Vectors
from assay.indexes.engines import Parameter, load, parameters, problems
from assay.indexes.hosting import timing
from assay.indexes.hosting.timing import Ask, Ticks, Timed
from assay.indexes.index import Index, Setup

_WARM = 0.2, 1.0  # seconds, at least and at most


class Described(NamedTuple):
    """What an engine says of itself."""

    metrics: tuple[str, ...]
    exact: bool
    holds_gil: bool
    loads: bool  # it can take up what it saved
    least: dict[str, Any]
    build: dict[str, Parameter]
    search: dict[str, Parameter]
    version: str  # of the installed package
    files: tuple[str, ...] = ()  # parameters of building that name a file


class Built(NamedTuple):
    """An index that was built."""

    seconds: float
    memory_bytes: int | None
    disk_bytes: int | None
    version: str


def describe(name: str) -> Described:
    """What the engine of a name says of itself."""
    engine = load(name)
    return Described(
        engine.metrics,
        engine.exact,
        engine.holds_gil,
        engine.load is not Index.load,
        engine.least,
        parameters(engine.__init__),
        parameters(engine.set_search),
        _installed(engine.package),
        engine.files,
    )


def _installed(package: str) -> str:
    """The version of a package; nothing where the engine is no package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package) if package else ""
    except PackageNotFoundError:
        return ""


class Worker:
    """One engine, and what it is asked."""

    def __init__(self) -> None:
        self.index: Index | None = None
        self._queries: tuple[Any, NDArray[np.float32]] | None = None
        self._requests: tuple[Ask, Sequence[Any], int, int] | None = None

    def describe(self, name: str) -> Described:
        """What the engine of a name says of itself."""
        return describe(name)

    def problems(self, name: str, build: dict[str, Any], search: dict[str, Any]) -> dict[str, str]:
        """What is wrong with parameters."""
        return problems(load(name), build, search)

    def open(self, name: str, build: dict[str, Any], setup: Setup) -> None:
        """Make the index, empty; one that was there is let go."""
        self.close()
        self.index = load(name)(setup, **build)

    def build(self, base: Vectors) -> Built:
        """Build and save."""
        index, vectors = self._index(), rows(base)
        index.prepare()
        before = held_bytes()
        begin = time.perf_counter()
        index.build(vectors)
        seconds = time.perf_counter() - begin
        del vectors
        gc.collect()
        after = held_bytes()
        index.save()
        size = index.size()
        memory = max(0, after - before) if before is not None and after is not None else None
        return Built(seconds, memory, size if size is not None else folder_bytes(index), index.version())

    def load(self) -> None:
        """Take up what was saved."""
        self._index().load()

    def set_search(self, search: dict[str, Any]) -> None:
        """Set how the following searches are made."""
        self._index().set_search(**search)

    def warm(self, queries: Vectors, k: int, n: int | None, batch: bool) -> None:
        """Search for the first n queries, which is not timed; what fails here is not counted.

        None: for each query, as far as one gets in a second, and where they are soon through, again. After a
        whole pass everything is where the searches that follow look for it; but where a processor slept, it
        takes some tenths of a second to be as fast as it is.
        A batch is warmed up by batches: of what is asked for, or by ones that grow while there is time.
        """
        found, begin = self._rows(queries)[:n].copy(), time.monotonic()
        (least, most), wanted = (_WARM, len(found)) if n is None else ((0.0, math.inf), n)
        done, gone, size = 0, 0.0, len(found) if batch and n is not None else 1
        while gone <= most and (done < wanted or gone < least):
            at = done % len(found)
            block = found[at : at + size][: wanted - done if n is not None else None]
            with suppress(Exception):
                self._index().search(block, k)
            done += len(block)
            before, gone = gone, time.monotonic() - begin
            if batch and n is None:
                fit = (most - gone) * len(block) / max(gone - before, 1e-9)
                size = max(1, int(min(2 * size, fit, len(found))))

    def batch(self, queries: Vectors, k: int) -> Timed:
        """All queries in one call."""
        return timing.batch(self._index().search, self._rows(queries).copy(), k)

    def ready(self, queries: Vectors, numbers: Positions, k: int, clients: int = 1) -> None:
        """Lay out the queries of these numbers as requests of so many clients, before any clock runs."""
        self._requests = None  # the last ones are let go first
        ask, each = self._index().requests(self._rows(queries)[numbers], k, clients)
        if len(each) != len(numbers):
            raise EngineError(f"{len(numbers):,} queries were to be laid out; requests made {len(each):,}")
        self._requests = ask, each, k, clients
        gc.collect()

    def single(self, start: int = 0) -> Timed:
        """The requests one after another."""
        assert self._requests is not None
        return timing.closed(*self._requests, start)

    def scheduled(self, start: int, due: Ticks) -> Timed:
        """The requests, each when it is due."""
        assert self._requests is not None
        return timing.scheduled(*self._requests, start, due)

    def remark(self, queries: Vectors) -> str:
        """What the engine has to say of the searches for these queries."""
        return self._index().remark(self._rows(queries))

    def cpu(self) -> float:
        """The seconds of processor time spent so far."""
        return time.process_time()

    def close(self) -> None:
        """Let the engine go."""
        index, self.index = self.index, None
        if index is not None:
            index.close()

    def _index(self) -> Index:
        assert self.index is not None
        return self.index

    def _rows(self, queries: Vectors) -> NDArray[np.float32]:
        """The queries in memory, kept, since they are asked again and again.

        An engine gets copies of them: some write into what they are given.
        """
        key = getattr(queries, "path", None)
        if key is None or self._queries is None or self._queries[0] != key:
            self._queries = (key, np.array(queries.whole(), np.float32, order="C"))
        return self._queries[1]


def rows(vectors: Vectors) -> NDArray[np.float32]:
    """Vectors as engines take them; a file of float32 is mapped, not copied.

    The mapping is private, and can be written to: some engines refuse or crash on arrays that cannot.
    """
    if type(vectors) is Mapped and vectors.dtype == np.float32 and not vectors.lead:
        return np.asarray(np.memmap(vectors.path, np.float32, "c", vectors.offset, vectors.shape))
    return np.ascontiguousarray(vectors.whole(), np.float32)


def held_bytes() -> int | None:
    """The memory that this process and its children hold of their own, mapped files left out."""
    from assay.indexes.hosting.processes import held, marked

    return held(marked(os.environ.get("ASSAY_HOSTED", ""), os.getpid()))


def folder_bytes(index: Index) -> int | None:
    """The bytes of what an index saved; None where it saved nothing."""
    files = [path for path in Path(index.setup.folder).rglob("*") if path.is_file()]
    return sum(_on_disk(path.stat()) for path in files) if files else None


def _on_disk(file: os.stat_result) -> int:
    """The bytes of a file that are kept; holes in it are not."""
    return min(file.st_size, getattr(file, "st_blocks", file.st_size) * 512)


def main(fd: int) -> None:
    """Do what is asked until the other end closes."""
    _end_with_parent()
    _end_first()
    os.dup2(2, 1)  # engines print; what they print goes to the log
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
                (type(error).__name__, timing.words(error), getattr(error, "exit_code", None)),
            )
        channel.send(answer)
    os._exit(0)  # engines that hang in their own destructors do not matter any more


def _end_first() -> None:
    """Where the machine has no memory left, the engine is ended and not the sweep; Linux can be told so."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _end_with_parent() -> None:
    """Do not go on building when whoever asked for it was killed; only Linux can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
