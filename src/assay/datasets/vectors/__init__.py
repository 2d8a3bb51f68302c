"""Readers and writers of vectors and neighbours in files.

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
from assay.core.unsupported_files import refuse_unsupported
from assay.core.vectors import InMemoryVectors, Neighbors, Vectors
from assay.datasets.vectors.convert import convert_to_fit
from assay.datasets.vectors.formats import (
    FORMATS,
    VectorFormat,
    format_to_read,
    format_to_write,
    parse_file_part,
)
from assay.datasets.vectors.hdf5 import stored_metric
from assay.datasets.vectors.truth import distances_path

__all__ = [
    "FORMATS",
    "VectorFormat",
    "read_metric",
    "read_neighbors",
    "read_vectors",
    "write_neighbors",
    "write_vectors",
]

ROLES = ("base", "queries")
DISTANCE_CONVENTIONS = ("plain", "squared", "negated")
_Path = str | os.PathLike[str]


def read_vectors(
    path: _Path,
    *,
    role: str = "base",
    part: str | None = None,
    format: str | None = None,  # noqa: A002
) -> Vectors:
    """Return the vectors of a file, of which only the requested rows are read.

    `part` names a dataset of an HDF5 file or a column of a Parquet file, as does `file.hdf5:test`.
    By default the base of an HDF5 file is its dataset `train`, and the queries are `test`.
    """
    if role not in ROLES:
        raise InputError(f"the role is one of {', '.join(ROLES)}, found {role!r}")
    file = parse_file_part(path, part)
    file_format = format_to_read(file, format, "vectors")
    vectors: Vectors = _module(file_format).read(file, file_format, role)
    return vectors


def write_vectors(
    vectors: Vectors | Any,
    path: _Path,
    *,
    dtype: str | None = None,
    format: str | None = None,  # noqa: A002
) -> None:
    """Write vectors block by block, the file completely or not at all; `dtype` converts them."""
    file = parse_file_part(path)
    file_format = format_to_write(file, format, "vectors")
    source = vectors if isinstance(vectors, Vectors) else InMemoryVectors(vectors)
    if not all(source.shape):
        n, d = source.shape
        raise InputError(f"{file.path}: there is nothing to write: {n} rows of {d} dimensions")
    _module(file_format).write(convert_to_fit(source, file_format.types, dtype, file.path), file, file_format)


def read_neighbors(
    path: _Path,
    *,
    part: str | None = None,
    distances: str = "plain",
    format: str | None = None,  # noqa: A002
) -> Neighbors:
    """Return the neighbours of a truth file, in memory.

    `distances` is what the file contains: the distances themselves, their squares (Euclidean distance
    without the square root), or inner products, which become distances when negated.
    """
    if distances not in DISTANCE_CONVENTIONS:
        raise InputError(f"distances are {', '.join(DISTANCE_CONVENTIONS)}, found {distances!r}")
    file = parse_file_part(path, part)
    file_format = format_to_read(file, format, "neighbors")
    neighbors: Neighbors = _module(file_format).read_neighbors(file, file_format)
    if file_format.name == "ibin":
        neighbors = _add_distances(neighbors, file.path)
    if not neighbors.k:
        raise FormatError("has no neighbours for any query: the number of neighbours is 0", file.path)
    return _normalize_distances(neighbors, distances)


def write_neighbors(
    neighbors: Neighbors,
    path: _Path,
    *,
    format: str | None = None,  # noqa: A002
) -> None:
    """Write neighbours, the file completely or not at all."""
    file = parse_file_part(path)
    file_format = format_to_write(file, format, "neighbors")
    _module(file_format).write_neighbors(neighbors, file, file_format)


def read_metric(path: _Path) -> str | None:
    """Return the metric that is stored in a file; None if there is none, as in all formats but HDF5.

    >>> read_metric("base.fbin") is None
    True
    """
    file = parse_file_part(path)
    refuse_unsupported(file.path)
    if not file.path.lower().endswith(FORMATS["hdf5"].extensions):
        return None
    return stored_metric(file.path)


def _add_distances(neighbors: Neighbors, path: str) -> Neighbors:
    """Return neighbours with the distances of the accompanying file, if there is one."""
    if neighbors.distances is not None or not os.path.exists(distances_path(path)):
        return neighbors
    distances = read_vectors(distances_path(path))
    if distances.shape != neighbors.positions.shape:
        raise FormatError(
            f"has distances of shape {distances.shape}, but the ids in {path} are of shape "
            f"{neighbors.positions.shape}",
            distances_path(path),
        )
    return neighbors._replace(distances=distances.to_matrix().astype(np.float64))


def _normalize_distances(neighbors: Neighbors, convention: str) -> Neighbors:
    """Return neighbours with distances of which smaller is nearer, NaN if there is no neighbour."""
    if neighbors.distances is None:
        return neighbors
    converted = {"plain": neighbors.distances, "squared": None, "negated": -neighbors.distances}[convention]
    distances = np.sqrt(np.maximum(neighbors.distances, 0)) if converted is None else converted
    return neighbors._replace(distances=np.where(neighbors.positions < 0, np.nan, distances))


def _module(file_format: VectorFormat) -> Any:
    """Import and return the module that reads and writes a format."""
    return import_module(f"assay.datasets.vectors.{file_format.module}")
