"""Names for content: the same rows in any order have the same digest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from assay.core.groups import Blocks, Segments
from assay.core.texts import Texts, mix

_MASK = (1 << 64) - 1


class Sums(NamedTuple):
    """Sums over rows; those of two parts add up to those of the whole."""

    rows: int = 0
    first: int = 0
    second: int = 0

    def digest(self, noun: str) -> str:
        """The name of the rows."""
        return digest_of(f"{noun} {self.rows} {self.first} {self.second}".encode())

    def plus(self, other: Sums) -> Sums:
        """Both parts as one."""
        first, second = (self.first + other.first) & _MASK, (self.second + other.second) & _MASK
        return Sums(self.rows + other.rows, first, second)


def sums(rows: Segments) -> Sums:
    """What a digest needs of some rows."""
    query = np.repeat(Texts.of(rows.query_ids).keys(), rows.lengths)
    ids = rows.ids_at(np.arange(len(rows)))
    values = (rows.values + 0.0).astype(np.float64).view(np.uint64)
    row = mix(mix(mix(query + np.uint64(1)) ^ ids.keys()) ^ values)
    other = mix(row ^ np.uint64(0x5851F42D4C957F2D))
    return Sums(len(rows), int(row.sum()), int(other.sum()))


def digest_of(content: bytes) -> str:
    """A short name for some bytes."""
    from hashlib import blake2b

    return blake2b(content, digest_size=16).hexdigest()


class Digested:
    """A run that is named by its content while it is gone through."""

    def __init__(self, run: Blocks) -> None:
        self._run, self.name, self._sums = run, run.name, Sums()

    def blocks(self) -> Iterator[Segments]:
        """The pieces of the run."""
        return self._summed(self._run.blocks())

    def gathered(self) -> Iterator[Segments]:
        """The pieces of the run, gathered first."""
        return self._summed(self._run.gathered())

    def _summed(self, blocks: Iterable[Segments]) -> Iterator[Segments]:
        self._sums = Sums()
        for block in blocks:
            self._sums = self._sums.plus(sums(block))
            yield block

    @property
    def digest(self) -> str:
        """The digest of the run, once it was gone through; that of the same rows as a table."""
        return self._sums.digest("run")
