"""The rate at which all threads together send requests."""

from __future__ import annotations

import time
from threading import Event, Lock

_GAP_GROWTH = 1.5  # factor of the gap at each limit; the gap is also at most so many times the pause
_GAP_DECAY = 0.9  # factor of the gap after each answer
_SMALLEST_GAP = 1_000_000  # nanoseconds: a smaller gap becomes zero


class RateLimit:
    """When the next request may be sent: within a rate, and slower for all threads after a limit."""

    def __init__(self, rate: float | None, clients: int, stop: Event) -> None:
        self._min_gap = round(1e9 / rate) if rate else 0
        self._gap = self._min_gap  # nanoseconds between two requests
        self._clients, self._stop, self._lock = clients, stop, Lock()
        self._next_turn = self._pause_end = 0
        self._answers = 0  # since the last limit

    def wait_for_turn(self) -> bool:
        """Wait until a request may be sent; return False if the run was stopped."""
        while self._gap or time.perf_counter_ns() < self._pause_end:
            with self._lock:
                turn = max(time.perf_counter_ns(), self._next_turn, self._pause_end)
                self._next_turn = turn + self._gap
            if not self.wait((turn - time.perf_counter_ns()) / 1e9):
                return False
            if turn >= self._pause_end:  # otherwise a pause began meanwhile and this turn is void
                return True
        return not self._stop.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait; return False if the run was stopped meanwhile."""
        return not self._stop.wait(max(0.0, seconds))

    def slow_down(self, seconds: float, sent_at: int) -> None:
        """Pause all threads, then let them send one by one.

        `sent_at` is when the request was sent that met the limit. The gap is bounded: otherwise it would
        stall the run where limits come by chance, whatever the rate.
        """
        with self._lock:
            now, pause = time.perf_counter_ns(), round(seconds * 1e9)
            if sent_at >= self._pause_end:  # a request sent before the pause says nothing new
                sustainable_gap = pause / max(self._clients, self._answers)
                wider_gap = min(max(_GAP_GROWTH * self._gap, sustainable_gap), _GAP_GROWTH * pause)
                self._gap, self._answers = max(self._gap, round(wider_gap)), 0
            self._pause_end = max(self._pause_end, now + pause)

    def record_answer(self) -> None:
        """Narrow the gap again, down to that of the requested rate."""
        with self._lock:
            self._answers += 1
            gap = round(self._gap * _GAP_DECAY)
            self._gap = max(self._min_gap, gap if gap > _SMALLEST_GAP else 0)
