"""One person at work on the pairs on which judges differ: a key for each decision."""

from __future__ import annotations

import shutil
import signal
import sys

from assay.cli.judge.keys import Key, KeySource
from assay.core.errors import InputError
from assay.judging.agreement.disagreements import Disagreement
from assay.judging.annotation.project import Grade, default_keys
from assay.views.labels import render_dispute
from assay.workflows.adjudicate import AdjudicationSession

_COMMANDS = {"s": "skip", "c": "cannot be rated", "u": "undo", "m": "more", "q": "quit"}
_OTHER_LINES = 14  # of a screen that has a pair
_MAX_WIDTH = 100


class AdjudicatingPerson:
    """Shows one pair after the other and saves what the keys say."""

    def __init__(self, session: AdjudicationSession, keys: KeySource, is_blind: bool) -> None:
        self.session, self.keys, self.is_blind = session, keys, is_blind
        self.grades = default_keys([Grade(value, "") for value in session.scale])

    def run(self) -> None:
        """Show pairs until there is none left or the person quits."""
        while (dispute := self.session.adjudication.current) is not None:
            self._show(dispute)
            if not self._act(dispute):
                return

    def _show(self, dispute: Disagreement, is_whole: bool = False) -> None:
        columns, lines = shutil.get_terminal_size()
        is_short = sys.stderr.isatty() and not is_whole
        height = max(8, lines - _OTHER_LINES) if is_short else None
        adjudication = self.session.adjudication
        _print(f"\n{adjudication.remaining:,} left, {adjudication.own_decisions:,} decided by you")
        _print(render_dispute(dispute, min(columns, _MAX_WIDTH), height, self.is_blind))
        _print(f"\n{_describe_keys(self.grades)}")

    def _act(self, dispute: Disagreement) -> bool:
        """Do what keys say until the pair is decided or left; False: the person quits."""
        while True:
            # Polars installs a handler of SIGINT that lets a read go on, so Ctrl-C would wait for a key
            signal.siginterrupt(signal.SIGINT, True)
            key = self.keys.read_key("> ")
            if key.key in ("", "q", "quit"):
                return False
            if self._do(key, dispute):
                return True

    def _do(self, key: Key, dispute: Disagreement) -> bool:
        """Do what a key says; True: the next pair is to be shown."""
        grade = self.grades.get(key.key) or _grade_by_value(self.grades, key.key)
        if grade is not None:
            self.session.decide(grade.value, key.words)
            return True
        action = key.key[:1] if key.key in (*_COMMANDS, "skip", "cannot", "undo", "more") else ""
        if action == "s":
            self.session.adjudication.skip()
        elif action == "c":
            self.session.decide(None, key.words or self.keys.read_line("why can it not be rated? "))
        elif action == "u" and not self.session.undo():
            _print("there is no decision to undo")
        elif action == "m":
            self._show(dispute, is_whole=True)
        elif not action:
            _print(f"there is no key {key.key!r}:\n{_describe_keys(self.grades)}")
        return action in ("s", "c", "u")


def _grade_by_value(grades: dict[str, Grade], text: str) -> Grade | None:
    return next((grade for grade in grades.values() if f"{grade.value:g}" == text), None)


def _describe_keys(grades: dict[str, Grade]) -> str:
    own = [key if key == f"{grade.value:g}" else f"{key} → {grade.value:g}" for key, grade in grades.items()]
    return f"grade {' '.join(own)} · " + " · ".join(f"{key} {name}" for key, name in _COMMANDS.items())


def _print(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def parse_grades(text: str) -> list[float]:
    """Return the grades that can be given.

    >>> parse_grades("0,1,2")
    [0.0, 1.0, 2.0]
    """
    try:
        return sorted({float(part) for part in text.split(",")})
    except ValueError:
        raise InputError(f"--grades expects numbers separated by commas, found {text!r}") from None
