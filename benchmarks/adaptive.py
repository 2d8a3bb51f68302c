"""Compare adaptive search with a fixed budget on the same index, at equal mean budget and at equal time.

Training and test queries are disjoint samples of one distribution. Times are the processor time of one
thread, measured alternately, the minimum of each. At equal time, the fixed budget is the smallest that takes
as long as adaptive search. The hard set is the tenth of the test queries with the lowest relative contrast
(mean distance divided by that of the tenth neighbour), which is independent of any index. A second table
compares signals that predict whether a query is hard.
"""

import argparse
import gzip
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import report
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from assay.core.vectors import InMemoryVectors
from assay.datasets.generate import generate
from assay.indexes.adaptive.engine import Adaptive
from assay.indexes.adaptive.learning import learn_allocation
from assay.indexes.adaptive.training import measure_training_recall
from assay.indexes.exact.truth import truth
from assay.indexes.hits import HitRule
from assay.indexes.index import Setup
from assay.stats.comparison import Comparison, Subject, compare_columns

K, DELTAS, TIMED_QUERIES = 10, (0.1, 0.3, 0.5, 0.9), 2000
SUBJECTS = [Subject("R@10"), *(Subject(f"Robustness-{delta}@10", "share") for delta in DELTAS)]
Rows = NDArray[np.float32]
Counts = NDArray[np.int64]


class AdaptiveData(NamedTuple):
    """A base, training queries and test queries."""

    name: str
    base: Rows
    training: Rows
    test: Rows
    indexes: tuple[tuple[str, tuple[int, ...]], ...]  # each with the mean budgets to compare at


def generate_shifted(n: int, test_count: int) -> AdaptiveData:
    dataset = generate("shifted", n, 64, queries=4000 + test_count, seed=1)
    base, queries = dataset.base.to_matrix(), dataset.queries.to_matrix()
    hnsw, ivf = "faiss.hnsw;M=16;efConstruction=100", "faiss.ivfflat;nlist=512"
    return AdaptiveData(
        f"shifted, {n:,} × 64", base, queries[:4000], queries[4000:], ((hnsw, (40, 80)), (ivf, (8,)))
    )


def read_mnist(path: Path) -> AdaptiveData:
    pixels = np.frombuffer(gzip.decompress(path.read_bytes())[16:], np.uint8).reshape(-1, 784)
    rows = np.random.default_rng(0).permutation(pixels).astype(np.float32)
    indexes = (("faiss.hnsw;M=8;efConstruction=100", (10, 16)), ("faiss.ivfflat;nlist=128", (4,)))
    return AdaptiveData("MNIST, 5,000 × 784", rows[:5000], rows[5000:7000], rows[7000:], indexes)


