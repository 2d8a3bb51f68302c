"""A rater at work: shows one pair after the other and saves what the keys say."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from assay.cli.judge.keys import Key, KeySource
from assay.core.errors import InputError
from assay.judging.annotation.assignments import Assignment, SavedLabel
from assay.judging.annotation.project import Grade, default_keys
from assay.views.annotation import (
    clean,
    describe_answer,
    describe_refusal,
    render_assignment,
    render_keys,
)
from assay.workflows.annotation import (
    CannotRateRequest,
    PairRequest,
    ProjectRequest,
    RaterRequest,
    RaterTurn,
    SaveLabelRequest,
    cannot_rate,
    later,
    leave,
    next_assignment,
    progress,
    save_label,
    skip,
    undo,
)

_OTHER_LINES = 12  # of a screen that has a pair: the query, the keys and the prompt
_MAX_WIDTH = 100


@dataclass
class Rating:
    """The work of one rater in one project."""

    request: RaterRequest
    keys: KeySource
    is_terminal: bool
    turn: RaterTurn | None = field(default=None, init=False)

    def run(self) -> str:
        """Show pairs until there is none left or the rater quits; returns the reason why there is none."""
        self.turn = next_assignment(self.request)
        if self.turn.judged == 0 and self.turn.guidelines and self.turn.refusal is None:
            self._show_guidelines(self.turn)
        while self.turn.assignment is not None:
            self._show(self.turn, self.turn.assignment)
            if not self._act(self.turn, self.turn.assignment):
                leave(self.request)
                return ""
            self.turn = next_assignment(self.request)
        refusal = self.turn.refusal
        assert refusal is not None
        print(describe_refusal(refusal, self.turn.name), flush=True)
        return refusal.reason

    def _show(self, turn: RaterTurn, assignment: Assignment, is_whole: bool = False) -> None:
        columns, lines = shutil.get_terminal_size()
        height = None if is_whole or not self.is_terminal else max(8, lines - _OTHER_LINES)
        count = f"{turn.judged:,} judged by {clean(turn.rater)}"
        kind = "training pair, not counted" if assignment.is_training else count
        print(f"\n{turn.name}: {kind}")
        print(render_assignment(assignment, min(columns, _MAX_WIDTH), height))
        print(f"\n{render_keys(default_keys(turn.grades))}", flush=True)

    def _show_guidelines(self, turn: RaterTurn) -> None:
        lines = turn.guidelines.splitlines() or ["this project has no guidelines"]
        print("\n".join(["guidelines", *(f"  {clean(line)}" for line in lines)]), flush=True)

    def _act(self, turn: RaterTurn, assignment: Assignment) -> bool:
        """Do what keys say until the pair is judged or left; False: the rater quits."""
        while True:
            key = self.keys.read_key("> ")
            if key.key in ("", "q", "quit"):
                return False
            try:
                if self._do(key, turn, assignment):
                    return True
            except InputError as error:
                print(error, flush=True)
                if "nothing was saved" in str(error):  # the pair is no longer this rater's
                    return True

    def _do(self, key: Key, turn: RaterTurn, assignment: Assignment) -> bool:
        """Do what a key says; True: the next pair is to be shown."""
        grade = default_keys(turn.grades).get(key.key)
        if grade is not None:
            self._save(turn, assignment, grade, key.words)
            return True
        action = self._actions(key, turn, assignment).get(key.key)
        if action is None:
            print(
                f"there is no key {clean(key.key)!r}:\n{render_keys(default_keys(turn.grades))}", flush=True
            )
            return False
        return action()

    def _actions(self, key: Key, turn: RaterTurn, assignment: Assignment) -> dict[str, Callable[[], bool]]:
        pair = self._pair_request(assignment)
        actions = {
            "skip": lambda: _then(True, skip, pair),
            "later": lambda: _then(True, later, pair),
            "cannot": lambda: self._cannot_rate(turn, assignment, key.words),
            "undo": lambda: _then(True, undo, self.request),
            "more": lambda: _then(False, self._show, turn, assignment, True),
            "guidelines": lambda: _then(False, self._show_guidelines, turn),
            "progress": lambda: _then(False, self._show_progress),
        }
        return {**actions, **{name[0]: action for name, action in actions.items()}}

    def _pair_request(self, assignment: Assignment) -> PairRequest:
        request = self.request
        return PairRequest(name=request.name, rater=request.rater, store=request.store, pair=assignment.pair)

    def _save(self, turn: RaterTurn, assignment: Assignment, grade: Grade, note: str) -> None:
        pair = vars(self._pair_request(assignment))
        saved = save_label(SaveLabelRequest(**pair, grade=grade.value, note=note))
        self._report(turn, saved, grade.value)

    def _report(self, turn: RaterTurn, saved: SavedLabel, grade: float | None) -> None:
        """Show the known grade of a training pair."""
        if saved.answer is not None:
            print(describe_answer(grade, saved.answer, saved.answer_note, turn.grades), flush=True)

    def _cannot_rate(self, turn: RaterTurn, assignment: Assignment, words: str) -> bool:
        reason = words or self.keys.read_line("why can it not be rated? (nothing: go back) ")
        if not reason:
            return False
        pair = vars(self._pair_request(assignment))
        self._report(turn, cannot_rate(CannotRateRequest(**pair, reason=reason)), None)
        return True

    def _show_progress(self) -> None:
        request = ProjectRequest(name=self.request.name, store=self.request.store)
        of_all = progress(request)
        labels = sum(rater.labels for rater in of_all.raters if rater.rater == self.request.rater)
        print(f"{labels:,} labels by you, {of_all.labels:,} of {of_all.wanted:,} in all", flush=True)


def _then(result: bool, function: Callable[..., object], *arguments: object) -> bool:
    """Call a function, and return whether the next pair is to be shown."""
    function(*arguments)
    return result


def stop_rating(request: RaterRequest) -> None:
    """Let others have the pair that was shown, and say how to go on."""
    leave(request)
    print("\nall labels are saved; the same command goes on", file=sys.stderr)
