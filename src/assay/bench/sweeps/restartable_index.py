"""An index that is loaded or built again in a new process when its process has died."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

from assay.bench.sweeps.cases import IndexBuild
from assay.bench.sweeps.folder import SweepFolder
from assay.bench.sweeps.options import SweepOptions
from assay.core.errors import EngineError
from assay.core.vectors import Vectors
from assay.indexes.hosting.hosted import HostedIndex, choose_cpus


class RestartableIndex:
    """An index of a sweep, with the processes that serve it."""

    def __init__(
        self,
        build: IndexBuild,
        key: str,
        metric: str,
        base: Vectors,
        folder: SweepFolder,
        options: SweepOptions,
    ) -> None:
        self.build, self.key, self.metric, self.base = build, key, metric, base
        self.folder, self.options = folder, options
        self.build_record: dict[str, Any] = {}  # how the index was built
        self._process: HostedIndex | None = None
        self._copies: list[
            HostedIndex
        ] = []  # processes with copies of the index, for clients that cannot share one

    @property
    def memory_bytes(self) -> int:
        """The memory of the index, and at least that of the vectors, since not all of it is visible."""
        return max(int(self.build_record.get("memory_bytes") or 0), len(self.base) * self.base.d * 4)

    def start(self, uses_index: Callable[[HostedIndex], bool | None]) -> None:
        """Load the saved index or build it, and check whether the engine uses an index."""
        record = self.folder.build_record(self.key)
        if record is not None and self._load_saved():
            self.build_record = record
            return
        process = self._build()
        self.build_record["indexed"] = uses_index(process)
        self.folder.put_build_record(self.key, self.build_record)

    def process(self) -> HostedIndex:
        """Return the process of the index, or a new one if it has died."""
        if self._process is None or not all(process.is_alive for process in (self._process, *self._copies)):
            self.close()
            if not self._load_saved():
                record = self.build_record
                self._build()
                self.build_record = record
                self.folder.put_build_record(self.key, record)
        assert self._process is not None
        return self._process

    def processes(self, clients: int) -> list[HostedIndex]:
        """Return the processes for this many clients: several only if the engine holds the GIL."""
        first = self.process()
        for process in (first, *self._copies):
            process.skip_log()
        shares_process = clients == 1 or not first.description.holds_gil
        threads = self.build.threads * (clients if shares_process else 1)
        first.pin(choose_cpus(threads))  # each client gets its own processors
        if shares_process:
            return [first]
        if not first.description.can_load:
            raise EngineError(
                f"{self.build.engine} serves one client per process and cannot be loaded into a second one: "
                "use one client"
            )
        while len(self._copies) < clients - 1:
            self._copies.append(self._start_process(len(self._copies) + 1))
            self._copies[-1].load()
        return [first, *self._copies[: clients - 1]]

    def close(self) -> None:
        """Stop the processes."""
        for process in (self._process, *self._copies):
            if process is not None:
                process.close()
        self._process, self._copies = None, []

    def _load_saved(self) -> bool:
        if self.folder.build_record(self.key) is None:
            return False
        try:
            process = self._process = self._start_process()
            if process.description.can_load:
                process.load()
                return True
        except EngineError:  # the saved index is damaged: build it again
            pass
        self.close()
        return False

    def _build(self) -> HostedIndex:
        shutil.rmtree(self.folder.index_folder(self.key), ignore_errors=True)
        self.folder.index_folder(self.key).mkdir(parents=True)
        process = self._process = self._start_process()
        build_result = process.build(self.base)
        self.build_record = {
            "version": build_result.version,
            "build_seconds": build_result.seconds,
            "memory_bytes": build_result.memory_bytes,
            "disk_bytes": build_result.disk_bytes,
        }
        return process

    def _start_process(self, number: int = 0) -> HostedIndex:
        """Start a process; each number gets different processors as far as there are any."""
        return HostedIndex(
            self.build.engine,
            dict(self.build.parameters),
            metric=self.metric,
            d=self.base.d,
            threads=self.build.threads,
            folder=self.folder.index_folder(self.key),
            python=self.build.python,
            memory=self.options.memory,
            timeout=self.options.timeout,
            cpus=choose_cpus(self.build.threads, number),
        )
