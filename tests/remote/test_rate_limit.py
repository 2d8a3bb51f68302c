"""The rate limit: pauses for all threads, and a gap that shrinks again."""

import random
from threading import Event

import pytest

from assay.remote import rate_limit
from assay.remote.rate_limit import RateLimit


class Simulated(Event):
    """A simulated clock that advances by waiting, and an event that is never set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.now = 0
        monkeypatch.setattr(rate_limit, "time", self)

    def perf_counter_ns(self) -> int:
        return self.now

    def wait(self, timeout: float | None = None) -> bool:
        self.now += round((timeout or 0) * 1e9)
        return False

    def between(self, limit: RateLimit) -> float:
        """Return the seconds from one turn to the next."""
        limit.wait_for_turn()
        before = self.now
        limit.wait_for_turn()
        return (self.now - before) / 1e9


@pytest.mark.parametrize("seed", range(5))
def test_random_limits_cost_little_more_than_the_requested_pauses(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    clock, chance, limits, answers = Simulated(monkeypatch), random.Random(seed), 0, 0
    limit = RateLimit(None, 8, clock)
    while answers < 300:
        limit.wait_for_turn()
        if chance.random() < 0.15:
            limits += 1
            limit.slow_down(1.0, clock.now)
        else:
            answers += 1
            limit.record_answer()
    assert limits <= clock.now / 1e9 < 3 * limits


def test_the_gap_is_bounded_by_the_pause_and_disappears_after_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Simulated(monkeypatch)
    limit = RateLimit(None, 8, clock)
    for _ in range(50):
        limit.wait_for_turn()
        limit.slow_down(2.0, clock.now)
    assert clock.between(limit) == 3.0
    for _ in range(80):
        limit.record_answer()
    limit.wait_for_turn()  # the last turn that was assigned with the old gap
    assert clock.between(limit) == 0.0


def test_requests_sent_before_a_pause_report_the_same_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Simulated(monkeypatch)
    limit = RateLimit(None, 4, clock)
    for seconds in (1, 5, 9):  # each after the previous pause
        clock.now = seconds * 10**9
        limit.slow_down(2.0, 0)
    assert clock.between(limit) == 0.5
    limit.slow_down(2.0, clock.now)
    assert clock.between(limit) == 0.75


def test_the_requested_rate_is_kept_after_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Simulated(monkeypatch)
    limit = RateLimit(10, 4, clock)
    limit.slow_down(0.1, clock.now)
    for _ in range(50):
        limit.record_answer()
    limit.wait_for_turn()
    assert clock.between(limit) == pytest.approx(0.1)
