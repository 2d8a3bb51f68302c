"""Short lists from engines that refuse to give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def reached(ask: Callable[[int], Sequence[int]], k: int) -> Sequence[int]:
    """The longest list, up to k, of an engine that fails where it finds fewer than it is asked for.

    What fails for another reason fails for a list of one as well, and is raised.

    >>> there = [7, 3, 5]
    >>> def ask(k):
    ...     if k > len(there):
    ...         raise RuntimeError("too few")
    ...     return there[:k]
    >>> reached(ask, 10)
    [7, 3, 5]
    """
    found, low, high = ask(1), 1, k
    while low < high:
        middle = (low + high + 1) // 2
        try:
            found, low = ask(middle), middle
        except RuntimeError:
            high = middle - 1
    return found
