"""Files of results as ann-benchmarks, VIBE and big-ann-benchmarks write them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench.trials import Trial
from assay.core.vectors import InMemoryVectors, Neighbors
from assay.indexes.hits import HitRule
from assay.stats.intervals import Estimate

ATTRIBUTES: dict[str, Any] = {
    "batch_mode": False, "best_search_time": 0.0005, "candidates": 4.0, "expect_extra": False,
    "name": "Annoy(n_trees=100, search_k=200)", "run_count": 5, "distance": "euclidean", "build_time": 2.5,
    "index_size": 4.0, "algo": "annoy", "dataset": "line-1-euclidean",
}  # fmt: skip
# one query at 0; ids 3 and 4 are equally far, and 5 to 9 much farther
BASE = np.array([[1], [2], [3], [4], [4], [50], [60], [70], [80], [90]], np.float32)
RETURNED = [[0, 1, 2, 3], [0, 1, 2, 4], [0, 0, 0, 0], [0, 1], [5, 6, 7]]
QUERIES = np.zeros((len(RETURNED), 1), np.float32)
TRUTH = Neighbors(np.tile([0, 1, 2, 3], (5, 1)), np.tile([1.0, 2.0, 3.0, 4.0], (5, 1)))


def make_hit_rule(policy: str = "ties", k: int = 4) -> HitRule:
    """The truth of the line."""
    return HitRule(TRUTH, k, InMemoryVectors(BASE), InMemoryVectors(QUERIES), "l2", policy)


def recall_value(found: Trial) -> float:
    """The recall that was scored."""
    assert found.recall is not None
    assert found.recall.value is not None
    return found.recall.value


def median_qps(found: Trial) -> float:
    """The throughput that was timed."""
    assert found.qps is not None
    return found.qps.median


def fill(
    group: Any,
    returned: Sequence[Sequence[int]],
    distances: Sequence[Sequence[float]],
    times: Sequence[float] | None = None,
    count: int = 4,
    **attributes: Any,
) -> None:
    """One run, as store_results of ann-benchmarks writes it."""
    for name, value in (ATTRIBUTES | {"count": count} | attributes).items():
        group.attrs[name] = value
    group.create_dataset("times", (len(returned),), "f")[:] = times or [0.001] * len(returned)
    ids = group.create_dataset("neighbors", (len(returned), count), "i")
    far = group.create_dataset("distances", (len(returned), count), "f")
    for i, (row, their) in enumerate(zip(returned, distances, strict=True)):
        ids[i] = list(row) + [-1] * (count - len(row))
        far[i] = list(their) + [float("inf")] * (count - len(their))


def ann_benchmarks(path: Path, returned: Sequence[Sequence[int]] = RETURNED, **more: Any) -> Path:
    """A file of ann-benchmarks, by default of the line."""
    import h5py

    distances = more.pop("distances", None) or [[float(BASE[i, 0]) for i in row] for row in returned]
    with h5py.File(path, "w") as file:
        fill(file, returned, distances, **more)
    return path


def big_ann(path: Path, returned: Any = None, **attributes: Any) -> Path:
    """A file of big-ann-benchmarks: the ids and attributes, and no times of single queries."""
    import h5py

    ids = [row + [-1] * (4 - len(row)) for row in RETURNED] if returned is None else returned
    known = {
        "best_search_time": 0.5, "name": "faiss_HNSW", "run_count": 3, "distance": "euclidean", "type": "knn",
        "count": 4, "search_times": [0.5, 1.0, 2.0], "private_queries": False, "index_size": 8.0,
        "algo": "faissHNSW", "dataset": "line-1", "dist_comps": 1500,
    }  # fmt: skip
    with h5py.File(path, "w", libver="latest") as file:
        for name, value in (known | attributes).items():
            if value is not None:
                file.attrs[name] = value
        file.create_dataset("neighbors", (len(ids), len(ids[0])), "i", data=ids)
    return path


def robustness_of(found: Trial, delta: float) -> Estimate:
    """The robustness of a trial that has one."""
    made = found.robustness(delta)
    assert made is not None
    return made