class IndexBenchmark:
    """An adaptive index on a dataset, with its hits and its hard queries."""

    def __init__(self, data: AdaptiveData, inner: str, folder: Path) -> None:
        self.data, self.inner = data, inner
        np.save(folder / "training.npy", data.training)
        setup = Setup("l2", data.base.shape[1], 1, folder)
        self.engine = Adaptive(setup, inner=inner, training=str(folder / "training.npy"))
        self.engine.build(data.base)
        base, test = InMemoryVectors(data.base), InMemoryVectors(data.test)
        neighbors = truth(base, test, K, "l2")
        assert neighbors.distances is not None
        self.hit_rule = HitRule(neighbors, K, base, test, "l2")
        contrast = mean_distances(data.test, data.base) / neighbors.distances[:, K - 1]
        self.hard_queries = contrast <= np.quantile(contrast, 0.1)

    def fixed_search(self, budget: int) -> Callable[[Rows], Counts]:
        """Return a search with one budget for all queries, which is set here and not in each search."""
        self.engine.index.set_search(**{self.engine.inner.budget: budget})
        return lambda queries: self.engine.index.search(queries, K)

    def adaptive_search(self, queries: Rows) -> Counts:
        return self.engine.search(queries, K)

    def score_test_queries(self, search: Callable[[Rows], Counts]) -> NDArray[np.float64]:
        """Return the recall of each test query, and whether it reaches each delta."""
        hits = self.hit_rule.hits(search(self.data.test))
        return np.column_stack([hits.recall, *(hits.reaches(delta) for delta in DELTAS)])

    def mean_budget(self) -> float:
        """Return the mean budget of the test queries."""
        engine = self.engine
        scores = engine.difficulty.scores(engine.landmarks.features(self.data.test))
        return float(np.array(engine.budgets)[engine.groups.group_of(scores)].mean())

    def match_time(self, budget: int, single: bool, reps: int) -> tuple[int, str]:
        """Return the smallest fixed budget that takes as long as adaptive search, and their time ratio."""
        low, high = budget - 1, 2 * budget
        while self.time_ratio(high, single, reps)[0] < 1:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            is_slow = self.time_ratio(middle, single, reps)[0] >= 1
            low, high = (low, middle) if is_slow else (middle, high)
        return high, self.time_ratio(high, single, 3 * reps)[1]

    def time_ratio(self, budget: int, single: bool, reps: int) -> tuple[float, str]:
        """Return the time with a fixed budget divided by that of adaptive search, and a text with its range.

        The ratio is that of the minimum times: other work on the machine can only increase a time.
        """
        queries = self.data.test[: TIMED_QUERIES // 4 if single else TIMED_QUERIES]
        fixed_seconds, adaptive_seconds = [], []
        for _ in range(reps):
            fixed_seconds.append(search_seconds(self.fixed_search(budget), queries, single))
            adaptive_seconds.append(search_seconds(self.adaptive_search, queries, single))
        ratio = min(fixed_seconds) / min(adaptive_seconds)
        turn_ratios = [a / b for a, b in zip(fixed_seconds, adaptive_seconds, strict=True)]
        return ratio, f"{ratio:.2f}×, in turns {report.format_spread(turn_ratios)}"


def search_seconds(search: Callable[[Rows], Counts], queries: Rows, single: bool) -> float:
    """Return the seconds of processor time, for all queries in a batch or one after another."""
    search(queries[:1])
    begin = time.process_time()
    if single:
        for i in range(len(queries)):
            search(queries[i : i + 1])
    else:
        search(queries)
    return time.process_time() - begin


def mean_distances(queries: Rows, base: Rows) -> Rows:
    """Return the mean distance of each query to a sample of the base."""
    sample = base[:: max(1, len(base) // 1000)]
    squares = (queries**2).sum(axis=1)[:, None] + (sample**2).sum(axis=1) - 2 * queries @ sample.T
    distances: Rows = np.sqrt(np.maximum(squares, 0)).mean(axis=1)
    return distances


def fixed_budget_for(mean: float) -> int:
    """Return the integer budget to compare a mean with: rounded up, unless it is just above an integer."""
    return ceil(mean - 0.2)


def format_cell(comparison: Comparison) -> str:
    """Return the value of the fixed setting and the difference, bold if its interval excludes 0."""
    difference = comparison.difference
    assert comparison.baseline is not None
    if difference.value is None or difference.low is None or difference.high is None:
        return f"{comparison.baseline:.4f} –"
    text = f"{difference.value:+.4f} ({difference.low:+.4f} … {difference.high:+.4f})"
    return f"{comparison.baseline:.4f} " + (
        f"**{text}**" if difference.low > 0 or difference.high < 0 else text
    )


def compare_at_equal_cost(bench: IndexBenchmark, budget: int, reps: int) -> list[list[str]]:
    """Compare adaptive search with the fixed settings of the same mean budget and of the same time."""
    bench.engine.set_search(budget=budget)
    candidate = bench.score_test_queries(bench.adaptive_search)
    mean = bench.mean_budget()
    matches = [(f"mean budget {mean:.1f}", fixed_budget_for(mean), "")]
    for name, single in (("batch", False), ("one by one", True)):
        matches.append((f"time, {name}", *bench.match_time(budget, single, reps)))
    rows = []
    for criterion, fixed_budget, ratio in matches:
        baseline = bench.score_test_queries(bench.fixed_search(fixed_budget))
        for name, mask in (("all", np.ones_like(bench.hard_queries)), ("hard", bench.hard_queries)):
            comparisons = compare_columns(SUBJECTS, baseline[mask], candidate[mask])
            cells = [f"{budget}", criterion, f"{fixed_budget}", ratio or "–", f"{name}, {int(mask.sum()):,}"]
            rows.append([*cells, *map(format_cell, comparisons)])
    return rows


# signals that predict whether a query is hard


def probe_features(bench: IndexBenchmark, queries: Rows, budget: int) -> Rows:
    """Return the features of a small first search: the distances and the spread of its answers."""
    positions = np.maximum(bench.fixed_search(budget)(queries), 0)
    distances = np.linalg.norm(bench.data.base[positions] - queries[:, None], axis=2)
    logs = np.log(np.maximum(np.sort(distances, axis=1)[:, [0, K // 2, K - 1]], 1e-6))
    spread = np.linalg.norm(bench.data.base[positions].std(axis=1), axis=1)
    features: Rows = np.column_stack((logs, np.log(np.maximum(spread, 1e-6)))).astype(np.float32)
    return features


def compare_signals(bench: IndexBenchmark, budget: int) -> list[list[str]]:
    """Compare signals, each with its own model, at the same mean budget, which includes a first search."""
    probe = max(1, budget // 4)
    landmarks = bench.engine.landmarks.features
    feature_sets: dict[str, tuple[int, Callable[[Rows], Rows]]] = {
        "landmarks": (0, landmarks),
        f"first search of {probe}": (probe, lambda rows: probe_features(bench, rows, probe)),
        "both": (probe, lambda rows: np.hstack((landmarks(rows), probe_features(bench, rows, probe)))),
    }
    training_inputs = bench.engine._search_inner, bench.data.base, bench.data.training
    training_recall = measure_training_recall(*training_inputs, bench.engine.setup, bench.engine.goal)
    baseline = bench.score_test_queries(bench.fixed_search(budget))
    rows = []
    for name, (probe_budget, features) in feature_sets.items():
        training_features = features(bench.data.training)
        model, groups = learn_allocation(training_features, training_recall)
        group_of_query = groups.group_of(model.scores(features(bench.data.test)))
        budgets = groups.budgets(budget - probe_budget)[group_of_query]
        candidate = bench.score_test_queries(partial(search_with_budgets, bench, budgets=budgets))
        for subset, mask in (("all", np.ones_like(bench.hard_queries)), ("hard", bench.hard_queries)):
            cells = map(format_cell, compare_columns(SUBJECTS, baseline[mask], candidate[mask]))
            rows.append([name, f"{probe_budget + budgets.mean():.1f}", subset, *cells])
    return rows


def search_with_budgets(bench: IndexBenchmark, queries: Rows, budgets: Counts) -> Counts:
    positions = np.empty((len(queries), K), np.int64)
    for budget in np.unique(budgets).tolist():
        positions[budgets == budget] = bench.fixed_search(budget)(queries[budgets == budget])
    return positions


def compare_base_training(bench: IndexBenchmark, budget: int) -> list[list[str]]:
    """Compare the same index, trained on rows of the base with noise."""
    engine, training = bench.engine, bench.engine.training
    engine.training, engine.index.build = "", lambda vectors: None  # type: ignore[method-assign]
    engine.build(bench.data.base)
    engine.set_search(budget=budget)
    mean = bench.mean_budget()
    candidate = bench.score_test_queries(bench.adaptive_search)
    baseline = bench.score_test_queries(bench.fixed_search(fixed_budget_for(mean)))
    engine.training = training
    rows = []
    for subset, mask in (("all", np.ones_like(bench.hard_queries)), ("hard", bench.hard_queries)):
        cells = map(format_cell, compare_columns(SUBJECTS, baseline[mask], candidate[mask]))
        rows.append(["landmarks, trained on the base", f"{mean:.1f}", subset, *cells])
    return rows


def measure_data(data: AdaptiveData, reps: int) -> str:
    """Return the tables of a dataset."""
    names = [subject.measure for subject in SUBJECTS]
    head = ["budget", "equal", "fixed at", "its time", "queries", *names]
    parts = []
    for inner, budgets in data.indexes:
        with tempfile.TemporaryDirectory() as folder:
            bench = IndexBenchmark(data, inner, Path(folder))
            rows = [row for budget in budgets for row in compare_at_equal_cost(bench, budget, reps)]
            signal_rows = compare_signals(bench, budgets[-1]) + compare_base_training(bench, budgets[-1])
        title = f"## {data.name}, `{inner}`"
        signal_title = f"Signals that predict hard queries, mean budget {budgets[-1]}:"
        parts += [title, report.format_table(head, rows), signal_title]
        parts.append(report.format_table(["signal", "mean budget", "queries", *names], signal_rows))
    return "\n\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mnist", type=Path, help="path of t10k-images-idx3-ubyte.gz")
    parser.add_argument("--rows", type=int, default=100_000, help="of the generated base")
    parser.add_argument("--test", type=int, default=20_000, help="number of generated test queries")
    parser.add_argument("--reps", type=int, default=5, help="repetitions of each timing")
    options = parser.parse_args(arguments)
    loaders: list[Any] = [lambda: generate_shifted(options.rows, options.test)]
    if options.mnist:
        loaders.append(lambda: read_mnist(options.mnist))
    with threadpool_limits(1):
        for load_data in loaders:
            print(measure_data(load_data(), options.reps), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
