"""Vectors and neighbours in files: readers and writers of every format.

>>> import tempfile, pathlib
>>> import numpy as np
>>> path = pathlib.Path(tempfile.mkdtemp()) / "base.fbin"
>>> write_vectors(np.eye(3, dtype=np.float32), path)
>>> read_vectors(path).shape
(3, 3)
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import numpy as np

from assay.core.errors import FormatError, InputError
from assay.core.vectors import Held, Neighbors, Vectors
from assay.datasets.vectors.formats import FORMATS, VectorFormat, chosen, place, promised

__all__ = [
    "FORMATS",
    "VectorFormat",
    "metric_of",
    "read_neighbors",
    "read_vectors",
    "write_neighbors",
    "write_vectors",
]

ROLES = ("base", "queries")
DISTANCES = ("plain", "squared", "negated")
_Path = str | os.PathLike[str]


def read_vectors(
    path: _Path,
    *,
    role: str = "base",
    part: str | None = None,
    format: str | None = None,  # noqa: A002
) -> Vectors:
    """The vectors of a file, of which only what is asked for is read.

    `part` names a dataset of an HDF5 file or a column of a Parquet file, as does `file.hdf5:test`.
    Where none is named, an HDF5 file gives `train` as the base and `test` as the queries.
    """
    if role not in ROLES:
        raise InputError(f"the role is one of {', '.join(ROLES)}, found {role!r}")
    where = place(path, part)
    made = chosen(where, format, "vectors")
    found: Vectors = _module(made).read(where, made, role)
    return found


def write_vectors(
    vectors: Vectors | Any,
    path: _Path,
    *,
    dtype: str | None = None,
    format: str | None = None,  # noqa: A002
) -> None:
    """Write vectors some rows at a time, the file whole or not at all; `dtype` converts them."""
    where = place(path)
    made = promised(where, format, "vectors")
    given = vectors if isinstance(vectors, Vectors) else Held(vectors)
    if not all(given.shape):
        n, d = given.shape
        raise InputError(f"{where.path}: there is nothing to write: {n} rows of {d} dimensions")
    from assay.datasets.vectors.convert import fitted

    _module(made).write(fitted(given, made.types, dtype, where.path), where, made)


def read_neighbors(
    path: _Path,
    *,
    part: str | None = None,
    distances: str = "plain",
    format: str | None = None,  # noqa: A002
) -> Neighbors:
    """The neighbours of a truth file, in memory.

    `distances` says what the file keeps: the distances themselves, their squares (Euclidean distance
    without its root), or inner products, which become distances when negated.
    """
    if distances not in DISTANCES:
        raise InputError(f"distances are {', '.join(DISTANCES)}, found {distances!r}")
    where = place(path, part)
    made = chosen(where, format, "neighbors")
    found: Neighbors = _module(made).read_neighbors(where, made)
    if made.name == "ibin":
        found = _with_distances(found, where.path)
    if not found.k:
        raise FormatError("has no neighbours of any query: the number of neighbours is 0", where.path)
    return _tidy(found, distances)


def write_neighbors(
    neighbors: Neighbors,
    path: _Path,
    *,
    format: str | None = None,  # noqa: A002
) -> None:
    """Write neighbours, the file whole or not at all."""
    where = place(path)
    made = promised(where, format, "neighbors")
    _module(made).write_neighbors(neighbors, where, made)


def metric_of(path: _Path) -> str | None:
    """The metric that a file names; None where it names none, as all but HDF5 do.

    >>> metric_of("base.fbin") is None
    True
    """
    where = place(path)
    if not where.path.lower().endswith(FORMATS["hdf5"].extensions):
        return None
    from assay.datasets.vectors.hdf5 import metric

    return metric(where.path)


def _with_distances(found: Neighbors, path: str) -> Neighbors:
    """Neighbours with the distances of the file beside them, if there is one."""
    from assay.datasets.vectors.truth import beside

    if found.distances is not None or not os.path.exists(beside(path)):
        return found
    distances = read_vectors(beside(path))
    if distances.shape != found.positions.shape:
        raise FormatError(
            f"holds {distances.shape} distances, and {path} {found.positions.shape} ids", beside(path)
        )
    return found._replace(distances=distances.whole().astype(np.float64))


def _tidy(found: Neighbors, kept: str) -> Neighbors:
    """Distances that grow with distance, and NaN where there is no neighbour."""
    if found.distances is None:
        return found
    made = {"plain": found.distances, "squared": None, "negated": -found.distances}[kept]
    distances = np.sqrt(np.maximum(found.distances, 0)) if made is None else made
    return found._replace(distances=np.where(found.positions < 0, np.nan, distances))


def _module(made: VectorFormat) -> Any:
    """The reader and writer of a format, loaded only now."""
    return import_module(f"assay.datasets.vectors.{made.module}")
