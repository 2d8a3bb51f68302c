"""How far a long computation is, for whoever waits for it in another thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Step(NamedTuple):
    """What is being done; `total` is None if nobody knows it."""

    words: str
    done: int
    total: int | None = None


_listener: ContextVar[Callable[[Step], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listen(listener: Callable[[Step], None]) -> Iterator[None]:
    """Call a function with each step that is reported inside.

    >>> with listen(print):
    ...     report_step("reading labels", 3, 10)
    Step(words='reading labels', done=3, total=10)
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_step(words: str, done: int, total: int | None = None) -> None:
    """Say how far a computation is; without a listener, nothing happens."""
    listener = _listener.get()
    if listener is not None:
        listener(Step(words, done, total))
