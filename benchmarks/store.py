"""How fast the store is, and how it grows.

list: listing and filtering more and more experiments. scores: saving the scores of each query, their size
on disk, and the history of one query across all experiments, beside plain Parquet files and MLflow. All
is timed in one process, the files of all being in the cache of the system.
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
from report import machine, number, table

from assay.core.records import Experiment, Metric
from assay.core.tables import Scores
from assay.store.store import Store

CUTS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 1000)
SLICES = ("faq", "how-to", "error", "short")
START = datetime(2026, 1, 1, tzinfo=UTC)
QUESTIONS = {
    "the newest 50": ("", 50),
    "all": ("", None),
    "by a parameter": ("params.index_type = 'ivf' and params.seed < 20", None),
    "by a measure": ("metrics.nDCG@10 > 0.995", None),
    "by a measure of a slice and a parameter": (
        "metrics.R@10[category=faq] > 0.98 and params.index_type = 'hnsw'",
        None,
    ),
    "by a tag": ("tag = 'release'", None),
}


@dataclass(frozen=True)
class Size:
    """How much is done."""

    lists: tuple[int, ...] = (100, 1_000, 10_000)
    queries: int = 5_000
    experiments: int = 100
    logged: int = 2  # runs of MLflow, which takes long
    reps: int = 5


def seconds(work: Callable[[], Any], reps: int) -> float:
    """The median time of a work that was done once before."""
    work()
    return median(clock(work) for _ in range(reps))


def clock(work: Callable[..., Any], *given: Any) -> float:
    start = time.perf_counter()
    work(*given)
    return time.perf_counter() - start


def milliseconds(value: float) -> str:
    return number(1000 * value)


def disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


# list


def experiment(place: int, rng: np.random.Generator) -> Experiment:
    """An experiment of ten measures, over all queries and in four slices, and ten parameters."""
    parts = [("", ""), *(("category", name) for name in SLICES)]
    metrics = [
        Metric(f"{m}@10", c, v, rng.random()) for m in ("nDCG", "R", "RR", "P", "AP") for c, v in parts
    ]
    metrics += [
        Metric(f"{m}@100", c, v, rng.random()) for m in ("nDCG", "R", "RR", "P", "AP") for c, v in parts
    ]
    return Experiment(
        name=f"system-{place % 20}",
        at=START + timedelta(minutes=place),
        configuration={"index_type": ("hnsw", "ivf", "flat")[place % 3], "seed": place}
        | {f"p{i}": int(rng.integers(100)) for i in range(8)},
        metrics=tuple(metrics),
        latency={"p50_ms": rng.random(), "p95_ms": rng.random()},
        figures={"cost_per_1k_queries": rng.random()},
        tags=("nightly",) if place % 100 else ("nightly", "release"),
    )


def lists(size: Size, folder: Path) -> str:
    """The time of each question, and how many it found, as the store grows."""
    rng, rows, saved = np.random.default_rng(0), dict[str, list[str]](), list[str]()
    with Store(folder / "list") as store:
        there = 0
        for count in size.lists:
            took = clock(_save, store, range(there, count), rng)
            saved.append(milliseconds(took / (count - there)))
            there = count
            for name, (where, limit) in QUESTIONS.items():
                rows.setdefault(name, []).append(_asked(store, where, limit, size.reps))
        saved_size = f"{disk(folder / 'list') / there / 1000:.1f} kB an experiment"
    head = ["ms (found)", *(f"{count:,} experiments" for count in size.lists)]
    body = [["save one, without scores", *saved], *([name, *row] for name, row in rows.items())]
    return f"## List and filter\n\n{table(head, body)}\n\nOn disk: {saved_size}."


def _save(store: Store, places: range, rng: np.random.Generator) -> None:
    for place in places:
        store.put(experiment(place, rng))


def _asked(store: Store, where: str, limit: int | None, reps: int) -> str:
    """As the list shows it: with two measures of each."""

    def ask() -> list[Experiment]:
        return store.list(where, limit=limit, metrics_of=["nDCG@10", "R@10"])

    return f"{milliseconds(seconds(ask, reps))} ({len(ask()):,})"


# scores


def scores(queries: int, seed: int) -> Scores:
    """Fifty measures of queries that have a few relevant documents each."""
    rng = np.random.default_rng(seed)
    ranks = np.sort(np.floor(np.exp(rng.normal(1.5, 1.8, (queries, 3)))) + np.arange(1, 4), axis=1)
    values: dict[str, NDArray[np.float64]] = {}
    for k in CUTS:
        found = ranks <= k
        values[f"R@{k}"] = found.mean(axis=1)
        values[f"P@{k}"] = found.sum(axis=1) / k
        values[f"RR@{k}"] = np.where(found[:, 0], 1 / ranks[:, 0], 0.0)
        values[f"AP@{k}"] = (found * np.arange(1, 4) / ranks).sum(axis=1) / 3
        gains = (found / np.log2(ranks + 1)).sum(axis=1)
        values[f"nDCG@{k}"] = gains / (1 / np.log2(np.arange(2, 5))).sum()
    return Scores([f"query-{i}" for i in range(queries)], values)


def plain(made: Scores, path: Path) -> None:
    pl.DataFrame({"query_id": list(made.query_ids), **made.values}).write_parquet(path)


@dataclass
class Way:
    """One way to keep scores: seconds to save one, bytes of one, seconds of one query's history."""

    name: str
    saves: list[float]
    size: float
    history: float


