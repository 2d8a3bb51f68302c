"""What the harness costs: queries per second through Assay beside a bare loop over the same library.

Both search the same saved index, each in a process of its own on the same processor with one thread, in
turns. Run: .venv/bin/python benchmarks/harness.py [--rows 100000]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from assay.core.vectors import Mapped, Vectors
from assay.indexes.hosted import Hosted, processors
from assay.views.text import markdown

K = 10
ROUNDS = 9
BARE = """
import json, sys, time
import numpy as np
engine, path, queries_path, d, ef = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
queries = np.fromfile(queries_path, np.float32).reshape(-1, d)
if engine == "faiss.hnsw":
    import faiss
    faiss.omp_set_num_threads(1)
    index = faiss.read_index(path)
    index.hnsw.efSearch = ef
    def search(rows):
        return index.search(rows, 10)
else:
    import hnswlib
    index = hnswlib.Index("l2", d)
    index.load_index(path)
    index.set_ef(ef)
    def search(rows):
        return index.knn_query(rows, 10, num_threads=1)
rows = [queries[i : i + 1] for i in range(len(queries))]
search(queries[:100])
for line in sys.stdin:
    begin = time.perf_counter()
    if line.strip() == "batch":
        search(queries)
    else:
        for row in rows:
            search(row)
    print(json.dumps(len(queries) / (time.perf_counter() - begin)), flush=True)
"""
ENGINES: dict[str, tuple[dict[str, Any], str, str]] = {
    "faiss.hnsw": ({"M": 16, "efConstruction": 100}, "efSearch", "*"),
    "hnswlib": ({"M": 16, "ef_construction": 100}, "ef", "*"),
}


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=5_000)
    parser.add_argument("-d", type=int, default=96)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base, queries = made(Path(folder), arguments.rows, arguments.queries, arguments.d)
        rows = [row for name in ENGINES for row in compared(name, base, queries, Path(folder) / name)]
    print(
        markdown(["engine", "mode", "ef", "bare loop /s", "through Assay /s", "ratio (least … most)"], rows)
    )


def made(folder: Path, n: int, queries: int, d: int) -> tuple[Mapped, Mapped]:
    """Clustered vectors in files."""
    rng = np.random.default_rng(0)
    middles = rng.normal(0, 1, (200, d))
    found = []
    for name, count in (("base", n), ("queries", queries)):
        rows = (middles[rng.integers(0, 200, count)] + rng.normal(0, 0.5, (count, d))).astype(np.float32)
        rows.tofile(folder / name)
        found.append(Mapped(str(folder / name), rows.shape, rows.dtype))
    return found[0], found[1]


def compared(engine: str, base: Vectors, queries: Mapped, folder: Path) -> list[list[str]]:
    """Both, in turns, for each mode and two budgets."""
    build, name, pattern = ENGINES[engine]
    folder.mkdir()
    made = []
    with Hosted(engine, build, metric="l2", d=base.d, folder=folder) as index:
        index.build(base)
        path = next(p for p in folder.glob(pattern) if p.is_file())
        for ef in (16, 64):
            index.ask("set_search", {name: ef})
            index.ask("warm", queries, K, 100)
            with bare(engine, path, queries, ef) as process:
                for mode in ("single", "batch"):
                    made.append([engine, mode, str(ef), *figures(index, process, queries, mode)])
    return made


def bare(engine: str, path: Path, queries: Mapped, ef: int) -> subprocess.Popen[str]:
    """The loop without Assay, on the same processor."""
    arguments = [engine, str(path), queries.path, str(queries.d), str(ef)]
    process = subprocess.Popen(
        [sys.executable, "-c", BARE, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    os.sched_setaffinity(process.pid, processors(1))
    return process


def figures(index: Hosted, process: subprocess.Popen[str], queries: Vectors, mode: str) -> list[str]:
    """Queries per second of both, and their ratio round by round."""
    assert process.stdin is not None
    assert process.stdout is not None
    ours, theirs = [], []
    for _ in range(ROUNDS):
        process.stdin.write(f"{mode}\n")
        process.stdin.flush()
        theirs.append(float(json.loads(process.stdout.readline())))
        ours.append(len(queries) / index.ask(mode, queries, K).seconds)
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    said = f"{median(ratios):.3f} ({ratios[0]:.3f} … {ratios[-1]:.3f})"
    return [f"{median(theirs):,.0f}", f"{median(ours):,.0f}", said]


if __name__ == "__main__":
    main()
