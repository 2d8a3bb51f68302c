"""What the harness costs: queries per second through Assay beside a bare loop over the same library.

in one process: the code that Assay times with and a bare loop search the same index for the same arrays in
turns, so that nothing else differs. This is what the harness costs, and the check (`LEAST`) holds to it.
in processes of their own: what a sweep starts, beside two processes with a bare loop, all on the same
processor with one thread, in turns. How much the two bare ones differ is how much means nothing.
Where memory comes to lie differs from process to process, so both start many, and each start counts once.
Run: .venv/bin/python benchmarks/harness.py [--rows 100000]; it takes a quarter of an hour.
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
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from assay.core.vectors import Mapped, Vectors
from assay.indexes.hosting.hosted import Hosted, processors
from assay.views.text import markdown

K = 10
LEAST = 0.97  # of the queries per second of a bare loop
ROUNDS = 3
STARTS = 8  # of processes
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
    index.set_num_threads(1)  # Assay does, and searches this very index beside the loop
    index.set_ef(ef)
    def search(rows):
        return index.knn_query(rows, 10, num_threads=1)
rows = [queries[i : i + 1] for i in range(len(queries))]
def loop(mode):
    begin = time.perf_counter()
    if mode == "batch":
        search(queries)
    else:
        for row in rows:
            search(row)
    return len(queries) / (time.perf_counter() - begin)
"""
APART = """
loop("batch")
for line in sys.stdin:
    print(json.dumps(loop(line.strip())), flush=True)
"""
WITHIN = """
from pathlib import Path
from assay.core.vectors import Mapped
from assay.indexes.index import Setup
from assay.indexes.hosting.worker import Worker
worker = Worker()
worker.open(engine, {}, Setup("l2", d, 1, Path(path).parent))
worker.index.index = index
asked = Mapped(queries_path, queries.shape, np.dtype(np.float32))
worker.ready(asked, np.arange(len(queries)))
queries, rows = worker._rows(asked), worker._requests
def through(mode):
    timed = worker.batch(asked, 10) if mode == "batch" else worker.single(10)
    return len(queries) / timed.seconds
for mode in ("single", "batch"):
    through(mode), loop(mode)
    for number in range(int(sys.argv[6])):
        both = [through, loop][:: 1 if number % 2 else -1]
        found = {one: one(mode) for one in both}
        print(json.dumps([mode, found[through], found[loop]]), flush=True)
"""
ENGINES: dict[str, tuple[dict[str, Any], str]] = {
    "faiss.hnsw": ({"M": 16, "efConstruction": 100}, "efSearch"),
    "hnswlib": ({"M": 16, "ef_construction": 100}, "ef"),
}
HEAD = ["engine", "mode", "ef", "bare loop /s", "through Assay /s", "Assay / bare (quartiles)"]
BUDGETS = (16, 64)
MODES = ("single", "batch")


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("-d", type=int, default=96)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base, queries = made(Path(folder), arguments.rows, arguments.queries, arguments.d)
        saved = {name: built(name, base, Path(folder) / name) for name in ENGINES}
        inside = [row for name, path in saved.items() for row in within(name, path, queries)]
        beside = [row for name, path in saved.items() for row in compared(name, path, queries)]
    print("In one process, on the same index:\n")
    print(markdown(HEAD, inside))
    print("\nIn processes of their own:\n")
    print(markdown([*HEAD, "bare / bare"], beside))
    slow = [" ".join(row[:3]) for row in inside if float(row[-1].split()[0]) < LEAST]
    print("\n" + (f"Slower than {LEAST} of a bare loop: {', '.join(slow)}" if slow else "All of it holds."))
    sys.exit(bool(slow))


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


def built(engine: str, base: Vectors, folder: Path) -> Path:
    """The file of an index."""
    folder.mkdir()
    with Hosted(engine, ENGINES[engine][0], metric="l2", d=base.d, folder=folder) as index:
        index.build(base)
    return next(path for path in folder.iterdir() if path.is_file())


def within(engine: str, path: Path, queries: Mapped) -> list[list[str]]:
    """Both on one index, in turns."""
    rows = []
    for ef in BUDGETS:
        starts = [started(engine, path, queries, ef) for _ in range(STARTS)]
        for mode in MODES:
            pairs = [found[mode] for found in starts]
            loops, mine = (
                f"{median(column):,.0f}" for column in zip(*[(b, a) for a, b in pairs], strict=True)
            )
            rows.append([engine, mode, str(ef), loops, mine, quartiles([a / b for a, b in pairs])])
    return rows


def started(engine: str, path: Path, queries: Mapped, ef: int) -> dict[str, tuple[float, float]]:
    """Queries per second through Assay and of the loop beside it, by mode, in one process."""
    with bare(engine, path, queries, ef, WITHIN, str(2 * ROUNDS)) as process:
        found = [json.loads(line) for line in process.communicate()[0].splitlines()]
    assert process.returncode == 0
    return {
        mode: tuple(
            median(column) for column in zip(*[both for of, *both in found if of == mode], strict=True)
        )
        for mode in MODES
    }


def compared(engine: str, path: Path, queries: Mapped) -> list[list[str]]:
    """In processes of their own, in turns, for each mode and budget; each start counts once."""
    taken: dict[tuple[str, int], list[Round]] = {}
    for number, ef in product(range(STARTS), BUDGETS):
        with ExitStack() as stack:
            ours: Any = partial(hosted, engine, path, queries, ef)
            theirs: Any = partial(bare, engine, path, queries, ef)
            order = random.Random(number).sample([ours, theirs, theirs], 3)  # who comes first lies otherwise
            started: list[Any] = [stack.enter_context(which()) for which in order]
            (index,) = (one for one in started if isinstance(one, Hosted))
            one, twin = (one for one in started if not isinstance(one, Hosted))
            for mode in MODES:
                found = rounds(index, one, twin, queries, mode)
                middle = [median(column) for column in zip(*found, strict=True)]
                taken.setdefault((mode, ef), []).append((middle[0], middle[1], middle[2]))
    return [[engine, mode, str(ef), *figures(found)] for (mode, ef), found in taken.items()]


def hosted(engine: str, path: Path, queries: Mapped, ef: int) -> Hosted:
    """What a sweep starts, warm."""
    build, name = ENGINES[engine]
    index = Hosted(engine, build, metric="l2", d=queries.d, folder=path.parent)
    index.load()
    index.ask("set_search", {name: ef})
    index.ask("warm", queries, K, len(queries))
    return index


def bare(engine: str, path: Path, queries: Mapped, ef: int, then: str = APART, *more: str) -> Bare:
    """The loop without Assay, on the same processor."""
    arguments = [engine, str(path), queries.path, str(queries.d), str(ef), *more]
    process = subprocess.Popen(
        [sys.executable, "-c", BARE + then, *arguments],
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
