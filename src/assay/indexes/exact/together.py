"""Work that several threads share, each with a BLAS of one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Event
from typing import TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")


def together(work: Callable[[T], None], items: Iterable[T], threads: int) -> None:
    """Do the work for each item; whoever is free takes the next, and a failure ends all of it.

    >>> done = []
    >>> together(done.append, [3, 1, 2], 2)
    >>> sorted(done)
    [1, 2, 3]
    """
    waiting, stop, libraries = iter(items), Event(), ThreadpoolController()

    def one() -> None:
        with libraries.limit(limits=1, user_api="blas"):  # some keep a number of threads for each thread
            for item in waiting:
                if stop.is_set():
                    return
                work(item)

    if threads == 1:
        one()
        return
    with ThreadPoolExecutor(threads) as pool, libraries.limit(limits=1, user_api="blas"):
        futures = [pool.submit(one) for _ in range(threads)]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
    for future in done:
        future.result()
