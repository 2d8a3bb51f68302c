"""Measure the overhead of the harness: the speed of Assay relative to a bare loop over the same library.

Assay / bare process: passes of a sweep alternate with those of a bare loop in a process without Assay, on the
same processor with one thread; the ratio is the median over rounds. Before each pass there is one search per
query that is not timed: with a longer warm-up, the load of the machine changes between two compared passes.
Assay / bare loop in its process: in the process of a sweep's engine, the code with which Assay times a pass
and a bare loop alternate on the same index and arrays, a few hundred queries each, so nothing else differs.
The memory layout differs between processes, so many are started, and each start is one observation. As the
influence of other work on the machine is unknown, processes are started until the intervals of both ratios
are on one side of `MIN_RATIO`. If they are not after `MAX_STARTS` starts, the benchmark says so and fails.
Run: .venv/bin/python benchmarks/harness.py [--rows 100000]; it takes 15 minutes, more on a shared machine.
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
from bare_loop import K

from assay.bench.sweeps.cases import IndexBuild, RequestMode, TrialCase
from assay.bench.sweeps.folder import SweepFolder
from assay.bench.sweeps.options import SweepOptions
from assay.bench.sweeps.passes import run_pass
from assay.bench.sweeps.restartable_index import RestartableIndex
from assay.core.vectors import MappedVectors, Vectors
from assay.indexes.hosting.hosted import choose_cpus
from assay.stats.intervals import Estimate, estimate
from assay.views.numbers import format_estimate
from assay.views.text import render_markdown

FOLDER = Path(__file__).parent
MIN_RATIO = 0.97  # of the queries per second of a bare loop: the target
CONFIDENCE = 0.99  # of the intervals; high, because they are tested after each start
MIN_STARTS, MAX_STARTS = 10, 60  # of processes
ROUNDS = 40
BUDGETS = (16, 64)
MODES = ("single", "batch")
ENGINES: dict[str, tuple[dict[str, Any], str]] = {
    "faiss.hnsw": ({"M": 16, "efConstruction": 100}, "efSearch"),
    "hnswlib": ({"M": 16, "ef_construction": 100}, "ef"),
}
TimePass = Callable[[str], float]  # queries per second in a mode
TABLE_HEAD = ["engine", "mode", "ef", "starts", "bare process /s", "through Assay /s"]
TABLE_HEAD += ["Assay / bare loop in its process", "Assay / bare process"]


class Start(NamedTuple):
    """The measurements in the processes of one start."""

    bare: float  # queries per second in a whole pass
    assay: float
    process_ratio: float  # Assay / bare process
    loop_ratio: float  # Assay / bare loop in its process


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("-d", type=int, default=96)
    parser.add_argument("--starts", type=int, default=MAX_STARTS, help="maximum number of starts")
    arguments = parser.parse_args()
    starts_by_case: dict[tuple[str, str, int], list[Start]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        register_engines(folder)
        base, queries = write_vectors(folder, arguments.rows, arguments.queries, arguments.d)
        sweep_folder = SweepFolder(folder / "results")
        for engine in ENGINES:
            index = create_index(engine, base, sweep_folder)
            index.start(lambda _: None)  # builds the index, which each start then loads
            index.close()
            for ef in BUDGETS:
                starts_by_case |= {
                    (engine, mode, ef): case_starts
                    for mode, case_starts in run_starts(index, queries, ef, arguments.starts).items()
                }
    rows = [table_row(*case, case_starts) for case, case_starts in starts_by_case.items()]
    print(render_markdown(TABLE_HEAD, rows) + "\n")
    problems = [
        f"{engine} {mode} {ef}: {message}"
        for (engine, mode, ef), case_starts in starts_by_case.items()
        if (message := find_problem(case_starts))
    ]
    print(f"Targets missed: {'; '.join(problems)}" if problems else "All targets are met.")
    sys.exit(bool(problems))


def find_problem(case_starts: list[Start]) -> str:
    """Return what is wrong with the ratios of a case, or an empty string if both meet the target."""
    ratios = estimate_ratios(case_starts)
    if any(map(is_too_slow, ratios)):
        return f"below {MIN_RATIO} of the speed of a bare loop"
    return "" if all(map(is_fast_enough, ratios)) else f"undecided after {len(case_starts)} starts"


def table_row(engine: str, mode: str, ef: int, case_starts: list[Start]) -> list[str]:
    """Return a row of the table."""
    speeds = (median(start.bare for start in case_starts), median(start.assay for start in case_starts))
    ratios = (format_estimate(ratio, 3) for ratio in estimate_ratios(case_starts))
    return [engine, mode, str(ef), str(len(case_starts)), *(f"{speed:,.0f}" for speed in speeds), *ratios]


def register_engines(folder: Path) -> None:
    """Register the engines of harness_engines.py for the processes that are started, as a package would."""
    metadata = folder / "harness_engines-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: harness-engines\nVersion: 1\n", encoding="utf-8"
    )
    (metadata / "entry_points.txt").write_text(
        "[assay.indexes]\n"
        "harness.faiss.hnsw = harness_engines:Faiss\n"
        "harness.hnswlib = harness_engines:Hnswlib\n",
        encoding="utf-8",
    )
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), str(FOLDER)])


def write_vectors(folder: Path, n: int, queries: int, d: int) -> tuple[MappedVectors, MappedVectors]:
    """Write clustered base vectors and queries to files."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 1, (200, d))
    files = []
    for name, count in (("base", n), ("queries", queries)):
        rows = (centres[rng.integers(0, 200, count)] + rng.normal(0, 0.5, (count, d))).astype(np.float32)
        rows.tofile(folder / name)
        files.append(MappedVectors(str(folder / name), rows.shape, rows.dtype))
    return files[0], files[1]


