"""Adaptive search beside the same index with the same budget for all: at equal mean budget, at equal time.

Training and test queries are disjoint draws of one distribution. Times are processor time of one thread,
taken in turns, the least of each; the fixed budget is the least that takes as long as adaptive search. The
hard set is the tenth of the test queries with the lowest relative contrast (mean distance over that of the
tenth neighbour), which no index has a part in. `signals` compares what could tell a hard query.
"""

import argparse
import gzip
import tempfile
import time
from collections.abc import Callable, Sequence
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import report
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from assay.core.vectors import Held
from assay.datasets.generate import generate
from assay.indexes.adaptive.learning import learnt
from assay.indexes.adaptive.training import tried
from assay.indexes.engines.adaptive import Adaptive
from assay.indexes.exact.truth import truth
from assay.indexes.hits import Judge
from assay.indexes.index import Setup
from assay.stats.comparison import Comparison, Subject, compare_columns

K, DELTAS, TIMED = 10, (0.1, 0.3, 0.5, 0.9), 2000
SUBJECTS = [Subject("R@10"), *(Subject(f"Robustness-{delta}@10", "share") for delta in DELTAS)]
Rows = NDArray[np.float32]
Counts = NDArray[np.int64]


class Data(NamedTuple):
    """A base, training queries and test queries."""

    name: str
    base: Rows
    training: Rows
    test: Rows
    indexes: tuple[tuple[str, tuple[int, ...]], ...]  # each with the mean budgets to look at


def shifted(n: int, test: int) -> Data:
    made = generate("shifted", n, 64, queries=4000 + test, seed=1)
    base, queries = made.base.whole(), made.queries.whole()
    graph, lists = "faiss.hnsw;M=16;efConstruction=100", "faiss.ivfflat;nlist=512"
    return Data(
        f"shifted, {n:,} × 64", base, queries[:4000], queries[4000:], ((graph, (40, 80)), (lists, (8,)))
    )


def mnist(path: Path) -> Data:
    pixels = np.frombuffer(gzip.decompress(path.read_bytes())[16:], np.uint8).reshape(-1, 784)
    rows = np.random.default_rng(0).permutation(pixels).astype(np.float32)
    indexes = (("faiss.hnsw;M=8;efConstruction=100", (10, 16)), ("faiss.ivfflat;nlist=128", (4,)))
    return Data("MNIST, 5,000 × 784", rows[:5000], rows[5000:7000], rows[7000:], indexes)


