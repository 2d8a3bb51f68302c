"""Measure the speed and the size of the store as it grows.

list: listing and filtering increasing numbers of experiments. scores: saving the scores of each query, their
size on disk, and the history of one query across all experiments, compared with Parquet files and MLflow.
All is timed in one process; the files are in the cache of the system.
"""

import argparse
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from report import describe_machine, format_number, format_table

from assay.core.records import Experiment, Metric
from assay.core.tables import Scores
from assay.store.store import Store

CUTOFFS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 1000)
SLICES = ("faq", "how-to", "error", "short")
FIRST_DATE = datetime(2026, 1, 1, tzinfo=UTC)
LIST_QUERIES = {
    "newest 50": ("", 50),
    "list all": ("", None),
    "filter by parameter": ("params.index_type = 'ivf' and params.seed < 20", None),
    "filter by measure": ("metrics.nDCG@10 > 0.995", None),
    "filter by slice and parameter": (
        "metrics.R@10[category=faq] > 0.98 and params.index_type = 'hnsw'",
        None,
    ),
    "filter by tag": ("tag = 'release'", None),
}


@dataclass(frozen=True)
class StoreSize:
    """The amounts of work of all sections."""

    lists: tuple[int, ...] = (100, 1_000, 10_000)
    queries: int = 5_000
    experiments: int = 100
    logged: int = 2  # runs of MLflow, which is slow
    reps: int = 5


def median_seconds(function: Callable[[], Any], reps: int) -> float:
    """Return the median time of a call, after one that is not timed."""
    function()
    return median(call_seconds(function) for _ in range(reps))


def call_seconds(function: Callable[..., Any], *arguments: Any) -> float:
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def format_milliseconds(value: float) -> str:
    return format_number(1000 * value)


def size_on_disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


# list


def make_experiment(number: int, rng: np.random.Generator) -> Experiment:
    """Return an experiment with ten measures, over all queries and in four slices, and ten parameters."""
    parts = [("", ""), *(("category", name) for name in SLICES)]
    metrics = [
        Metric(f"{m}@10", c, v, rng.random()) for m in ("nDCG", "R", "RR", "P", "AP") for c, v in parts
    ]
    metrics += [
        Metric(f"{m}@100", c, v, rng.random()) for m in ("nDCG", "R", "RR", "P", "AP") for c, v in parts
    ]
    return Experiment(
        name=f"system-{number % 20}",
        at=FIRST_DATE + timedelta(minutes=number),
        configuration={"index_type": ("hnsw", "ivf", "flat")[number % 3], "seed": number}
        | {f"p{i}": int(rng.integers(100)) for i in range(8)},
        metrics=tuple(metrics),
        latency={"p50_ms": rng.random(), "p95_ms": rng.random()},
        figures={"cost_per_1k_queries": rng.random()},
        tags=("nightly",) if number % 100 else ("nightly", "release"),
    )


def list_section(size: StoreSize, folder: Path) -> str:
    """Return the time of each listing and the number of experiments it returns, as the store grows."""
    rng, rows, save_times = np.random.default_rng(0), dict[str, list[str]](), list[str]()
    with Store(folder / "list") as store:
        saved_count = 0
        for count in size.lists:
            total_seconds = call_seconds(_save_experiments, store, range(saved_count, count), rng)
            save_times.append(format_milliseconds(total_seconds / (count - saved_count)))
            saved_count = count
            for name, (expression, limit) in LIST_QUERIES.items():
                rows.setdefault(name, []).append(_time_listing(store, expression, limit, size.reps))
        size_text = f"{size_on_disk(folder / 'list') / saved_count / 1000:.1f} kB per experiment"
    head = ["ms (found)", *(f"{count:,} experiments" for count in size.lists)]
    body = [["save one, without scores", *save_times], *([name, *row] for name, row in rows.items())]
    return f"## List and filter\n\n{format_table(head, body)}\n\nOn disk: {size_text}."


def _save_experiments(store: Store, numbers: range, rng: np.random.Generator) -> None:
    for number in numbers:
        store.put(make_experiment(number, rng))


