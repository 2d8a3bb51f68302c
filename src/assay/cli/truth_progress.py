"""A line on standard error with the progress of computing exact neighbours."""

from __future__ import annotations

import sys
import time

_FIRST_REPORT_SECONDS, _REPORT_SECONDS = 1.0, 0.2  # on a terminal
_LOG_SECONDS = 10.0  # before the first line of a log, and between two


class TruthProgressLine:
    """Reports progress and the remaining time on standard error, if the work takes long."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.is_terminal = sys.stderr.isatty()  # else, a line now and then
        self.due = self.start + (_FIRST_REPORT_SECONDS if self.is_terminal else _LOG_SECONDS)
        self.is_visible, self.done_before = False, 0

    def __call__(self, done: int, total: int) -> None:
        """Report how many of all pairs of a query and a vector are done; called after each block."""
        now = time.monotonic()
        self.done_before = self.done_before or done  # what an earlier run did says nothing about the rate
        if now < self.due or done <= self.done_before:
            return
        rate = (done - self.done_before) / (now - self.start)
        speed = f"{rate / 1e6:,.0f} M distances/s, {(total - done) / rate:,.0f} s left"
        before, after = ("\r", "\033[K") if self.is_terminal else ("", "\n")
        print(f"{before}truth: {100 * done / total:.0f} %, {speed}", end=after, file=sys.stderr, flush=True)
        self.due = now + (_REPORT_SECONDS if self.is_terminal else _LOG_SECONDS)
        self.is_visible = self.is_terminal

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self.is_visible:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self.is_visible = False
