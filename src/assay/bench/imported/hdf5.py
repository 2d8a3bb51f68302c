"""HDF5 files of results: their runs, attributes and neighbors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.bench.imported.result import finite_figures
from assay.core.errors import AssayError, FormatError, MissingExtraError
from assay.core.vectors import Positions, signed_positions

_KILOBYTE = 1024  # the unit of index_size


@contextmanager
def open_hdf5(path: str) -> Iterator[Any]:
    """Open a file for reading and report every failure as a FormatError."""
    try:
        import h5py
    except ImportError:
        raise MissingExtraError("h5py", "HDF5", "hdf5") from None
    try:
        with h5py.File(path, "r") as file:
            yield file
    except AssayError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise FormatError(f"cannot be read as HDF5: {error}; download or write it again", path) from None


def list_runs(file: Any, path: str) -> list[tuple[str, Any]]:
    """Return the runs of a file: the file itself, or, as VIBE writes them, one group per run by name."""
    if "neighbors" in file:
        return [("", file)]
    groups = [(name, group) for name, group in file.items() if "neighbors" in _members(group)]
    if not groups:
        contents = ", ".join(map(repr, file)) or "nothing"
        raise FormatError(
            f"expected the results of a run, with a dataset 'neighbors'; found {contents}", path
        )
    return groups


def _members(group: Any) -> Any:
    return group if hasattr(group, "keys") else ()


def read_attributes(run: Any) -> dict[str, Any]:
    """Return the attributes of a run as plain values."""
    return {name: _plain_value(value) for name, value in run.attrs.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value.item() if hasattr(value, "item") and np.ndim(value) == 0 else value


def read_neighbors(run: Any, path: str) -> Positions:
    """Return the ids that the run returned, one row per query."""
    ids = np.asarray(run["neighbors"])
    if ids.ndim != 2 or ids.dtype.kind not in "iu" or not ids.size:
        raise FormatError(
            f"'neighbors' contains {ids.dtype} of shape {ids.shape}; expected whole numbers, "
            "a row for each query and a column for each neighbor",
            path,
        )
    return signed_positions(ids)


def read_doubles(run: Any, name: str, shape: tuple[int, ...], path: str) -> NDArray[np.float64] | None:
    """Return the numbers of a dataset that matches the neighbors; None if there is none."""
    if name not in run:
        return None
    dataset = run[name]
    if getattr(dataset, "shape", None) != shape or dataset.dtype.kind not in "fiu":
        raise FormatError(
            f"{name!r} has the shape {getattr(dataset, 'shape', None)}; expected numbers of shape {shape}, "
            "to match 'neighbors'",
            path,
        )
    return np.asarray(dataset, np.float64)


def read_number(attributes: dict[str, Any], name: str, path: str) -> float | None:
    """Return a number among the attributes; None if it is missing."""
    value = attributes.get(name)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise FormatError(f"its attribute {name!r} is {value!r}; expected a number", path)


def engine_name(attributes: dict[str, Any], path: str) -> str:
    """Return the name of the algorithm."""
    name = attributes.get("algo") or attributes.get("name")
    if not name:
        raise FormatError("does not name the algorithm: expected an attribute 'algo' or 'name'", path)
    return str(name)


def reported_figures(
    run: Any, attributes: dict[str, Any], path: str, **extra: float | None
) -> dict[str, float]:
    """Return the reported figures; the recall is the one that the plotting of ann-benchmarks stored."""
    size = read_number(attributes, "index_size", path)
    values = {
        "recall": _stored_recall(run),
        "build_seconds": read_number(attributes, "build_time", path),
        "memory_bytes": size * _KILOBYTE if size else None,
        "candidates": read_number(attributes, "candidates", path),
    }
    return finite_figures(values | extra)


def _stored_recall(run: Any) -> float | None:
    group = run.get("metrics/knn")
    return None if group is None or "mean" not in group.attrs else float(group.attrs["mean"])
