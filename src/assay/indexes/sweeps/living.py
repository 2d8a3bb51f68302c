"""An index that is alive in its process, and comes back to life when the process has died."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from assay.core.errors import EngineError
from assay.core.vectors import Vectors
from assay.indexes.hosting.hosted import Hosted, processors
from assay.indexes.sweeps.plan import Build
from assay.indexes.sweeps.results import Results

if TYPE_CHECKING:
    from assay.indexes.sweeps.sweep import Options


class Living:
    """An index of a sweep."""

    def __init__(
        self, build: Build, key: str, metric: str, base: Vectors, results: Results, options: Options
    ) -> None:
        self.build, self.key, self.metric, self.base = build, key, metric, base
        self.results, self.options = results, options
        self.about: dict[str, Any] = {}  # how it was built
        self._hosted: Hosted | None = None
        self._more: list[Hosted] = []  # copies of the index, for clients that cannot share a process

    @property
    def bytes(self) -> int:
        """The memory it holds; as much as the vectors at least, since not all of it is seen."""
        return max(int(self.about.get("memory_bytes") or 0), len(self.base) * self.base.d * 4)

    def begin(self, guard: Callable[[Hosted], bool | None]) -> None:
        """Take up the index where it was left, or build it; see whether it is one."""
        known = self.results.built(self.key)
        if known is not None and self._taken_up():
            self.about = known
            return
        hosted = self._built()
        self.about["indexed"] = guard(hosted)
        self.results.put_built(self.key, self.about)

    def hosted(self) -> Hosted:
        """The process of the index; where it has died, a new one."""
        if self._hosted is None or not all(one.alive for one in (self._hosted, *self._more)):
            self.close()
            if not self._taken_up():
                told = self.about
                self._built()
                self.about = told
                self.results.put_built(self.key, told)
        assert self._hosted is not None
        return self._hosted

    def crew(self, clients: int) -> list[Hosted]:
        """The processes that serve so many clients: one, unless the engine keeps its process to itself."""
        first = self.hosted()
        for hosted in (first, *self._more):
            hosted.turn()
        alone = clients == 1 or not first.described.holds_gil
        first.pin(processors(self.build.threads * (clients if alone else 1)))  # each client has processors
        if alone:
            return [first]
        if not first.described.loads:
            raise EngineError(
                f"{self.build.engine} serves one client in a process and cannot be loaded into a second: "
                "ask with one client"
            )
        while len(self._more) < clients - 1:
            self._more.append(self._new(len(self._more) + 1))
            self._more[-1].load()
        return [first, *self._more[: clients - 1]]

    def close(self) -> None:
        """Let the processes go."""
        for hosted in (self._hosted, *self._more):
            if hosted is not None:
                hosted.close()
        self._hosted, self._more = None, []

    def _taken_up(self) -> bool:
        if self.results.built(self.key) is None:
            return False
        try:
            hosted = self._hosted = self._new()
            if hosted.described.loads:
                hosted.load()
                return True
        except EngineError:  # what was saved is damaged: it is built again
            pass
        self.close()
        return False

    def _built(self) -> Hosted:
        shutil.rmtree(self.results.index(self.key), ignore_errors=True)
        self.results.index(self.key).mkdir(parents=True)
        hosted = self._hosted = self._new()
        made = hosted.build(self.base)
        self.about = {
            "version": made.version,
            "build_seconds": made.seconds,
            "memory_bytes": made.memory_bytes,
            "disk_bytes": made.disk_bytes,
        }
        return hosted

    def _new(self, number: int = 0) -> Hosted:
        """A process; further ones are on other processors, as far as there are any."""
        return Hosted(
            self.build.engine,
            dict(self.build.parameters),
            metric=self.metric,
            d=self.base.d,
            threads=self.build.threads,
            folder=self.results.index(self.key),
            python=self.build.python,
            memory=self.options.memory,
            timeout=self.options.timeout,
            cpus=processors(self.build.threads, number),
        )
