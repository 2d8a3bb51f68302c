"""What the harness costs: queries per second through Assay beside a bare loop over the same library.

All search the same saved index, each in a process of its own on the same processor with one thread, in turns.
There are two bare loops: how much they differ from each other is how much means nothing.
Run: .venv/bin/python benchmarks/harness.py [--rows 100000]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from assay.core.vectors import Mapped, Vectors
from assay.indexes.hosted import Hosted, processors
from assay.views.text import markdown

K = 10
ROUNDS = 6
PAIRS = 4
Round = tuple[float, float, float]  # queries per second: through Assay, and of two bare loops
Bare = subprocess.Popen[str]
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
search(queries)
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
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("-d", type=int, default=96)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base, queries = made(Path(folder), arguments.rows, arguments.queries, arguments.d)
        rows = [row for name in ENGINES for row in compared(name, base, queries, Path(folder) / name)]
    head = [
        "engine",
        "mode",
        "ef",
        "bare loop /s",
        "through Assay /s",
        "Assay / bare (quartiles)",
        "bare / bare",
    ]
    print(markdown(head, rows))


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
    """Both, in turns, for each mode and two budgets, in several pairs of new processes."""
    build, name, pattern = ENGINES[engine]
    folder.mkdir()
    with Hosted(engine, build, metric="l2", d=base.d, folder=folder) as index:
        index.build(base)
    path = next(p for p in folder.glob(pattern) if p.is_file())
    taken: dict[tuple[str, int], list[Round]] = {}
    for _ in range(PAIRS):  # where memory comes to lie differs from process to process
        with Hosted(engine, build, metric="l2", d=base.d, folder=folder) as index:
            index.load()  # as the bare loop does: what was built lies otherwise in memory
            for ef in (16, 64):
                index.ask("set_search", {name: ef})
                index.ask("warm", queries, K, len(queries))
                with bare(engine, path, queries, ef) as one, bare(engine, path, queries, ef) as twin:
                    for mode in ("single", "batch"):
                        taken.setdefault((mode, ef), []).extend(rounds(index, one, twin, queries, mode))
    return [[engine, mode, str(ef), *figures(found)] for (mode, ef), found in taken.items()]


def bare(engine: str, path: Path, queries: Mapped, ef: int) -> Bare:
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


def rounds(index: Hosted, one: Bare, twin: Bare, queries: Vectors, mode: str) -> list[Round]:
    """Queries per second through Assay and of two bare loops, in another order each round."""
    asked: list[Callable[[], float]] = [
        lambda: float(len(queries) / index.timed(queries, K, mode).seconds),
        lambda: passed(one, mode),
        lambda: passed(twin, mode),
    ]
    made = []
    for number in range(ROUNDS):
        found = [0.0] * 3
        for which in random.Random(number).sample(range(3), 3):
            found[which] = asked[which]()
        made.append((found[0], found[1], found[2]))
    return made


def passed(process: Bare, mode: str) -> float:
    """Queries per second of one pass of a bare loop."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{mode}\n")
    process.stdin.flush()
    return float(json.loads(process.stdout.readline()))


def figures(found: list[Round]) -> list[str]:
    """The medians, the ratio to both bare loops, and the ratio of these, which is the noise."""
    mine = [f"{median(column):,.0f}" for column in ([one[1] for one in found], [one[0] for one in found])]
    return [*mine, quartiles([2 * a / (b + c) for a, b, c in found]), quartiles([c / b for _, b, c in found])]


def quartiles(ratios: list[float]) -> str:
    """The median of ratios with their quartiles."""
    ordered = sorted(ratios)
    low, high = ordered[len(ordered) // 4], ordered[-1 - len(ordered) // 4]
    return f"{median(ordered):.3f} ({low:.3f} … {high:.3f})"


if __name__ == "__main__":
    main()
