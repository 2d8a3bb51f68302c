"""Files of MNIST: big-endian sizes, then big-endian numbers; may be compressed with gzip."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import FormatError
from assay.core.vector_faults import row_blocks
from assay.core.vectors import MappedVectors, Matrix, Vectors
from assay.datasets.input_files import InputFile
from assay.datasets.output_files import open_for_writing
from assay.datasets.vectors.formats import FilePart, VectorFormat
from assay.datasets.vectors.headers import FileLayout, refuse_length

_TYPES = {8: "uint8", 9: "int8", 13: "float32", 14: "float64"}
_CODES = {name: code for code, name in _TYPES.items()}


class BigEndianVectors(MappedVectors):
    """Mapped rows of numbers with the most significant byte first."""

    def block(self, start: int, stop: int) -> Matrix:
        """Return the rows from start up to stop."""
        return super().block(start, stop).byteswap()

    def take(self, positions: NDArray[Any]) -> Matrix:
        """Return the rows at these positions, in their order."""
        return MappedVectors(self.path, self.shape, self.dtype, self.offset).take(positions).byteswap()


class DecompressedVectors(Vectors):
    """Rows of a compressed file, which each process decompresses into memory at the first request."""

    def __init__(self, path: str, shape: tuple[int, int], dtype: np.dtype[Any], offset: int) -> None:
        self.path, self.shape, self.dtype, self.offset = path, shape, dtype, offset
        self._rows: Matrix | None = None

    def block(self, start: int, stop: int) -> Matrix:
        """Return the rows from start up to stop."""
        return self._load()[start:stop]

    def take(self, positions: NDArray[Any]) -> Matrix:
        """Return the rows at these positions, in their order."""
        rows: Matrix = self._load()[positions]
        return rows

    def _load(self) -> Matrix:
        if self._rows is None:
            data = InputFile(self.path).read()
            expected = self.offset + prod(self.shape) * self.dtype.itemsize
            if len(data) != expected:
                raise FormatError(
                    f"the header says {expected:,} bytes, found {len(data):,} after decompression: "
                    "download it again",
                    self.path,
                )
            rows = np.frombuffer(data, self.dtype.newbyteorder(">"), offset=self.offset)
            self._rows = rows.reshape(self.shape).astype(self.dtype, copy=False)
        return self._rows

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rows": None}


def read(file: FilePart, file_format: VectorFormat, role: str) -> Vectors:
    """Return the vectors of a file, mapped unless it is compressed."""
    source = InputFile(file.path)
    sizes, dtype, offset = _read_header(source)
    shape = (sizes[0], prod(sizes[1:]))
    if not source.is_plain():
        return DecompressedVectors(file.path, shape, dtype, offset)
    promise = f"{' × '.join(map(str, sizes))} {dtype.name}"
    refuse_length(file.path, FileLayout(offset, shape[0], shape[1] * dtype.itemsize), promise)
    return (MappedVectors if dtype.itemsize == 1 else BigEndianVectors)(file.path, shape, dtype, offset)


def _read_header(source: InputFile) -> tuple[list[int], np.dtype[Any], int]:
    """Return the sizes, the type and the position of the first number."""
    first = source.head(4)
    if len(first) < 4 or first[:2] != b"\0\0" or first[2] not in _TYPES:
        types = ", ".join(f"{code:#04x} {name}" for code, name in _TYPES.items())
        raise FormatError(
            f"begins with {first.hex(' ')}; an idx file of vectors begins with 00 00, a type ({types}) "
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
            f"is of shape {tuple(sizes)}; vectors need 2 dimensions or more: images have them, labels do not",
            source.label,
        )
    return sizes, np.dtype(_TYPES[first[2]]), offset


def write(vectors: Vectors, target: FilePart, file_format: VectorFormat) -> None:
    """Write vectors as a file of two dimensions, block by block."""
    dtype = vectors.dtype.newbyteorder(">")
    with open_for_writing(target.path) as file:
        file.write(bytes([0, 0, _CODES[dtype.name], 2]) + np.array(vectors.shape, ">u4").tobytes())
        for _, block in row_blocks(vectors):
            file.write(block.astype(dtype, copy=False).tobytes())
