"""Checks of the header and the length of a file against each other."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from assay.core.errors import FormatError
from assay.core.unsupported_files import refuse_unsupported

# added to errors if vectors are expected
NEIGHBORS_HINT = "neighbours are read with --neighbors (assay dataset show, export)"
_DECOMPRESSORS = {b"\x1f\x8b": "gunzip", b"\x28\xb5\x2f\xfd": "unzstd"}


def file_size(path: str) -> int:
    """Return the length of a file; raise FormatError if it cannot be read or is compressed."""
    refuse_unsupported(path)
    try:
        with open(path, "rb") as file:
            magic_bytes = file.read(4)
            size = file.seek(0, os.SEEK_END)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path) from None
    for magic, program in _DECOMPRESSORS.items():
        if magic_bytes.startswith(magic):
            raise FormatError(
                f"is compressed, so its rows cannot be mapped: decompress it first ({program})", path
            )
    return size


def read_head(path: str, size: int) -> bytes:
    """Return the first bytes of a file."""
    refuse_unsupported(path)
    try:
        with open(path, "rb") as file:
            return file.read(size)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path) from None


def read_two_counts(path: str, second: str) -> tuple[int, int]:
    """Return the two uint32 at the beginning: the number of rows, and the count described by `second`."""
    file_size(path)
    first = read_head(path, 8)
    if len(first) < 8:
        raise FormatError(
            f"has {len(first)} bytes; expected at least 8, the number of rows and {second}", path
        )
    n, other = np.frombuffer(first, "<u4").tolist()
    return n, other


class FileLayout(NamedTuple):
    """Rows of one size after a header."""

    header: int
    rows: int
    stride: int

    @property
    def size(self) -> int:
        """The number of bytes of the whole file."""
        return self.header + self.rows * self.stride


def refuse_length(path: str, layout: FileLayout, promise: str, hint: str = "") -> None:
    """Raise FormatError if a file does not have the length of its header; the message has the last row."""
    length = file_size(path)
    if length == layout.size:
        return
    problem = f"the header says {promise}, {layout.size:,} bytes in all; found {length:,} bytes"
    if length > layout.size:
        raise FormatError(f"{problem}, {length - layout.size:,} too many{hint}", path)
    row = max(0, length - layout.header) // layout.stride
    raise FormatError(f"{problem}: it ends in row {row:,}{hint or '; download it again'}", path)
