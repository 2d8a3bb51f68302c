"""Columns of short byte strings, compared and hashed eight bytes at a time.

Ids are most of the bytes of a run. Creating a Python string for each takes longer than everything else,
so a column of ids stays in the buffer it was read into, with the start and the length of each id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.core.arrays import Bools, Bytes, Ints, Words
from assay.core.parallel import for_each

if TYPE_CHECKING:
    from numpy.typing import NDArray

PAD = 8  # a word load at the last byte must stay inside the buffer
_MASK = np.array([(1 << (8 * n)) - 1 for n in range(9)], dtype=np.uint64)
_K1 = np.uint64(0x9E3779B97F4A7C15)
_K2 = np.uint64(0xBF58476D1CE4E5B9)
_K3 = np.uint64(0x94D049BB133111EB)


def mix(words: Words) -> Words:
    """Spread every bit of each word over the whole word (the finaliser of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * _K2
    words = (words ^ (words >> np.uint64(27))) * _K3
    return words ^ (words >> np.uint64(31))


class StringColumn:
    """Byte strings inside one buffer, with the start and the length of each.

    A compact column holds its strings as rows of 8-byte words, with zeros after the end of each string.
    """

    __slots__ = ("_loads", "_starts", "buffer", "lengths", "words")

    def __init__(self, buffer: Bytes, starts: Ints, lengths: Ints) -> None:
        self.buffer, self._starts, self.lengths = buffer, starts, lengths
        self.words: Words | None = None
        self._loads = np.ndarray((len(buffer) - PAD + 1,), "<u8", buffer, strides=(1,))

    @classmethod
    def from_words(cls, words: Words, lengths: Ints) -> StringColumn:
        """Return the compact column whose strings are the rows of a table of words."""
        texts = cls.__new__(cls)
        texts.buffer, texts.lengths, texts.words = words.reshape(-1).view(np.uint8), lengths, words
        return texts

    @property
    def starts(self) -> Ints:
        """The position in the buffer at which each string starts."""
        if self.words is None:
            return self._starts
        return np.arange(0, len(self.lengths) * 8 * self.words.shape[1], 8 * self.words.shape[1])

    @classmethod
    def from_strings(cls, strings: Iterable[str]) -> StringColumn:
        """Return the column of these strings.

        >>> StringColumn.from_strings(["a", "bc"]).tolist()
        ['a', 'bc']
        """
        items = strings if isinstance(strings, Sequence) else list(strings)
        return cls.from_joined("\0".join(items).encode(), len(items))

    @classmethod
    def from_joined(cls, data: bytes, count: int) -> StringColumn:
        """Return the column of `count` strings that are separated by NUL in `data`."""
        buffer = np.frombuffer(data + b"\0" * PAD, dtype=np.uint8)
        if not count:
            return cls(buffer, np.zeros(0, np.int64), np.zeros(0, np.int64))
        ends = np.append(np.flatnonzero(buffer[: len(data)] == 0), len(data))
        if len(ends) != count:
            raise ValueError("an id contains a NUL character")
        starts = np.concatenate(([0], ends[:-1] + 1))
        return cls(buffer, starts, ends - starts)

    @classmethod
    def concat(cls, parts: Sequence[StringColumn]) -> StringColumn:
        """Return the concatenation of columns, in a new buffer."""
        counts = [len(part) for part in parts]
        first = np.cumsum([0, *counts])
        return cls.scatter(parts, [np.arange(a, a + n) for a, n in zip(first, counts, strict=False)])

    @classmethod
    def scatter(cls, parts: Sequence[StringColumn], rows: Sequence[Ints]) -> StringColumn:
        """Return one column of several, with the strings of each part at the given rows."""
        lengths = np.zeros(sum(map(len, parts)), np.int64)
        for_each(lambda part, at: lengths.__setitem__(at, part.lengths), parts, rows)
        width = max([1, *(part.word_count() for part in parts)])
        if 8 * width * len(lengths) > 2 * int(lengths.sum()) + 16 * len(lengths):  # a few strings are long
            buffer = np.concatenate([*(part.joined_bytes() for part in parts), np.zeros(PAD, np.uint8)])
            part_lengths = np.concatenate([part.lengths for part in parts])
            starts = np.empty_like(part_lengths)
            starts[np.concatenate(rows)] = np.cumsum(part_lengths) - part_lengths
            return cls(buffer, starts, lengths)
        words = np.zeros((len(lengths), width), "<u8")

        def place_words(part: StringColumn, at: Ints) -> None:
            for number in range(part.word_count()):
                words[at, number] = part.word(number)

        for_each(place_words, parts, rows)
        return cls.from_words(words, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def joined_bytes(self) -> Bytes:
        """Return the bytes of all strings without separators."""
        shift = self.starts - (np.cumsum(self.lengths) - self.lengths)
        positions = np.repeat(shift, self.lengths)
        positions += np.arange(len(positions))
        characters: Bytes = self.buffer[positions]
        return characters

    def take(self, rows: NDArray[np.integer]) -> StringColumn:
        """Return the strings at these rows."""
        if self.words is not None:
            return StringColumn.from_words(self.words[rows], self.lengths[rows])
        return StringColumn(self.buffer, self._starts[rows], self.lengths[rows])

    def slice(self, first: int, last: int) -> StringColumn:
        """Return the strings from row `first` up to, not including, row `last`."""
        if self.words is not None:
            return StringColumn.from_words(self.words[first:last], self.lengths[first:last])
        return StringColumn(self.buffer, self._starts[first:last], self.lengths[first:last])

    def __getitem__(self, row: int) -> str:
        start = int(self._starts[row]) if self.words is None else row * 8 * self.words.shape[1]
        return self.buffer[start : start + int(self.lengths[row])].tobytes().decode()

    def tolist(self) -> list[str]:
        """Return the strings as Python strings."""
        if not len(self):
            return []
        return self.separated_bytes(b"\0")[:-1].tobytes().decode().split("\0")

    def separated_bytes(self, by: bytes) -> Bytes:
        """Return the bytes of all strings, each followed by a separator that none of them contains."""
        ends = np.cumsum(self.lengths + 1)
        separated = np.full(int(ends[-1]) if len(ends) else 0, by[0], dtype=np.uint8)
        is_text = np.ones(len(separated), dtype=np.bool_)
        is_text[ends - 1] = False
        separated[is_text] = self.joined_bytes()
        return separated

    def word(self, number: int) -> Words:
        """Return bytes 8·number … 8·number+7 of each string as one integer, zeros after its end."""
        if self.words is not None:
            return self.words[:, number].copy()
        if number == 0:
            return self._loads[self._starts] & _MASK[np.minimum(self.lengths, 8)]
        byte_counts = np.clip(self.lengths - 8 * number, 0, 8)
        return self._loads[np.minimum(self._starts + 8 * number, len(self._loads) - 1)] & _MASK[byte_counts]

    def eight_bytes(self, places: Ints) -> Words:
        """Return the eight bytes of the buffer from each position on, as one integer."""
        return self._loads[places]

    def word_count(self) -> int:
        """Return the number of words of the longest string."""
        return -(-int(self.lengths.max(initial=0)) // 8)

    def keys(self) -> Words:
        """Return a number for each string: its bytes if there are at most eight, else their hash."""
        keys = self.word(0)
        for number in range(1, self.word_count()):
            longer_rows = np.flatnonzero(self.lengths > 8 * number)
            rest = self if len(longer_rows) == len(self) else self.take(longer_rows)
            keys[longer_rows] = mix((keys[longer_rows] + _K1) ^ mix(rest.word(number)))
        return keys

    def equals(self, other: StringColumn) -> Bools:
        """Return whether each string equals the string at the same row of the other column."""
        is_equal: Bools = self.lengths == other.lengths
        for number in range(min(self.word_count(), other.word_count())):
            is_equal &= self.word(number) == other.word(number)
        return is_equal

    def equals_previous(self) -> Bools:
        """Return whether each string equals the one before it; False for the first."""
        is_equal = np.zeros(len(self), np.bool_)
        np.equal(self.lengths[1:], self.lengths[:-1], out=is_equal[1:])
        for number in range(self.word_count()):
            word = self.word(number)
            is_equal[1:] &= word[1:] == word[:-1]
        return is_equal
