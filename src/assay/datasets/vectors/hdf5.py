"""HDF5 files of ann-benchmarks and VIBE: train, test, neighbors, distances, learn, …"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from assay.core.errors import AssayError, FormatError, MissingExtraError
from assay.core.files import disk_error
from assay.core.vector_faults import row_blocks
from assay.core.vectors import (
    METRIC_NAMES,
    TYPES,
    MappedVectors,
    Matrix,
    Neighbors,
    Vectors,
    signed_positions,
)
from assay.datasets.output_files import open_for_writing
from assay.datasets.vectors.formats import FilePart, VectorFormat
from assay.datasets.vectors.headers import NEIGHBORS_HINT, file_size
from assay.datasets.vectors.windowed import WindowedVectors

DATASETS = {"base": "train", "queries": "test"}
_DISTANCE_NAMES = {"l2": "euclidean", "cosine": "angular", "ip": "ip"}


class Hdf5Vectors(WindowedVectors):
    """The rows of a dataset that is stored in chunks, compressed or not."""

    def read_window(self, start: int, stop: int) -> Matrix:
        """Return the rows from start up to stop, from the file."""
        with _open_file(self.path) as file:
            rows: Matrix = file[self.part][start:stop]
        return rows.astype(self.dtype, copy=False)


@contextmanager
def _open_file(path: str, mode: str = "r") -> Iterator[Any]:
    """Open a file and translate the errors of h5py."""
    try:
        import h5py
    except ImportError:
        raise MissingExtraError("h5py", "HDF5", "hdf5") from None
    file_size(path)
    try:
        with h5py.File(path, mode) as file:
            yield file
    except AssayError:
        raise
    except (
        OSError,
        RuntimeError,
        LookupError,
        ValueError,
        TypeError,
    ) as error:  # h5py raises built-in exceptions
        if mode != "r" and disk_error(error):
            raise
        raise FormatError(f"cannot be used as HDF5: {error}; download or write it again", path) from None


def read(file_part: FilePart, file_format: VectorFormat, role: str) -> Vectors:
    """Return the vectors of a dataset: mapped if its rows are contiguous, else read by windows."""
    with _open_file(file_part.path) as file:
        dataset = _find_dataset(file, file_part.part or DATASETS[role], file_part.path)
        shape, dtype, part = tuple(dataset.shape), dataset.dtype, dataset.name
        offset = None if dataset.external else dataset.id.get_offset()
    if len(shape) != 2 or dtype.name not in TYPES:
        ids = f"; {NEIGHBORS_HINT}" if dtype.kind in "iu" and len(shape) == 2 else ""
        raise FormatError(
            f"dataset {part!r} holds {dtype} of shape {shape}; vectors are n rows and d columns of "
            f"{', '.join(TYPES)}{ids}",
            file_part.path,
        )
    if offset is None or not dtype.isnative:
        return Hdf5Vectors(file_part.path, part, shape, dtype.newbyteorder("="))
    return MappedVectors(file_part.path, shape, dtype, offset)


def _find_dataset(file: Any, part: str, path: str) -> Any:
    dataset = file.get(part)
    if dataset is None or not hasattr(dataset, "shape"):
        names = _dataset_names(file)
        truth = f"{NEIGHBORS_HINT} if 'neighbors' is meant; " if "neighbors" in names else ""
        raise FormatError(
            f"has no dataset {part!r}; there are {', '.join(names) or 'none'}: "
            f"{truth}give one, as in {path}:NAME",
            path,
        )
    return dataset


def _dataset_names(file: Any) -> list[str]:
    names: list[str] = []
    file.visititems(lambda name, item: names.append(name) if hasattr(item, "shape") else None)
    return names


def stored_metric(path: str) -> str | None:
    """Return the metric of the distances in a file; None if it is not stored."""
    with _open_file(path) as file:
        value = file.attrs.get("distance")
    if value is None:
        return None
    name = value.decode() if isinstance(value, bytes) else str(value)
    if name.lower() not in METRIC_NAMES:
        raise FormatError(f"its distance is {name!r}; expected one of {', '.join(METRIC_NAMES)}", path)
    return METRIC_NAMES[name.lower()]


def dataset_names(path: str) -> list[str]:
    """Return the names of the datasets of a file."""
    with _open_file(path) as file:
        return _dataset_names(file)


def write(vectors: Vectors, target: FilePart, file_format: VectorFormat) -> None:
    """Write vectors as a dataset: into the existing file if a part is named, else into a new file."""
    with _edit_file(target.path, keep=target.part is not None) as file:
        _put_vectors(file, target.part or DATASETS["base"], vectors)


def write_datasets(
    path: str | os.PathLike[str],
    *,
    metric: str | None = None,
    vectors: Mapping[str, Vectors],
    neighbors: Neighbors | None = None,
) -> None:
    """Write a new file in the form of ann-benchmarks: vectors by dataset name, and neighbours."""
    with _edit_file(os.fspath(path), keep=False) as file:
        for part, dataset in vectors.items():
            _put_vectors(file, part, dataset)
        if neighbors is not None:
            _put_neighbors(file, "neighbors", neighbors)
        if metric is not None:
            file.attrs["distance"] = _DISTANCE_NAMES[metric]


def _put_vectors(file: Any, part: str, vectors: Vectors) -> None:
    if part in file:
        del file[part]
    dataset = file.create_dataset(part, vectors.shape, vectors.dtype)
    for start, block in row_blocks(vectors):
        dataset[start : start + len(block)] = block


@contextmanager
def _edit_file(path: str, keep: bool) -> Iterator[Any]:
    """Open a copy of a file, or a new one, that replaces the file if no error occurs."""
    with open_for_writing(path) as partial:
        is_edit = keep and os.path.exists(path)
        if is_edit:
            shutil.copyfile(path, partial.name)
        with _open_file(partial.name, "r+" if is_edit else "w") as file:
            yield file


def read_neighbors(file_part: FilePart, file_format: VectorFormat) -> Neighbors:
    """Return the neighbours of a file, with their distances if it has them."""
    part = file_part.part or "neighbors"
    with _open_file(file_part.path) as file:
        dataset = _find_dataset(file, part, file_part.path)
        positions = np.asarray(dataset)
        distances = _read_distances(file, part)
    if positions.ndim != 2 or positions.dtype.kind not in "iu":
        raise FormatError(
            f"dataset {part!r} holds {positions.dtype} of shape {positions.shape}; positions of neighbours "
            "are whole numbers, a row for each query",
            file_part.path,
        )
    if distances is not None and distances.shape != positions.shape:
        raise FormatError(
            f"{part!r} is of shape {positions.shape} and its distances of {distances.shape}", file_part.path
        )
    return Neighbors(signed_positions(positions), distances)


def _read_distances(file: Any, part: str) -> Any:
    name = _distances_name(part)
    return np.asarray(file[name], np.float64) if name in file else None


def _distances_name(part: str) -> str:
    """Return the name of the dataset of distances that belongs to a dataset of neighbours.

    >>> _distances_name("learn_neighbors"), _distances_name("truth")
    ('learn_distances', 'truth_distances')
    """
    return part.replace("neighbors", "distances") if "neighbors" in part else f"{part}_distances"


def write_neighbors(neighbors: Neighbors, target: FilePart, file_format: VectorFormat) -> None:
    """Write neighbours and distances: into the existing file if a part is named, else into a new file."""
    with _edit_file(target.path, keep=target.part is not None) as file:
        _put_neighbors(file, target.part or "neighbors", neighbors)


def _put_neighbors(file: Any, part: str, neighbors: Neighbors) -> None:
    small = int(neighbors.positions.max(initial=0)) <= np.iinfo(np.int32).max
    positions = neighbors.positions.astype(np.int32 if small else np.int64)
    for name, table in ((part, positions), (_distances_name(part), neighbors.distances)):
        if name in file:  # also old distances, which belong to other neighbours
            del file[name]
        if table is not None:
            file.create_dataset(name, data=table)
