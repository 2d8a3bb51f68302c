"""Truth files of big-ann and cuVS: ids and distances of the nearest, or of all within a radius."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import FormatError, InputError
from assay.core.vectors import Neighbors, signed
from assay.datasets.sinks import writing
from assay.datasets.vectors.formats import Place, VectorFormat
from assay.datasets.vectors.headers import size_of, two_numbers

_HEADER = 8
_NONE = np.iinfo(np.uint32).max  # −1 as it is written


def read_neighbors(where: Place, made: VectorFormat) -> Neighbors:
    """The neighbours of a truth file; its length tells whether it has distances, and of which kind it is."""
    path = where.path
    n, second = two_numbers(path, "the number of neighbours")
    size = size_of(path) - _HEADER
    if made.name != "range" and size in (4 * n * second, 8 * n * second):
        return _table(path, n, second, with_distances=size == 8 * n * second)
    behind = size - 4 * n  # the counts
    if behind in (4 * second, 8 * second) and int(_numbers(path, "<u4", n).sum(dtype=np.int64)) == second:
        return _ragged(path, n, second, with_distances=behind == 8 * second)
    raise FormatError(_lengths(n, second, size), path)


def _lengths(n: int, second: int, size: int) -> str:
    table, ragged = 4 * n * second, 4 * (n + second)
    return (
        f"the header says {n:,} and {second:,}: expected {table:,} bytes of ids behind it, "
        f"{2 * table:,} with distances, or as range truth {ragged:,} or {ragged + 4 * second:,}, "
        f"with counts that add up to {second:,}; found {size:,} bytes; fetch it again"
    )


def _numbers(path: str, dtype: str, count: int, at: int = 0) -> NDArray[Any]:
    """Some numbers behind the header."""
    return np.fromfile(path, dtype, count, offset=_HEADER + 4 * at)


def _table(path: str, n: int, k: int, with_distances: bool) -> Neighbors:
    positions = signed(_numbers(path, "<u4", n * k)).reshape(n, k)
    if not with_distances:
        return Neighbors(positions)
    return Neighbors(positions, _numbers(path, "<f4", n * k, n * k).reshape(n, k).astype(np.float64))


def _ragged(path: str, n: int, total: int, with_distances: bool) -> Neighbors:
    """Lists of any length as one table, −1 and NaN where a list is short."""
    counts = _numbers(path, "<u4", n).astype(np.int64)
    filled = np.arange(counts.max(initial=0)) < counts[:, None]
    positions, distances = np.full(filled.shape, -1, np.int64), np.full(filled.shape, np.nan)
    positions[filled] = signed(_numbers(path, "<u4", total, n))
    if not with_distances:
        return Neighbors(positions)
    distances[filled] = _numbers(path, "<f4", total, n + total)
    return Neighbors(positions, distances)


def write_neighbors(neighbors: Neighbors, where: Place, made: VectorFormat) -> None:
    """Write ids as uint32 and distances as float32: behind them, or in an .fbin beside an .ibin."""
    refuse_large(neighbors, where.path, np.iinfo(np.int32).max)  # as which others read them
    write = {"truth": _write_table, "range": _write_ragged, "ibin": _write_split}[made.name]
    write(neighbors, where.path)


def _write_table(neighbors: Neighbors, path: str) -> None:
    with writing(path) as file:
        file.write(np.array(neighbors.positions.shape, "<u4").tobytes())
        file.write(_raw(neighbors.positions).tobytes())
        if neighbors.distances is not None:
            file.write(neighbors.distances.astype("<f4").tobytes())


def _write_ragged(neighbors: Neighbors, path: str) -> None:
    there = neighbors.positions >= 0
    with writing(path) as file:
        file.write(np.array([len(there), there.sum()], "<u4").tobytes())
        file.write(there.sum(axis=1).astype("<u4").tobytes())
        file.write(_raw(neighbors.positions[there]).tobytes())
        if neighbors.distances is not None:
            file.write(neighbors.distances[there].astype("<f4").tobytes())


def _write_split(neighbors: Neighbors, path: str) -> None:
    if neighbors.distances is not None:
        with writing(beside(path)) as file:
            file.write(np.array(neighbors.positions.shape, "<u4").tobytes())
            file.write(neighbors.distances.astype("<f4").tobytes())
    else:
        Path(beside(path)).unlink(missing_ok=True)  # those of others do not belong to these
    _write_table(Neighbors(neighbors.positions), path)


def beside(path: str) -> str:
    """The file of distances that belongs to one of ids.

    >>> beside("truth/groundtruth.neighbors.ibin")
    'truth/groundtruth.distances.fbin'
    """
    folder, name = os.path.split(path)
    stem = name.removesuffix(".ibin")
    made = stem.replace("neighbors", "distances") if "neighbors" in stem else f"{stem}.distances"
    return os.path.join(folder, f"{made}.fbin")


def _raw(positions: NDArray[np.int64]) -> NDArray[np.uint32]:
    made: NDArray[np.uint32] = np.where(positions < 0, _NONE, positions).astype("<u4")
    return made


def refuse_large(neighbors: Neighbors, path: str, most: int) -> None:
    """Refuse positions that a format has no room for."""
    found = int(neighbors.positions.max(initial=-1))
    if found > most:
        raise InputError(
            f"{path}: position {found:,} is larger than {most:,}, the most it holds: use parquet"
        )


def refuse_distances(neighbors: Neighbors, path: str) -> None:
    """Refuse distances that a format would lose."""
    if neighbors.distances is not None:
        raise InputError(
            f"{path}: this format has no room for distances: write parquet, hdf5 or .bin, "
            "or Neighbors(positions) alone"
        )
