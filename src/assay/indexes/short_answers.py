"""Short answers from engines that raise an error instead of returning fewer than k neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def longest_answer(ask: Callable[[int], Sequence[int]], k: int) -> Sequence[int]:
    """Return the longest answer, up to k, of an engine that raises RuntimeError if it finds fewer.

    An error with another cause is also raised for a single neighbour, and is passed on.

    >>> there = [7, 3, 5]
    >>> def ask(k):
    ...     if k > len(there):
    ...         raise RuntimeError("too few")
    ...     return there[:k]
    >>> longest_answer(ask, 10)
    [7, 3, 5]
    """
    answer, low, high = ask(1), 1, k
    while low < high:
        middle = (low + high + 1) // 2
        try:
            answer, low = ask(middle), middle
        except RuntimeError:
            high = middle - 1
    return answer
