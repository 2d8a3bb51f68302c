"""Maps in a few threads, with results in order and only a few items computed ahead of the consumer.

NumPy releases the interpreter's lock, so threads are enough. All maps share one pool: more threads than
processors would only wait for each other.
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
    """Yield the results of `map`, while the next few items are computed in other threads.

    >>> list(ordered_map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    source = iter(items)
    first = list(islice(source, 3))
    if len(first) < 3 or WORKERS == 1 or _in_worker_thread():  # too few items or no threads
        yield from map(work, chain(first, source))
    else:
        yield from _map_in_threads(work, chain(first, source))


def for_each(work: Callable[[Item, Other], None], items: Iterable[Item], others: Iterable[Other]) -> None:
    """Call `work` for each pair of items, several at the same time.

    >>> seen = {}
    >>> for_each(seen.setdefault, "ab", [1, 2])
    >>> seen
    {'a': 1, 'b': 2}
    """
    deque(ordered_map(lambda pair: work(*pair), zip(items, others, strict=True)), maxlen=0)


def _in_worker_thread() -> bool:
    """Return whether this is a thread of the pool, which must not wait for other threads of the pool."""
    from threading import current_thread

    return current_thread().name.startswith(_WORKER)


def _map_in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    pool, futures = _pool(os.getpid()), deque()  # type: ignore[var-annotated]
    try:
        for item in items:
            futures.append(pool.submit(work, item))
            if len(futures) > WORKERS:
                yield futures.popleft().result()
        while futures:
            yield futures.popleft().result()
    finally:
        for future in futures:
            future.cancel()


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the thread pool of this process (a fork does not inherit the threads of its parent)."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(WORKERS, thread_name_prefix=_WORKER)
