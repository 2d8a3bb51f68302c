"""Clocks, loops and percentiles, on a clock of their own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from assay.core import timing
from assay.core.errors import EngineError
from assay.core.timing import Ticks, run_closed_loop, run_open_loop, schedule
from assay.indexes.index import split_rows
from assay.stats.capacity import achieved_rate, is_saturated
from assay.stats.percentiles import latency_percentiles


class Simulated:
    """A clock that moves only when somebody waits or works."""

    def __init__(self) -> None:
        self.time = 0

    def now(self) -> int:
        return self.time

    def wait(self, until: int) -> None:
        self.time = max(self.time, until)


class Server:
    """One request at a time: 1 ms each, and 200 ms for every 500th."""

    def __init__(self, clock: Simulated, stall: int = 200_000_000) -> None:
        self.clock, self.stall = clock, stall

    def __call__(self, i: int, k: int) -> object:
        self.clock.time += self.stall if i % 500 == 499 else 1_000_000
        return np.array([[i]])


def test_a_closed_loop_does_not_see_a_stall() -> None:
    clock = Simulated()
    loop = run_closed_loop(Server(clock), range(13_500), 1, clock)
    answers = latency_percentiles(loop.ends - loop.starts)
    assert (answers["p90_ms"], answers["p99_ms"]) == (1.0, 1.0)


def test_an_open_loop_counts_from_the_intended_start() -> None:
    clock = Simulated()
    due = schedule(450, 13_500)
    loop = run_open_loop(Server(clock), range(13_500), 1, due, clock)
    answers = latency_percentiles(loop.ends - due)
    assert answers["p90_ms"] == pytest.approx(137.7, abs=0.05)
    assert answers["p99_ms"] == pytest.approx(193.9, abs=0.05)


def test_a_failed_search_is_counted_and_has_no_latency() -> None:
    def ask(queries: Ticks, k: int) -> Ticks:
        if queries[0, 0] == 1:
            raise ValueError("no such luck")
        return np.zeros((1, k), np.int64)

    schedules = timing.time_closed_loop(ask, split_rows(np.arange(3)[:, None]), 2)
    assert schedules.errors == 1
    assert schedules.first_error == "ValueError: no such luck"
    assert schedules.latencies is not None
    assert schedules.latencies[1] == -1
    assert schedules.positions.tolist() == [[0, 0], [-1, -1], [0, 0]]


def test_what_failed_took_its_time_too() -> None:
    clock = Simulated()

    def ask(row: int, k: int) -> list[list[int]]:
        clock.time += 1_000_000 if row < 90 else 30_000_000_000
        if row == 90:
            raise TimeoutError("after 30 s")
        return [[row]]

    closed = timing._to_timed_answers(run_closed_loop(ask, range(91), 1, clock), 1)
    assert closed.seconds == pytest.approx(30.09)
    assert achieved_rate(closed) == pytest.approx(90 / 30.09)
    clock.time = 0
    log = timing._to_timed_answers(run_open_loop(ask, range(91), 1, schedule(100, 91), clock), 1)
    assert log.errors == 1
    assert is_saturated(log, 100)


@pytest.mark.parametrize("clients", [1, 3])
def test_every_request_is_answered_once_whatever_the_clients(clients: int) -> None:
    calls: list[int] = []

    def ask(queries: Ticks, k: int) -> Ticks:
        calls.append(int(queries[0, 0]))
        return np.full((1, k), queries[0, 0])

    rows = split_rows(np.arange(50)[:, None])
    closed = timing.time_closed_loop(ask, rows, 1, clients)
    now = timing.MonotonicClock().now()
    log = timing.time_schedule(ask, rows, 1, clients, now, schedule(20_000, 50))
    assert closed.positions[:, 0].tolist() == log.positions[:, 0].tolist() == list(range(50))
    assert sorted(calls) == sorted([*range(50), *range(50)])


def test_a_search_is_not_sent_before_it_is_due() -> None:
    clock = timing.MonotonicClock()
    due = schedule(2000, 40, seed=1) + clock.now()
    loop = run_open_loop(lambda i, k: None, range(40), 1, due, clock)
    assert (loop.starts >= due).all()


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_a_schedule_offers_the_rate_that_was_asked_for(seed: int | None) -> None:
    due = schedule(250, 1001, seed)
    assert due[0] == 0
    assert due[-1] == 4_000_000_000
    assert (np.diff(due) >= 0).all()


def test_gaps_by_chance_are_those_of_a_poisson_process() -> None:
    gaps = np.diff(schedule(1000, 20_001, seed=3)) / 1e6
    assert gaps.mean() == pytest.approx(1, rel=0.001)
    assert gaps.std() == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n, k: np.zeros((n - 1, k), np.int64), r"shape \(\d+, 10\)"),
        (lambda n, k: np.zeros((n, k - 2), np.int64), r"shape \(\d+, 8\)"),
        (lambda n, k: np.zeros((n, k + 5), np.int64), r"shape \(\d+, 15\)"),
        (lambda n, k: np.zeros((n, 1), np.int64), r"shape \(\d+, 1\)"),
        (lambda n, k: np.zeros(k, np.int64), r"shape \(10,\)"),
        (lambda n, k: np.zeros((n, k)), "numbers of type float64"),
        (lambda n, k: np.full((n, k), np.nan, np.float32), "numbers of type float32"),
        (lambda n, k: None, "a NoneType that is not a table of numbers"),
        (lambda n, k: [[0] * k, [0]], "a list that is not a table of numbers"),
    ],
)
def test_an_answer_of_another_shape_is_refused_however_it_was_asked(
    answer: Callable[[int, int], Any], message: str
) -> None:
    def ask(queries: Ticks, k: int) -> Any:
        return answer(len(queries), k)

    queries = np.zeros((60, 2))
    rows = split_rows(queries)
    expected = f"^search returned {message}; expected positions of shape "
    with pytest.raises(EngineError, match=expected + r"\(60, 10\): a row of 10 positions for each query"):
        timing.time_batch(ask, queries, 10)
    with pytest.raises(EngineError, match=expected + r"\(1, 10\)"):
        timing.time_closed_loop(ask, rows, 10)
    with pytest.raises(EngineError, match=expected + r"\(1, 10\)"):
        timing.time_schedule(ask, rows, 10, 2, timing.MonotonicClock().now(), schedule(20_000, 60))
