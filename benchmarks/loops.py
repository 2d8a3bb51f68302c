"""A bare loop over a library, which `harness.py` holds Assay against; nothing of Assay is loaded here."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

K = 10
Search = Callable[[Any], Any]


def searcher(engine: str, index: Any) -> Search:
    """How a library is asked."""
    if engine == "faiss.hnsw":
        return lambda rows: index.search(rows, K)
    return lambda rows: index.knn_query(rows, K, num_threads=1)


def opened(engine: str, path: str, d: int, ef: int) -> Any:
    """The index of a file, with one thread."""
    if engine == "faiss.hnsw":
        import faiss

        faiss.omp_set_num_threads(1)
        index = faiss.read_index(path)
        index.hnsw.efSearch = ef
        return index
    import hnswlib

    index = hnswlib.Index("l2", d)
    index.load_index(path)
    index.set_num_threads(1)
    index.set_ef(ef)
    return index


def split(queries: Any) -> list[Any]:
    """Each query by itself."""
    return [queries[i : i + 1] for i in range(len(queries))]


def one_by_one(search: Search, rows: list[Any]) -> float:
    """The seconds that searches for each row take; the answers are dropped."""
    begin = time.perf_counter()
    for row in rows:
        search(row)
    return time.perf_counter() - begin


def at_once(search: Search, queries: Any) -> float:
    """The seconds that one search for all takes."""
    begin = time.perf_counter()
    search(queries)
    return time.perf_counter() - begin


def main(engine: str, path: str, queries_path: str, d: str, ef: str) -> None:
    """A pass for each line of the input, which names the mode, after one that is not timed."""
    queries = np.fromfile(queries_path, np.float32).reshape(-1, int(d))
    search = searcher(engine, opened(engine, path, int(d), int(ef)))
    rows = split(queries)

    def made(mode: str) -> float:
        return one_by_one(search, rows) if mode == "single" else at_once(search, queries)

    for mode in sys.stdin:
        made(mode.strip())
        print(len(rows) / made(mode.strip()), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