class Bench:
    """One index on one set of data."""

    def __init__(self, data: Data, inner: str, folder: Path) -> None:
        self.data, self.inner = data, inner
        np.save(folder / "training.npy", data.training)
        setup = Setup("l2", data.base.shape[1], 1, folder)
        self.engine = Adaptive(setup, inner=inner, training=str(folder / "training.npy"))
        self.engine.build(data.base)
        base, test = Held(data.base), Held(data.test)
        found = truth(base, test, K, "l2")
        assert found.distances is not None
        self.judge = Judge(found, K, base, test, "l2")
        contrast = mean_distances(data.test, data.base) / found.distances[:, K - 1]
        self.hard = contrast <= np.quantile(contrast, 0.1)

    def fixed(self, budget: int) -> Callable[[Rows], Counts]:
        """A search with the same budget for all, which is set here and not at every search."""
        self.engine.index.set_search(**{self.engine.inner.budget: budget})
        return lambda queries: self.engine.index.search(queries, K)

    def adaptive(self, queries: Rows) -> Counts:
        return self.engine.search(queries, K)

    def columns(self, search: Callable[[Rows], Counts]) -> NDArray[np.float64]:
        """Recall and passes of each test query."""
        hits = self.judge.hits(search(self.data.test))
        return np.column_stack([hits.recall, *(hits.reaching(delta) for delta in DELTAS)])

    def mean_budget(self) -> float:
        """What the test queries were given."""
        engine = self.engine
        scores = engine.difficulty.scores(engine.landmarks.features(self.data.test))
        return float(np.array(engine.budgets)[engine.groups.of(scores)].mean())

    def as_slow(self, budget: int, single: bool, reps: int) -> tuple[int, str]:
        """The least fixed budget that takes as long as adaptive search, and how long beside it."""
        low, high = budget - 1, 2 * budget
        while self.ratio(high, single, reps)[0] < 1:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            slow = self.ratio(middle, single, reps)[0] >= 1
            low, high = (low, middle) if slow else (middle, high)
        return high, self.ratio(high, single, 3 * reps)[1]

    def ratio(self, budget: int, single: bool, reps: int) -> tuple[float, str]:
        """Time of the fixed budget over that of adaptive search: of the least of each, and in each turn.

        What else runs on the machine only ever adds to a time, so the least is the nearest to the truth.
        """
        queries = self.data.test[: TIMED // 4 if single else TIMED]
        fixed, adaptive = [], []
        for _ in range(reps):
            fixed.append(taken(self.fixed(budget), queries, single))
            adaptive.append(taken(self.adaptive, queries, single))
        found = min(fixed) / min(adaptive)
        turns = [one / other for one, other in zip(fixed, adaptive, strict=True)]
        return found, f"{found:.2f}×, in turns {report.spread(turns)}"


def taken(search: Callable[[Rows], Counts], queries: Rows, single: bool) -> float:
    """Seconds of processor time, of all queries at once or one after another."""
    search(queries[:1])
    begin = time.process_time()
    if single:
        for i in range(len(queries)):
            search(queries[i : i + 1])
    else:
        search(queries)
    return time.process_time() - begin


def mean_distances(queries: Rows, base: Rows) -> Rows:
    """The mean distance of each query to a sample of the base."""
    some = base[:: max(1, len(base) // 1000)]
    far = (queries**2).sum(axis=1)[:, None] + (some**2).sum(axis=1) - 2 * queries @ some.T
    made: Rows = np.sqrt(np.maximum(far, 0)).mean(axis=1)
    return made


def beside(mean: float) -> int:
    """The whole budget that a mean is held against: the next above, unless the one below is nearly it."""
    return ceil(mean - 0.2)


def cell(found: Comparison) -> str:
    """The fixed setting's value, and the difference with its interval; bold where that leaves 0 out."""
    difference = found.difference
    assert found.baseline is not None
    if difference.value is None or difference.low is None or difference.high is None:
        return f"{found.baseline:.4f} –"
    text = f"{difference.value:+.4f} ({difference.low:+.4f} … {difference.high:+.4f})"
    return f"{found.baseline:.4f} " + (f"**{text}**" if difference.low > 0 or difference.high < 0 else text)


def compared(bench: Bench, budget: int, reps: int) -> list[list[str]]:
    """Adaptive search beside the fixed setting of the same mean budget, and of the same time."""
    bench.engine.set_search(budget=budget)
    candidate = bench.columns(bench.adaptive)
    mean = bench.mean_budget()
    ways = [(f"mean budget {mean:.1f}", beside(mean), "")]
    for name, single in (("batch", False), ("one by one", True)):
        ways.append((f"time, {name}", *bench.as_slow(budget, single, reps)))
    rows = []
    for way, fixed, ratio in ways:
        baseline = bench.columns(bench.fixed(fixed))
        for name, some in (("all", np.ones_like(bench.hard)), ("hard", bench.hard)):
            found = compare_columns(SUBJECTS, baseline[some], candidate[some])
            first = [f"{budget}", way, f"{fixed}", ratio or "–", f"{name}, {int(some.sum()):,}"]
            rows.append([*first, *map(cell, found)])
    return rows


# what could tell a hard query


def probed(bench: Bench, queries: Rows, budget: int) -> Rows:
    """What a small first search tells: how far its answers are, and how they lie."""
    found = np.maximum(bench.fixed(budget)(queries), 0)
    near = np.linalg.norm(bench.data.base[found] - queries[:, None], axis=2)
    some = np.log(np.maximum(np.sort(near, axis=1)[:, [0, K // 2, K - 1]], 1e-6))
    around = np.linalg.norm(bench.data.base[found].std(axis=1), axis=1)
    made: Rows = np.column_stack((some, np.log(np.maximum(around, 1e-6)))).astype(np.float32)
    return made


def signals(bench: Bench, budget: int) -> list[list[str]]:
    """Each signal with its own model at the same mean budget; a first search is paid out of it."""
    probe = max(1, budget // 4)
    landmarks = bench.engine.landmarks.features
    ways: dict[str, tuple[int, Callable[[Rows], Rows]]] = {
        "landmarks": (0, landmarks),
        f"first search of {probe}": (probe, lambda rows: probed(bench, rows, probe)),
        "both": (probe, lambda rows: np.hstack((landmarks(rows), probed(bench, rows, probe)))),
    }
    lessons = bench.engine._asked, bench.data.base, bench.data.training
    found = tried(*lessons, bench.engine.setup, bench.engine.lesson)
    baseline = bench.columns(bench.fixed(budget))
    rows = []
    for name, (spent, features) in ways.items():
        seen = features(bench.data.training)
        model, groups = learnt(seen, found)
        given = groups.budgets(budget - spent)[groups.of(model.scores(features(bench.data.test)))]
        candidate = bench.columns(lambda rows, given=given: by_budget(bench, rows, given))  # type: ignore[misc]
        for part, some in (("all", np.ones_like(bench.hard)), ("hard", bench.hard)):
            cells = map(cell, compare_columns(SUBJECTS, baseline[some], candidate[some]))
            rows.append([name, f"{spent + given.mean():.1f}", part, *cells])
    return rows


def by_budget(bench: Bench, queries: Rows, given: Counts) -> Counts:
    made = np.empty((len(queries), K), np.int64)
    for budget in np.unique(given).tolist():
        made[given == budget] = bench.fixed(budget)(queries[given == budget])
    return made


def untaught(bench: Bench, budget: int) -> list[list[str]]:
    """The same index, trained on rows of the base that were moved a little."""
    engine, taught = bench.engine, bench.engine.training
    engine.training, engine.index.build = "", lambda vectors: None  # type: ignore[method-assign]
    engine.build(bench.data.base)
    engine.set_search(budget=budget)
    mean = bench.mean_budget()
    candidate, baseline = bench.columns(bench.adaptive), bench.columns(bench.fixed(beside(mean)))
    engine.training = taught
    rows = []
    for part, some in (("all", np.ones_like(bench.hard)), ("hard", bench.hard)):
        cells = map(cell, compare_columns(SUBJECTS, baseline[some], candidate[some]))
        rows.append(["landmarks, trained on the base", f"{mean:.1f}", part, *cells])
    return rows


def measured(data: Data, reps: int) -> str:
    """The tables of one set of data."""
    names = [subject.measure for subject in SUBJECTS]
    head = ["budget", "equal", "fixed at", "its time", "queries", *names]
    parts = []
    for inner, budgets in data.indexes:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(data, inner, Path(folder))
            rows = [row for budget in budgets for row in compared(bench, budget, reps)]
            told = signals(bench, budgets[-1]) + untaught(bench, budgets[-1])
        title = f"## {data.name}, `{inner}`"
        other = f"What tells a hard query, mean budget {budgets[-1]}:"
        parts += [title, report.table(head, rows), other]
        parts.append(report.table(["signal", "mean budget", "queries", *names], told))
    return "\n\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mnist", type=Path, help="t10k-images-idx3-ubyte.gz")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--test", type=int, default=20_000)
    parser.add_argument("--reps", type=int, default=5)
    given = parser.parse_args(arguments)
    sets: list[Any] = [lambda: shifted(given.rows, given.test)]
    if given.mnist:
        sets.append(lambda: mnist(given.mnist))
    with threadpool_limits(1):
        for made in sets:
            print(measured(made(), given.reps), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
