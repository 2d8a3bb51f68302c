"""Digests of tables: the same rows in any order have the same digest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from assay.core.groups import RunBlocks, Segments
from assay.core.score_order import WrappedRun
from assay.core.strings import StringColumn, mix

_MASK = (1 << 64) - 1


class RowSums(NamedTuple):
    """Sums of the hashes of rows; the sums of two parts add up to the sums of the whole."""

    rows: int = 0
    first: int = 0
    second: int = 0

    def digest(self, noun: str) -> str:
        """Return the digest of the rows."""
        return digest_of(f"{noun} {self.rows} {self.first} {self.second}".encode())

    def __add__(self, other: RowSums) -> RowSums:  # type: ignore[override]
        first, second = (self.first + other.first) & _MASK, (self.second + other.second) & _MASK
        return RowSums(self.rows + other.rows, first, second)


def sum_rows(rows: Segments) -> RowSums:
    """Return the sums from which the digest of these rows is computed."""
    query = np.repeat(StringColumn.from_strings(rows.query_ids).keys(), rows.lengths)
    ids = rows.ids_at(np.arange(len(rows)))
    values = (rows.values + 0.0).astype(np.float64).view(np.uint64)
    row = mix(mix(mix(query + np.uint64(1)) ^ ids.keys()) ^ values)
    other = mix(row ^ np.uint64(0x5851F42D4C957F2D))
    return RowSums(len(rows), int(row.sum()), int(other.sum()))


def digest_of(content: bytes) -> str:
    """Return the digest of some bytes, 32 hexadecimal digits."""
    from hashlib import blake2b

    return blake2b(content, digest_size=16).hexdigest()


class DigestedRun(WrappedRun):
    """A run whose digest is computed while its blocks are read."""

    def __init__(self, run: RunBlocks) -> None:
        super().__init__(run)
        self._sums = RowSums()

    def convert_blocks(self, blocks: Iterable[Segments]) -> Iterator[Segments]:
        """Return the blocks, and add their rows to the sums."""
        self._sums = RowSums()
        for block in blocks:
            self._sums += sum_rows(block)
            yield block

    @property
    def digest(self) -> str:
        """The digest of the blocks read so far; after the last, the digest of the same rows as a table."""
        return self._sums.digest("run")
