"""Files of TEXMEX: before every row an int32 with the number of its dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import FormatError
from assay.core.vector_faults import row_blocks
from assay.core.vectors import MappedVectors, Matrix, Neighbors, Vectors
from assay.datasets.output_files import open_for_writing
from assay.datasets.vectors.formats import FilePart, VectorFormat
from assay.datasets.vectors.headers import file_size, read_head
from assay.datasets.vectors.truth import refuse_distances, refuse_large

_PREFIX_BYTES = 4
_LARGEST_DIMENSION = 1 << 20  # a larger number shows that it is another file


@dataclass(frozen=True, eq=False)
class PrefixedVectors(MappedVectors):
    """Mapped rows that each begin with their length, which is checked for every row that is read."""

    row_prefix: int = _PREFIX_BYTES

    def block(self, start: int, stop: int) -> Matrix:
        """Return the rows from start up to stop."""
        if stop <= start:
            return np.empty((0, self.d), self.dtype)
        rows: Any = np.memmap(self.path, self._row_type, "r", start * self.stride, (stop - start,))
        self._check_prefixes(np.asarray(rows["d"]), np.arange(start, stop))
        return np.asarray(rows["row"])

    def take(self, positions: NDArray[Any]) -> Matrix:
        """Return the rows at these positions, in their order."""
        raw = MappedVectors(self.path, (len(self), self.stride), np.dtype(np.uint8)).take(positions)
        rows: Any = raw.view(self._row_type)[:, 0]
        self._check_prefixes(rows["d"], positions)
        return np.ascontiguousarray(rows["row"])

    @property
    def _row_type(self) -> np.dtype[Any]:
        return np.dtype([("d", "<i4"), ("row", self.dtype, (self.d,))])

    def _check_prefixes(self, prefixes: NDArray[Any], positions: NDArray[Any]) -> None:
        bad_rows = np.flatnonzero(prefixes != self.d)
        if len(bad_rows):
            at = bad_rows[0]
            raise FormatError(
                f"row {positions[at]:,} has {prefixes[at]:,} numbers according to its prefix, and the first "
                f"row {self.d:,}; all rows must have the same number: download or write the file again",
                self.path,
            )


def read(file: FilePart, file_format: VectorFormat, role: str) -> Vectors:
    """Return the vectors of a file, mapped into memory."""
    return _map_rows(file.path, np.dtype(file_format.types[0]))


def _map_rows(path: str, dtype: np.dtype[Any]) -> PrefixedVectors:
    size = file_size(path)
    if size < _PREFIX_BYTES:
        raise FormatError(f"has {size} bytes; expected at least one row", path)
    d = int(np.frombuffer(read_head(path, _PREFIX_BYTES), "<i4")[0])
    if not 0 < d <= _LARGEST_DIMENSION:
        raise FormatError(
            f"the first row has {d:,} numbers according to its prefix; expected 1 to {_LARGEST_DIMENSION:,}: "
            "it has another format",
            path,
        )
    stride = _PREFIX_BYTES + d * dtype.itemsize
    n, rest = divmod(size, stride)
    if rest:
        raise FormatError(
            f"ends in row {n:,}: each row of {d:,} {dtype.name} takes {stride:,} bytes, found {rest:,} "
            "of the last; download it again",
            path,
        )
    return PrefixedVectors(path, (n, d), dtype)


def write(vectors: Vectors, target: FilePart, file_format: VectorFormat) -> None:
    """Write vectors block by block."""
    with open_for_writing(target.path) as file:
        for _, block in row_blocks(vectors):
            file.write(_add_prefixes(block, file_format.types[0]).tobytes())


def _add_prefixes(block: Matrix, dtype: str) -> NDArray[Any]:
    """Return rows with their length as a prefix."""
    d = block.shape[1]
    rows = np.empty(len(block), [("d", "<i4"), ("row", dtype, (d,))])
    rows["d"], rows["row"] = d, block
    return rows


def read_neighbors(file: FilePart, file_format: VectorFormat) -> Neighbors:
    """Return the neighbours of an .ivecs file; it has no distances."""
    return Neighbors(_map_rows(file.path, np.dtype(np.int32)).to_matrix().astype(np.int64))


def write_neighbors(neighbors: Neighbors, target: FilePart, file_format: VectorFormat) -> None:
    """Write positions as int32."""
    refuse_distances(neighbors, target.path)
    refuse_large(neighbors, target.path, np.iinfo(np.int32).max)
    with open_for_writing(target.path) as file:
        file.write(_add_prefixes(neighbors.positions, "int32").tobytes())
