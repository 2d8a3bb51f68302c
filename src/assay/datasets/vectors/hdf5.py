"""HDF5 as ann-benchmarks and VIBE write it: train, test, neighbors, distances, learn, …"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from assay.core.errors import AssayError, FormatError, MissingExtraError
from assay.core.files import disk_error
from assay.core.vectors import METRIC_NAMES, TYPES, Mapped, Matrix, Neighbors, Vectors, signed
from assay.core.vectors_check import pieces
from assay.datasets.sinks import writing
from assay.datasets.vectors.formats import Place, VectorFormat
from assay.datasets.vectors.headers import TRUTH, size_of
from assay.datasets.vectors.windows import Windowed

PARTS = {"base": "train", "queries": "test"}
_WRITTEN = {"l2": "euclidean", "cosine": "angular", "ip": "ip"}


class Packed(Windowed):
    """The rows of a dataset that is kept in pieces, packed or not."""

    def stretch(self, start: int, stop: int) -> Matrix:
        """The rows from start up to stop, from the file."""
        with _opened(self.path) as file:
            found: Matrix = file[self.part][start:stop]
        return found.astype(self.dtype, copy=False)


@contextmanager
def _opened(path: str, mode: str = "r") -> Iterator[Any]:
    """A file, with what goes wrong said plainly."""
    try:
        import h5py
    except ImportError:
        raise MissingExtraError("h5py", "HDF5", "hdf5") from None
    size_of(path)
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
    ) as error:  # h5py has no errors of its own
        if mode != "r" and disk_error(error):
            raise
        raise FormatError(f"cannot be used as HDF5: {error}; fetch or write it again", path) from None


def read(where: Place, made: VectorFormat, role: str) -> Vectors:
    """The vectors of a dataset: mapped where its rows lie one after the other, else read by stretches."""
    with _opened(where.path) as file:
        dataset = _dataset(file, where.part or PARTS[role], where.path)
        shape, dtype, part = tuple(dataset.shape), dataset.dtype, dataset.name
        offset = None if dataset.external else dataset.id.get_offset()
    if len(shape) != 2 or dtype.name not in TYPES:
        ids = f"; {TRUTH}" if dtype.kind in "iu" and len(shape) == 2 else ""
        raise FormatError(
            f"dataset {part!r} holds {dtype} of shape {shape}; vectors are n rows and d columns of "
            f"{', '.join(TYPES)}{ids}",
            where.path,
        )
    if offset is None or not dtype.isnative:
        return Packed(where.path, part, shape, dtype.newbyteorder("="))
    return Mapped(where.path, shape, dtype, offset)


def _dataset(file: Any, part: str, path: str) -> Any:
    found = file.get(part)
    if found is None or not hasattr(found, "shape"):
        names = _names(file)
        truth = f"{TRUTH} where 'neighbors' is meant; " if "neighbors" in names else ""
        raise FormatError(
            f"has no dataset {part!r}; there are {', '.join(names) or 'none'}: "
            f"{truth}name one, as in {path}:NAME",
            path,
        )
    return found


def _names(file: Any) -> list[str]:
    names: list[str] = []
    file.visititems(lambda name, found: names.append(name) if hasattr(found, "shape") else None)
    return names


def metric(path: str) -> str | None:
    """The metric that a file says its distances are of; None where it says nothing."""
    with _opened(path) as file:
        said = file.attrs.get("distance")
    if said is None:
        return None
    word = said.decode() if isinstance(said, bytes) else str(said)
    if word.lower() not in METRIC_NAMES:
        raise FormatError(f"its distance is {word!r}; expected one of {', '.join(METRIC_NAMES)}", path)
    return METRIC_NAMES[word.lower()]


def parts(path: str) -> list[str]:
    """The datasets of a file."""
    with _opened(path) as file:
        return _names(file)


def write(vectors: Vectors, where: Place, made: VectorFormat) -> None:
    """Write vectors as a dataset: into the file that is there if a part is named, else a new one."""
    with _changing(where.path, keep=where.part is not None) as file:
        _put(file, where.part or PARTS["base"], vectors)


def write_all(
    path: str | os.PathLike[str],
    *,
    metric: str | None = None,
    vectors: Mapping[str, Vectors],
    neighbors: Neighbors | None = None,
) -> None:
    """Write a whole file as ann-benchmarks has it: vectors by the name of their dataset, and neighbours."""
    with _changing(os.fspath(path), keep=False) as file:
        for part, some in vectors.items():
            _put(file, part, some)
        if neighbors is not None:
            _put_neighbors(file, "neighbors", neighbors)
        if metric is not None:
            file.attrs["distance"] = _WRITTEN[metric]


def _put(file: Any, part: str, vectors: Vectors) -> None:
    if part in file:
        del file[part]
    dataset = file.create_dataset(part, vectors.shape, vectors.dtype)
    for start, block in pieces(vectors):
        dataset[start : start + len(block)] = block


@contextmanager
def _changing(path: str, keep: bool) -> Iterator[Any]:
    """A file to write to; what was in it is copied first, so that it is changed whole or not at all."""
    with writing(path) as beside:
        kept = keep and os.path.exists(path)
        if kept:
            shutil.copyfile(path, beside.name)
        with _opened(beside.name, "r+" if kept else "w") as file:
            yield file


def read_neighbors(where: Place, made: VectorFormat) -> Neighbors:
    """The neighbours of a file, with their distances if it has them."""
    part = where.part or "neighbors"
    with _opened(where.path) as file:
        found = _dataset(file, part, where.path)
        positions = np.asarray(found)
        distances = _distances(file, part)
    if positions.ndim != 2 or positions.dtype.kind not in "iu":
        raise FormatError(
            f"dataset {part!r} holds {positions.dtype} of shape {positions.shape}; positions of neighbours "
            "are whole numbers, a row for each query",
            where.path,
        )
    if distances is not None and distances.shape != positions.shape:
        raise FormatError(
            f"{part!r} is of shape {positions.shape} and its distances of {distances.shape}", where.path
        )
    return Neighbors(signed(positions), distances)


def _distances(file: Any, part: str) -> Any:
    name = _beside(part)
    return np.asarray(file[name], np.float64) if name in file else None


def _beside(part: str) -> str:
    """The dataset of distances that belongs to one of neighbours.

    >>> _beside("learn_neighbors"), _beside("truth")
    ('learn_distances', 'truth_distances')
    """
    return part.replace("neighbors", "distances") if "neighbors" in part else f"{part}_distances"


def write_neighbors(neighbors: Neighbors, where: Place, made: VectorFormat) -> None:
    """Write neighbours and distances: into the file that is there if a part is named, else a new one."""
    with _changing(where.path, keep=where.part is not None) as file:
        _put_neighbors(file, where.part or "neighbors", neighbors)


def _put_neighbors(file: Any, part: str, neighbors: Neighbors) -> None:
    small = int(neighbors.positions.max(initial=0)) <= np.iinfo(np.int32).max
    positions = neighbors.positions.astype(np.int32 if small else np.int64)
    for name, table in ((part, positions), (_beside(part), neighbors.distances)):
        if name in file:  # distances of others, too: they do not belong to these
            del file[name]
        if table is not None:
            file.create_dataset(name, data=table)
