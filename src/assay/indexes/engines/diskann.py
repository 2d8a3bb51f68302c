"""DiskANN: the Vamana graph, in memory or read from a disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import diskannpy
import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vectors import Positions
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Rows, Setup

PREFIX = "ann"
WIDEST = 128  # nodes read at a time; DiskANN ends the process beyond it
Links = Callable[[int], NDArray[np.uint32]]


class _Vamana(Index):
    """What both forms have in common: one call for one query or many, and lists that may be short.

    diskannpy's search of one query returns its first answer k times under NumPy 2; that of many is sound.
    It leaves whatever was in memory where fewer than k can be reached, so it is never asked for more.
    """

    package = "diskannpy"
    holds_gil = True
    index: Any
    how: dict[str, int]

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        # vectors of unit length are ordered by l2 as by the cosine
        self.measure = "mips" if setup.metric == "ip" else "l2"
        self._reach = (0, False)  # how many nodes were counted, and whether these are all

    def _graph(self) -> tuple[int, Links]:
        """The node where a search starts, and the links of each."""
        raise NotImplementedError

    def _reachable(self, k: int) -> int:
        """How many nodes can be reached, counted no further than k."""
        count, all_of_them = self._reach
        if count < k and not all_of_them:
            count = reachable(*self._graph(), enough=2 * k)
            self._reach = (count, count < 2 * k)
        return min(count, k)

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query; no fewer than k candidates are held."""
        most = k if k <= self._reach[0] else self._reachable(k)
        how = self.how if self.how["complexity"] >= k else {**self.how, "complexity": k}
        found = self.index.batch_search(queries, most, num_threads=self.setup.threads, **how)
        made: Positions = found.identifiers.astype(np.int64)
        return made if most == k else np.pad(made, ((0, 0), (0, k - most)), constant_values=-1)

    def _built(self) -> None:
        """Forget the copy of the vectors that diskannpy builds from."""
        (self.setup.folder / f"{PREFIX}_vectors.bin").unlink()
        self.load()


class Memory(_Vamana):
    """The graph in memory."""

    least: ClassVar[dict[str, Any]] = {"complexity": 1}

    def __init__(
        self, setup: Setup, *, graph_degree: int = 64, complexity: int = 100, alpha: float = 1.2
    ) -> None:
        super().__init__(setup)
        self.graph = {"graph_degree": graph_degree, "complexity": complexity, "alpha": alpha}

    def build(self, vectors: Rows) -> None:
        """Link the vectors."""
        diskannpy.build_memory_index(
            vectors, self.measure, str(self.setup.folder), num_threads=self.setup.threads,
            use_pq_build=False, num_pq_bytes=0, use_opq=False, **self.graph,
        )  # fmt: skip
        self._built()

    def set_search(self, *, complexity: int = 64) -> None:
        """Set how many candidates are held."""
        at_least(1, complexity=complexity)
        self.how = {"complexity": complexity}

    def load(self) -> None:
        """Read the graph and the vectors into memory."""
        self.index = diskannpy.StaticMemoryIndex(str(self.setup.folder), self.setup.threads, 128)
        self._reachable(1000)

    def _graph(self) -> tuple[int, Links]:
        return memory_links(self.setup.folder / PREFIX)


class Disk(_Vamana):
    """The graph and the vectors on a disk, their codes in memory; the memory limits are in GB.

    It is opened for two threads at least, because opened for one it waits for itself for ever; a search
    uses as many as it is told to.
    """

    least: ClassVar[dict[str, Any]] = {"complexity": 1, "beam_width": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        graph_degree: int = 64,
        complexity: int = 100,
        search_memory_maximum: float = 0.1,
        build_memory_maximum: float = 4.0,
        num_nodes_to_cache: int = 0,
    ) -> None:
        super().__init__(setup)
        self.graph = {"graph_degree": graph_degree, "complexity": complexity}
        self.limits = {
            "search_memory_maximum": search_memory_maximum,
            "build_memory_maximum": build_memory_maximum,
        }
        self.cached = num_nodes_to_cache

    def build(self, vectors: Rows) -> None:
        """Train the codes, link the vectors and lay them out on the disk."""
        diskannpy.build_disk_index(
            vectors, self.measure, str(self.setup.folder), num_threads=self.setup.threads,
            **self.graph, **self.limits,
        )  # fmt: skip
        self._built()

    def set_search(self, *, complexity: int = 64, beam_width: int = 2) -> None:
        """Set how many candidates are held and how many nodes are read at a time."""
        at_least(1, complexity=complexity, beam_width=beam_width)
        if beam_width > WIDEST:
            raise InputError(f"beam_width is {WIDEST} or less in DiskANN, found {beam_width}")
        self.how = {"complexity": complexity, "beam_width": beam_width}

    def load(self) -> None:
        """Read the codes into memory and open the graph."""
        self.index = diskannpy.StaticDiskIndex(
            str(self.setup.folder), max(2, self.setup.threads), self.cached, 1 if self.cached else 0
        )
        self._reachable(1000)

    def _graph(self) -> tuple[int, Links]:
        return disk_links(self.setup.folder / f"{PREFIX}_disk.index")


def reachable(start: int, links: Links, enough: int) -> int:
    """How many nodes can be reached from the start, counted until there are enough.

    >>> reachable(0, {0: [1], 1: [0], 2: [0]}.__getitem__, enough=10)
    2
    """
    seen, waiting = {start}, [start]
    while waiting and len(seen) < enough:
        new = set(map(int, links(waiting.pop()))) - seen
        seen |= new
        waiting.extend(new)
    return min(len(seen), enough)


def memory_links(path: Path) -> tuple[int, Links]:
    """The start and the links of a graph as DiskANN writes it: a header, then each node's count and links."""
    words = np.memmap(path, np.uint32, "r")
    places, counts, at = [], words.data, 6
    while at < len(words):
        places.append(at)
        at += 1 + counts[at]
    return int(words[3]), lambda node: words[places[node] + 1 : places[node] + 1 + words[places[node]]]


def disk_links(path: Path) -> tuple[int, Links]:
    """The start and the links of a graph on disk: nodes of one size, packed into sectors of 4096 bytes."""
    raw = np.memmap(path, np.uint8, "r")
    _, d, start, size, in_sector = (int(x) for x in raw[8:48].view(np.uint64))

    def links(node: int) -> NDArray[np.uint32]:
        sector, slot = divmod(node, in_sector) if in_sector else (node * -(-size // 4096), 0)
        at = 4096 * (1 + sector) + slot * size
        words = raw[at : at + size].view(np.uint32)[d:]
        return words[1 : 1 + words[0]]

    return start, links
