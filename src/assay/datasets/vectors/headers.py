"""What the beginning and the length of a file say, checked against each other."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from assay.core.errors import FormatError

TRUTH = "neighbours are read with --neighbors"  # said where vectors are expected
_PACKED = {b"\x1f\x8b": "gunzip", b"\x28\xb5\x2f\xfd": "unzstd"}


def size_of(path: str) -> int:
    """The length of a file that can be read and mapped."""
    try:
        with open(path, "rb") as file:
            packed = file.read(4)
            size = file.seek(0, os.SEEK_END)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path) from None
    for magic, program in _PACKED.items():
        if packed.startswith(magic):
            raise FormatError(f"is packed, so rows cannot be found in it: unpack it first ({program})", path)
    return size


def head(path: str, size: int) -> bytes:
    """The first bytes of a file."""
    try:
        with open(path, "rb") as file:
            return file.read(size)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path) from None


def two_numbers(path: str, second: str) -> tuple[int, int]:
    """The two uint32 at the beginning: how many rows, and what the second says."""
    size_of(path)
    first = head(path, 8)
    if len(first) < 8:
        raise FormatError(
            f"has {len(first)} bytes; expected at least 8, the number of rows and {second}", path
        )
    n, other = np.frombuffer(first, "<u4").tolist()
    return n, other


class Layout(NamedTuple):
    """Rows of one size behind a header."""

    header: int
    rows: int
    stride: int

    @property
    def size(self) -> int:
        """The bytes of the whole file."""
        return self.header + self.rows * self.stride


def refuse_length(path: str, layout: Layout, promise: str, hint: str = "") -> None:
    """Refuse a file that is not as long as its header says; a short one ends in a row that is named."""
    found = size_of(path)
    if found == layout.size:
        return
    lengths = f"the header promises {promise}, {layout.size:,} bytes in all; found {found:,} bytes"
    if found > layout.size:
        raise FormatError(f"{lengths}, {found - layout.size:,} too many{hint}", path)
    row = max(0, found - layout.header) // layout.stride
    raise FormatError(f"{lengths}: it ends in row {row:,}{hint or '; fetch it again'}", path)
