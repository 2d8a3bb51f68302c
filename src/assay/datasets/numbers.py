"""Decimal numbers in text, read a whole column at a time.

Eight digits are one machine word, so a column of scores is read with some forty operations on
whole columns. A number is read here only where the result is the double that `float` gives;
any other spelling (an exponent, twenty digits, `inf`) is left to `float` itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.core.texts import Bools, Floats, Ints, Texts, Words

if TYPE_CHECKING:
    from numpy.typing import NDArray

_U = np.uint64
_ZEROS = _U(0x3030303030303030)
_DOTS = _U(0x2E2E2E2E2E2E2E2E)
_ONES = _U(0x0101010101010101)
_HIGH = _U(0x8080808080808080)
_FULL = _U(0xFFFFFFFFFFFFFFFF)
_POWER = np.array([10**n for n in range(20)], dtype=np.uint64)
_ROOM = np.uint64(10**19) // _POWER  # how large the whole part may be for all digits to fit one word
_EXACT = _U(1 << 53)


def floats(texts: Texts) -> Floats:
    """The numbers as float64; NaN where the text is no number (or says NaN).

    >>> floats(Texts.of(["12.5", "-3", "1e3", "x"])).tolist()
    [12.5, -3.0, 1000.0, nan]
    """
    negative = texts.buffer[texts.starts] == ord("-")
    if negative.any():
        shift = negative.astype(np.int64)
        values, read = _plain(Texts(texts.buffer, texts.starts + shift, texts.lengths - shift))
        values = np.where(negative, -values, values)
    else:
        values, read = _plain(texts)
    left = np.flatnonzero(~read)
    values[left] = [_one(text) for text in texts.take(left).tolist()]
    return values


def integers(texts: Texts) -> tuple[Ints, Bools]:
    """The whole numbers, and where there is one.

    >>> [column.tolist() for column in integers(Texts.of(["12", "-1", "1.5"]))]
    [[12, -1, 0], [True, True, False]]
    """
    negative = texts.word(0) & _U(0xFF) == ord("-")
    shift = negative.astype(np.int64)
    lengths = texts.lengths - shift
    bare = Texts(texts.buffer, texts.starts + shift, lengths)
    digits, good = _digits(bare.word(0), np.minimum(lengths, 8))
    good &= (lengths > 0) & (lengths <= 8)
    values = np.where(good, digits, _U(0)).astype(np.int64)
    return np.where(negative, -values, values), good


def _one(text: str) -> float:
    try:
        return float(text) if text.isascii() and "_" not in text else np.nan
    except ValueError:
        return np.nan


def _plain(texts: Texts) -> tuple[Floats, Bools]:
    """Numbers written as digits with at most one dot, and where the text is such a number."""
    starts, lengths = texts.starts, texts.lengths
    head = texts.eight_bytes(starts)
    dots = head ^ _DOTS
    dots = (dots - _ONES) & ~dots & _HIGH  # the lowest bit set marks the first dot
    before = np.bitwise_count((dots ^ (dots - _U(1))) >> _U(8)) >> np.uint8(3)  # 7 without a dot
    after = lengths - before - 1
    undotted = np.flatnonzero((dots == 0) | (after < 0))
    before[undotted], after[undotted] = np.minimum(lengths[undotted], 9), 0
    whole, good = _digits(head, np.minimum(before, np.uint8(8)))
    part, part_good = _tail(texts, starts + lengths, after)
    good &= part_good
    good &= (before <= 8) & (after <= 19) & (before + after > 0)
    scale = np.minimum(after, 19)
    power = _POWER[scale]
    good &= whole < _ROOM[scale]
    digits = whole * power + part
    values: Floats = digits / power
    wide = np.flatnonzero(good & (digits >= _EXACT))  # fewer fit a double, and one division rounds once
    values[wide], good[wide] = _divide_wide(digits[wide], power[wide])
    return values, good


def _divide_wide(digits: Words, power: Words) -> tuple[Floats, Bools]:
    """The nearest double of digits / power, and where it is certain to be the nearest.

    The division is rounded to 64 bits and then to 53; the two roundings can differ from one
    only where the first lands in the middle between two doubles.
    """
    if np.finfo(np.longdouble).nmant < 63:
        return digits / power, np.zeros(len(digits), np.bool_)
    ratio = digits.astype(np.longdouble) / power.astype(np.longdouble)
    values = ratio.astype(np.float64)
    return values, np.abs(ratio - values) * 2 != np.spacing(values)


def _tail(texts: Texts, ends: Ints, length: Ints) -> tuple[Words, Bools]:
    """The number written by the last `length` characters (at most nineteen) before each end."""
    near = np.minimum(length, 8)
    part, good = _digits(texts.eight_bytes(ends - near), near)
    for done in (8, 16):
        far = np.flatnonzero(length > done)
        if not len(far):
            break
        more = np.minimum(length[far] - done, 8)
        upper, upper_good = _digits(texts.eight_bytes(ends[far] - done - more), more)
        part[far] += upper * _POWER[done]
        good[far] &= upper_good
    return part, good


def _digits(word: Words, length: NDArray[np.integer]) -> tuple[Words, Bools]:
    """The number written by the first characters of a word, and whether all are digits."""
    room = (8 * (8 - length.astype(np.uint8))).astype(np.uint64)
    value = (word << room) - (_ZEROS & (_FULL << room))
    good = ((value + _U(0x7676767676767676)) | value) & _HIGH == 0
    value = value * _U(10) + (value >> _U(8))
    low = (value & _U(0x000000FF000000FF)) * _U(0x000F424000000064)
    value >>= _U(16)
    value &= _U(0x000000FF000000FF)
    value *= _U(0x0000271000000001)
    value += low
    value >>= _U(32)
    return value, good