def ours_and_plain(size: Size, folder: Path) -> list[Way]:
    """The store and plain files, in turns."""
    ours, theirs = list[float](), list[float]()
    files = folder / "plain"
    files.mkdir()
    with Store(folder / "store") as store:
        for place in range(size.experiments):
            a, b = scores(size.queries, place), scores(size.queries, place)
            means = tuple(Metric(name, "", "", float(v.mean())) for name, v in a.values.items())
            record = Experiment(f"e{place}", START + timedelta(place), metrics=means)
            ours.append(clock(store.put, record, a))
            theirs.append(clock(plain, b, files / f"{place:05}.parquet"))
        query = f"query-{size.queries * 2 // 3}"
        histories = _histories(store, sorted(files.glob("*.parquet")), query)
        taken = [seconds(work, min(size.reps, 3)) for work in histories]
    count = size.experiments
    return [
        Way("Assay", ours, disk(folder / "store") / count, taken[0]),
        Way("plain Parquet, read file by file", theirs, disk(files) / count, taken[1]),
        Way("plain Parquet, one lazy scan of all", theirs, disk(files) / count, taken[2]),
    ]


def _histories(store: Store, files: list[Path], query: str) -> list[Callable[[], Any]]:
    """The values of one query in all experiments, each way; they agree."""

    def ours() -> list[Any]:
        digests = [e.digests["scores"] for e in reversed(store.list(metrics_of=[]))]
        found = store.tables.row(digests, query)
        return [found[digest] for digest in digests]

    def eager() -> list[Any]:
        return [pl.read_parquet(f).filter(query_id=query).drop("query_id").row(0, named=True) for f in files]

    def lazy() -> list[Any]:
        return pl.scan_parquet(files).filter(query_id=query).drop("query_id").collect().to_dicts()

    assert ours() == eager() == lazy()
    return [ours, eager, lazy]


def mlflow_ways(size: Size, folder: Path) -> Iterator[Way]:
    """MLflow in SQLite: each value as a metric whose step is the query, and all of them as a table."""
    from mlflow import MlflowClient

    logging.disable(logging.INFO)
    for name, log, load in (
        ("MLflow, a metric with a step a query", _log_metrics, _metrics_of),
        ("MLflow, a table as an artifact", _log_table, _table_of),
    ):
        here = folder / name.split()[-1]
        here.mkdir()
        client = MlflowClient(tracking_uri=f"sqlite:///{here}/mlflow.db")
        group = client.create_experiment("scores", artifact_location=(here / "artifacts").as_uri())
        empty = disk(here)
        runs, saves = [], []
        for place in range(size.logged):
            made = scores(size.queries, place)
            runs.append(client.create_run(group).info.run_id)
            saves.append(clock(log, client, runs[-1], made))
        each = median(clock(load, client, run, size.queries * 2 // 3) for run in runs)
        yield Way(name, saves, (disk(here) - empty) / size.logged, each * size.experiments)


def _log_metrics(client: Any, run: str, made: Scores) -> None:
    from mlflow.entities import Metric as Logged

    for name, values in made.values.items():
        logged = [Logged(name.replace("@", "_at_"), v, 0, step) for step, v in enumerate(values.tolist())]
        for start in range(0, len(logged), 1000):  # MLflow takes no more at once
            client.log_batch(run, metrics=logged[start : start + 1000])


def _metrics_of(client: Any, run: str, place: int) -> list[float]:
    names = client.get_run(run).data.metrics
    return [client.get_metric_history(run, name)[place].value for name in names]


def _log_table(client: Any, run: str, made: Scores) -> None:
    import pandas as pd

    client.log_table(run, pd.DataFrame({"query_id": made.query_ids, **made.values}), "scores.json")


def _table_of(client: Any, run: str, place: int) -> list[float]:
    path = client.download_artifacts(run, "scores.json")
    found: list[float] = json.loads(Path(path).read_text())["data"][place][1:]
    return found


def kept(size: Size, folder: Path) -> str:
    """All ways, each beside Assay."""
    ways = ours_and_plain(size, folder)
    note = f"MLflow's history is that of one run (the median of {size.logged}), times {size.experiments:,}."
    try:
        ways += mlflow_ways(size, folder)
    except ImportError as error:
        note = f"MLflow is absent ({error})."
    ours = ways[0]
    rows = [
        [
            way.name,
            milliseconds(median(way.saves)), f"{median(way.saves) / median(ours.saves):.2f}×",
            f"{way.size / 1000:,.0f}", f"{way.size / ours.size:.2f}×",
            milliseconds(way.history), f"{way.history / ours.history:.2f}×",
        ]
        for way in ways
    ]  # fmt: skip
    head = ["way", "save one, ms", "over Assay", "kB on disk", "over Assay"]
    head += [f"one query in {size.experiments:,} experiments, ms", "over Assay"]
    title = (
        f"Scores of {size.queries:,} queries × {5 * len(CUTS)} measures × {size.experiments:,} experiments"
    )
    return f"## {title}\n\n{table(head, rows)}\n\n{note}"


PARTS = {"list": lists, "scores": kept}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--experiments", type=int, default=100, help="with scores (100)")
    parser.add_argument("--full", action="store_true", help="1,000 experiments with scores")
    parser.add_argument("--tiny", action="store_true", help="only to see that it runs")
    parser.add_argument("--folder", type=Path, help="where it is written and removed (the temporary folder)")
    given = parser.parse_args()
    size = Size(experiments=1_000 if given.full else given.experiments)
    if given.tiny:
        size = Size((5, 10), queries=50, experiments=3, logged=1, reps=1)
    os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
    print(" · ".join(f"{name} {value}" for name, value in machine().items()), end="\n\n")
    for name in [given.only] if given.only else PARTS:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            print(PARTS[name](size, Path(folder)), end="\n\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
