"""VSAG: Ant Group's graphs; its Python package searches for one query at a time.

pyvsag raises no error where VSAG refuses a search, and gives no short lists: the answer goes on with what was
in memory, and the reason is in the log. So it is taken to end where it cannot go on: at a position that is
not in the base or was there before, or at one that is nearer than the last.
"""

from __future__ import annotations

import json
import os
from math import inf
from typing import Any, ClassVar

import numpy as np
import pyvsag

from assay.core.errors import EngineError, InputError
from assay.core.vectors import Positions
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Rows, Setup

FILE, COUNT = "index.vsag", "count"
WIDEST = 1000  # candidates; beyond it VSAG refuses


class _Graph(Index):
    """What both have in common."""

    package = "pyvsag"
    holds_gil = True
    kind: ClassVar[str]
    said: ClassVar[str]  # the name under which the parameters of building are told
    least: ClassVar[dict[str, Any]] = {"ef_search": 1}
    how: str

    def __init__(self, setup: Setup, graph: dict[str, Any]) -> None:
        super().__init__(setup)
        self.n = 0
        # vectors of unit length are ordered by the inner product and l2 as by the cosine
        told = {"dtype": "float32", "metric_type": "ip" if setup.metric == "ip" else "l2", "dim": setup.d}
        self.index = pyvsag.Index(self.kind, json.dumps({**told, self.said: graph}))

    def build(self, vectors: Rows) -> None:
        """Link the vectors."""
        n, d = vectors.shape
        self.index.build(np.ascontiguousarray(vectors).ravel(), np.arange(n), n, d)
        self.n = n

    def _set(self, ef_search: int, **others: Any) -> None:
        if not 1 <= ef_search <= WIDEST:
            raise InputError(f"ef_search is between 1 and {WIDEST} in VSAG, found {ef_search}")
        self.how = json.dumps({self.kind: {"ef_search": ef_search, **others}})

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query, one query after another."""
        made = np.full((len(queries), k), -1, np.int64)
        ask, how, n = self.index.knn_search, self.how, self.n
        for row, query in zip(made, queries, strict=True):
            found, distances = ask(query, k, how)
            positions, away = found.tolist(), distances.tolist()
            if (
                len(set(positions)) == k
                and min(positions) >= 0
                and max(positions) < n
                and sorted(away) == away
            ):
                row[:] = found  # as nearly always
            else:
                count = answered(positions, away, n)
                row[:count] = found[:count]
        return made

    def save(self) -> None:
        """Write the index to one file."""
        self.index.save(str(self.setup.folder / FILE))


class HGraph(_Graph):
    """A hierarchical graph over codes (`fp32`: the vectors as they are), with a second look if `use_reorder`.

    Many equal vectors cut it in pieces unless `support_duplicate` is set.
    """

    kind, said = "hgraph", "index_param"

    def __init__(
        self,
        setup: Setup,
        *,
        max_degree: int = 32,
        ef_construction: int = 300,
        base_quantization_type: str = "fp32",
        use_reorder: bool = False,
        precise_quantization_type: str = "fp32",
        support_duplicate: bool = False,
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

    def set_search(self, *, ef_search: int = 64) -> None:
        """Set how many candidates are held; VSAG holds k where this is smaller."""
        self._set(ef_search)

    def save(self) -> None:
        """Write the index to a file, and the number of its vectors to another."""
        super().save()
        (self.setup.folder / COUNT).write_text(str(self.n))

    def load(self) -> None:
        """Read the index from its file."""
        self.index.load(str(self.setup.folder / FILE))
        self.n = int((self.setup.folder / COUNT).read_text())


class DiskANN(_Graph):
    """VSAG's own DiskANN, with its codes in memory.

    Its inner product finds the wrong vectors, so it is not listed; pyvsag crashes when it searches what was
    loaded, so it is not loaded.
    """

    kind, said = "diskann", "diskann"
    metrics = ("l2", "cosine")

    def __init__(
        self,
        setup: Setup,
        *,
        max_degree: int = 32,
        ef_construction: int = 200,
        pq_dims: int | None = None,
        pq_sample_rate: float = 0.5,
    ) -> None:
        graph = {
            "max_degree": max_degree,
            "ef_construction": ef_construction,
            "pq_dims": pq_dims or max(1, setup.d // 2),
            "pq_sample_rate": pq_sample_rate,
        }
        _keep_to(setup.threads)
        super().__init__(setup, graph)

    def set_search(self, *, ef_search: int = 64, beam_search: int = 4, io_limit: int = 200) -> None:
        """Set how many candidates are held, how many are read at a time and in all."""
        at_least(1, beam_search=beam_search, io_limit=io_limit)
        self._set(ef_search, beam_search=beam_search, io_limit=io_limit)


def _keep_to(threads: int) -> None:
    """Keep to as many processors as there are threads: pyvsag cannot say how many threads are to read."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


def answered(found: list[int], distances: list[float], n: int) -> int:
    """How many of the positions are an answer.

    >>> answered([4, 2, 9_000, 1], [0.1, 0.2, 0.3, 0.4], n=5)
    2
    """
    seen: set[int] = set()
    last = -inf
    for position, distance in zip(found, distances, strict=True):
        if not (0 <= position < n and distance >= last) or position in seen:
            break
        seen.add(position)
        last = distance
    if not seen:
        raise EngineError("VSAG refused the search and returned nothing; its log says why")
    return len(seen)
