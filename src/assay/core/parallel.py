"""Work on pieces in a few threads, results in order, never far ahead of who takes them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TypeVar

Item = TypeVar("Item")
Other = TypeVar("Other")
Result = TypeVar("Result")

WORKERS = min(8, os.cpu_count() or 1)


def ordered_map(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Like `map`, but the next few items are worked on meanwhile (by NumPy, outside the lock).

    >>> list(ordered_map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    source = iter(items)
    first = list(islice(source, 3))
    if len(first) < 3 or WORKERS == 1:  # little to share: threads would only cost their start
        yield from map(work, chain(first, source))
    else:
        yield from _threaded(work, first, source)


def for_each(work: Callable[[Item, Other], None], items: Iterable[Item], others: Iterable[Other]) -> None:
    """Do something with each item and its other, some at the same time.

    >>> seen = {}
    >>> for_each(seen.setdefault, "ab", [1, 2])
    >>> seen
    {'a': 1, 'b': 2}
    """
    deque(ordered_map(lambda pair: work(*pair), zip(items, others, strict=True)), maxlen=0)


def _threaded(work: Callable[[Item], Result], first: list[Item], rest: Iterator[Item]) -> Iterator[Result]:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(WORKERS) as pool:
        waiting = deque(pool.submit(work, item) for item in first)
        try:
            for item in rest:
                if len(waiting) > WORKERS:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(work, item))
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
