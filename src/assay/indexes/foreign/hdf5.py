"""HDF5 files of results: the runs in them, their attributes and their neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import AssayError, FormatError, MissingExtraError
from assay.core.vectors import Positions, signed
from assay.indexes.foreign.found import figures

_KILOBYTE = 1024  # the unit of index_size


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """A file to read, with what goes wrong said plainly."""
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
        raise FormatError(f"cannot be read as HDF5: {error}; fetch or write it again", path) from None


def runs(file: Any, path: str) -> list[tuple[str, Any]]:
    """The runs of a file: the file itself, or as VIBE writes it a group for each, by name."""
    if "neighbors" in file:
        return [("", file)]
    found = [(name, group) for name, group in file.items() if "neighbors" in _members(group)]
    if not found:
        held = ", ".join(map(repr, file)) or "nothing"
        raise FormatError(f"expected the results of a run, with a dataset 'neighbors'; found {held}", path)
    return found


def _members(group: Any) -> Any:
    return group if hasattr(group, "keys") else ()


def attributes(run: Any) -> dict[str, Any]:
    """The attributes of a run as plain values."""
    return {name: _plain(value) for name, value in run.attrs.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value.item() if hasattr(value, "item") and np.ndim(value) == 0 else value


def neighbors(run: Any, path: str) -> Positions:
    """The ids that were returned, a row for each query."""
    found = np.asarray(run["neighbors"])
    if found.ndim != 2 or found.dtype.kind not in "iu" or not found.size:
        raise FormatError(
            f"'neighbors' holds {found.dtype} of shape {found.shape}; expected whole numbers, "
            "a row for each query and a column for each neighbour",
            path,
        )
    return signed(found)


def doubles(run: Any, name: str, shape: tuple[int, ...], path: str) -> NDArray[np.float64] | None:
    """The numbers of a dataset that goes with the neighbours; None where there is none."""
    if name not in run:
        return None
    found = run[name]
    if getattr(found, "shape", None) != shape or found.dtype.kind not in "fiu":
        raise FormatError(
            f"{name!r} is of shape {getattr(found, 'shape', None)}; expected numbers of shape {shape}, "
            "as goes with 'neighbors'",
            path,
        )
    return np.asarray(found, np.float64)


def number(known: dict[str, Any], name: str, path: str) -> float | None:
    """A number among the attributes; None where it is missing."""
    value = known.get(name)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise FormatError(f"its attribute {name!r} is {value!r}; expected a number", path)


def engine(known: dict[str, Any], path: str) -> str:
    """The algorithm that ran."""
    found = known.get("algo") or known.get("name")
    if not found:
        raise FormatError("says nothing of the algorithm: expected an attribute 'algo' or 'name'", path)
    return str(found)


def reported(run: Any, known: dict[str, Any], path: str, **more: float | None) -> dict[str, float]:
    """The figures that a file states; the recall is the one its own plotting left in it."""
    size = number(known, "index_size", path)
    values = {
        "recall": _recall(run),
        "build_seconds": number(known, "build_time", path),
        "memory_bytes": size * _KILOBYTE if size else None,
        "candidates": number(known, "candidates", path),
    }
    return figures(values | more)


def _recall(run: Any) -> float | None:
    found = run.get("metrics/knn")
    return None if found is None or "mean" not in found.attrs else float(found.attrs["mean"])
