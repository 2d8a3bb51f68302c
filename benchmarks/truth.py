"""Exact neighbours: how fast beside faiss, how near to the limit, in how little memory, and whether right.

speed: Assay and `faiss.IndexFlat` as it comes on the same vectors in memory, in turns, each in a process of
its own with two threads, from the vectors to the neighbours (faiss copies the vectors into its index first,
and its search alone is told too); and the share of what a product of matrices alone reaches (sgemm of NumPy).
memory: a base in a file that is larger than the address space given to the process.
exact: bytes beside brute force with integers. ray: two local workers beside one process.
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
from tools import clocked, peak

K = 100
CLUSTERS = 1000
PACKAGES = ("assay", "numpy", "faiss-cpu", "ray")


@dataclass(frozen=True)
class Case:
    """Vectors of some shape, by how much to beat faiss on them, and the share of the limit aimed at."""

    n: int
    d: int
    queries: int
    ratio: float
    share: float

    @property
    def name(self) -> str:
        return f"{self.n:,} × {self.d}, {self.queries:,} queries"


FULL = (
    Case(1_000_000, 96, 1_000, 4.0, 0.6),
    Case(1_000_000, 96, 10_000, 1.3, 0.6),
    Case(200_000, 768, 1_000, 1.0, 0.85),
    Case(200_000, 768, 10_000, 1.0, 0.85),
)
QUICK = (Case(20_000, 96, 200, 0.0, 0.0), Case(5_000, 768, 200, 0.0, 0.0))


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def clustered(n: int, d: int, seed: int) -> NDArray[np.float32]:
    """Vectors around common centres, some at a time."""
    centres = np.random.default_rng(d).standard_normal((CLUSTERS, d), np.float32)
    rng, made = np.random.default_rng(seed), np.empty((n, d), np.float32)
    for start in range(0, n, 100_000):
        part = made[start : start + 100_000]
        rng.standard_normal(out=part, dtype=np.float32)
        part += centres[rng.integers(0, CLUSTERS, len(part))]
    return made


# in a process of its own


def ours(base: NDArray[Any], queries: NDArray[Any], threads: int) -> Callable[[], NDArray[np.int64]]:
    from assay.core.vectors import Held
    from assay.indexes.exact.truth import truth

    return lambda: truth(Held(base), Held(queries), K, "l2", threads=threads).positions


def faiss_flat(base: NDArray[Any], queries: NDArray[Any], threads: int) -> Callable[[], NDArray[np.int64]]:
    import faiss

    faiss.omp_set_num_threads(threads)

    def work() -> NDArray[np.int64]:
        """The vectors are added first: an index has none; how long that takes is told apart."""
        index = faiss.IndexFlatL2(base.shape[1])
        ADDED.append(clocked(lambda: index.add(base))[1])
        return index.search(queries, K)[1]  # type: ignore[no-any-return]

    return work


ADDED = [0.0]  # seconds
TOOLS = {"assay": ours, "faiss": faiss_flat}


def search(tool: str, folder: str, count: str, threads: str) -> dict[str, float]:
    """One search by one tool, after a small one."""
    base, queries = np.load(f"{folder}/base.npy"), np.load(f"{folder}/queries.npy")[: int(count)]
    work = TOOLS[tool](base, queries, int(threads))
    TOOLS[tool](base[:2000], queries[:64], int(threads))()
    found, wall, cpu = clocked(work)
    np.save(f"{folder}/{tool}.npy", found)
    return {"wall": wall, "search": wall - ADDED[-1], "cpu": cpu, "peak": peak()}


def gemm(side: str) -> dict[str, float]:
    """The most that a product of square matrices reaches, in operations a second."""
    size = int(side)
    a = np.random.default_rng(0).standard_normal((size, size), np.float32)
    out = np.empty_like(a)
    return {"rate": max(2 * size**3 / clocked(lambda: np.matmul(a, a, out=out))[1] for _ in range(6))}


def limited(folder: str, rows: str, spare: str) -> dict[str, float]:
    """A search of a file in an address space of little more than what is loaded."""
    import resource

    from assay.core.vectors import Held, Mapped
    from assay.indexes.exact.truth import truth

    queries = Held(np.load(f"{folder}/few.npy"))
    base = Mapped(f"{folder}/large", (int(rows), queries.d), np.dtype(np.float32))
    truth(queries, queries, 2, "l2", threads=2)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + int(spare), held + int(spare)))
    found, wall, cpu = clocked(lambda: truth(base, queries, K, "l2", threads=2))
    np.save(f"{folder}/limited.npy", found.positions)
    return {"wall": wall, "cpu": cpu, "peak": peak()}


CHILDREN: dict[str, Callable[..., dict[str, float]]] = {"search": search, "gemm": gemm, "limited": limited}


def spawn(*arguments: object, threads: int = 2) -> dict[str, float]:
    """What a process of its own measured."""
    command = [sys.executable, __file__, "--child", *map(str, arguments)]
    own = {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **own})
    return dict(json.loads(done.stdout.splitlines()[-1]))


# speed


def speed(cases: Sequence[Case], reps: int, threads: int) -> tuple[str, list[str]]:
    """Assay beside faiss, and beside the limit."""
    rows, problems = [], []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            row, wrong = beside(case, reps, threads, folder)
            rows.append(row)
            problems += wrong
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
    limit = "The limit is the best of a product of large matrices alone, measured before each repetition."
    return "\n\n".join([title, limit, report.table(head, rows)]), problems


def prepare(case: Case, folder: str) -> None:
    place = Path(folder, "base.npy")
    if not place.exists() or np.load(place, mmap_mode="r").shape != (case.n, case.d):
        np.save(place, clustered(case.n, case.d, 1))
    np.save(Path(folder, "queries.npy"), clustered(case.queries, case.d, 2))


def beside(case: Case, reps: int, threads: int, folder: str) -> tuple[list[str], list[str]]:
    """A row of the table, and what does not hold."""
    prepare(case, folder)
    taken: dict[str, list[dict[str, float]]] = {tool: [] for tool in TOOLS}
    top = 0.0
    for rep in range(reps):
        top = max(top, spawn("gemm", 4000, threads=threads)["rate"])
        for tool in TOOLS:
            say(f"speed {rep + 1}/{reps}: {case.name}, {tool}")
            taken[tool].append(spawn("search", tool, folder, case.queries, threads, threads=threads))
    walls = {tool: [one["wall"] for one in found] for tool, found in taken.items()}
    ratios = [theirs / mine for mine, theirs in zip(walls["assay"], walls["faiss"], strict=True)]
    work = 2.0 * case.n * case.d * case.queries / top
    alone = [one["search"] for one in taken["faiss"]]
    beside_search = [theirs / mine for mine, theirs in zip(walls["assay"], alone, strict=True)]
    shares = {"assay": [work / wall for wall in walls["assay"]], "faiss": [work / wall for wall in alone]}
    same = agreement(folder)
    row = [
        case.name,
        report.spread(walls["assay"]),
        report.spread(walls["faiss"]),
        report.spread(ratios, "×"),
        report.spread(alone),
        report.spread(beside_search, "×"),
    ]
    row += [report.spread(shares["assay"]), report.spread(shares["faiss"])]
    row += [f"{top / 1e9:.0f}", f"{same:.5f}"]
    row.append(report.number(max(one["peak"] for one in taken["assay"])))
    return row, missed(case, median(beside_search), max(shares["assay"]), same)


def agreement(folder: str) -> float:
    """The share of neighbours that both tools name."""
    mine, theirs = (np.load(f"{folder}/{tool}.npy") for tool in TOOLS)
    common = [len(np.intersect1d(*pair)) for pair in zip(mine, theirs, strict=True)]
    return float(np.mean(common) / mine.shape[1])


def missed(case: Case, ratio: float, share: float, same: float) -> list[str]:
    """What was promised of a case and does not hold."""
    wrong = []
    if ratio < case.ratio:
        wrong.append(f"{case.name}: {ratio:.3f} times as fast as faiss's search, not {case.ratio}")
    if share < case.share:
        wrong.append(f"{case.name}: {share:.3f} of the limit, where {case.share} is aimed at")
    if same < 0.999:
        wrong.append(f"{case.name}: only {same:.5f} of the neighbours are those of faiss")
    return wrong


# memory


def memory(rows: int, spare: int) -> tuple[str, list[str]]:
    """A file larger than the address space; most of it is a hole, so that it takes no room on the disk."""
    say("memory")
    with tempfile.TemporaryDirectory() as folder:
        near = clustered(2 * K, 192, 3) + 100
        at = np.linspace(1, rows - 1, len(near)).astype(int)
        with open(f"{folder}/large", "wb") as file:
            for row, position in zip(near, at.tolist(), strict=True):
                file.seek(position * row.nbytes)
                file.write(row.tobytes())
        np.save(f"{folder}/few.npy", near)
        size = os.path.getsize(f"{folder}/large")
        taken = spawn("limited", folder, rows, spare)
        squares = ((near[:, None].astype(np.float64) - near[None]) ** 2).sum(axis=2)
        right = np.array_equal(np.load(f"{folder}/limited.npy"), at[np.argsort(squares, 1, "stable")[:, :K]])
    head = ["file, MB", "may take beside what is loaded, MB", "peak, MB", "s", "right"]
    line = [report.number(v) for v in (size / 1e6, spare / 1e6, taken["peak"], taken["wall"])]
    title = f"## A base of {rows:,} × 192 in a limited address space"
    problems = [] if right else ["the search in little memory is wrong"]
    return f"{title}\n\n" + report.table(head, [[*line, "yes" if right else "no"]]), problems


# exact


def exact(n: int) -> tuple[str, list[str]]:
    """Bytes beside brute force with integers, as ids and as squared distances."""
    from assay.core.vectors import Held
    from assay.indexes.exact.truth import truth

    say("exact")
    rng = np.random.default_rng(4)
    base, queries = (rng.integers(0, 256, (count, 128)).astype(np.uint8) for count in (n, 100))
    base[n // 2 :] = base[: n - n // 2]
    found = truth(Held(base), Held(queries), K, "l2")
    assert found.distances is not None
    same = 0
    rows = zip(queries.astype(np.int64), found.positions, found.distances, strict=True)
    for query, positions, distances in rows:
        squares = ((base - query) ** 2).sum(axis=1)
        order = np.lexsort((np.arange(n), squares))[:K]
        same += bool(
            np.array_equal(order, positions) and np.array_equal(squares[order], np.rint(distances**2))
        )
    line = [f"{n:,} × 128", f"{same} of {len(queries)}"]
    problems = [] if same == len(queries) else ["bytes are not exact"]
    return "## Bytes beside integers\n\n" + report.table(["base, each twice", "same rows"], [line]), problems


def cluster(n: int) -> tuple[str, list[str]]:
    """Two workers of Ray on this machine beside one process."""
    import ray

    from assay.core.vectors import Held
    from assay.indexes.exact.sharding import Ray
    from assay.indexes.exact.truth import truth

    say("ray")
    base, queries = Held(clustered(n, 96, 5)), Held(clustered(500, 96, 6))
    runner = Ray("local", 2)
    runner.parts()  # starts it
    (one, alone, _), (many, shared, _) = (
        clocked(lambda: truth(base, queries, K, "l2", threads=2)),
        clocked(lambda: truth(base, queries, K, "l2", runner=runner, parts=4)),
    )
    ray.shutdown()
    same = np.array_equal(one.positions, many.positions) and np.array_equal(one.distances, many.distances)
    line = [f"{n:,} × 96, 500 queries", *map(report.number, (alone, shared)), "yes" if same else "no"]
    head = ["base", "one process, s", "two workers, s", "same bits"]
    return "## Ray\n\n" + report.table(head, [line]), [] if same else ["Ray gives something else"]


def machine() -> str:
    """Where the numbers come from, and whether anything else ran."""
    found = report.machine()
    made = {name: found[name] for name in ("CPU", "cores", "system", "load at the start", "Python")}
    made |= dict(map(report._version, PACKAGES))
    busy = " · **other work runs beside this one: look at the ratios**" if os.getloadavg()[0] > 0.7 else ""
    return " · ".join(f"{name} {value}" for name, value in made.items()) + busy


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sections = ("speed", "memory", "exact", "ray")
    made.add_argument(
        "--only", nargs="+", choices=sections, default=sections, metavar="NAME", help=str(sections)
    )
    made.add_argument("--reps", type=int, default=3)
    made.add_argument("--threads", type=int, default=2)
    made.add_argument("--case", type=int, nargs="+", help="only some of the cases of speed, by number from 1")
    made.add_argument("--quick", action="store_true", help="small numbers, to see that everything works")
    made.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    return made.parse_args(arguments)


def main() -> None:
    chosen = options()
    if chosen.child:
        print(json.dumps(CHILDREN[chosen.child[0]](*chosen.child[1:])))
        return
    quick, some = chosen.quick, enumerate(QUICK if chosen.quick else FULL, 1)
    cases = [case for number, case in some if not chosen.case or number in chosen.case]
    parts: dict[str, Callable[[], tuple[str, list[str]]]] = {
        "speed": lambda: speed(cases, 1 if quick else chosen.reps, chosen.threads),
        "memory": lambda: memory(700_000 if quick else 2_000_000, 400 << 20),
        "exact": lambda: exact(2_000 if quick else 50_000),
        "ray": lambda: cluster(5_000 if quick else 200_000),
    }
    print(machine())
    report.shown(parts[name] for name in chosen.only)


if __name__ == "__main__":
    main()
