"""DiskANN, the Vamana graph, in memory or on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar

import diskannpy
import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup
from assay.indexes.parameter_bounds import require_at_least
from assay.indexes.parameter_meanings import BuildCandidates, LinkCount, SearchCandidates

PREFIX = "ann"
MAX_BEAM_WIDTH = 128  # DiskANN ends the process above this
Links = Callable[[int], NDArray[np.uint32]]


class _Vamana(Index):
    """The base class of both forms.

    With NumPy 2, the search of diskannpy for one query returns its first answer k times, so the search for
    several is always used. It returns uninitialized memory if fewer than k vectors can be reached, so no more
    are requested than can be reached.
    """

    package = "diskannpy"
    holds_gil = True
    index: Any
    search_options: dict[str, int]

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        # for vectors of unit length l2 and the cosine give the same order
        self.measure = "mips" if setup.metric == "ip" else "l2"
        self._reachable_nodes = (0, False)  # number of nodes counted, and whether these are all

    def _graph(self) -> tuple[int, Links]:
        """Return the node where a search starts, and a function that returns the links of a node."""
        raise NotImplementedError

    def _reachable_count(self, k: int) -> int:
        """Return the number of nodes that can be reached, up to k."""
        count, is_complete = self._reachable_nodes
        if count < k and not is_complete:
            count = count_reachable(*self._graph(), enough=2 * k)
            self._reachable_nodes = (count, count < 2 * k)
        return min(count, k)

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the positions of the k nearest vectors to each query, with at least k candidates."""
        count = k if k <= self._reachable_nodes[0] else self._reachable_count(k)
        options = (
            self.search_options
            if self.search_options["complexity"] >= k
            else {**self.search_options, "complexity": k}
        )
        answers = self.index.batch_search(queries, count, num_threads=self.setup.threads, **options)
        positions: Positions = answers.identifiers.astype(np.int64)
        return positions if count == k else np.pad(positions, ((0, 0), (0, k - count)), constant_values=-1)

    def _load_built(self) -> None:
        """Delete the copy of the vectors from which diskannpy builds, then load the index."""
        (self.setup.folder / f"{PREFIX}_vectors.bin").unlink()
        self.load()


class Memory(_Vamana):
    """The graph in memory."""

    smallest_search: ClassVar[dict[str, Any]] = {"complexity": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        graph_degree: LinkCount = 64,
        complexity: BuildCandidates = 100,
        alpha: Annotated[
            float, Meaning("how much longer a link may be than the shortest path to its node", 1)
        ] = 1.2,
    ) -> None:
        super().__init__(setup)
        self.graph = {"graph_degree": graph_degree, "complexity": complexity, "alpha": alpha}

    def build(self, vectors: Rows) -> None:
        """Build the graph."""
        diskannpy.build_memory_index(
            vectors, self.measure, str(self.setup.folder), num_threads=self.setup.threads,
            use_pq_build=False, num_pq_bytes=0, use_opq=False, **self.graph,
        )  # fmt: skip
        self._load_built()

    def set_search(self, *, complexity: SearchCandidates = 64) -> None:
        """Set the number of candidates."""
        require_at_least(1, complexity=complexity)
        self.search_options = {"complexity": complexity}

    def load(self) -> None:
        """Read the graph and the vectors into memory."""
        self.index = diskannpy.StaticMemoryIndex(str(self.setup.folder), self.setup.threads, 128)
        self._reachable_count(1000)

    def _graph(self) -> tuple[int, Links]:
        return memory_links(self.setup.folder / PREFIX)


class Disk(_Vamana):
    """The graph and the vectors on disk, their codes in memory; the memory limits are in GB.

    It is opened for at least two threads, because it deadlocks if opened for one; a search uses the requested
    number of threads.
    """

    smallest_search: ClassVar[dict[str, Any]] = {"complexity": 1, "beam_width": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        graph_degree: LinkCount = 64,
        complexity: BuildCandidates = 100,
        search_memory_maximum: Annotated[
            float, Meaning("GB of memory for searching, which limits the compressed vectors", 0)
        ] = 0.1,
        build_memory_maximum: Annotated[float, Meaning("GB of memory for building", 0)] = 4.0,
        num_nodes_to_cache: Annotated[int, Meaning("nodes near the entry that are kept in memory", 0)] = 0,
    ) -> None:
        super().__init__(setup)
        self.graph = {"graph_degree": graph_degree, "complexity": complexity}
        self.limits = {
            "search_memory_maximum": search_memory_maximum,
            "build_memory_maximum": build_memory_maximum,
        }
        self.cached_nodes = num_nodes_to_cache

    def build(self, vectors: Rows) -> None:
        """Train the codes, build the graph and write it to disk."""
        diskannpy.build_disk_index(
            vectors, self.measure, str(self.setup.folder), num_threads=self.setup.threads,
            **self.graph, **self.limits,
        )  # fmt: skip
        self._load_built()

    def set_search(
        self,
        *,
        complexity: SearchCandidates = 64,
        beam_width: Annotated[int, Meaning("nodes that are read from disk at a time", 1, MAX_BEAM_WIDTH)] = 2,
    ) -> None:
        """Set the number of candidates and the number of nodes read at a time."""
        require_at_least(1, complexity=complexity, beam_width=beam_width)
        if beam_width > MAX_BEAM_WIDTH:
            raise InputError(f"beam_width must be {MAX_BEAM_WIDTH} or less in DiskANN, found {beam_width}")
        self.search_options = {"complexity": complexity, "beam_width": beam_width}

    def load(self) -> None:
        """Read the codes into memory and open the graph."""
        self.index = diskannpy.StaticDiskIndex(
            str(self.setup.folder),
            max(2, self.setup.threads),
            self.cached_nodes,
            1 if self.cached_nodes else 0,
        )
        self._reachable_count(1000)

    def _graph(self) -> tuple[int, Links]:
        return disk_links(self.setup.folder / f"{PREFIX}_disk.index")


def count_reachable(start: int, links: Links, enough: int) -> int:
    """Return the number of nodes that can be reached from the start, counting until there are enough.

    >>> count_reachable(0, {0: [1], 1: [0], 2: [0]}.__getitem__, enough=10)
    2
    """
    visited, waiting = {start}, [start]
    while waiting and len(visited) < enough:
        new = set(map(int, links(waiting.pop()))) - visited
        visited |= new
        waiting.extend(new)
    return min(len(visited), enough)


def memory_links(path: Path) -> tuple[int, Links]:
    """Return the start and the links of a graph file: a header, then the count and links of each node."""
    words = np.memmap(path, np.uint32, "r")
    places, counts, at = [], words.data, 6
    while at < len(words):
        places.append(at)
        at += 1 + counts[at]
    return int(words[3]), lambda node: words[places[node] + 1 : places[node] + 1 + words[places[node]]]


def disk_links(path: Path) -> tuple[int, Links]:
    """Return the start and the links of a graph on disk: nodes of equal size in sectors of 4096 bytes."""
    raw = np.memmap(path, np.uint8, "r")
    _, d, start, size, in_sector = (int(x) for x in raw[8:48].view(np.uint64))

    def links(node: int) -> NDArray[np.uint32]:
        sector, slot = divmod(node, in_sector) if in_sector else (node * -(-size // 4096), 0)
        at = 4096 * (1 + sector) + slot * size
        words = raw[at : at + size].view(np.uint32)[d:]
        return words[1 : 1 + words[0]]

    return start, links
