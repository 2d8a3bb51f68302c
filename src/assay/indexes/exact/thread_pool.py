"""Work shared by threads, with BLAS limited to one thread in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import cache
from threading import Event
from typing import TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")


@cache
def _blas() -> ThreadpoolController:
    """Return the control of the threads of BLAS: finding its libraries takes longer than a small search."""
    return ThreadpoolController()


def run_in_threads(work: Callable[[T], None], items: Iterable[T], threads: int) -> None:
    """Do the work for each item in a pool of threads; the first error stops all of them.

    >>> done = []
    >>> run_in_threads(done.append, [3, 1, 2], 2)
    >>> sorted(done)
    [1, 2, 3]
    """
    pending, stop_event, thread_pools = iter(items), Event(), _blas()

    def work_on_items() -> None:
        with thread_pools.limit(limits=1, user_api="blas"):  # some libraries keep this setting per thread
            for item in pending:
                if stop_event.is_set():
                    return
                work(item)

    if threads == 1:
        work_on_items()
        return
    with ThreadPoolExecutor(threads) as pool, thread_pools.limit(limits=1, user_api="blas"):
        futures = [pool.submit(work_on_items) for _ in range(threads)]
        try:
            finished_futures, _ = wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop_event.set()
    for future in finished_futures:
        future.result()
