"""Results of big-ann-benchmarks: all queries in one batch, run several times.

A file contains the ids and the seconds of each run, but no time of a single query.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.bench.imported.hdf5 import (
    engine_name,
    open_hdf5,
    read_attributes,
    read_neighbors,
    read_number,
    reported_figures,
)
from assay.bench.imported.result import ImportedResult, digest_arrays, make_pass, make_record, parse_metric
from assay.core.errors import FormatError

SOURCE = "big-ann-benchmarks"


def read(path: str) -> Iterator[ImportedResult]:
    """Yield the run of a file."""
    with open_hdf5(path) as file:
        refuse_other_runs(file, path)
        yield _read_run(file, path)


def refuse_other_runs(file: Any, path: str) -> None:
    """Refuse files that do not contain exactly one list of neighbors for each query."""
    names = list(file)
    if any(name.startswith("lims") for name in names):
        raise FormatError(
            "contains the results of a range search ('lims'): recall at k needs the k nearest neighbors of "
            "each query; import a run of type 'knn'",
            path,
        )
    if any(name.startswith("neighbors_step") for name in names):
        raise FormatError(
            "contains the steps of a streaming run ('neighbors_step…'), each with its own truth; "
            "import a run that searches one set",
            path,
        )
    if "times" in names or "batch_mode" in file.attrs:
        raise FormatError(
            "is from ann-benchmarks, which stores the time of each query ('times') and the mean in "
            "'best_search_time': import it with --from ann-benchmarks",
            path,
        )
    if "neighbors" not in names:
        contents = ", ".join(map(repr, names)) or "nothing"
        raise FormatError(
            f"expected the results of a run, with a dataset 'neighbors'; found {contents}", path
        )


def _read_run(run: Any, path: str) -> ImportedResult:
    attributes = read_attributes(run)
    ids = read_neighbors(run, path)
    times = _read_times(attributes, path)
    record = make_record(
        SOURCE,
        engine_name(attributes, path),
        search={"name": str(attributes["name"])} if attributes.get("name") else {},
        mode="batch",
        metric=parse_metric(str(attributes.get("distance", ""))),
        k=int(read_number(attributes, "count", path) or ids.shape[1]),
        dataset=attributes.get("dataset"),
        queries=len(ids),
        note=_note(attributes, times),
        reported=reported_figures(
            run, attributes, path, qps=len(ids) / times.min(), **_engine_counters(attributes, len(ids), path)
        ),
    )
    identity = {name: record.get(name) for name in ("source", "engine", "search", "dataset", "k")}
    content = {"content": digest_arrays(ids), "seconds": times.tolist()}
    return ImportedResult(record, identity | content, make_pass(ids, float(np.median(times))))


def _read_times(attributes: dict[str, Any], path: str) -> NDArray[np.float64]:
    """Return the seconds of each run, or of the best run if only that is known."""
    times = np.atleast_1d(np.asarray(attributes.get("search_times", attributes.get("best_search_time", []))))
    if not times.size or times.dtype.kind not in "fiu" or not (np.isfinite(times) & (times > 0)).all():
        raise FormatError(
            "has no times: expected an attribute 'search_times' or 'best_search_time' "
            "with the seconds of all queries together",
            path,
        )
    return times.astype(np.float64)


def _note(attributes: dict[str, Any], times: NDArray[np.float64]) -> str:
    parts = ["sent in one batch, so there are no percentiles"]
    if "search_times" in attributes:
        parts.append(f"qps is from the median of {len(times)} runs, the reported qps from the best")
    else:
        parts.append(f"qps is from the best of {attributes.get('run_count', '?')} runs")
    if attributes.get("type") == "knn_filtered":
        # an id that the filter excludes may be nearer than the truth and would count as a tie
        parts.append("a filtered search: score it by the policy strict against a filtered truth")
    if attributes.get("private_queries"):
        parts.append("with the private queries")
    return "; ".join(parts)


def _engine_counters(attributes: dict[str, Any], queries: int, path: str) -> dict[str, float | None]:
    """Return the counters of the engine; distance computations are totals over all runs."""
    total, count = read_number(attributes, "dist_comps", path), read_number(attributes, "run_count", path)
    return {
        "dist_comps": total / (count * queries) if total and count else None,
        "mean_latency": read_number(attributes, "mean_latency", path) or None,
        "mean_ssd_ios": read_number(attributes, "mean_ssd_ios", path) or None,
    }
