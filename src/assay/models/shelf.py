"""Vectors on disk by the digest of their text: one file that only grows, batch by batch.

A batch is written in one piece, with its length and its checksum before it: it is there whole or not at
all. What a writer left half-written when it was killed stands at the end of the file, is overlooked by
readers and cut off by the next writer. Any number may read while one writes.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import StoreError

Rows = NDArray[np.float32]
Bytes = NDArray[np.uint8]
KEY = 16  # bytes of a digest
_HEAD = struct.Struct("<8sIII4x")  # what it is, how many vectors, their dimensions, the checksum
_MAGIC = b"assayvec"


class _Batch(NamedTuple):
    first: int  # number of its first vector
    size: int
    d: int
    checksum: int
    start: int  # of its keys in the file; the vectors follow them

    @property
    def end(self) -> int:
        return self.start + self.size * (KEY + 4 * self.d)

    def keys(self, content: Bytes) -> list[bytes]:
        raw = content[self.start : self.start + KEY * self.size].tobytes()
        return [raw[at : at + KEY] for at in range(0, len(raw), KEY)]

    def rows(self, content: Bytes) -> Rows:
        return content[self.start + KEY * self.size : self.end].view("<f4").reshape(self.size, self.d)


class Shelf:
    """The vectors of one model and role."""

    def __init__(self, path: Path) -> None:
        self.path, self._lock, self._end = path, Lock(), 0
        self._content: Bytes = np.zeros(0, np.uint8)
        self._batches: list[_Batch] = []
        self._numbers: dict[bytes, int] = {}  # of the vector of each key
        self.refresh()

    def __contains__(self, key: bytes) -> bool:
        return key in self._numbers

    def refresh(self) -> None:
        """Take in what others wrote since."""
        with self._lock:
            self._refresh()

    def add(self, keys: Sequence[bytes], rows: Rows) -> None:
        """Write a batch; once this returns, it is on the disk."""
        content = b"".join(keys) + np.ascontiguousarray(rows, "<f4").tobytes()
        head = _HEAD.pack(_MAGIC, len(rows), rows.shape[1], crc32(content))
        try:
            with self._lock:
                self._append(head + content, rows.shape[1])
        except OSError as error:
            raise StoreError(f"{self.path} cannot be written ({error.strerror or error})") from None

    def rows(self, keys: Sequence[bytes]) -> Rows:
        """The vectors of these keys, in their order."""
        with self._lock:
            content, batches = self._content, self._batches[:]
        numbers = np.fromiter((self._numbers[key] for key in keys), np.int64, len(keys))
        made = np.empty((len(keys), batches[0].d if batches else 0), np.float32)
        which = np.searchsorted([batch.first for batch in batches], numbers, "right") - 1
        order = np.argsort(which, kind="stable")
        needed, starts = np.unique(which[order], return_index=True)
        for at, some in zip(needed.tolist(), np.split(order, starts[1:]), strict=True):
            made[some] = batches[at].rows(content)[numbers[some] - batches[at].first]
        return made

    def _append(self, batch: bytes, d: int) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed, or the process ends
            self._refresh()
            if self._batches and self._batches[0].d != d:
                raise StoreError(
                    f"{self.path} has vectors of {self._batches[0].d} dimensions, the model now gives {d}: "
                    "it changed under its name; delete the file or name the model's version"
                )
            file.truncate(self._end)  # what was left half-written
            file.write(batch)
            file.flush()
            os.fsync(file.fileno())
            self._refresh()

    def _refresh(self) -> None:
        size = self.path.stat().st_size if self.path.exists() else 0
        if size <= self._end:
            return
        self._content = np.memmap(self.path, np.uint8, "r")
        for batch in list(self._whole()):
            self._numbers |= {key: batch.first + at for at, key in enumerate(batch.keys(self._content))}
            self._batches.append(batch)
            self._end = batch.end

    def _whole(self) -> Iterator[_Batch]:
        """The batches past those that are known; the last one only if it was written to its end."""
        batch = self._at(self._end, self._count)
        while batch:
            after = self._at(batch.end, batch.first + batch.size)
            if after or crc32(self._content[batch.start : batch.end].data) == batch.checksum:
                yield batch
            batch = after

    @property
    def _count(self) -> int:
        return self._batches[-1].first + self._batches[-1].size if self._batches else 0

    def _at(self, place: int, first: int) -> _Batch | None:
        """The batch that stands at a place of the file, if all its bytes are there."""
        start = place + _HEAD.size
        if start > len(self._content):
            return None
        magic, size, d, checksum = _HEAD.unpack(self._content[place:start].tobytes())
        batch = _Batch(first, size, d, checksum, start)
        if magic != _MAGIC and place == 0:
            raise StoreError(f"{self.path} is no file of vectors; move it away")
        return batch if magic == _MAGIC and batch.end <= len(self._content) else None
