"""Results of ann-benchmarks (one file a run), and of VIBE (one file an index, with a group for each run).

The file holds the ids, their distances and the time of each query, all of the last run, and the mean time
of the best run, from which ann-benchmarks takes its throughput.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import FormatError
from assay.core.vectors import Neighbors
from assay.indexes.foreign.found import Found, digest, metric_of, passed, told
from assay.indexes.foreign.hdf5 import attributes, doubles, engine, neighbors, number, opened, reported, runs

SOURCE = "ann-benchmarks"
EPSILON = 1e-3  # by which a distance may exceed the K-th of the truth, in their recall


def read(path: str) -> Iterator[Found]:
    """The runs of a file."""
    with opened(path) as file:
        for name, run in runs(file, path):
            yield _found(name, run, path)


def _found(group: str, run: Any, path: str) -> Found:
    known = attributes(run)
    ids = neighbors(run, path)
    times = _times(run, len(ids), path)
    batch = bool(known.get("batch_mode") or known.get("gpu_mode"))
    best = number(known, "best_search_time", path)
    search = {"name": str(known.get("name", ""))} | ({"arguments": group} if group else {})
    made = told(
        "VIBE" if group else SOURCE,
        engine(known, path),
        search={word: value for word, value in search.items() if value},
        mode="batch" if batch else "single",
        metric=metric_of(str(known.get("distance", ""))),
        k=int(number(known, "count", path) or ids.shape[1]),
        dataset=known.get("dataset"),
        queries=len(ids),
        note=_note(known, batch, times),
        reported=reported(run, known, path, qps=1 / best if best else None),
    )
    same = {name: made.get(name) for name in ("source", "engine", "search", "mode", "dataset", "k")}
    answers = passed(ids, float(times.sum()), None if batch else times)
    distances = doubles(run, "distances", ids.shape, path)
    return Found(made, same | {"content": digest(ids, times)}, answers, distances)


def _times(run: Any, queries: int, path: str) -> NDArray[np.float64]:
    found = doubles(run, "times", (queries,), path)
    if found is None:
        raise FormatError("has no dataset 'times': expected the seconds of each query", path)
    if not np.isfinite(found).all() or found.min() < 0 or found.sum() <= 0:
        raise FormatError("'times' holds what is no time: expected seconds, of each query", path)
    return found


def _note(known: dict[str, Any], batch: bool, times: NDArray[np.float64]) -> str:
    count = known.get("run_count", "?")
    kept = f"times are of the last of {count} runs, the reported qps is of the best"
    if not batch:
        return f"{kept}; only the calls are timed, one after another"
    own = np.ptp(times) > 1e-6 * times.max()
    return f"{kept}; asked in one batch, so there are no percentiles" + (
        "; the times are the engine's own, added up" if own else ""
    )


def their_recall(distances: NDArray[np.float64], truth: Neighbors, k: int) -> float | None:
    """The recall by the rule of ann-benchmarks; None where distances are not known.

    Whatever is not farther than the K-th of the truth and 0.001 counts, and counts again when it is
    returned again.

    >>> truth = Neighbors(np.array([[4, 7]]), np.array([[0.1, 0.2]]))
    >>> their_recall(np.array([[0.1, 0.2009]]), truth, 2)
    1.0
    """
    if truth.distances is None or truth.k < k or len(truth.positions) != len(distances):
        return None
    within = distances[:, :k] <= truth.distances[:, k - 1 : k] + EPSILON
    return float(within.sum(axis=1).mean() / k)
