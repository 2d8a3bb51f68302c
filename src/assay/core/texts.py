"""Columns of short byte strings, compared and hashed eight bytes at a time.

Ids are most of a run's bytes. Making a Python string of each costs more than everything else
together, so a column of ids stays where it was read: one buffer, and where each id starts and ends.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]

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
    """Byte strings inside one buffer: where each starts and how long it is."""

    __slots__ = ("_words", "buffer", "lengths", "starts")

    def __init__(self, buffer: Bytes, starts: Ints, lengths: Ints) -> None:
        self.buffer, self.starts, self.lengths = buffer, starts, lengths
        self._words = np.ndarray((len(buffer) - PAD + 1,), "<u8", buffer, strides=(1,))

    @classmethod
    def of(cls, strings: Iterable[str]) -> "Texts":
        """The column of these strings.

        >>> Texts.of(["a", "bc"]).tolist()
        ['a', 'bc']
        """
        items = strings if isinstance(strings, Sequence) else list(strings)
        return cls.joined("\0".join(items).encode(), len(items))

    @classmethod
    def joined(cls, data: bytes, count: int) -> "Texts":
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
    def concat(cls, parts: Sequence["Texts"]) -> "Texts":
        """One column of several, in a buffer of its own that holds nothing else."""
        lengths = np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)])
        width = max((part.word_count() for part in parts), default=0)
        if 8 * width * len(lengths) > 2 * int(lengths.sum()) + 16 * len(lengths):  # a few long ones
            buffer = np.concatenate([*(part.packed() for part in parts), np.zeros(PAD, np.uint8)])
            return cls(buffer, np.cumsum(lengths) - lengths, lengths)
        words = np.zeros((len(lengths) + 1, max(1, width)), "<u8")
        row = 0
        for part in parts:
            for number in range(part.word_count()):
                words[row : row + len(part), number] = part.word(number)
            row += len(part)
        return cls(words.view(np.uint8).ravel(), np.arange(len(lengths)) * 8 * max(1, width), lengths)

    def __len__(self) -> int:
        return len(self.starts)

    def packed(self) -> Bytes:
        """The bytes of all strings, one after the other."""
        shift = self.starts - (np.cumsum(self.lengths) - self.lengths)
        where = np.repeat(shift, self.lengths)
        where += np.arange(len(where))
        return self.buffer[where]

    def take(self, rows: NDArray[np.integer]) -> "Texts":
        """The strings at these rows."""
        return Texts(self.buffer, self.starts[rows], self.lengths[rows])

    def slice(self, first: int, last: int) -> "Texts":
        """The strings from row `first` to before row `last`."""
        return Texts(self.buffer, self.starts[first:last], self.lengths[first:last])

    def __getitem__(self, row: int) -> str:
        start = int(self.starts[row])
        return self.buffer[start : start + int(self.lengths[row])].tobytes().decode()

    def tolist(self) -> list[str]:
        """The strings as Python strings."""
        if not len(self):
            return []
        return self.separated(b"\n")[:-1].tobytes().decode().split("\n")

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
        if number == 0:
            return self._words[self.starts] & _MASK[np.minimum(self.lengths, 8)]
        left = np.clip(self.lengths - 8 * number, 0, 8)
        return self._words[np.minimum(self.starts + 8 * number, len(self._words) - 1)] & _MASK[left]

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

    def equal(self, other: "Texts") -> Bools:
        """Whether each string equals the string at the same row of the other column."""
        same: Bools = self.lengths == other.lengths
        for number in range(max(self.word_count(), other.word_count())):
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