def _time_listing(store: Store, expression: str, limit: int | None, reps: int) -> str:
    """Time a listing that reads two measures of each experiment, as the list of experiments does."""

    def list_experiments() -> list[Experiment]:
        return store.list(expression, limit=limit, metrics_of=["nDCG@10", "R@10"])

    return f"{format_milliseconds(median_seconds(list_experiments, reps))} ({len(list_experiments()):,})"


# scores


def make_scores(queries: int, seed: int) -> Scores:
    """Return fifty measures of queries that have three relevant documents each."""
    rng = np.random.default_rng(seed)
    ranks = np.sort(np.floor(np.exp(rng.normal(1.5, 1.8, (queries, 3)))) + np.arange(1, 4), axis=1)
    values: dict[str, NDArray[np.float64]] = {}
    for k in CUTOFFS:
        is_within = ranks <= k
        values[f"R@{k}"] = is_within.mean(axis=1)
        values[f"P@{k}"] = is_within.sum(axis=1) / k
        values[f"RR@{k}"] = np.where(is_within[:, 0], 1 / ranks[:, 0], 0.0)
        values[f"AP@{k}"] = (is_within * np.arange(1, 4) / ranks).sum(axis=1) / 3
        gains = (is_within / np.log2(ranks + 1)).sum(axis=1)
        values[f"nDCG@{k}"] = gains / (1 / np.log2(np.arange(2, 5))).sum()
    return Scores([f"query-{i}" for i in range(queries)], values)


def write_parquet(scores: Scores, path: Path) -> None:
    pl.DataFrame({"query_id": list(scores.query_ids), **scores.values}).write_parquet(path)


@dataclass
class StorageMethod:
    """A method to save scores: seconds and bytes per experiment, and seconds of the history of one query."""

    name: str
    saves: list[float]
    size: float
    history: float


def measure_store_and_files(size: StoreSize, folder: Path) -> list[StorageMethod]:
    """Measure the store and plain files, alternately."""
    store_seconds, plain_seconds = list[float](), list[float]()
    files = folder / "plain"
    files.mkdir()
    with Store(folder / "store") as store:
        for number in range(size.experiments):
            stored, written = make_scores(size.queries, number), make_scores(size.queries, number)
            means = tuple(Metric(name, "", "", float(v.mean())) for name, v in stored.values.items())
            record = Experiment(f"e{number}", FIRST_DATE + timedelta(number), metrics=means)
            store_seconds.append(call_seconds(store.put, record, stored))
            plain_seconds.append(call_seconds(write_parquet, written, files / f"{number:05}.parquet"))
        query = f"query-{size.queries * 2 // 3}"
        histories = _history_readers(store, sorted(files.glob("*.parquet")), query)
        history_seconds = [median_seconds(read_history, min(size.reps, 3)) for read_history in histories]
    count = size.experiments
    return [
        StorageMethod("Assay", store_seconds, size_on_disk(folder / "store") / count, history_seconds[0]),
        StorageMethod(
            "plain Parquet, read file by file", plain_seconds, size_on_disk(files) / count, history_seconds[1]
        ),
        StorageMethod(
            "plain Parquet, one lazy scan of all",
            plain_seconds,
            size_on_disk(files) / count,
            history_seconds[2],
        ),
    ]


def _history_readers(store: Store, files: list[Path], query: str) -> list[Callable[[], Any]]:
    """Return functions that read one query in all experiments, after checking that they agree."""

    def read_store() -> list[Any]:
        digests = [e.digests["scores"] for e in reversed(store.list(metrics_of=[]))]
        rows = store.tables.row(digests, query)
        return [rows[digest] for digest in digests]

    def read_files() -> list[Any]:
        return [pl.read_parquet(f).filter(query_id=query).drop("query_id").row(0, named=True) for f in files]

    def scan_files() -> list[Any]:
        return pl.scan_parquet(files).filter(query_id=query).drop("query_id").collect().to_dicts()

    assert read_store() == read_files() == scan_files()
    return [read_store, read_files, scan_files]


