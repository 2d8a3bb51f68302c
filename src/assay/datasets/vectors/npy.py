"""Files of NumPy, whose header says where the rows begin."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.core.errors import FormatError
from assay.core.vectors import TYPES, Mapped, Neighbors, Vectors, signed
from assay.core.vectors_check import pieces
from assay.datasets.sinks import writing
from assay.datasets.vectors.formats import Place, VectorFormat
from assay.datasets.vectors.headers import TRUTH, Layout, refuse_length, size_of
from assay.datasets.vectors.idx import Swapped
from assay.datasets.vectors.truth import refuse_distances

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read(where: Place, made: VectorFormat, role: str) -> Vectors:
    """The vectors of a file, mapped."""
    shape, dtype, offset = _header(where.path)
    if dtype.name not in TYPES:
        ids = f"; {TRUTH}" if dtype.kind in "iu" else ""
        raise FormatError(f"holds {dtype.name}; vectors are of type {', '.join(TYPES)}{ids}", where.path)
    kind = Mapped if dtype.isnative else Swapped
    return kind(where.path, shape, dtype.newbyteorder("="), offset)


def _header(path: str) -> tuple[tuple[int, int], np.dtype[Any], int]:
    """Shape, type and the place of the first row, checked against the length of the file."""
    size_of(path)
    with open(path, "rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            shape, fortran, dtype = _HEADERS[version](file)
        except Exception as error:  # NumPy reads the header as Python does, and has its errors too
            raise FormatError(f"cannot be read as .npy: {error}", path) from None
        offset = file.tell()
    if len(shape) != 2 or shape[0] < 0 or shape[1] < 1:
        raise FormatError(f"holds an array of shape {shape}; expected n rows and d columns", path)
    if dtype.hasobject:
        raise FormatError("holds objects of Python; expected numbers: save an array of one type", path)
    if fortran:
        raise FormatError(
            "is in Fortran order, in which rows are scattered: save np.ascontiguousarray(…) instead", path
        )
    n, d = shape
    promise = f"{n:,} rows of {d:,} {dtype.name}"
    refuse_length(path, Layout(offset, n, d * dtype.itemsize), promise)
    return (n, d), dtype, offset


def write(vectors: Vectors, where: Place, made: VectorFormat) -> None:
    """Write vectors, some rows at a time."""
    dtype = vectors.dtype.newbyteorder("<")
    header = {"descr": dtype.str, "fortran_order": False, "shape": tuple(map(int, vectors.shape))}
    with writing(where.path) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for _, block in pieces(vectors):
            file.write(block.astype(dtype, copy=False).tobytes())


def read_neighbors(where: Place, made: VectorFormat) -> Neighbors:
    """The neighbours of a file of whole numbers; it has no distances."""
    shape, dtype, offset = _header(where.path)
    if dtype.kind not in "iu":
        raise FormatError(f"holds {dtype.name}; positions of neighbours are whole numbers", where.path)
    return Neighbors(signed(np.fromfile(where.path, dtype, offset=offset).reshape(shape)))


def write_neighbors(neighbors: Neighbors, where: Place, made: VectorFormat) -> None:
    """Write positions as int64."""
    refuse_distances(neighbors, where.path)
    with writing(where.path) as file:
        np.lib.format.write_array(file, np.ascontiguousarray(neighbors.positions), (1, 0))
