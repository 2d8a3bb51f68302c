"""The deadline of the calls that are made for one query."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from assay.remote.errors import RemoteError

_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


@contextmanager
def deadline(end: float) -> Iterator[None]:
    """Limit the calls within to this moment of time.monotonic(), or to an earlier deadline around it."""
    token = _deadline.set(min(end, _deadline.get()))
    try:
        yield
    finally:
        _deadline.reset(token)


def seconds_left() -> float:
    """Return the seconds until the deadline; infinite if there is none."""
    return _deadline.get() - time.monotonic()


def seconds_until(end: float) -> float | None:
    """Return the seconds until a moment of time.monotonic(), None if it is infinite.

    Raises a RemoteError of kind `timeout` if the moment has passed.
    """
    if math.isinf(end):
        return None
    seconds = end - time.monotonic()
    if seconds <= 0:
        raise RemoteError("timeout", "the time was over before the call was made", is_transient=True)
    return seconds
