"""Results of ann-benchmarks (one file per run) and of VIBE (one file per index, one group per run).

A file contains the ids, distances and times of each query in the last run, and the mean time of the best run,
from which ann-benchmarks computes throughput.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.bench.imported.hdf5 import (
    engine_name,
    list_runs,
    open_hdf5,
    read_attributes,
    read_doubles,
    read_neighbors,
    read_number,
    reported_figures,
)
from assay.bench.imported.result import ImportedResult, digest_arrays, make_pass, make_record, parse_metric
from assay.core.errors import FormatError
from assay.core.vectors import Neighbors

SOURCE = "ann-benchmarks"
EPSILON = 1e-3  # tolerance of ann-benchmarks beyond the distance of the K-th true neighbor


def read(path: str) -> Iterator[ImportedResult]:
    """Yield the runs of a file."""
    with open_hdf5(path) as file:
        for name, run in list_runs(file, path):
            yield _read_run(name, run, path)


def _read_run(group: str, run: Any, path: str) -> ImportedResult:
    attributes = read_attributes(run)
    ids = read_neighbors(run, path)
    times = _read_times(run, len(ids), path)
    batch = bool(attributes.get("batch_mode") or attributes.get("gpu_mode"))
    best = read_number(attributes, "best_search_time", path)
    search = {"name": str(attributes.get("name", ""))} | ({"arguments": group} if group else {})
    record = make_record(
        "VIBE" if group else SOURCE,
        engine_name(attributes, path),
        search={name: value for name, value in search.items() if value},
        mode="batch" if batch else "single",
        metric=parse_metric(str(attributes.get("distance", ""))),
        k=int(read_number(attributes, "count", path) or ids.shape[1]),
        dataset=attributes.get("dataset"),
        queries=len(ids),
        note=_note(attributes, batch, times),
        reported=reported_figures(run, attributes, path, qps=1 / best if best else None),
    )
    identity = {name: record.get(name) for name in ("source", "engine", "search", "mode", "dataset", "k")}
    answers = make_pass(ids, float(times.sum()), None if batch else times)
    distances = read_doubles(run, "distances", ids.shape, path)
    return ImportedResult(record, identity | {"content": digest_arrays(ids, times)}, answers, distances)


def _read_times(run: Any, queries: int, path: str) -> NDArray[np.float64]:
    times = read_doubles(run, "times", (queries,), path)
    if times is None:
        raise FormatError("has no dataset 'times': expected the seconds of each query", path)
    if not np.isfinite(times).all() or times.min() < 0 or times.sum() <= 0:
        raise FormatError("'times' contains invalid values: expected the seconds of each query", path)
    return times


def _note(attributes: dict[str, Any], batch: bool, times: NDArray[np.float64]) -> str:
    count = attributes.get("run_count", "?")
    note = f"times are from the last of {count} runs, the reported qps is from the best"
    if not batch:
        return f"{note}; only the calls are timed, one after another"
    is_own_timing = np.ptp(times) > 1e-6 * times.max()
    return f"{note}; sent in one batch, so there are no percentiles" + (
        "; the times are the sum of the engine's own times" if is_own_timing else ""
    )


def ann_benchmarks_recall(distances: NDArray[np.float64], truth: Neighbors, k: int) -> float | None:
    """Return the recall by the rule of ann-benchmarks; None if distances are not known.

    Every id within the distance of the K-th true neighbor plus 0.001 counts, and counts again if it is
    returned again.

    >>> truth = Neighbors(np.array([[4, 7]]), np.array([[0.1, 0.2]]))
    >>> ann_benchmarks_recall(np.array([[0.1, 0.2009]]), truth, 2)
    1.0
    """
    if truth.distances is None or truth.k < k or len(truth.positions) != len(distances):
        return None
    within = distances[:, :k] <= truth.distances[:, k - 1 : k] + EPSILON
    return float(within.sum(axis=1).mean() / k)
