"""Clocks, loops and percentiles, on a clock of their own."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import EngineError
from assay.indexes.hosting import timing
from assay.indexes.hosting.load import achieved, capacity, requests, saturated
from assay.indexes.hosting.percentiles import fewest, latency, percentile_ms
from assay.indexes.hosting.timing import Ticks, Timed, closed_loop, open_loop, schedule
from assay.indexes.index import one_by_one
from assay.indexes.sweeps.results import Results, once
from assay.indexes.sweeps.summary import trial


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
    loop = closed_loop(Server(clock), range(13_500), 1, clock)
    found = latency(loop.ends - loop.starts)
    assert (found["p90_ms"], found["p99_ms"]) == (1.0, 1.0)


def test_an_open_loop_counts_from_the_intended_start() -> None:
    clock = Simulated()
    due = schedule(450, 13_500)
    loop = open_loop(Server(clock), range(13_500), 1, due, clock)
    found = latency(loop.ends - due)
    assert found["p90_ms"] == pytest.approx(137.7, abs=0.05)
    assert found["p99_ms"] == pytest.approx(193.9, abs=0.05)


def test_a_failed_search_is_counted_and_has_no_latency() -> None:
    def ask(queries: Ticks, k: int) -> Ticks:
        if queries[0, 0] == 1:
            raise ValueError("no such luck")
        return np.zeros((1, k), np.int64)

    made = timing.closed(ask, one_by_one(np.arange(3)[:, None]), 2)
    assert made.errors == 1
    assert made.problem == "ValueError: no such luck"
    assert made.latencies is not None
    assert made.latencies[1] == -1
    assert made.positions.tolist() == [[0, 0], [-1, -1], [0, 0]]


def test_what_failed_took_its_time_too() -> None:
    clock = Simulated()

    def ask(row: int, k: int) -> list[list[int]]:
        clock.time += 1_000_000 if row < 90 else 30_000_000_000
        if row == 90:
            raise TimeoutError("after 30 s")
        return [[row]]

    closed = timing._timed(closed_loop(ask, range(91), 1, clock), 1)
    assert closed.seconds == pytest.approx(30.09)
    assert achieved(closed) == pytest.approx(90 / 30.09)
    clock.time = 0
    opened = timing._timed(open_loop(ask, range(91), 1, schedule(100, 91), clock), 1)
    assert opened.errors == 1
    assert saturated(opened, 100)


def test_a_percentile_has_its_rank_at_any_number_of_samples() -> None:
    for n in (10_000, 20_000, 100_000):
        latencies = np.arange(1, n + 1)[::-1] * 1_000_000
        assert percentile_ms(latencies, 99.9) == n * 999 // 1000


@pytest.mark.parametrize("clients", [1, 3])
def test_every_request_is_answered_once_whatever_the_clients(clients: int) -> None:
    seen: list[int] = []

    def ask(queries: Ticks, k: int) -> Ticks:
        seen.append(int(queries[0, 0]))
        return np.full((1, k), queries[0, 0])

    rows = one_by_one(np.arange(50)[:, None])
    closed = timing.closed(ask, rows, 1, clients)
    now = timing.Monotonic().now()
    opened = timing.scheduled(ask, rows, 1, clients, now, schedule(20_000, 50))
    assert closed.positions[:, 0].tolist() == opened.positions[:, 0].tolist() == list(range(50))
    assert sorted(seen) == sorted([*range(50), *range(50)])


def test_a_search_is_not_sent_before_it_is_due() -> None:
    clock = timing.Monotonic()
    due = schedule(2000, 40, seed=1) + clock.now()
    loop = open_loop(lambda i, k: None, range(40), 1, due, clock)
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


def test_percentiles_are_withheld_where_samples_are_few() -> None:
    assert (fewest(99), fewest(99.9)) == (1000, 10_000)
    samples = np.arange(999, dtype=np.int64) * 1_000_000
    assert latency(samples)["p99_ms"] is None
    assert percentile_ms(np.arange(1, 1001) * 1_000_000, 99) == 990.0
    assert percentile_ms(np.empty(0, np.int64), 50) is None


def served(rate: float, limit: float) -> Timed:
    """Answers of a server that keeps up to a limit and falls behind above it."""
    n = requests(rate, 2)
    late = 1_000_000 if rate <= limit else 50_000_000
    seconds = n / min(rate, limit)
    return Timed(np.zeros((n, 1), np.int64), seconds, np.full(n, late))


def test_capacity_is_the_highest_rate_that_meets_the_objective() -> None:
    found = capacity(lambda rate: served(rate, 730), 99, 10, fastest=2000)
    assert found.rate is not None
    assert 730 / 1.05 <= found.rate <= 730
    assert not [probe for probe in found.probes if probe.met and probe.rate > 730]


def test_capacity_may_lie_above_one_client_and_below_everything() -> None:
    above = capacity(lambda rate: served(rate, 3500), 99, 10, fastest=2000)
    assert above.rate is not None
    assert 3500 / 1.05 <= above.rate <= 3500
    assert capacity(lambda rate: served(rate, 0.1), 99, 10, fastest=2000).rate is None


def test_capacity_is_not_held_below_a_rate_that_nobody_offered() -> None:
    """A closed loop may have been slow for reasons of its own."""
    found = capacity(lambda rate: served(rate, 3500), 99, 10, fastest=100)
    assert found.rate is not None
    assert 3500 / 1.05 <= found.rate <= 3500
    assert not all(probe.met for probe in found.probes)
    endless = capacity(lambda rate: served(rate, math.inf), 50, 10, fastest=1)
    assert endless.rate is not None
    assert endless.rate > 32


def test_falling_behind_is_saturation() -> None:
    assert saturated(served(1000, 900), 1000)
    assert not saturated(served(1000, 1000), 1000)


def test_what_failed_is_finished_and_what_is_not_finished_is_behind() -> None:
    some = served(1000, 1000)
    failing = some._replace(errors=len(some.positions) // 5)
    assert not saturated(failing, 1000)
    assert saturated(failing, 1000, unfinished=failing.errors)
    assert achieved(failing, 1000) == pytest.approx(800, rel=0.01)


def test_answers_are_counted_over_the_schedule_where_it_is_longer() -> None:
    quick = Timed(np.zeros((5, 1), np.int64), 0.8)
    assert (achieved(quick), achieved(quick, 5), achieved(quick, 50)) == (6.25, 5, 6.25)


@pytest.mark.parametrize(("found", "told"), [(None, None), (120.0, 120.0)])
def test_a_capacity_that_no_rate_meets_has_no_latency(
    found: float | None, told: float | None, tmp_path: Path
) -> None:
    results = Results(tmp_path)
    results.put_trial("a", {"engine": "slow", "mode": "capacity", "k": 1})
    closed = Timed(np.zeros((2, 1), np.int64), 0.5, np.array([5, 7]))
    results.put_repetition("a", 0, once(closed, 2, {"capacity": found, "probes": []}))
    made = trial(results, "a", None)
    assert (made.capacity and made.capacity.median) == told
    assert bool(made.latency) == bool(made.qps) == (told is not None)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda n, k: np.zeros((n - 1, k), np.int64), r"shape \(\d+, 10\)"),
        (lambda n, k: np.zeros((n, k - 2), np.int64), r"shape \(\d+, 8\)"),
        (lambda n, k: np.zeros((n, k + 5), np.int64), r"shape \(\d+, 15\)"),
        (lambda n, k: np.zeros((n, 1), np.int64), r"shape \(\d+, 1\)"),
        (lambda n, k: np.zeros(k, np.int64), r"shape \(10,\)"),
        (lambda n, k: None, "a NoneType that is no table of numbers"),
        (lambda n, k: [[0] * k, [0]], "a list that is no table of numbers"),
    ],
)
def test_an_answer_of_another_shape_is_refused_however_it_was_asked(
    answer: Callable[[int, int], Any], said: str
) -> None:
    def ask(queries: Ticks, k: int) -> Any:
        return answer(len(queries), k)

    queries = np.zeros((60, 2))
    rows = one_by_one(queries)
    expected = f"^search returned {said}; expected positions of shape "
    with pytest.raises(EngineError, match=expected + r"\(60, 10\): a row for each query"):
        timing.batch(ask, queries, 10)
    with pytest.raises(EngineError, match=expected + r"\(1, 10\)"):
        timing.closed(ask, rows, 10)
    with pytest.raises(EngineError, match=expected + r"\(1, 10\)"):
        timing.scheduled(ask, rows, 10, 2, timing.Monotonic().now(), schedule(20_000, 60))
