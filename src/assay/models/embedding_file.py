"""Embedding files: vectors on disk by the digest of their text, appended batch by batch.

A batch is written in one piece, after its length and its checksum. An incomplete batch at the end of the
file, left by a writer that was killed, is ignored by readers and cut off by the next writer. Any number
of processes may read while one writes.
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
KEY_BYTES = 16  # bytes of a digest
_BATCH_HEADER = struct.Struct("<8sIII4x")  # magic, number of vectors, dimensions, checksum
_MAGIC = b"assayvec"


class _Batch(NamedTuple):
    first: int  # number of its first vector
    size: int
    d: int
    checksum: int
    keys_start: int  # offset of its keys in the file; the vectors follow them

    @property
    def end(self) -> int:
        return self.keys_start + self.size * (KEY_BYTES + 4 * self.d)

    def keys(self, content: Bytes) -> list[bytes]:
        raw = content[self.keys_start : self.keys_start + KEY_BYTES * self.size].tobytes()
        return [raw[at : at + KEY_BYTES] for at in range(0, len(raw), KEY_BYTES)]

    def rows(self, content: Bytes) -> Rows:
        start = self.keys_start + KEY_BYTES * self.size
        return content[start : self.end].view("<f4").reshape(self.size, self.d)


class EmbeddingFile:
    """The vectors of one model and role."""

    def __init__(self, path: Path) -> None:
        self.path, self._lock, self._end = path, Lock(), 0
        self._content: Bytes = np.zeros(0, np.uint8)
        self._batches: list[_Batch] = []
        self._positions: dict[bytes, int] = {}  # of the vector of each key
        self.refresh()

    def __contains__(self, key: bytes) -> bool:
        return key in self._positions

    def refresh(self) -> None:
        """Read batches that other processes have written."""
        with self._lock:
            self._refresh()

    def add(self, keys: Sequence[bytes], rows: Rows) -> None:
        """Write a batch; it is on the disk when this returns."""
        content = b"".join(keys) + np.ascontiguousarray(rows, "<f4").tobytes()
        head = _BATCH_HEADER.pack(_MAGIC, len(rows), rows.shape[1], crc32(content))
        try:
            with self._lock:
                self._append(head + content, rows.shape[1])
        except OSError as error:
            raise StoreError(f"{self.path} cannot be written ({error.strerror or error})") from None

    def rows(self, keys: Sequence[bytes]) -> Rows:
        """Return the vectors of these keys, in order."""
        with self._lock:
            content, batches = self._content, self._batches[:]
        positions = np.fromiter((self._positions[key] for key in keys), np.int64, len(keys))
        vectors = np.empty((len(keys), batches[0].d if batches else 0), np.float32)
        batch_of_key = np.searchsorted([batch.first for batch in batches], positions, "right") - 1
        order = np.argsort(batch_of_key, kind="stable")
        batch_numbers, starts = np.unique(batch_of_key[order], return_index=True)
        for number, selected in zip(batch_numbers.tolist(), np.split(order, starts[1:]), strict=True):
            vectors[selected] = batches[number].rows(content)[positions[selected] - batches[number].first]
        return vectors

    def _append(self, batch: bytes, d: int) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed or the process ends
            self._refresh()
            if self._batches and self._batches[0].d != d:
                raise StoreError(
                    f"{self.path} has vectors of {self._batches[0].d} dimensions, the model now returns {d}: "
                    "it changed under the same name; delete the file or name the version of the model"
                )
            file.truncate(self._end)  # an incomplete batch
            file.write(batch)
            file.flush()
            os.fsync(file.fileno())
            self._refresh()

    def _refresh(self) -> None:
        size = self.path.stat().st_size if self.path.exists() else 0
        if size <= self._end:
            return
        self._content = np.memmap(self.path, np.uint8, "r")
        for batch in list(self._complete_batches()):
            self._positions |= {key: batch.first + at for at, key in enumerate(batch.keys(self._content))}
            self._batches.append(batch)
            self._end = batch.end

    def _complete_batches(self) -> Iterator[_Batch]:
        """Yield the batches that were not read before; the last one only if its checksum is right."""
        batch = self._batch_at(self._end, self._count)
        while batch:
            following = self._batch_at(batch.end, batch.first + batch.size)
            if following or crc32(self._content[batch.keys_start : batch.end].data) == batch.checksum:
                yield batch
            batch = following

    @property
    def _count(self) -> int:
        return self._batches[-1].first + self._batches[-1].size if self._batches else 0

    def _batch_at(self, offset: int, first: int) -> _Batch | None:
        """Return the batch at an offset of the file, if all its bytes are present."""
        start = offset + _BATCH_HEADER.size
        if start > len(self._content):
            return None
        magic, size, d, checksum = _BATCH_HEADER.unpack(self._content[offset:start].tobytes())
        batch = _Batch(first, size, d, checksum, start)
        if magic != _MAGIC and offset == 0:
            raise StoreError(f"{self.path} is not an embedding file; move it away")
        return batch if magic == _MAGIC and batch.end <= len(self._content) else None
