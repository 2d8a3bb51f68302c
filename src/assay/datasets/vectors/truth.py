"""Truth files of big-ann and cuVS: ids and distances of the nearest vectors, or of all within a radius."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import FormatError, InputError
from assay.core.vectors import Neighbors, signed_positions
from assay.datasets.output_files import open_for_writing
from assay.datasets.vectors.formats import FilePart, VectorFormat
from assay.datasets.vectors.headers import file_size, read_two_counts

_HEADER_BYTES = 8
_NO_NEIGHBOR = np.iinfo(np.uint32).max  # −1 as an unsigned number


def read_neighbors(file: FilePart, file_format: VectorFormat) -> Neighbors:
    """Return the neighbours of a truth file; its length shows its kind and whether it has distances."""
    path = file.path
    n, second = read_two_counts(path, "the number of neighbours")
    size = file_size(path) - _HEADER_BYTES
    if file_format.name != "range" and size in (4 * n * second, 8 * n * second):
        return _read_table(path, n, second, with_distances=size == 8 * n * second)
    rest = size - 4 * n  # the counts
    if rest in (4 * second, 8 * second) and int(_read_numbers(path, "<u4", n).sum(dtype=np.int64)) == second:
        return _read_ragged(path, n, second, with_distances=rest == 8 * second)
    raise FormatError(_length_problem(n, second, size), path)


def _length_problem(n: int, second: int, size: int) -> str:
    table, ragged = 4 * n * second, 4 * (n + second)
    return (
        f"the header says {n:,} and {second:,}: expected {table:,} bytes of ids after it, "
        f"{2 * table:,} with distances, or as range truth {ragged:,} or {ragged + 4 * second:,}, "
        f"with counts that add up to {second:,}; found {size:,} bytes; download it again"
    )


def _read_numbers(path: str, dtype: str, count: int, skip: int = 0) -> NDArray[Any]:
    """Return numbers after the header."""
    return np.fromfile(path, dtype, count, offset=_HEADER_BYTES + 4 * skip)


def _read_table(path: str, n: int, k: int, with_distances: bool) -> Neighbors:
    positions = signed_positions(_read_numbers(path, "<u4", n * k)).reshape(n, k)
    if not with_distances:
        return Neighbors(positions)
    return Neighbors(positions, _read_numbers(path, "<f4", n * k, n * k).reshape(n, k).astype(np.float64))


def _read_ragged(path: str, n: int, total: int, with_distances: bool) -> Neighbors:
    """Return lists of any length as one table, filled with −1 and NaN."""
    counts = _read_numbers(path, "<u4", n).astype(np.int64)
    is_filled = np.arange(counts.max(initial=0)) < counts[:, None]
    positions, distances = np.full(is_filled.shape, -1, np.int64), np.full(is_filled.shape, np.nan)
    positions[is_filled] = signed_positions(_read_numbers(path, "<u4", total, n))
    if not with_distances:
        return Neighbors(positions)
    distances[is_filled] = _read_numbers(path, "<f4", total, n + total)
    return Neighbors(positions, distances)


def write_neighbors(neighbors: Neighbors, target: FilePart, file_format: VectorFormat) -> None:
    """Write ids as uint32 and distances as float32: after them, or for .ibin in a separate .fbin file."""
    refuse_large(neighbors, target.path, np.iinfo(np.int32).max)  # the type with which other tools read them
    write = {"truth": _write_table, "range": _write_ragged, "ibin": _write_split}[file_format.name]
    write(neighbors, target.path)


def _write_table(neighbors: Neighbors, path: str) -> None:
    with open_for_writing(path) as file:
        file.write(np.array(neighbors.positions.shape, "<u4").tobytes())
        file.write(_encode_positions(neighbors.positions).tobytes())
        if neighbors.distances is not None:
            file.write(neighbors.distances.astype("<f4").tobytes())


def _write_ragged(neighbors: Neighbors, path: str) -> None:
    is_neighbor = neighbors.positions >= 0
    with open_for_writing(path) as file:
        file.write(np.array([len(is_neighbor), is_neighbor.sum()], "<u4").tobytes())
        file.write(is_neighbor.sum(axis=1).astype("<u4").tobytes())
        file.write(_encode_positions(neighbors.positions[is_neighbor]).tobytes())
        if neighbors.distances is not None:
            file.write(neighbors.distances[is_neighbor].astype("<f4").tobytes())


def _write_split(neighbors: Neighbors, path: str) -> None:
    if neighbors.distances is not None:
        with open_for_writing(distances_path(path)) as file:
            file.write(np.array(neighbors.positions.shape, "<u4").tobytes())
            file.write(neighbors.distances.astype("<f4").tobytes())
    else:
        Path(distances_path(path)).unlink(missing_ok=True)  # old distances belong to other neighbours
    _write_table(Neighbors(neighbors.positions), path)


def distances_path(path: str) -> str:
    """Return the path of the file of distances that belongs to a file of ids.

    >>> distances_path("truth/groundtruth.neighbors.ibin")
    'truth/groundtruth.distances.fbin'
    """
    folder, name = os.path.split(path)
    stem = name.removesuffix(".ibin")
    distances_stem = stem.replace("neighbors", "distances") if "neighbors" in stem else f"{stem}.distances"
    return os.path.join(folder, f"{distances_stem}.fbin")


def _encode_positions(positions: NDArray[np.int64]) -> NDArray[np.uint32]:
    encoded: NDArray[np.uint32] = np.where(positions < 0, _NO_NEIGHBOR, positions).astype("<u4")
    return encoded


def refuse_large(neighbors: Neighbors, path: str, largest: int) -> None:
    """Raise InputError if a position is too large for a format."""
    position = int(neighbors.positions.max(initial=-1))
    if position > largest:
        raise InputError(
            f"{path}: position {position:,} is larger than {largest:,}, the limit of this format: use parquet"
        )


def refuse_distances(neighbors: Neighbors, path: str) -> None:
    """Raise InputError if there are distances, which a format cannot hold."""
    if neighbors.distances is not None:
        raise InputError(
            f"{path}: this format cannot hold distances: write parquet, hdf5 or .bin, "
            "or only Neighbors(positions)"
        )
