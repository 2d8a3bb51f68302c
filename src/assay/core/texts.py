"""Columns of short byte strings, compared and hashed eight bytes at a time.

Ids are most of a run's bytes. Making a Python string of each costs more than everything else
together, so a column of ids stays where it was read: one buffer, and where each id starts and ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.core.parallel import for_each

if TYPE_CHECKING:  # loading numpy.typing takes longer than scoring a small file
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int64]
    Words = NDArray[np.uint64]
    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
else:
    Bytes = Ints = Words = Bools = Floats = np.ndarray

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


class Texts:
    """Byte strings inside one buffer: where each starts and how long it is.

    A column that was made compact has its strings as rows of words, zeros past their ends.
    """

    __slots__ = ("_loads", "_starts", "buffer", "lengths", "words")

    def __init__(self, buffer: Bytes, starts: Ints, lengths: Ints) -> None:
        self.buffer, self._starts, self.lengths = buffer, starts, lengths
        self.words: Words | None = None
        self._loads = np.ndarray((len(buffer) - PAD + 1,), "<u8", buffer, strides=(1,))

    @classmethod
    def compact(cls, words: Words, lengths: Ints) -> Texts:
        """The column of strings that are the rows of a table of words."""
        texts = cls.__new__(cls)
        texts.buffer, texts.lengths, texts.words = words.reshape(-1).view(np.uint8), lengths, words
        return texts

    @property
    def starts(self) -> Ints:
        """Where each string starts in the buffer."""
        if self.words is None:
            return self._starts
        return np.arange(0, len(self.lengths) * 8 * self.words.shape[1], 8 * self.words.shape[1])

    @classmethod
    def of(cls, strings: Iterable[str]) -> Texts:
        """The column of these strings.

        >>> Texts.of(["a", "bc"]).tolist()
        ['a', 'bc']
        """
        items = strings if isinstance(strings, Sequence) else list(strings)
        return cls.joined("\0".join(items).encode(), len(items))

    @classmethod
    def joined(cls, data: bytes, count: int) -> Texts:
        """The column of `count` strings that stand in `data` with a NUL between them."""
        buffer = np.frombuffer(data + b"\0" * PAD, dtype=np.uint8)
        if not count:
            return cls(buffer, np.zeros(0, np.int64), np.zeros(0, np.int64))
        ends = np.append(np.flatnonzero(buffer[: len(data)] == 0), len(data))
        if len(ends) != count:
            raise ValueError("an id contains a NUL character")
        starts = np.concatenate(([0], ends[:-1] + 1))
        return cls(buffer, starts, ends - starts)

    @classmethod
    def concat(cls, parts: Sequence[Texts]) -> Texts:
        """One column of several, in a buffer of its own that holds nothing else."""
        counts = [len(part) for part in parts]
        first = np.cumsum([0, *counts])
        return cls.scatter(parts, [np.arange(a, a + n) for a, n in zip(first, counts, strict=False)])

    @classmethod
    def scatter(cls, parts: Sequence[Texts], rows: Sequence[Ints]) -> Texts:
        """One column of several, with the strings of each part at the rows given for it."""
        lengths = np.zeros(sum(map(len, parts)), np.int64)
        for_each(lambda part, at: lengths.__setitem__(at, part.lengths), parts, rows)
        width = max([1, *(part.word_count() for part in parts)])
        if 8 * width * len(lengths) > 2 * int(lengths.sum()) + 16 * len(lengths):  # a few long ones
            buffer = np.concatenate([*(part.packed() for part in parts), np.zeros(PAD, np.uint8)])
            packed = np.concatenate([part.lengths for part in parts])
            starts = np.empty_like(packed)
            starts[np.concatenate(rows)] = np.cumsum(packed) - packed
            return cls(buffer, starts, lengths)
        words = np.zeros((len(lengths), width), "<u8")

        def place(part: Texts, at: Ints) -> None:
            for number in range(part.word_count()):
                words[at, number] = part.word(number)

        for_each(place, parts, rows)
        return cls.compact(words, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def packed(self) -> Bytes:
        """The bytes of all strings, one after the other."""
        shift = self.starts - (np.cumsum(self.lengths) - self.lengths)
        where = np.repeat(shift, self.lengths)
        where += np.arange(len(where))
        packed: Bytes = self.buffer[where]
        return packed

    def take(self, rows: NDArray[np.integer]) -> Texts:
        """The strings at these rows."""
        if self.words is not None:
            return Texts.compact(self.words[rows], self.lengths[rows])
        return Texts(self.buffer, self._starts[rows], self.lengths[rows])

    def slice(self, first: int, last: int) -> Texts:
        """The strings from row `first` to before row `last`."""
        if self.words is not None:
            return Texts.compact(self.words[first:last], self.lengths[first:last])
        return Texts(self.buffer, self._starts[first:last], self.lengths[first:last])

    def __getitem__(self, row: int) -> str:
        start = int(self._starts[row]) if self.words is None else row * 8 * self.words.shape[1]
        return self.buffer[start : start + int(self.lengths[row])].tobytes().decode()

    def tolist(self) -> list[str]:
        """The strings as Python strings."""
        if not len(self):
            return []
        return self.separated(b"\0")[:-1].tobytes().decode().split("\0")

    def separated(self, by: bytes) -> Bytes:
        """The bytes of all strings with one byte after each (none of them may contain it)."""
        ends = np.cumsum(self.lengths + 1)
        out = np.full(int(ends[-1]) if len(ends) else 0, by[0], dtype=np.uint8)
        inside = np.ones(len(out), dtype=np.bool_)
        inside[ends - 1] = False
        out[inside] = self.packed()
        return out

    def word(self, number: int) -> Words:
        """Bytes 8·number … 8·number+7 of each string as one integer, zeros past its end."""
        if self.words is not None:
            return self.words[:, number].copy()
        if number == 0:
            return self._loads[self._starts] & _MASK[np.minimum(self.lengths, 8)]
        left = np.clip(self.lengths - 8 * number, 0, 8)
        return self._loads[np.minimum(self._starts + 8 * number, len(self._loads) - 1)] & _MASK[left]

    def eight_bytes(self, places: Ints) -> Words:
        """The eight bytes of the buffer from each place on, as one integer."""
        return self._loads[places]

    def word_count(self) -> int:
        """How many words the longest string has."""
        return -(-int(self.lengths.max(initial=0)) // 8)

    def keys(self) -> Words:
        """A number for each string: its bytes when there are at most eight, else a hash of them."""
        keys = self.word(0)
        for number in range(1, self.word_count()):
            longer = np.flatnonzero(self.lengths > 8 * number)
            rest = self if len(longer) == len(self) else self.take(longer)
            keys[longer] = mix((keys[longer] + _K1) ^ mix(rest.word(number)))
        return keys

    def equal(self, other: Texts) -> Bools:
        """Whether each string equals the string at the same row of the other column."""
        same: Bools = self.lengths == other.lengths
        for number in range(min(self.word_count(), other.word_count())):
            same &= self.word(number) == other.word(number)
        return same

    def repeats(self) -> Bools:
        """Whether each string equals the one before it; the first does not."""
        same = np.zeros(len(self), np.bool_)
        np.equal(self.lengths[1:], self.lengths[:-1], out=same[1:])
        for number in range(self.word_count()):
            word = self.word(number)
            same[1:] &= word[1:] == word[:-1]
        return same
