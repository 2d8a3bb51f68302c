"""What the harness costs: queries per second through Assay beside a bare loop over the same library.

beside a process: passes as a sweep makes them, and of a bare loop in a process without Assay, on the same
processor with one thread, in turns; the ratio of a round, and of them the median. Each pass follows a warm-up
of one search for each query: with a longer one, neighbours change between two passes that are compared.
in its process: where a sweep has its engine, the code that Assay times with and a bare loop search the same
index for the same arrays, a few hundred queries each in turns, so that nothing else differs.
Where memory comes to lie differs from process to process, so many are started, and each start counts once.
How much neighbours move it is not known before, so processes are started until the intervals of both ratios
lie on one side of `LEAST`; where they do not after `MOST` starts, that is said, and it does not hold.
Run: .venv/bin/python benchmarks/harness.py [--rows 100000]; a quarter of an hour, more among neighbours.
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
from assay.stats.intervals import Estimate, estimate
from assay.views.estimates import with_interval
from assay.views.text import markdown

HERE = Path(__file__).parent
LEAST = 0.97  # of the queries per second of a bare loop
LEVEL = 0.99  # of the intervals: they are looked at again and again
FEWEST, MOST = 10, 60  # starts of processes
ROUNDS = 40
BUDGETS = (16, 64)
MODES = ("single", "batch")
ENGINES: dict[str, tuple[dict[str, Any], str]] = {
    "faiss.hnsw": ({"M": 16, "efConstruction": 100}, "efSearch"),
    "hnswlib": ({"M": 16, "ef_construction": 100}, "ef"),
}
Pass = Callable[[str], float]  # queries per second in a mode
HEAD = ["engine", "mode", "ef", "starts", "bare process /s", "through Assay /s"]
HEAD += ["Assay / bare loop in its process", "Assay / bare process"]


class Start(NamedTuple):
    """What was found in the processes of one start."""

    bare: float  # queries per second of a whole pass
    assay: float
    beside: float  # Assay / bare process
    inside: float  # Assay / bare loop in its process


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("-d", type=int, default=96)
    parser.add_argument("--starts", type=int, default=MOST, help="at most")
    arguments = parser.parse_args()
    found: dict[tuple[str, str, int], list[Start]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        offer(folder)
        base, queries = made(folder, arguments.rows, arguments.queries, arguments.d)
        results = Results(folder / "results")
        for engine in ENGINES:
            index = living(engine, base, results)
            index.begin(lambda _: None)  # it is built, and taken up by each start
            index.close()
            for ef in BUDGETS:
                found |= {
                    (engine, mode, ef): taken
                    for mode, taken in starts(index, queries, ef, arguments.starts).items()
                }
    print(markdown(HEAD, [row(*case, taken) for case, taken in found.items()]) + "\n")
    wrong = [
        f"{engine} {mode} {ef}: {said}"
        for (engine, mode, ef), taken in found.items()
        if (said := problem(taken))
    ]
    print(f"Does not hold: {'; '.join(wrong)}" if wrong else "All of it holds.")
    sys.exit(bool(wrong))


def problem(taken: list[Start]) -> str:
    """What is wrong with the ratios of a case; nothing where it is shown to hold."""
    ratios = summed(taken)
    if any(map(lost, ratios)):
        return f"slower than {LEAST} of a bare loop"
    return "" if all(map(kept, ratios)) else f"not decided in {len(taken)} starts"


def row(engine: str, mode: str, ef: int, taken: list[Start]) -> list[str]:
    """A row of the table."""
    speeds = (median(start.bare for start in taken), median(start.assay for start in taken))
    ratios = (with_interval(ratio, 3) for ratio in summed(taken))
    return [engine, mode, str(ef), str(len(taken)), *(f"{speed:,.0f}" for speed in speeds), *ratios]


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


def starts(index: Living, queries: Mapped, ef: int, most: int) -> dict[str, list[Start]]:
    """As many starts as it takes to decide; by mode."""
    found: dict[str, list[Start]] = {mode: [] for mode in MODES}
    for number in range(most):
        for mode, start in started(index, queries, ef, number).items():
            found[mode].append(start)
        ratios = [ratio for taken in found.values() for ratio in summed(taken)]
        said = ", ".join(with_interval(ratio, 3) for ratio in ratios)
        print(f"{index.key} ef {ef}, {number + 1} starts: {said}", file=sys.stderr)
        if number + 1 >= FEWEST and all(kept(ratio) or lost(ratio) for ratio in ratios):
            break
    return found


def summed(taken: list[Start]) -> list[Estimate]:
    """Both ratios over all starts."""
    both = np.array([[start.inside, start.beside] for start in taken]).T
    return [estimate(ratios, "geometric", LEVEL) for ratios in both]


def kept(ratio: Estimate) -> bool:
    """Whether the harness is shown to cost less than is allowed."""
    return ratio.low is not None and ratio.low >= LEAST


def lost(ratio: Estimate) -> bool:
    """Whether the harness is shown to cost more than is allowed."""
    return ratio.high is not None and ratio.high < LEAST


def started(index: Living, queries: Mapped, ef: int, number: int) -> dict[str, Start]:
    """Both in turns, who is first by chance; by mode."""
    with ExitStack() as stack:
        stack.callback(index.close)

        def sweep() -> Pass:
            index.begin(lambda _: None)
            return lambda mode: through(index, queries, ef, mode)

        def loop() -> Pass:
            process = stack.enter_context(bare(index, queries, ef))
            passed(process, "single")  # its index is in memory before another process takes some
            return lambda mode: passed(process, mode)

        begin = {"assay": sweep, "bare": loop}
        order = list(begin)[:: 1 if number % 2 else -1]  # who is started first may be slower
        asked = {name: begin[name]() for name in order}
        chance = random.Random(number)
        rounds = {
            mode: [{name: asked[name](mode) for name in chance.sample(order, 2)} for _ in range(ROUNDS)]
            for mode in MODES
        }
        inside = json.loads(index.hosted().ask("remark", queries))
    return {mode: Start(*medians(rounds[mode]), inside[mode]) for mode in MODES}


def medians(rounds: list[dict[str, float]]) -> tuple[float, float, float]:
    """Of both, and of their ratio: neighbours slow those of one round alike."""
    bare, assay = (median(found[name] for found in rounds) for name in ("bare", "assay"))
    return bare, assay, median(found["assay"] / found["bare"] for found in rounds)


def through(index: Living, queries: Mapped, ef: int, mode: str) -> float:
    """Queries per second of a pass as a sweep makes it."""
    case = Case(index.build, {ENGINES[index.key][1]: ef}, Asking(mode))
    return len(queries) / run(index, case, queries, K, len(queries), 0).seconds


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


def passed(process: subprocess.Popen[str], mode: str) -> float:
    """Queries per second of a bare loop."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{mode}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


if __name__ == "__main__":
    main()
