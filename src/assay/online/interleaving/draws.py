"""Random numbers that follow from a request alone, the same in every process and on every machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import TypeVar

_Item = TypeVar("_Item")
_NUMBERS_OF_A_BLOCK = 8


class RequestDraws:
    """The random numbers of one request: of its experiment (salt), query and user.

    Each block of 64 bytes is BLAKE2b of the key and a counter; each number is the upper 53 bits of 8 bytes.

    >>> first, second = RequestDraws("exp-1", "vpn", "u7"), RequestDraws("exp-1", "vpn", "u7")
    >>> first.number() == second.number(), first.number() == RequestDraws("exp-2", "vpn", "u7").number()
    (True, False)
    """

    def __init__(self, *key: str) -> None:
        parts = [part.encode() for part in key]
        self._key = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        self._numbers = self._stream()

    def _stream(self) -> Iterator[float]:
        counter = 0
        while True:
            block = blake2b(self._key + counter.to_bytes(8, "big"), digest_size=64).digest()
            for begin in range(0, 8 * _NUMBERS_OF_A_BLOCK, 8):
                yield (int.from_bytes(block[begin : begin + 8], "big") >> 11) / (1 << 53)
            counter += 1

    def number(self) -> float:
        """Return a number from 0 up to, but not including, 1."""
        return next(self._numbers)

    def position(self, n: int) -> int:
        """Return one of 0 … n - 1."""
        return int(self.number() * n)

    def shuffle(self, items: Sequence[_Item]) -> list[_Item]:
        """Return the items in a random order, each order equally likely."""
        shuffled = list(items)
        for last in range(len(shuffled) - 1, 0, -1):
            other = self.position(last + 1)
            shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
        return shuffled

    def choose(self, weights: Sequence[float]) -> int:
        """Return a position with a chance in proportion to its weight."""
        point, chosen = self.number() * sum(weights), 0
        for position, weight in enumerate(weights):
            if weight > 0:
                chosen = position
                point -= weight
                if point < 0:
                    break
        return chosen
