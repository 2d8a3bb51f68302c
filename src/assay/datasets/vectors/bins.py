"""Files of the big-ann benchmarks: uint32 n, uint32 d, then the rows."""

from __future__ import annotations

import numpy as np

from assay.core.errors import FormatError
from assay.core.vector_faults import row_blocks
from assay.core.vectors import MappedVectors, Vectors
from assay.datasets.output_files import open_for_writing
from assay.datasets.vectors.formats import FORMATS, FilePart, VectorFormat
from assay.datasets.vectors.headers import FileLayout, file_size, read_two_counts, refuse_length

_HEADER_BYTES = 8


def read(file: FilePart, file_format: VectorFormat, role: str) -> Vectors:
    """Return the vectors of a file, mapped into memory."""
    dtype = np.dtype(file_format.types[0])
    n, d = read_two_counts(file.path, "the number of dimensions")
    if not d:
        raise FormatError("the header has 0 dimensions; expected 1 or more", file.path)
    hint = _type_hint(n * d, file_size(file.path) - _HEADER_BYTES)
    refuse_length(
        file.path, FileLayout(_HEADER_BYTES, n, d * dtype.itemsize), f"{n:,} rows of {d:,} {dtype.name}", hint
    )
    return MappedVectors(file.path, (n, d), dtype, _HEADER_BYTES)


def _type_hint(numbers: int, size: int) -> str:
    """Return a hint at the formats that fit the length of a file."""
    names = [
        name
        for name, other in FORMATS.items()
        if other.module == "bins" and numbers * np.dtype(other.types[0]).itemsize == size
    ]
    choices = " or ".join(names)
    return f"; the length fits {choices}: give the format (--from, in Python format=)" if names else ""


def write(vectors: Vectors, target: FilePart, file_format: VectorFormat) -> None:
    """Write vectors block by block."""
    with open_for_writing(target.path) as file:
        file.write(np.array(vectors.shape, "<u4").tobytes())
        for _, block in row_blocks(vectors):
            file.write(block.astype(file_format.types[0], copy=False).tobytes())
