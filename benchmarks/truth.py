"""Measure the speed, the memory and the correctness of exact neighbours, compared with faiss.

speed: Assay and `faiss.IndexFlat` with its defaults alternate on the same vectors in memory, each in its own
process with two threads, from the vectors to the neighbours. faiss copies the vectors into its index first;
its search alone is reported too. The limit is the speed of a matrix product alone (sgemm of NumPy).
memory: a base in a file that is larger than the address space of the process.
exact: bytes compared with brute force on integers. ray: two local workers compared with one process.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import report
from numpy.typing import NDArray
from report import print_progress
from tools import peak_megabytes, time_call

K = 100
CLUSTERS = 1000
PACKAGES = ("assay", "numpy", "faiss-cpu", "ray")


@dataclass(frozen=True)
class SearchCase:
    """The shape of the vectors, the target ratio to faiss, and the target share of the limit."""

    n: int
    d: int
    queries: int
    ratio: float
    share: float

    @property
    def name(self) -> str:
        return f"{self.n:,} × {self.d}, {self.queries:,} queries"


FULL = (
    SearchCase(1_000_000, 96, 1_000, 4.0, 0.6),
    SearchCase(1_000_000, 96, 10_000, 1.3, 0.6),
    SearchCase(200_000, 768, 1_000, 1.0, 0.85),
    SearchCase(200_000, 768, 10_000, 1.0, 0.85),
)
QUICK = (SearchCase(20_000, 96, 200, 0.0, 0.0), SearchCase(5_000, 768, 200, 0.0, 0.0))


def clustered_vectors(n: int, d: int, seed: int) -> NDArray[np.float32]:
    """Generate vectors around common centres, in blocks."""
    centres = np.random.default_rng(d).standard_normal((CLUSTERS, d), np.float32)
    rng, vectors = np.random.default_rng(seed), np.empty((n, d), np.float32)
    for start in range(0, n, 100_000):
        block = vectors[start : start + 100_000]
        rng.standard_normal(out=block, dtype=np.float32)
        block += centres[rng.integers(0, CLUSTERS, len(block))]
    return vectors


# run in a process of their own


def assay_truth(base: NDArray[Any], queries: NDArray[Any], threads: int) -> Callable[[], NDArray[np.int64]]:
    from assay.core.vectors import InMemoryVectors
    from assay.indexes.exact.truth import truth

    return lambda: truth(InMemoryVectors(base), InMemoryVectors(queries), K, "l2", threads=threads).positions


def faiss_flat(base: NDArray[Any], queries: NDArray[Any], threads: int) -> Callable[[], NDArray[np.int64]]:
    import faiss

    faiss.omp_set_num_threads(threads)

    def run_search() -> NDArray[np.int64]:
        """Add the vectors, which is timed separately too, and search."""
        index = faiss.IndexFlatL2(base.shape[1])
        ADD_SECONDS.append(time_call(lambda: index.add(base))[1])
        return index.search(queries, K)[1]  # type: ignore[no-any-return]

    return run_search


ADD_SECONDS = [0.0]  # of each faiss index; Assay adds no vectors
TOOLS = {"assay": assay_truth, "faiss": faiss_flat}


def time_search(tool: str, folder: str, count: str, threads: str) -> dict[str, float]:
    """Time one search by one tool, after a small search that is not timed."""
    base, queries = np.load(f"{folder}/base.npy"), np.load(f"{folder}/queries.npy")[: int(count)]
    run_search = TOOLS[tool](base, queries, int(threads))
    TOOLS[tool](base[:2000], queries[:64], int(threads))()
    positions, wall, cpu = time_call(run_search)
    np.save(f"{folder}/{tool}.npy", positions)
    return {"wall": wall, "search": wall - ADD_SECONDS[-1], "cpu": cpu, "peak": peak_megabytes()}


def measure_gemm(side: str) -> dict[str, float]:
    """Return the best rate of a product of square matrices, in operations per second."""
    size = int(side)
    a = np.random.default_rng(0).standard_normal((size, size), np.float32)
    out = np.empty_like(a)
    return {"rate": max(2 * size**3 / time_call(lambda: np.matmul(a, a, out=out))[1] for _ in range(6))}


def time_search_in_limited_memory(folder: str, rows: str, spare: str) -> dict[str, float]:
    """Search a file in an address space that is limited to the present one plus `spare` bytes."""
    import resource

    from assay.core.vectors import InMemoryVectors, MappedVectors
    from assay.indexes.exact.truth import truth

    queries = InMemoryVectors(np.load(f"{folder}/few.npy"))
    base = MappedVectors(f"{folder}/large", (int(rows), queries.d), np.dtype(np.float32))
    truth(queries, queries, 2, "l2", threads=2)
    address_space = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (address_space + int(spare), address_space + int(spare)))
    neighbors, wall, cpu = time_call(lambda: truth(base, queries, K, "l2", threads=2))
    np.save(f"{folder}/limited.npy", neighbors.positions)
    return {"wall": wall, "cpu": cpu, "peak": peak_megabytes()}


CHILDREN: dict[str, Callable[..., dict[str, float]]] = {
    "search": time_search,
    "gemm": measure_gemm,
    "limited": time_search_in_limited_memory,
}


def run_process(*arguments: object, threads: int = 2) -> dict[str, float]:
    """Run a function of CHILDREN in its own process and return what it measured."""
    command = [sys.executable, __file__, "--child", *map(str, arguments)]
    thread_settings = {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    process = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **thread_settings}
    )
    return dict(json.loads(process.stdout.splitlines()[-1]))


# speed


def speed_section(cases: Sequence[SearchCase], reps: int, threads: int) -> tuple[str, list[str]]:
    """Compare Assay with faiss and with the limit."""
    rows, problems = [], []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            row, case_problems = compare_case(case, reps, threads, folder)
            rows.append(row)
            problems += case_problems
    head = [
        "base",
        "assay, s",
        "faiss, s",
        "faiss / assay",
        "its search alone, s",
        "alone / assay",
        "share of GEMM",
        "faiss's alone",
        "GEMM, GFLOP/s",
        "same ids",
        "peak, MB",
    ]
    title = f"## Exact neighbours, k = {K}, l2, {threads} threads"
    note = "The limit is the best rate of a product of large matrices alone, measured before each repetition."
    return "\n\n".join([title, note, report.format_table(head, rows)]), problems


def write_vectors(case: SearchCase, folder: str) -> None:
    path = Path(folder, "base.npy")
    if not path.exists() or np.load(path, mmap_mode="r").shape != (case.n, case.d):
        np.save(path, clustered_vectors(case.n, case.d, 1))
    np.save(Path(folder, "queries.npy"), clustered_vectors(case.queries, case.d, 2))


def compare_case(case: SearchCase, reps: int, threads: int, folder: str) -> tuple[list[str], list[str]]:
    """Return a row of the table, and the missed targets."""
    write_vectors(case, folder)
    timings: dict[str, list[dict[str, float]]] = {tool: [] for tool in TOOLS}
    gemm_rate = 0.0
    for rep in range(reps):
        gemm_rate = max(gemm_rate, run_process("gemm", 4000, threads=threads)["rate"])
        for tool in TOOLS:
            print_progress(f"speed {rep + 1}/{reps}: {case.name}, {tool}")
            timings[tool].append(run_process("search", tool, folder, case.queries, threads, threads=threads))
    walls = {tool: [timing["wall"] for timing in group] for tool, group in timings.items()}
    ratios = [theirs / ours for ours, theirs in zip(walls["assay"], walls["faiss"], strict=True)]
    gemm_seconds = 2.0 * case.n * case.d * case.queries / gemm_rate
    search_walls = [timing["search"] for timing in timings["faiss"]]
    search_ratios = [theirs / ours for ours, theirs in zip(walls["assay"], search_walls, strict=True)]
    shares = {
        "assay": [gemm_seconds / wall for wall in walls["assay"]],
        "faiss": [gemm_seconds / wall for wall in search_walls],
    }
    agreement = shared_neighbors(folder)
    row = [
        case.name,
        report.format_spread(walls["assay"]),
        report.format_spread(walls["faiss"]),
        report.format_spread(ratios, "×"),
        report.format_spread(search_walls),
        report.format_spread(search_ratios, "×"),
    ]
    row += [report.format_spread(shares["assay"]), report.format_spread(shares["faiss"])]
    row += [f"{gemm_rate / 1e9:.0f}", f"{agreement:.5f}"]
    row.append(report.format_number(max(timing["peak"] for timing in timings["assay"])))
    return row, missed_targets(case, median(search_ratios), max(shares["assay"]), agreement)


def shared_neighbors(folder: str) -> float:
    """Return the share of neighbours that both tools return."""
    ours, theirs = (np.load(f"{folder}/{tool}.npy") for tool in TOOLS)
    common = [len(np.intersect1d(*pair)) for pair in zip(ours, theirs, strict=True)]
    return float(np.mean(common) / ours.shape[1])


def missed_targets(case: SearchCase, ratio: float, share: float, agreement: float) -> list[str]:
    """Return the targets of a case that are missed."""
    problems = []
    if ratio < case.ratio:
        problems.append(f"{case.name}: {ratio:.3f} times as fast as faiss's search, expected {case.ratio}")
    if share < case.share:
        problems.append(f"{case.name}: {share:.3f} of the limit, expected {case.share}")
    if agreement < 0.999:
        problems.append(f"{case.name}: only {agreement:.5f} of the neighbours are those of faiss")
    return problems


# memory


def memory_section(rows: int, spare: int) -> tuple[str, list[str]]:
    """Search a file that is larger than the address space; it is sparse, so it uses little of the disk."""
    print_progress("memory")
    with tempfile.TemporaryDirectory() as folder:
        vectors = clustered_vectors(2 * K, 192, 3) + 100
        positions = np.linspace(1, rows - 1, len(vectors)).astype(int)
        with open(f"{folder}/large", "wb") as file:
            for row, position in zip(vectors, positions.tolist(), strict=True):
                file.seek(position * row.nbytes)
                file.write(row.tobytes())
        np.save(f"{folder}/few.npy", vectors)
        size = os.path.getsize(f"{folder}/large")
        timing = run_process("limited", folder, rows, spare)
        squares = ((vectors[:, None].astype(np.float64) - vectors[None]) ** 2).sum(axis=2)
        is_correct = np.array_equal(
            np.load(f"{folder}/limited.npy"), positions[np.argsort(squares, 1, "stable")[:, :K]]
        )
    head = ["file, MB", "additional address space, MB", "peak, MB", "s", "correct"]
    cells = [report.format_number(v) for v in (size / 1e6, spare / 1e6, timing["peak"], timing["wall"])]
    title = f"## A base of {rows:,} × 192 in a limited address space"
    problems = [] if is_correct else ["the search in limited memory returns wrong neighbours"]
    return f"{title}\n\n" + report.format_table(head, [[*cells, "yes" if is_correct else "no"]]), problems


# exact


def exact_section(n: int) -> tuple[str, list[str]]:
    """Compare the neighbours of bytes, and their squared distances, with brute force on integers."""
    from assay.core.vectors import InMemoryVectors
    from assay.indexes.exact.truth import truth

    print_progress("exact")
    rng = np.random.default_rng(4)
    base, queries = (rng.integers(0, 256, (count, 128)).astype(np.uint8) for count in (n, 100))
    base[n // 2 :] = base[: n - n // 2]
    neighbors = truth(InMemoryVectors(base), InMemoryVectors(queries), K, "l2")
    assert neighbors.distances is not None
    exact_rows = 0
    rows = zip(queries.astype(np.int64), neighbors.positions, neighbors.distances, strict=True)
    for query, positions, distances in rows:
        squares = ((base - query) ** 2).sum(axis=1)
        order = np.lexsort((np.arange(n), squares))[:K]
        exact_rows += bool(
            np.array_equal(order, positions) and np.array_equal(squares[order], np.rint(distances**2))
        )
    cells = [f"{n:,} × 128", f"{exact_rows} of {len(queries)}"]
    problems = [] if exact_rows == len(queries) else ["the neighbours of bytes are not exact"]
    return "## Bytes compared with integers\n\n" + report.format_table(
        ["base, each twice", "same rows"], [cells]
    ), problems


def ray_section(n: int) -> tuple[str, list[str]]:
    """Compare two local workers of Ray with one process."""
    import ray

    from assay.core.vectors import InMemoryVectors
    from assay.indexes.exact.sharding import RayRunner
    from assay.indexes.exact.truth import truth

    print_progress("ray")
    base, queries = (
        InMemoryVectors(clustered_vectors(n, 96, 5)),
        InMemoryVectors(clustered_vectors(500, 96, 6)),
    )
    runner = RayRunner("local", 2)
    runner.part_count()  # starts Ray, which is not timed
    (single, single_seconds, _), (distributed, distributed_seconds, _) = (
        time_call(lambda: truth(base, queries, K, "l2", threads=2)),
        time_call(lambda: truth(base, queries, K, "l2", runner=runner, parts=4)),
    )
    ray.shutdown()
    is_same = np.array_equal(single.positions, distributed.positions) and np.array_equal(
        single.distances, distributed.distances
    )
    cells = [
        f"{n:,} × 96, 500 queries",
        *map(report.format_number, (single_seconds, distributed_seconds)),
        "yes" if is_same else "no",
    ]
    head = ["base", "one process, s", "two workers, s", "same bits"]
    return "## Ray\n\n" + report.format_table(head, [cells]), [] if is_same else [
        "Ray returns other neighbours than one process"
    ]


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sections = ("speed", "memory", "exact", "ray")
    parser.add_argument(
        "--only", nargs="+", choices=sections, default=sections, metavar="NAME", help=str(sections)
    )
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--case", type=int, nargs="+", help="numbers of the cases of `speed` to run, from 1 (default: all)"
    )
    parser.add_argument("--quick", action="store_true", help="small numbers, to check that everything works")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main() -> None:
    arguments = parse_arguments()
    if arguments.child:
        print(json.dumps(CHILDREN[arguments.child[0]](*arguments.child[1:])))
        return
    is_quick, numbered_cases = arguments.quick, enumerate(QUICK if arguments.quick else FULL, 1)
    cases = [case for number, case in numbered_cases if not arguments.case or number in arguments.case]
    sections: dict[str, Callable[[], tuple[str, list[str]]]] = {
        "speed": lambda: speed_section(cases, 1 if is_quick else arguments.reps, arguments.threads),
        "memory": lambda: memory_section(700_000 if is_quick else 2_000_000, 400 << 20),
        "exact": lambda: exact_section(2_000 if is_quick else 50_000),
        "ray": lambda: ray_section(5_000 if is_quick else 200_000),
    }
    print(report.machine_heading(PACKAGES))
    report.print_sections(sections[name] for name in arguments.only)


if __name__ == "__main__":
    main()
