"""A few values that were computed last, for values that follow from the content of tables."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class RecentValues(Generic[Value]):
    """The values that were used last, by their key; the oldest is dropped when there are too many.

    Threads that ask for the same value at the same time compute it once.

    >>> values = RecentValues[int](1)
    >>> values.get("a", lambda: 1), values.get("a", lambda: 2), values.get("b", lambda: 3)
    (1, 1, 3)
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._key_locks: dict[Hashable, Lock] = {}  # of values that are being computed

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the value of a key, computed unless it is known."""
        with self._lock:
            if key in self._values:
                return self._use(key)
            own = self._key_locks.setdefault(key, Lock())
        with own:
            with self._lock:
                if key in self._values:
                    return self._use(key)
            return self._compute(key, compute)

    def _use(self, key: Hashable) -> Value:
        self._values.move_to_end(key)
        return self._values[key]

    def _compute(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        try:
            value = compute()
        finally:
            with self._lock:
                self._key_locks.pop(key, None)
        with self._lock:
            self._values[key] = value
            if len(self._values) > self._most:
                self._values.popitem(last=False)
        return value
