"""Results of big-ann-benchmarks: all queries in one batch, run several times.

The file holds the ids and the seconds of each run, and no time of a single query.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import FormatError
from assay.indexes.foreign.found import Found, digest, metric_of, passed, told
from assay.indexes.foreign.hdf5 import attributes, engine, neighbors, number, opened, reported

SOURCE = "big-ann-benchmarks"


def read(path: str) -> Iterator[Found]:
    """The run of a file."""
    with opened(path) as file:
        refuse(file, path)
        yield _found(file, path)


def refuse(file: Any, path: str) -> None:
    """Refuse what has no list of neighbours for each query, or more than one."""
    names = list(file)
    if any(name.startswith("lims") for name in names):
        raise FormatError(
            "holds the results of a range search ('lims'): recall at k needs the k nearest of each query; "
            "import a run of type 'knn'",
            path,
        )
    if any(name.startswith("neighbors_step") for name in names):
        raise FormatError(
            "holds the steps of a streaming run ('neighbors_step…'), each with a truth of its own; "
            "import a run that searches one set",
            path,
        )
    if "times" in names or "batch_mode" in file.attrs:
        raise FormatError(
            "is of ann-benchmarks, which keeps the time of each query ('times') and the mean in "
            "'best_search_time': import it with --from ann-benchmarks",
            path,
        )
    if "neighbors" not in names:
        held = ", ".join(map(repr, names)) or "nothing"
        raise FormatError(f"expected the results of a run, with a dataset 'neighbors'; found {held}", path)


def _found(run: Any, path: str) -> Found:
    known = attributes(run)
    ids = neighbors(run, path)
    times = _times(known, path)
    made = told(
        SOURCE,
        engine(known, path),
        search={"name": str(known["name"])} if known.get("name") else {},
        mode="batch",
        metric=metric_of(str(known.get("distance", ""))),
        k=int(number(known, "count", path) or ids.shape[1]),
        dataset=known.get("dataset"),
        queries=len(ids),
        note=_note(known, times),
        reported=reported(run, known, path, qps=len(ids) / times.min(), **_counted(known, len(ids), path)),
    )
    same = {name: made.get(name) for name in ("source", "engine", "search", "dataset", "k")}
    content = {"content": digest(ids), "seconds": times.tolist()}
    return Found(made, same | content, passed(ids, float(np.median(times))))


def _times(known: dict[str, Any], path: str) -> NDArray[np.float64]:
    """The seconds of each run, or of the best where only that is known."""
    found = np.atleast_1d(np.asarray(known.get("search_times", known.get("best_search_time", []))))
    if not found.size or found.dtype.kind not in "fiu" or not (np.isfinite(found) & (found > 0)).all():
        raise FormatError(
            "says nothing of the time: expected an attribute 'search_times' or 'best_search_time' "
            "with the seconds of all queries together",
            path,
        )
    return found.astype(np.float64)


def _note(known: dict[str, Any], times: NDArray[np.float64]) -> str:
    said = ["asked in one batch, so there are no percentiles"]
    if "search_times" in known:
        said.append(f"qps is of the median of {len(times)} runs, the reported qps of the best")
    else:
        said.append(f"qps is of the best of {known.get('run_count', '?')} runs")
    if known.get("type") == "knn_filtered":
        # an id that the filter leaves out may be nearer than the truth, and would pass for a tie
        said.append("a filtered search: score it by policy strict against a filtered truth")
    if known.get("private_queries"):
        said.append("of the private queries")
    return "; ".join(said)


def _counted(known: dict[str, Any], queries: int, path: str) -> dict[str, float | None]:
    """What engines count by themselves; distances are added up over all runs."""
    total, count = number(known, "dist_comps", path), number(known, "run_count", path)
    return {
        "dist_comps": total / (count * queries) if total and count else None,
        "mean_latency": number(known, "mean_latency", path) or None,
        "mean_ssd_ios": number(known, "mean_ssd_ios", path) or None,
    }
