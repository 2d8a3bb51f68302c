"""A table that is drawn again and again while trials run; plain lines where nobody watches."""

from __future__ import annotations

import os
import time
from threading import Event as Flag
from threading import Lock, Thread
from typing import Self, TextIO

from assay.indexes.sweeps.plan import Case, told
from assay.indexes.sweeps.summary import quick
from assay.indexes.sweeps.sweep import Event, Sweep
from assay.indexes.trials import spelled, way_of
from assay.views.trials import LiveRow, live_table, told_in_words

_PAUSE = 0.1  # seconds between two drawings
_TICK = 1.0  # seconds after which the table is drawn even though nothing happened
_ENDED = ("done", "done before", "failed", "failed before")


class Live:
    """The trials of a sweep and how far each is.

    Only a thread of its own draws, and Ctrl-C never stops that one half-way: the next drawing would begin
    on the wrong line.
    """

    def __init__(self, sweep: Sweep, stream: TextIO) -> None:
        self.sweep, self.stream = sweep, stream
        self.drawn = stream.isatty()
        self.states = {planned.key: "waiting" for planned in sweep.planned}
        self.figures: dict[str, tuple[float | None, float | None, float | None]] = {}
        self.names = {planned.key: planned.case for planned in sweep.planned}
        self.lines, self.begin = 0, time.monotonic()
        self._lock, self._changed, self._over = Lock(), Flag(), Flag()
        self._drawing = Thread(target=self._draw, daemon=True)

    def __call__(self, event: Event) -> None:
        """Note what happened."""
        if event.what == "matched":
            self._rename(event)
            return
        failed = self._failed_before(event) if event.what == "known" else None
        self.states[event.key] = self._state(event, failed)
        if event.what in ("passed", "known"):
            self.figures[event.key] = quick(self.sweep.results, event.key, self.sweep.data)
        if not self.drawn:
            self._say(event, failed or event.said)
        self._changed.set()

    def _rename(self, event: Event) -> None:
        """Take up the trials whose values were found."""
        with self._lock:
            self.names |= {planned.key: planned.case for planned in self.sweep.planned}
            self.states = {p.key: self.states.get(p.key, "matched") for p in self.sweep.planned}
        if not self.drawn:
            self._line("matched", event.key, event.said)

    def _failed_before(self, event: Event) -> str | None:
        """Why a trial failed in an earlier run; None where it did not."""
        known = self.sweep.results.trial(event.key) or {}
        return str(known["reason"]) if known.get("status") == "failed" else None

    def _state(self, event: Event, failed: str | None) -> str:
        if event.what == "known":
            return "done before" if failed is None else "failed before"
        if event.what == "passing":
            return f"pass {event.number} {event.said}".rstrip()
        return f"{event.number}/{self.sweep.options.repetitions}" if event.what == "passed" else event.what

    def _say(self, event: Event, said: str) -> None:
        """One line for what is finished and for every rate that is tried, where nobody sees a table."""
        if event.what == "passing" and said:
            self._line(event.what, event.key, self.states[event.key])
        elif self.states[event.key] in _ENDED:
            told = said or told_in_words(self._figures(event.key), self.sweep.data.k)
            self._line(self.states[event.key], event.key, told)

    def _line(self, state: str, key: str, told: str) -> None:
        case = self.names[key]
        line = f"{state}: {case.label} ({_way(case)}): {told}"
        print(" ".join(line.split()), file=self.stream, flush=True)

    def _row(self, key: str) -> LiveRow:
        case = self.names[key]
        build, search = spelled(told(case.build.parameters)), spelled(case.search)
        return (case.build.engine, build, search, _way(case), self.states[key], *self._figures(key))

    def _figures(self, key: str) -> tuple[float | None, float | None, float | None]:
        return self.figures.get(key, (None, None, None))

    def draw(self) -> None:
        """Draw the table over the last one; what does not fit the screen is counted."""
        with self._lock:
            columns, height = _size(self.stream)
            rows = [self._row(key) for key in list(self.states)]
            done = sum(row[4] in _ENDED for row in rows)
            shown = _fitting(rows, max(1, height - 4))
            head = f"{done} of {len(rows)} trials, {time.monotonic() - self.begin:,.0f} s"
            table = live_table(shown, self.sweep.data.k, columns - 1)
            lines = [head, *table.splitlines()]
            up = f"\033[{self.lines}A" if self.lines else ""
            body = "\n".join(line[: columns - 1] + "\033[K" for line in lines)
            print(f"{up}\r{body}\033[J", file=self.stream, flush=True)
            self.lines = len(lines)

    def _draw(self) -> None:
        """Draw what has changed; let time go by in the table while an index is built."""
        while not self._over.wait(_PAUSE):
            self._changed.wait(_TICK)
            self._changed.clear()
            self.draw()

    def __enter__(self) -> Self:
        if self.drawn:
            self._drawing.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._changed.set()
        if self.drawn:
            self._drawing.join()
        if self.lines:
            print(f"\033[{self.lines}A\033[J", end="", file=self.stream, flush=True)


def _way(case: Case) -> str:
    return way_of(case.asking.mode, case.asking.identity())


def _size(stream: TextIO) -> tuple[int, int]:
    """Columns and lines of a terminal; the usual where it does not say."""
    columns, lines = os.get_terminal_size(stream.fileno())
    return columns or 80, lines or 24


def _fitting(rows: list[LiveRow], fit: int) -> list[LiveRow]:
    """As many rows as fit: those under way and the last that ended, then those to come."""
    if len(rows) <= fit:
        return rows
    ended = [row for row in rows if row[4] in _ENDED]
    waiting = [row for row in rows if row[4] == "waiting"]
    active = [row for row in rows if row[4] not in (*_ENDED, "waiting")][:fit]
    before = ended[max(0, len(ended) - (fit - len(active))) :]
    return [*before, *active, *waiting[: max(0, fit - len(active) - len(before))]]
