"""A bare loop over a library, with which `harness.py` compares Assay; it does not import Assay."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

K = 10
Search = Callable[[Any], Any]


def bind_search(engine: str, index: Any) -> Search:
    """Return the search function of an index."""
    if engine == "faiss.hnsw":
        return lambda rows: index.search(rows, K)
    return lambda rows: index.knn_query(rows, K, num_threads=1)


def open_index(engine: str, path: str, d: int, ef: int) -> Any:
    """Open an index file, with one thread."""
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


def split_queries(queries: Any) -> list[Any]:
    """Return each query as an array of one row."""
    return [queries[i : i + 1] for i in range(len(queries))]


def time_single(search: Search, rows: list[Any]) -> float:
    """Return the seconds of a search for each row; the answers are discarded."""
    begin = time.perf_counter()
    for row in rows:
        search(row)
    return time.perf_counter() - begin


def time_batch(search: Search, queries: Any) -> float:
    """Return the seconds of one search for all queries."""
    begin = time.perf_counter()
    search(queries)
    return time.perf_counter() - begin


def main(engine: str, path: str, queries_path: str, d: str, ef: str) -> None:
    """For each input line, which names the mode, time a pass after one that is not timed."""
    queries = np.fromfile(queries_path, np.float32).reshape(-1, int(d))
    search = bind_search(engine, open_index(engine, path, int(d), int(ef)))
    rows = split_queries(queries)

    def run_pass(mode: str) -> float:
        return time_single(search, rows) if mode == "single" else time_batch(search, queries)

    for mode in sys.stdin:
        run_pass(mode.strip())
        print(len(rows) / run_pass(mode.strip()), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
