"""How fast requests are sent, by all threads together."""

from __future__ import annotations

import time
from threading import Event, Lock

_SHRINK = 0.97  # of the gap that a limit made, after each answer
_SMALL = 1_000_000  # nanoseconds: a gap below is none


class Pace:
    """Who may send next and when: not above a rate, and slower for all when the other side says so."""

    def __init__(self, rate: float | None, clients: int, stop: Event) -> None:
        self._least = round(1e9 / rate) if rate else 0
        self._gap = self._least  # nanoseconds between two requests
        self._clients, self._stop, self._lock = clients, stop, Lock()
        self._due = self._rest = 0  # the next turn; the end of a pause for all

    def turn(self) -> bool:
        """Wait until a request may be sent; False where nothing is sent any more."""
        while self._gap or time.perf_counter_ns() < self._rest:
            with self._lock:
                due = max(time.perf_counter_ns(), self._due, self._rest)
                self._due = due + self._gap
            if not self.wait((due - time.perf_counter_ns()) / 1e9):
                return False
            if due >= self._rest:  # else a pause began meanwhile: this turn is void
                return True
        return not self._stop.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait; False where the run was stopped meanwhile."""
        return not self._stop.wait(max(0.0, seconds))

    def slower(self, seconds: float) -> None:
        """Let everybody pause, and then come one by one."""
        with self._lock:
            now, pause = time.perf_counter_ns(), round(seconds * 1e9)
            if now >= self._rest:  # what was under way when a pause began says nothing new
                self._gap = max(2 * self._gap, pause // self._clients)
            self._rest = max(self._rest, now + pause)

    def answered(self) -> None:
        """Come closer again to the rate that was asked for."""
        if self._gap > self._least:
            with self._lock:
                gap = round(self._gap * _SHRINK)
                self._gap = max(self._least, gap if gap > _SMALL else 0)
