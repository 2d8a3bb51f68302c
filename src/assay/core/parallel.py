"""Work on pieces in a few threads, results in order, never far ahead of who takes them.

NumPy works outside the interpreter's lock, so threads are enough. All pieces share one pool: more
threads than processors only wait for each other.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Item = TypeVar("Item")
Other = TypeVar("Other")
Result = TypeVar("Result")

WORKERS = min(8, os.cpu_count() or 1)
_WORKER = "assay-worker"


def ordered_map(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Like `map`, but the next few items are worked on meanwhile.

    >>> list(ordered_map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    source = iter(items)
    first = list(islice(source, 3))
    if len(first) < 3 or WORKERS == 1 or _inside():  # little to share, or nobody to share it with
        yield from map(work, chain(first, source))
    else:
        yield from _threaded(work, chain(first, source))


def for_each(work: Callable[[Item, Other], None], items: Iterable[Item], others: Iterable[Other]) -> None:
    """Do something with each item and its other, some at the same time.

    >>> seen = {}
    >>> for_each(seen.setdefault, "ab", [1, 2])
    >>> seen
    {'a': 1, 'b': 2}
    """
    deque(ordered_map(lambda pair: work(*pair), zip(items, others, strict=True)), maxlen=0)


def _inside() -> bool:
    """Whether this is a thread of the pool, which must not wait for its own kind."""
    from threading import current_thread

    return current_thread().name.startswith(_WORKER)


def _threaded(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    pool, waiting = _pool(os.getpid()), deque()  # type: ignore[var-annotated]
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """The threads of this process (a fork has none of its parent's)."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(WORKERS, thread_name_prefix=_WORKER)