def create_index(engine: str, base: Vectors, folder: SweepFolder) -> RestartableIndex:
    """Return an index as a sweep uses it."""
    build = IndexBuild(f"harness.{engine}", ENGINES[engine][0])
    return RestartableIndex(build, engine, "l2", base, folder, SweepOptions())


def run_starts(
    index: RestartableIndex, queries: MappedVectors, ef: int, limit: int
) -> dict[str, list[Start]]:
    """Start processes until the ratios are decided, and return the starts by mode."""
    starts_by_mode: dict[str, list[Start]] = {mode: [] for mode in MODES}
    for number in range(limit):
        for mode, start in run_start(index, queries, ef, number).items():
            starts_by_mode[mode].append(start)
        ratios = [ratio for mode_starts in starts_by_mode.values() for ratio in estimate_ratios(mode_starts)]
        estimates = ", ".join(format_estimate(ratio, 3) for ratio in ratios)
        print(f"{index.key} ef {ef}, {number + 1} starts: {estimates}", file=sys.stderr)
        if number + 1 >= MIN_STARTS and all(is_fast_enough(ratio) or is_too_slow(ratio) for ratio in ratios):
            break
    return starts_by_mode


def estimate_ratios(case_starts: list[Start]) -> list[Estimate]:
    """Return both ratios over all starts."""
    ratios_by_kind = np.array([[start.loop_ratio, start.process_ratio] for start in case_starts]).T
    return [estimate(ratios, "geometric", CONFIDENCE) for ratios in ratios_by_kind]


def is_fast_enough(ratio: Estimate) -> bool:
    """Return whether the ratio is shown to meet the target."""
    return ratio.low is not None and ratio.low >= MIN_RATIO


def is_too_slow(ratio: Estimate) -> bool:
    """Return whether the ratio is shown to miss the target."""
    return ratio.high is not None and ratio.high < MIN_RATIO


def run_start(index: RestartableIndex, queries: MappedVectors, ef: int, number: int) -> dict[str, Start]:
    """Time both alternately, in random order in each round, and return the medians by mode."""
    with ExitStack() as stack:
        stack.callback(index.close)

        def start_sweep() -> TimePass:
            index.start(lambda _: None)
            return lambda mode: time_sweep_pass(index, queries, ef, mode)

        def start_loop() -> TimePass:
            process = stack.enter_context(start_bare_process(index, queries, ef))
            time_bare_pass(process, "single")  # loads its index before another process starts
            return lambda mode: time_bare_pass(process, mode)

        starters = {"assay": start_sweep, "bare": start_loop}
        order = list(starters)[:: 1 if number % 2 else -1]  # the process that starts first may be slower
        passes = {name: starters[name]() for name in order}
        rng = random.Random(number)
        rounds = {
            mode: [{name: passes[name](mode) for name in rng.sample(order, 2)} for _ in range(ROUNDS)]
            for mode in MODES
        }
        loop_ratios = json.loads(index.process().call("remark", queries))
    return {mode: Start(*medians(rounds[mode]), loop_ratios[mode]) for mode in MODES}


def medians(rounds: list[dict[str, float]]) -> tuple[float, float, float]:
    """Return the medians of both and of their ratio in a round: other work slows both in a round."""
    bare, assay = (median(speeds[name] for speeds in rounds) for name in ("bare", "assay"))
    return bare, assay, median(speeds["assay"] / speeds["bare"] for speeds in rounds)


def time_sweep_pass(index: RestartableIndex, queries: MappedVectors, ef: int, mode: str) -> float:
    """Return the queries per second in a pass of a sweep."""
    case = TrialCase(index.build, {ENGINES[index.key][1]: ef}, RequestMode(mode))
    return len(queries) / run_pass(index, case, queries, K, len(queries), 0).seconds


def start_bare_process(index: RestartableIndex, queries: MappedVectors, ef: int) -> subprocess.Popen[str]:
    """Start the loop without Assay, on the same processor."""
    path = max(index.folder.index_folder(index.key).iterdir(), key=lambda file: file.stat().st_size)
    process = subprocess.Popen(
        [sys.executable, FOLDER / "bare_loop.py", index.key, path, queries.path, str(queries.d), str(ef)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    os.sched_setaffinity(process.pid, choose_cpus(1))
    return process


def time_bare_pass(process: subprocess.Popen[str], mode: str) -> float:
    """Return the queries per second in a pass of the bare loop."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{mode}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


if __name__ == "__main__":
    main()
