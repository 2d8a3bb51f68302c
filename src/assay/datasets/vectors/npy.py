"""Files of NumPy in C order."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.core.errors import FormatError
from assay.core.vector_faults import row_blocks
from assay.core.vectors import TYPES, MappedVectors, Neighbors, Vectors, signed_positions
from assay.datasets.output_files import open_for_writing
from assay.datasets.vectors.formats import FilePart, VectorFormat
from assay.datasets.vectors.headers import NEIGHBORS_HINT, FileLayout, file_size, refuse_length
from assay.datasets.vectors.idx import BigEndianVectors
from assay.datasets.vectors.truth import refuse_distances

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read(file: FilePart, file_format: VectorFormat, role: str) -> Vectors:
    """Return the vectors of a file, mapped into memory."""
    shape, dtype, offset = _read_header(file.path)
    if dtype.name not in TYPES:
        ids = f"; {NEIGHBORS_HINT}" if dtype.kind in "iu" else ""
        raise FormatError(f"holds {dtype.name}; vectors are of type {', '.join(TYPES)}{ids}", file.path)
    kind = MappedVectors if dtype.isnative else BigEndianVectors
    return kind(file.path, shape, dtype.newbyteorder("="), offset)


def _read_header(path: str) -> tuple[tuple[int, int], np.dtype[Any], int]:
    """Return shape, type and the position of the first row, checked against the length of the file."""
    file_size(path)
    with open(path, "rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            shape, fortran, dtype = _HEADERS[version](file)
        except Exception as error:  # NumPy evaluates the header as Python code
            raise FormatError(f"cannot be read as .npy: {error}", path) from None
        offset = file.tell()
    if len(shape) != 2 or shape[0] < 0 or shape[1] < 1:
        raise FormatError(f"holds an array of shape {shape}; expected n rows and d columns", path)
    if dtype.hasobject:
        raise FormatError("holds Python objects; expected numbers: save an array of one numeric type", path)
    if fortran:
        raise FormatError(
            "is in Fortran order, so its rows are not contiguous: save np.ascontiguousarray(…) instead", path
        )
    n, d = shape
    promise = f"{n:,} rows of {d:,} {dtype.name}"
    refuse_length(path, FileLayout(offset, n, d * dtype.itemsize), promise)
    return (n, d), dtype, offset


def write(vectors: Vectors, target: FilePart, file_format: VectorFormat) -> None:
    """Write vectors block by block."""
    dtype = vectors.dtype.newbyteorder("<")
    header = {"descr": dtype.str, "fortran_order": False, "shape": tuple(map(int, vectors.shape))}
    with open_for_writing(target.path) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for _, block in row_blocks(vectors):
            file.write(block.astype(dtype, copy=False).tobytes())


def read_neighbors(file: FilePart, file_format: VectorFormat) -> Neighbors:
    """Return the neighbours of a file of whole numbers; it has no distances."""
    shape, dtype, offset = _read_header(file.path)
    if dtype.kind not in "iu":
        raise FormatError(f"holds {dtype.name}; positions of neighbours are whole numbers", file.path)
    return Neighbors(signed_positions(np.fromfile(file.path, dtype, offset=offset).reshape(shape)))


def write_neighbors(neighbors: Neighbors, target: FilePart, file_format: VectorFormat) -> None:
    """Write positions as int64."""
    refuse_distances(neighbors, target.path)
    with open_for_writing(target.path) as file:
        np.lib.format.write_array(file, np.ascontiguousarray(neighbors.positions), (1, 0))
