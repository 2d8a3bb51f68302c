"""Values that are kept while they are used."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from assay.core.recent_values import RecentValues


def test_the_value_that_was_not_used_for_longest_is_dropped() -> None:
    values = RecentValues[str](2)
    for key in ("a", "b", "a", "c"):
        values.get(key, lambda own=key: own)  # type: ignore[misc]
    assert values.get("a", lambda: "again") == "a"
    assert values.get("b", lambda: "again") == "again"


def test_threads_that_ask_at_the_same_time_compute_a_value_once() -> None:
    values, started, gate, calls = RecentValues[int](2), Event(), Event(), list[int]()

    def compute() -> int:
        calls.append(1)
        started.set()
        assert gate.wait(20)
        return 7

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(values.get, "key", compute)
        assert started.wait(20)
        second = pool.submit(values.get, "key", compute)
        gate.set()
        assert (first.result(20), second.result(20)) == (7, 7)
    assert len(calls) == 1


def test_a_value_that_could_not_be_computed_is_computed_again() -> None:
    values = RecentValues[int](2)
    with pytest.raises(ZeroDivisionError):
        values.get("key", lambda: 1 // 0)
    assert values.get("key", lambda: 7) == 7
