"""What the harness costs: queries per second through Assay beside a bare loop over the same library.

beside a process: passes as a sweep makes them, and of bare loops in two processes without Assay, all on the
same processor with one thread, each after searches that are not timed, in turns; the ratio of a round, and of
them the median. How much the two bare ones differ means nothing.
in its process: where a sweep has its engine, the code that Assay times with and a bare loop search the same
index for the same arrays, a few hundred queries each in turns, so that nothing else differs and a busy
neighbour slows both.
The check (`LEAST`) holds to the medians of both.
Where memory comes to lie differs from process to process, so many are started, and each start counts once.
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
from itertools import permutations
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from loops import K

from assay.core.vectors import Mapped, Vectors
from assay.indexes.hosting.hosted import processors
from assay.indexes.sweeps.living import Living
from assay.indexes.sweeps.plan import Asking, Build, Case
from assay.indexes.sweeps.results import Results
from assay.indexes.sweeps.running import run
from assay.indexes.sweeps.sweep import Options
from assay.views.text import markdown

HERE = Path(__file__).parent
LEAST = 0.97  # of the queries per second of a bare loop
ROUNDS = 12
TURNS = 3  # of all queries, in its process
STARTS = 6  # of processes, in each order once: who is started first may be slower
BUDGETS = (16, 64)
MODES = ("single", "batch")
ENGINES: dict[str, tuple[dict[str, Any], str]] = {
    "faiss.hnsw": ({"M": 16, "efConstruction": 100}, "efSearch"),
    "hnswlib": ({"M": 16, "ef_construction": 100}, "ef"),
}
Passes = Callable[[], dict[str, float]]  # queries per second by mode
HEAD = ["engine", "mode", "ef", "bare process /s", "through Assay /s"]


class Start(NamedTuple):
    """What was found in the processes of one start."""

    bare: float  # queries per second of a whole pass
    assay: float
    shares: tuple[float, float, float]


RATIOS = ("Assay / bare loop in its process", "Assay / bare process", "bare process / another")


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("-d", type=int, default=96)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        offer(folder)
        base, queries = made(folder, arguments.rows, arguments.queries, arguments.d)
        results = Results(folder / "results")
        starts = {}
        for engine in ENGINES:
            index = living(engine, base, results)
            index.begin(lambda _: None)  # it is built, and taken up by each start
            index.close()
            for ef in BUDGETS:
                starts[engine, ef] = [started(index, queries, ef, number) for number in range(STARTS)]
    rows, slow = [], []
    for (engine, ef), found in starts.items():
        for mode in MODES:
            taken = [by_mode[mode] for by_mode in found]
            ratios = list(map(list, zip(*(start.shares for start in taken), strict=True)))
            speeds = [median(start.bare for start in taken), median(start.assay for start in taken)]
            rows.append(
                [engine, mode, str(ef), *(f"{speed:,.0f}" for speed in speeds), *map(quartiles, ratios)]
            )
            if min(map(median, ratios[:2])) < LEAST:
                slow.append(" ".join(rows[-1][:3]))
    print(markdown([*HEAD, *RATIOS], rows))
    print("\n" + (f"Slower than {LEAST} of a bare loop: {', '.join(slow)}" if slow else "All of it holds."))
    sys.exit(bool(slow))


def offer(folder: Path) -> None:
    """Offer the engines with a loop in them to the processes that are started, as another package would."""
    about = folder / "looping-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: looping\nVersion: 1\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(
        "[assay.indexes]\nlooping.faiss.hnsw = looping:Faiss\nlooping.hnswlib = looping:Hnswlib\n",
        encoding="utf-8",
    )
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), str(HERE)])


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


def living(engine: str, base: Vectors, results: Results) -> Living:
    """An index as a sweep has it."""
    build = Build(f"looping.{engine}", ENGINES[engine][0])
    return Living(build, engine, "l2", base, results, Options())


def started(index: Living, queries: Mapped, ef: int, number: int) -> dict[str, Start]:
    """Everyone in turns, in another order each round; by mode."""
    with ExitStack() as stack:
        stack.callback(index.close)

        def sweep() -> Passes:
            index.begin(lambda _: None)
            return lambda: through(index, queries, ef)

        def loop() -> Passes:
            process = stack.enter_context(bare(index, queries, ef))
            passed(process)  # its index is in memory before another process takes some
            return lambda: passed(process)

        begin: dict[str, Callable[[], Passes]]
        begin = {"assay": sweep, "bare": loop, "twin": loop}
        orders = list(permutations(begin))
        order = orders[number % len(orders)]
        asked = {name: begin[name]() for name in order}
        found: dict[str, list[dict[str, float]]] = {name: [] for name in begin}
        for turn in range(ROUNDS):
            for name in random.Random(number * ROUNDS + turn).sample(order, len(order)):
                found[name].append(asked[name]())
        shares = [json.loads(index.hosted().ask("remark", queries)) for _ in range(TURNS)]
    return {mode: of_mode(found, [one[mode] for one in shares], mode) for mode in MODES}


def of_mode(found: dict[str, list[dict[str, float]]], shares: list[float], mode: str) -> Start:
    """Medians of the rounds: neighbours slow those of one round alike."""
    assay, bare, twin = ([one[mode] for one in found[name]] for name in ("assay", "bare", "twin"))
    rounds = list(zip(assay, bare, twin, strict=True))
    beside = median(2 * a / (b + t) for a, b, t in rounds)
    return Start(median(bare), median(assay), (median(shares), beside, median(t / b for _, b, t in rounds)))


def through(index: Living, queries: Mapped, ef: int) -> dict[str, float]:
    """Queries per second of passes as a sweep makes them."""
    search = {ENGINES[index.key][1]: ef}
    cases = {mode: Case(index.build, search, Asking(mode)) for mode in MODES}
    passes = {mode: run(index, case, queries, K, index.options.warmup, 0) for mode, case in cases.items()}
    return {mode: len(queries) / made.seconds for mode, made in passes.items()}


def bare(index: Living, queries: Mapped, ef: int) -> subprocess.Popen[str]:
    """The loop without Assay, on the same processor."""
    path = max(index.results.index(index.key).iterdir(), key=lambda file: file.stat().st_size)
    process = subprocess.Popen(
        [sys.executable, HERE / "loops.py", index.key, path, queries.path, str(queries.d), str(ef)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    os.sched_setaffinity(process.pid, processors(1))
    return process


def passed(process: subprocess.Popen[str]) -> dict[str, float]:
    """Queries per second of a bare loop."""
    assert process.stdin is not None
    assert process.stdout is not None
    found = {}
    for mode in MODES:
        process.stdin.write(f"{mode}\n")
        process.stdin.flush()
        found[mode] = float(process.stdout.readline())
    return found


def quartiles(ratios: list[float]) -> str:
    """The median of ratios with their quartiles."""
    ordered = sorted(ratios)
    low, high = ordered[len(ordered) // 4], ordered[-1 - len(ordered) // 4]
    return f"{median(ordered):.3f} ({low:.3f} … {high:.3f})"


if __name__ == "__main__":
    main()
