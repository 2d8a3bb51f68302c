"""VSAG, Ant Group's graphs; its Python package searches one query per call.

pyvsag raises no error if VSAG refuses a search, and returns no short lists: the rest of the answer is
uninitialized memory, and the reason is only in the log. So an answer is taken to end at the first position
that is not in the base, is repeated, or is nearer than the previous one.
"""

from __future__ import annotations

import json
from math import inf
from typing import Annotated, Any, ClassVar

import numpy as np
import pyvsag

from assay.core.errors import EngineError, InputError
from assay.core.parameters import Meaning
from assay.core.processes import limit_processors
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup
from assay.indexes.parameter_bounds import require_at_least
from assay.indexes.parameter_meanings import BuildCandidates, LinkCount, SearchCandidates

FILE, COUNT = "index.vsag", "count"
MAX_CANDIDATES = 1000  # VSAG refuses more


class _Graph(Index):
    """The base class of both graphs."""

    package = "pyvsag"
    holds_gil = True
    kind: ClassVar[str]
    parameter_key: ClassVar[str]  # the key of the parameters for building
    smallest_search: ClassVar[dict[str, Any]] = {"ef_search": 1}
    search_parameters: str

    def __init__(self, setup: Setup, graph: dict[str, Any]) -> None:
        super().__init__(setup)
        self.n = 0
        # for vectors of unit length the inner product, l2 and the cosine give the same order
        options = {"dtype": "float32", "metric_type": "ip" if setup.metric == "ip" else "l2", "dim": setup.d}
        self.index = pyvsag.Index(self.kind, json.dumps({**options, self.parameter_key: graph}))

    def build(self, vectors: Rows) -> None:
        """Build the graph."""
        n, d = vectors.shape
        self.index.build(np.ascontiguousarray(vectors).ravel(), np.arange(n), n, d)
        self.n = n

    def _set_parameters(self, ef_search: int, **options: Any) -> None:
        if not 1 <= ef_search <= MAX_CANDIDATES:
            raise InputError(f"ef_search must be between 1 and {MAX_CANDIDATES} in VSAG, found {ef_search}")
        self.search_parameters = json.dumps({self.kind: {"ef_search": ef_search, **options}})

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the positions of the k nearest vectors to each query, one query per call."""
        table = np.full((len(queries), k), -1, np.int64)
        search_one, parameters, n = self.index.knn_search, self.search_parameters, self.n
        for row, query in zip(table, queries, strict=True):
            ids, distances = search_one(query, k, parameters)
            positions, distance_list = ids.tolist(), distances.tolist()
            if (
                len(set(positions)) == k
                and min(positions) >= 0
                and max(positions) < n
                and sorted(distance_list) == distance_list
            ):
                row[:] = ids  # the usual case
            else:
                count = valid_length(positions, distance_list, n)
                row[:count] = ids[:count]
        return table

    def save(self) -> None:
        """Write the index to a file."""
        self.index.save(str(self.setup.folder / FILE))


class HGraph(_Graph):
    """A hierarchical graph over codes (`fp32`: uncompressed), reordered if `use_reorder` is set.

    Many equal vectors disconnect the graph unless `support_duplicate` is set.
    """

    kind, parameter_key = "hgraph", "index_param"

    def __init__(
        self,
        setup: Setup,
        *,
        max_degree: LinkCount = 32,
        ef_construction: BuildCandidates = 300,
        base_quantization_type: Annotated[
            str, Meaning("how the vectors in the graph are stored, such as fp32, sq8 or pq")
        ] = "fp32",
        use_reorder: Annotated[
            bool, Meaning("whether candidates are compared again with more precise vectors")
        ] = False,
        precise_quantization_type: Annotated[
            str, Meaning("how the vectors to compare again are stored")
        ] = "fp32",
        support_duplicate: Annotated[
            bool, Meaning("whether equal vectors share a node; many need it")
        ] = False,
    ) -> None:
        graph = {
            "max_degree": max_degree,
            "ef_construction": ef_construction,
            "base_quantization_type": base_quantization_type,
            "use_reorder": use_reorder,
            "precise_quantization_type": precise_quantization_type,
            "support_duplicate": support_duplicate,
            "build_thread_count": setup.threads,
        }
        super().__init__(setup, graph)

    def set_search(self, *, ef_search: SearchCandidates = 64) -> None:
        """Set the number of candidates; VSAG uses k if this is smaller."""
        self._set_parameters(ef_search)

    def save(self) -> None:
        """Write the index to one file and the number of its vectors to another."""
        super().save()
        (self.setup.folder / COUNT).write_text(str(self.n))

    def load(self) -> None:
        """Read the index from its file."""
        self.index.load(str(self.setup.folder / FILE))
        self.n = int((self.setup.folder / COUNT).read_text())


class DiskANN(_Graph):
    """VSAG's own DiskANN, with its codes in memory.

    Its inner product returns wrong vectors, so it is not supported. pyvsag crashes when it searches a loaded
    index, so `load` is not implemented.
    """

    kind, parameter_key = "diskann", "diskann"
    metrics = ("l2", "cosine")

    def __init__(
        self,
        setup: Setup,
        *,
        max_degree: LinkCount = 32,
        ef_construction: BuildCandidates = 200,
        pq_dims: Annotated[
            int | None, Meaning("parts of a vector that are quantized", 1, unset="d / 2")
        ] = None,
        pq_sample_rate: Annotated[float, Meaning("share of the vectors to train with", 0, 1)] = 0.5,
    ) -> None:
        graph = {
            "max_degree": max_degree,
            "ef_construction": ef_construction,
            "pq_dims": pq_dims or max(1, setup.d // 2),
            "pq_sample_rate": pq_sample_rate,
        }
        limit_processors(setup.threads)  # pyvsag cannot set the number of threads that read
        super().__init__(setup, graph)

    def set_search(
        self,
        *,
        ef_search: SearchCandidates = 64,
        beam_search: Annotated[int, Meaning("nodes that are read from disk at a time", 1)] = 4,
        io_limit: Annotated[int, Meaning("nodes that a search reads in total", 1)] = 200,
    ) -> None:
        """Set the number of candidates, of reads at a time and of reads in total."""
        require_at_least(1, beam_search=beam_search, io_limit=io_limit)
        self._set_parameters(ef_search, beam_search=beam_search, io_limit=io_limit)


def valid_length(positions: list[int], distances: list[float], n: int) -> int:
    """Return how many of the positions are valid.

    >>> valid_length([4, 2, 9_000, 1], [0.1, 0.2, 0.3, 0.4], n=5)
    2
    """
    valid: set[int] = set()
    previous = -inf
    for position, distance in zip(positions, distances, strict=True):
        if not (0 <= position < n and distance >= previous) or position in valid:
            break
        valid.add(position)
        previous = distance
    if not valid:
        raise EngineError("VSAG refused the search and returned nothing; see its log for the reason")
    return len(valid)
