"""Assignment of many units at once: the same as one by one, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.arrays import Ints
from assay.rollout.assignment import MIX_1, MIX_2, STEP, TrafficSplit, salt_key

_POLYNOMIAL = 0xEDB88320  # of CRC-32
_BLOCK = 8192  # ids; what is computed of them stays in the cache of the processor
Words = NDArray[np.uint64]


def assign_many(split: TrafficSplit, unit_ids: Sequence[str] | NDArray[Any]) -> Ints:
    """Return the number of the arm of each unit, -1 if it does not belong to the experiment.

    The ids are texts, or a NumPy array of bytes, which is faster; bytes of zero at their end do not count.
    """
    ids = as_bytes(unit_ids)
    arms = np.full(len(ids), -1, np.int64)
    if split.everyone or not len(ids):
        return arms
    for start in range(0, len(ids), _BLOCK):
        arms[start : start + _BLOCK] = _assign_block(split, ids[start : start + _BLOCK])
    for unit in split.overrides:
        arms[ids == unit.encode()] = -1
    return arms


def as_bytes(unit_ids: Sequence[str] | NDArray[Any]) -> NDArray[np.bytes_]:
    """Return ids as an array of bytes."""
    array = unit_ids if isinstance(unit_ids, np.ndarray) else None
    if array is not None and array.dtype.kind == "S":
        return np.ascontiguousarray(array)
    try:
        return np.array(unit_ids, dtype=np.bytes_)
    except UnicodeEncodeError:
        return np.array([unit.encode() for unit in unit_ids], dtype=np.bytes_)


def _assign_block(split: TrafficSplit, ids: NDArray[np.bytes_]) -> Ints:
    numbers = checksums(ids).astype(np.uint64) * np.uint64(STEP)
    mixed = _mix(numbers, salt_key(split.salt or split.name))
    is_in = mixed >> np.uint64(32) < np.uint64(round(split.coverage * 2**32))
    if split.holdout:
        held_out = _mix(numbers, salt_key(split.holdout_salt)) >> np.uint64(32)
        is_in &= held_out >= np.uint64(round(split.holdout * 2**32))
    if split.slot:
        start, end = map(np.uint64, split.slot.bounds)
        place = _mix(numbers, salt_key(f"group {split.slot.name}")) >> np.uint64(32)
        is_in &= (place >= start) & (place < end)
    arms = (mixed & np.uint64(0xFFFFFFFF)) * np.uint64(len(split.arms)) >> np.uint64(32)
    return np.where(is_in, arms.astype(np.int64), -1)


def _mix(numbers: Words, key: int) -> Words:
    x = numbers + np.uint64(key)
    x ^= x >> np.uint64(30)
    x *= np.uint64(MIX_1)
    x ^= x >> np.uint64(27)
    x *= np.uint64(MIX_2)
    x ^= x >> np.uint64(31)
    return x


def checksums(ids: NDArray[np.bytes_]) -> NDArray[np.uint32]:
    """Return the CRC-32 of each id."""
    width = ids.dtype.itemsize
    letters = ids.view(np.uint8).reshape(len(ids), width)
    lengths = np.strings.str_len(ids)
    result = np.zeros(len(ids), np.uint32)  # of an empty text
    for length in np.unique(lengths):
        if length:
            rows = lengths == length
            chosen = letters[:, :length] if rows.all() else letters[rows, :length]
            result[rows] = _checksum_rows(chosen)
    return result


def _checksum_rows(letters: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return the CRC-32 of rows of the same length, two bytes at a time."""
    pairs = letters.shape[1] // 2
    columns = np.ascontiguousarray(np.ascontiguousarray(letters[:, : 2 * pairs]).view("<u2").T)
    result = np.full(len(letters), 0xFFFFFFFF, np.uint32)
    for column in columns:
        index = result.astype(np.uint16) ^ column
        result >>= np.uint32(16)
        result ^= _table(16)[index]
    if letters.shape[1] % 2:
        index8 = result.astype(np.uint8) ^ letters[:, -1]
        result >>= np.uint32(8)
        result ^= _table(8)[index8]
    return ~result


@cache
def _table(bits: int) -> NDArray[np.uint32]:
    values = np.arange(1 << bits, dtype=np.uint32)
    for _ in range(bits):
        values = np.where(
            values & 1, (values >> np.uint32(1)) ^ np.uint32(_POLYNOMIAL), values >> np.uint32(1)
        )
    return values
