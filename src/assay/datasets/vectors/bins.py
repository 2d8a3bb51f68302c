"""The files of big-ann: uint32 n, uint32 d, then the rows."""

from __future__ import annotations

import numpy as np

from assay.core.errors import FormatError
from assay.core.vectors import Mapped, Vectors
from assay.core.vectors_check import pieces
from assay.datasets.sinks import writing
from assay.datasets.vectors.formats import FORMATS, Place, VectorFormat
from assay.datasets.vectors.headers import Layout, refuse_length, size_of, two_numbers

_HEADER = 8


def read(where: Place, made: VectorFormat, role: str) -> Vectors:
    """The vectors of a file, mapped."""
    dtype = np.dtype(made.types[0])
    n, d = two_numbers(where.path, "the number of dimensions")
    if not d:
        raise FormatError("the header promises 0 dimensions; expected 1 or more", where.path)
    hint = _other(n * d, size_of(where.path) - _HEADER)
    refuse_length(
        where.path, Layout(_HEADER, n, d * dtype.itemsize), f"{n:,} rows of {d:,} {dtype.name}", hint
    )
    return Mapped(where.path, (n, d), dtype, _HEADER)


def _other(numbers: int, size: int) -> str:
    """Which types the length of a file fits."""
    fitting = [
        name
        for name, other in FORMATS.items()
        if other.module == "bins" and numbers * np.dtype(other.types[0]).itemsize == size
    ]
    named = " or ".join(fitting)
    return f"; the length fits {named}: say so (--from, in Python format)" if fitting else ""


def write(vectors: Vectors, where: Place, made: VectorFormat) -> None:
    """Write vectors, some rows at a time."""
    with writing(where.path) as file:
        file.write(np.array(vectors.shape, "<u4").tobytes())
        for _, block in pieces(vectors):
            file.write(block.astype(made.types[0], copy=False).tobytes())
