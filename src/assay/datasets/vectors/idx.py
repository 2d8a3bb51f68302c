"""The files of MNIST: big-endian sizes, then big-endian numbers; may be packed with gzip."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import FormatError
from assay.core.vectors import Mapped, Matrix, Vectors
from assay.core.vectors_check import pieces
from assay.datasets.sinks import writing
from assay.datasets.sources import Source
from assay.datasets.vectors.formats import Place, VectorFormat
from assay.datasets.vectors.headers import Layout, refuse_length

_TYPES = {8: "uint8", 9: "int8", 13: "float32", 14: "float64"}
_CODES = {name: code for code, name in _TYPES.items()}


class Swapped(Mapped):
    """Rows whose numbers have their most significant byte first."""

    def block(self, start: int, stop: int) -> Matrix:
        """The rows from start up to stop."""
        return super().block(start, stop).byteswap()

    def take(self, positions: NDArray[Any]) -> Matrix:
        """The rows at some positions, in their order."""
        return Mapped(self.path, self.shape, self.dtype, self.offset).take(positions).byteswap()


class Unpacked(Vectors):
    """Rows of a packed file, unpacked into memory when first asked for, anew in each process."""

    def __init__(self, path: str, shape: tuple[int, int], dtype: np.dtype[Any], offset: int) -> None:
        self.path, self.shape, self.dtype, self.offset = path, shape, dtype, offset
        self._rows: Matrix | None = None

    def block(self, start: int, stop: int) -> Matrix:
        """The rows from start up to stop."""
        return self._all()[start:stop]

    def take(self, positions: NDArray[Any]) -> Matrix:
        """The rows at some positions, in their order."""
        made: Matrix = self._all()[positions]
        return made

    def _all(self) -> Matrix:
        if self._rows is None:
            data = Source(self.path).read()
            expected = self.offset + prod(self.shape) * self.dtype.itemsize
            if len(data) != expected:
                raise FormatError(
                    f"the header promises {expected:,} bytes, unpacked it has {len(data):,}: fetch it again",
                    self.path,
                )
            rows = np.frombuffer(data, self.dtype.newbyteorder(">"), offset=self.offset)
            self._rows = rows.reshape(self.shape).astype(self.dtype, copy=False)
        return self._rows

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rows": None}


def read(where: Place, made: VectorFormat, role: str) -> Vectors:
    """The vectors of a file, mapped unless it is packed."""
    source = Source(where.path)
    sizes, dtype, offset = _header(source)
    shape = (sizes[0], prod(sizes[1:]))
    if not source.is_plain():
        return Unpacked(where.path, shape, dtype, offset)
    promise = f"{' × '.join(map(str, sizes))} {dtype.name}"
    refuse_length(where.path, Layout(offset, shape[0], shape[1] * dtype.itemsize), promise)
    return (Mapped if dtype.itemsize == 1 else Swapped)(where.path, shape, dtype, offset)


def _header(source: Source) -> tuple[list[int], np.dtype[Any], int]:
    """The sizes, the type and the place of the first number."""
    first = source.head(4)
    if len(first) < 4 or first[:2] != b"\0\0" or first[2] not in _TYPES:
        known = ", ".join(f"{code:#04x} {name}" for code, name in _TYPES.items())
        raise FormatError(
            f"begins with {first.hex(' ')}; an idx file of vectors begins with 00 00, a type ({known}) "
            "and the number of its dimensions",
            source.label,
        )
    offset = 4 + 4 * first[3]
    head = source.head(offset)
    if len(head) < offset:
        raise FormatError(f"ends in its header, after {len(head)} of {offset} bytes", source.label)
    sizes = np.frombuffer(head[4:], ">u4").tolist()
    if len(sizes) < 2 or not prod(sizes[1:]):
        raise FormatError(
            f"is of shape {tuple(sizes)}; vectors have 2 dimensions or more, as images do and labels do not",
            source.label,
        )
    return sizes, np.dtype(_TYPES[first[2]]), offset


def write(vectors: Vectors, where: Place, made: VectorFormat) -> None:
    """Write vectors as a file of two dimensions, some rows at a time."""
    dtype = vectors.dtype.newbyteorder(">")
    with writing(where.path) as file:
        file.write(bytes([0, 0, _CODES[dtype.name], 2]) + np.array(vectors.shape, ">u4").tobytes())
        for _, block in pieces(vectors):
            file.write(block.astype(dtype, copy=False).tobytes())
