"""A table of trials that is redrawn while they run; plain lines if the output is not a terminal."""

from __future__ import annotations

import os
import time
from threading import Event, Lock, Thread
from typing import Self, TextIO

from assay.bench.sweeps.cases import TrialCase
from assay.bench.sweeps.progress import Progress, TrialFigures
from assay.bench.sweeps.sweep import Sweep
from assay.bench.trials import format_parameters, format_request
from assay.remote.redaction import redact_parameters
from assay.views.trials import LiveRow, describe_progress, render_live_table

_REDRAW_SECONDS = 0.1  # least time between two drawings
_TICK_SECONDS = 1.0  # after which the table is redrawn even if nothing happened
_FINAL_STATES = ("done", "done before", "failed", "failed before")


class LiveTable:
    """The trials of a sweep with their states.

    Only a separate thread draws, and Ctrl-C never interrupts it: otherwise the next drawing could start on
    the wrong line.
    """

    def __init__(self, sweep: Sweep, stream: TextIO) -> None:
        self.sweep, self.stream = sweep, stream
        self.is_terminal = stream.isatty()
        self.states = {planned.key: "waiting" for planned in sweep.planned_trials}
        self.figures: dict[str, TrialFigures] = {}
        self.cases = {planned.key: planned.case for planned in sweep.planned_trials}
        self.drawn_lines, self.start = 0, time.monotonic()
        self._lock, self._has_changed, self._is_over = Lock(), Event(), Event()
        self._thread = Thread(target=self._redraw, daemon=True)

    def __call__(self, event: Progress) -> None:
        """Record a step of the sweep."""
        if event.kind == "matched":
            self._replace_ranges(event)
            return
        failure = self._earlier_failure(event) if event.kind == "known" else None
        self.states[event.key] = self._state(event, failure)
        if event.figures is not None:
            self.figures[event.key] = event.figures
        if not self.is_terminal:
            self._print_step(event, failure or event.message)
        self._has_changed.set()

    def _replace_ranges(self, event: Progress) -> None:
        """Show the trials whose values were found in place of those with ranges."""
        with self._lock:
            self.cases |= {planned.key: planned.case for planned in self.sweep.planned_trials}
            self.states = {p.key: self.states.get(p.key, "matched") for p in self.sweep.planned_trials}
        if not self.is_terminal:
            self._print_line("matched", event.key, event.message)

    def _earlier_failure(self, event: Progress) -> str | None:
        """Why a trial failed in an earlier run; None if it did not."""
        record = self.sweep.folder.trial_record(event.key) or {}
        return str(record["reason"]) if record.get("status") == "failed" else None

    def _state(self, event: Progress, failure: str | None) -> str:
        if event.kind == "known":
            return "done before" if failure is None else "failed before"
        if event.kind == "passing":
            return f"pass {event.number} {event.message}".rstrip()
        return f"{event.number}/{self.sweep.options.repetitions}" if event.kind == "passed" else event.kind

    def _print_step(self, event: Progress, message: str) -> None:
        """Print a line for each trial that ends and for each rate that is tried."""
        if event.kind == "passing" and message:
            self._print_line(event.kind, event.key, self.states[event.key])
        elif self.states[event.key] in _FINAL_STATES:
            figures = describe_progress(self._trial_figures(event.key), self.sweep.data.k)
            self._print_line(self.states[event.key], event.key, message or figures)

    def _print_line(self, state: str, key: str, message: str) -> None:
        case = self.cases[key]
        line = f"{state}: {case.label} ({_format_mode(case)}): {message}"
        print(" ".join(line.split()), file=self.stream, flush=True)

    def _row(self, key: str) -> LiveRow:
        case = self.cases[key]
        build = format_parameters(redact_parameters(case.build.parameters))
        search = format_parameters(case.search)
        figures = self._trial_figures(key)
        return (case.build.engine, build, search, _format_mode(case), self.states[key], *figures)

    def _trial_figures(self, key: str) -> TrialFigures:
        return self.figures.get(key, TrialFigures())

    def draw(self) -> None:
        """Draw the table over the last one; rows that do not fit the screen are left out."""
        with self._lock:
            columns, height = _terminal_size(self.stream)
            rows = [self._row(key) for key in list(self.states)]
            done = sum(row[4] in _FINAL_STATES for row in rows)
            head = f"{done} of {len(rows)} trials, {time.monotonic() - self.start:,.0f} s"
            visible = _select_rows(rows, max(1, height - 4))
            table = render_live_table(visible, self.sweep.data.k, columns - 1)
            lines = [head, *table.splitlines()]
            up = f"\033[{self.drawn_lines}A" if self.drawn_lines else ""
            body = "\n".join(line[: columns - 1] + "\033[K" for line in lines)
            print(f"{up}\r{body}\033[J", file=self.stream, flush=True)
            self.drawn_lines = len(lines)

    def _redraw(self) -> None:
        """Draw after changes, and every second while nothing changes."""
        while not self._is_over.wait(_REDRAW_SECONDS):
            self._has_changed.wait(_TICK_SECONDS)
            self._has_changed.clear()
            self.draw()

    def __enter__(self) -> Self:
        if self.is_terminal:
            self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._is_over.set()
        self._has_changed.set()
        if self.is_terminal:
            self._thread.join()
        if self.drawn_lines:
            print(f"\033[{self.drawn_lines}A\033[J", end="", file=self.stream, flush=True)


def _format_mode(case: TrialCase) -> str:
    return format_request(case.request_mode.mode, case.request_mode.identity())


def _terminal_size(stream: TextIO) -> tuple[int, int]:
    """Columns and lines of a terminal; 80 and 24 if it does not say."""
    columns, lines = os.get_terminal_size(stream.fileno())
    return columns or 80, lines or 24


def _select_rows(rows: list[LiveRow], limit: int) -> list[LiveRow]:
    """As many rows as fit: the active ones and the last that ended, then those that wait."""
    if len(rows) <= limit:
        return rows
    ended = [row for row in rows if row[4] in _FINAL_STATES]
    waiting = [row for row in rows if row[4] == "waiting"]
    active = [row for row in rows if row[4] not in (*_FINAL_STATES, "waiting")][:limit]
    before = ended[max(0, len(ended) - (limit - len(active))) :]
    return [*before, *active, *waiting[: max(0, limit - len(active) - len(before))]]