def measure_mlflow(size: StoreSize, folder: Path) -> Iterator[StorageMethod]:
    """Measure MLflow on SQLite, with a metric for each value, whose step is the query, and with one table."""
    from mlflow import MlflowClient

    logging.disable(logging.INFO)
    for name, log, load in (
        ("MLflow, a metric with a step for each query", _log_metrics, _read_metrics),
        ("MLflow, the table as an artifact", _log_table, _read_table),
    ):
        method_folder = folder / name.split()[-1]
        method_folder.mkdir()
        client = MlflowClient(tracking_uri=f"sqlite:///{method_folder}/mlflow.db")
        group = client.create_experiment("scores", artifact_location=(method_folder / "artifacts").as_uri())
        empty = size_on_disk(method_folder)
        runs, saves = [], []
        for number in range(size.logged):
            scores = make_scores(size.queries, number)
            runs.append(client.create_run(group).info.run_id)
            saves.append(call_seconds(log, client, runs[-1], scores))
        history_seconds = median(call_seconds(load, client, run, size.queries * 2 // 3) for run in runs)
        yield StorageMethod(
            name,
            saves,
            (size_on_disk(method_folder) - empty) / size.logged,
            history_seconds * size.experiments,
        )


def _log_metrics(client: Any, run: str, scores: Scores) -> None:
    from mlflow.entities import Metric as MlflowMetric

    for name, values in scores.values.items():
        metrics = [
            MlflowMetric(name.replace("@", "_at_"), v, 0, step) for step, v in enumerate(values.tolist())
        ]
        for start in range(0, len(metrics), 1000):  # the most that MLflow accepts in one request
            client.log_batch(run, metrics=metrics[start : start + 1000])


def _read_metrics(client: Any, run: str, position: int) -> list[float]:
    names = client.get_run(run).data.metrics
    return [client.get_metric_history(run, name)[position].value for name in names]


def _log_table(client: Any, run: str, scores: Scores) -> None:
    import pandas as pd

    client.log_table(run, pd.DataFrame({"query_id": scores.query_ids, **scores.values}), "scores.json")


def _read_table(client: Any, run: str, position: int) -> list[float]:
    path = client.download_artifacts(run, "scores.json")
    values: list[float] = json.loads(Path(path).read_text())["data"][position][1:]
    return values


def scores_section(size: StoreSize, folder: Path) -> str:
    """Return a table of all methods, compared with Assay."""
    methods = measure_store_and_files(size, folder)
    note = f"MLflow's history is that of one run (the median of {size.logged}) times {size.experiments:,}."
    try:
        methods += measure_mlflow(size, folder)
    except ImportError as error:
        note = f"MLflow is not installed ({error})."
    ours = methods[0]
    rows = [
        [
            method.name,
            format_milliseconds(median(method.saves)), f"{median(method.saves) / median(ours.saves):.2f}×",
            f"{method.size / 1000:,.0f}", f"{method.size / ours.size:.2f}×",
            format_milliseconds(method.history), f"{method.history / ours.history:.2f}×",
        ]
        for method in methods
    ]  # fmt: skip
    head = ["method", "save one, ms", "over Assay", "kB on disk", "over Assay"]
    head += [f"one query in {size.experiments:,} experiments, ms", "over Assay"]
    title = (
        f"Scores of {size.queries:,} queries × {5 * len(CUTOFFS)} measures × {size.experiments:,} experiments"
    )
    return f"## {title}\n\n{format_table(head, rows)}\n\n{note}"


SECTIONS = {"list": list_section, "scores": scores_section}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=SECTIONS)
    parser.add_argument(
        "--experiments", type=int, default=100, help="number of experiments with scores (default: 100)"
    )
    parser.add_argument("--full", action="store_true", help="save 1,000 experiments with scores")
    parser.add_argument("--tiny", action="store_true", help="small numbers, to check that everything works")
    parser.add_argument(
        "--folder",
        type=Path,
        help="where temporary files are written (default: the temporary folder of the system)",
    )
    arguments = parser.parse_args()
    size = StoreSize(experiments=1_000 if arguments.full else arguments.experiments)
    if arguments.tiny:
        size = StoreSize((5, 10), queries=50, experiments=3, logged=1, reps=1)
    os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
    print(" · ".join(f"{name} {value}" for name, value in describe_machine().items()), end="\n\n")
    for name in [arguments.only] if arguments.only else SECTIONS:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            print(SECTIONS[name](size, Path(folder)), end="\n\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
