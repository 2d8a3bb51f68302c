"""Parsing of decimal numbers in text, a whole column at a time.

Eight digits are one machine word, so a column of scores is parsed with about forty operations on
whole columns. A number is parsed here only if the result is certain to equal that of `float`;
any other spelling (an exponent, twenty digits, `inf`) is passed to `float`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.core.arrays import Bools, Floats, Ints, Words
from assay.core.strings import StringColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

_U = np.uint64
_ZEROS = _U(0x3030303030303030)
_DOTS = _U(0x2E2E2E2E2E2E2E2E)
_ONES = _U(0x0101010101010101)
_HIGH_BITS = _U(0x8080808080808080)
_ALL_BITS = _U(0xFFFFFFFFFFFFFFFF)
_POWERS = np.array([10**n for n in range(20)], dtype=np.uint64)
_WHOLE_LIMITS = (
    np.uint64(10**19) // _POWERS
)  # the whole part must be smaller for all digits to fit in one word
_EXACT_LIMIT = _U(1 << 53)


def parse_floats(texts: StringColumn) -> Floats:
    """Return the numbers as float64; NaN if a text is not a number (or is NaN).

    >>> parse_floats(StringColumn.from_strings(["12.5", "-3", "1e3", "x"])).tolist()
    [12.5, -3.0, 1000.0, nan]
    """
    negative = texts.buffer[texts.starts] == ord("-")
    if negative.any():
        shift = negative.astype(np.int64)
        values, is_read = _parse_decimals(
            StringColumn(texts.buffer, texts.starts + shift, texts.lengths - shift)
        )
        values = np.where(negative, -values, values)
    else:
        values, is_read = _parse_decimals(texts)
    remaining = np.flatnonzero(~is_read)
    values[remaining] = [_parse_float(text) for text in texts.take(remaining).tolist()]
    return values


def parse_integers(texts: StringColumn) -> tuple[Ints, Bools]:
    """Return the whole numbers, and whether each text is one.

    >>> [column.tolist() for column in parse_integers(StringColumn.from_strings(["12", "-1", "1.5"]))]
    [[12, -1, 0], [True, True, False]]
    """
    negative = texts.word(0) & _U(0xFF) == ord("-")
    shift = negative.astype(np.int64)
    lengths = texts.lengths - shift
    unsigned = StringColumn(texts.buffer, texts.starts + shift, lengths)
    digits, is_valid = _parse_digits(unsigned.word(0), np.minimum(lengths, 8))
    is_valid &= (lengths > 0) & (lengths <= 8)
    values = np.where(is_valid, digits, _U(0)).astype(np.int64)
    return np.where(negative, -values, values), is_valid


def _parse_float(text: str) -> float:
    try:
        return float(text) if text.isascii() and "_" not in text else np.nan
    except ValueError:
        return np.nan


def _parse_decimals(texts: StringColumn) -> tuple[Floats, Bools]:
    """Return numbers written as digits with at most one dot, and whether each text is such a number."""
    starts, lengths = texts.starts, texts.lengths
    head = texts.eight_bytes(starts)
    dots = head ^ _DOTS
    dots = (dots - _ONES) & ~dots & _HIGH_BITS  # the lowest bit set marks the first dot
    whole_lengths = np.bitwise_count((dots ^ (dots - _U(1))) >> _U(8)) >> np.uint8(3)  # 7 without a dot
    part_lengths = lengths - whole_lengths - 1
    without_dot = np.flatnonzero((dots == 0) | (part_lengths < 0))
    whole_lengths[without_dot], part_lengths[without_dot] = np.minimum(lengths[without_dot], 9), 0
    whole, is_valid = _parse_digits(head, np.minimum(whole_lengths, np.uint8(8)))
    part, part_valid = _parse_last_digits(texts, starts + lengths, part_lengths)
    is_valid &= part_valid
    is_valid &= (whole_lengths <= 8) & (part_lengths <= 19) & (whole_lengths + part_lengths > 0)
    scale = np.minimum(part_lengths, 19)
    power = _POWERS[scale]
    is_valid &= whole < _WHOLE_LIMITS[scale]
    digits = whole * power + part
    values: Floats = digits / power
    wide = np.flatnonzero(
        is_valid & (digits >= _EXACT_LIMIT)
    )  # smaller ones are exact in a double, so the division rounds once
    values[wide], is_valid[wide] = _divide_wide(digits[wide], power[wide])
    return values, is_valid


def _divide_wide(digits: Words, power: Words) -> tuple[Floats, Bools]:
    """Return the nearest double of digits / power, and whether it is certain to be the nearest.

    The division is rounded to 64 bits and then to 53; two roundings can differ from one rounding
    only if the result of the first is halfway between two doubles.
    """
    if np.finfo(np.longdouble).nmant < 63:
        return digits / power, np.zeros(len(digits), np.bool_)
    ratio = digits.astype(np.longdouble) / power.astype(np.longdouble)
    values = ratio.astype(np.float64)
    return values, np.abs(ratio - values) * 2 != np.spacing(values)


def _parse_last_digits(texts: StringColumn, ends: Ints, length: Ints) -> tuple[Words, Bools]:
    """Return the number formed by the last `length` characters (at most nineteen) before each end."""
    low_lengths = np.minimum(length, 8)
    part, is_valid = _parse_digits(texts.eight_bytes(ends - low_lengths), low_lengths)
    for skip in (8, 16):
        longer = np.flatnonzero(length > skip)
        if not len(longer):
            break
        high_lengths = np.minimum(length[longer] - skip, 8)
        upper, upper_valid = _parse_digits(
            texts.eight_bytes(ends[longer] - skip - high_lengths), high_lengths
        )
        part[longer] += upper * _POWERS[skip]
        is_valid[longer] &= upper_valid
    return part, is_valid


def _parse_digits(word: Words, length: NDArray[np.integer]) -> tuple[Words, Bools]:
    """Return the number formed by the first characters of a word, and whether all are digits."""
    shift = (8 * (8 - length.astype(np.uint8))).astype(np.uint64)
    value = (word << shift) - (_ZEROS & (_ALL_BITS << shift))
    is_valid = ((value + _U(0x7676767676767676)) | value) & _HIGH_BITS == 0
    value = value * _U(10) + (value >> _U(8))
    low = (value & _U(0x000000FF000000FF)) * _U(0x000F424000000064)
    value >>= _U(16)
    value &= _U(0x000000FF000000FF)
    value *= _U(0x0000271000000001)
    value += low
    value >>= _U(32)
    return value, is_valid
