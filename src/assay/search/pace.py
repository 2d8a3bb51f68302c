"""How fast requests are sent, by all threads together."""

from __future__ import annotations

import time
from threading import Event, Lock

_WIDER = 1.5  # of the gap, at each limit; and of the pause asked for, beyond which no gap grows
_SHRINK = 0.9  # of the gap that a limit made, after each answer
_SMALL = 1_000_000  # nanoseconds: a gap below is none


class Pace:
    """Who may send next and when: not above a rate, and slower for all when the other side says so."""

    def __init__(self, rate: float | None, clients: int, stop: Event) -> None:
        self._least = round(1e9 / rate) if rate else 0
        self._gap = self._least  # nanoseconds between two requests
        self._clients, self._stop, self._lock = clients, stop, Lock()
        self._due = self._rest = 0  # the next turn; the end of a pause for all
        self._answers = 0  # since the last limit

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

    def slower(self, seconds: float, sent: int) -> None:
        """Let everybody pause, and then come one by one; `sent` is when the request was that met the limit.

        A gap that grew without bound would stall the run where limits come by chance, whatever the pace.
        """
        with self._lock:
            now, pause = time.perf_counter_ns(), round(seconds * 1e9)
            if sent >= self._rest:  # what was under way when a pause began says nothing new
                borne = pause / max(self._clients, self._answers)
                wider = min(max(_WIDER * self._gap, borne), _WIDER * pause)
                self._gap, self._answers = max(self._gap, round(wider)), 0
            self._rest = max(self._rest, now + pause)

    def answered(self) -> None:
        """Come closer again to the rate that was asked for."""
        with self._lock:
            self._answers += 1
            gap = round(self._gap * _SHRINK)
            self._gap = max(self._least, gap if gap > _SMALL else 0)
