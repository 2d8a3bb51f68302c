"""The states of a rollout and what each command does to them: pure, so that every path can be tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from assay.core.errors import InputError

STATES = ("running", "held", "released", "reverted", "abandoned")
LIVE = ("running", "held")
STAGES = ("gate", "shadow", "ab", "ramp", "full")
ACTIONS = ("start", "advance", "approve", "hold", "resume", "rollback", "abandon")


class NotAllowedError(InputError):
    """A command that the state of the rollout does not allow; nothing was changed."""


class Step(NamedTuple):
    """One step of a rollout: a stage, and the share of the traffic that its arms divide between them."""

    stage: str  # one of STAGES
    coverage: float = 0.0
    min_days: float = 0.0
    min_units: int = 0  # in each arm; of a shadow step: compared requests
    needs_approval: bool = False  # to enter it
    max_days: float = 0.0  # after which a step whose goals are not shown is held; 0: none

    @property
    def label(self) -> str:
        """The stage, and of a ramp its coverage.

        >>> Step("ramp", 0.25).label
        'ramp to 25 %'
        """
        return f"ramp to {100 * self.coverage:g} %" if self.stage == "ramp" else self.stage


@dataclass(frozen=True)
class Position:
    """Where a rollout is."""

    state: str
    step: int  # counted from 0

    def to_text(self, steps: Sequence[Step]) -> str:
        """Return the state and the step.

        >>> Position("running", 1).to_text([Step("gate"), Step("shadow")])
        'running: shadow'
        """
        return f"{self.state}: {steps[self.step].label}"


@dataclass(frozen=True)
class Transition:
    """One move of a rollout, kept for ever."""

    number: int  # within the rollout, from 1
    at: datetime
    actor: str
    action: str  # one of ACTIONS
    before: Position | None  # None: it was started
    after: Position
    reason: str
    evidence: tuple[Mapping[str, Any], ...] = ()
    is_skipped: bool = False  # whether a step was left on purpose though not all held that must hold

    def to_dict(self, steps: Sequence[Step]) -> dict[str, Any]:
        """Return the transition as plain data."""
        return {
            "at": self.at.isoformat(),
            "actor": self.actor,
            "action": self.action,
            "from": self.before and self.before.to_text(steps),
            "to": self.after.to_text(steps),
            "coverage": coverage(self.after, steps),
            "reason": self.reason,
            "skipped": self.is_skipped,
            "evidence": [dict(entry) for entry in self.evidence],
        }


@dataclass(frozen=True)
class Rollout:
    """One staged release: a candidate, how it is released, and every move so far."""

    name: str
    experiment: str  # the id of the offline experiment that justifies it
    baseline: str  # the id of the experiment of what is in production; empty: not named
    steps: tuple[Step, ...]
    policy: Mapping[str, Any]  # as plain data
    arms: tuple[str, str] = ("control", "treatment")
    created_at: datetime | None = None
    transitions: tuple[Transition, ...] = ()

    @property
    def position(self) -> Position:
        """Where it is."""
        return self.transitions[-1].after

    @property
    def step(self) -> Step:
        """The step that it is at."""
        return self.steps[self.position.step]

    @property
    def coverage(self) -> float:
        """The share of the traffic that takes part."""
        return coverage(self.position, self.steps)

    @property
    def moves_here(self) -> tuple[Transition, ...]:
        """The transitions since it came to its step, that one first."""
        return tuple(t for t in self.transitions if t.after.step == self.position.step)

    @property
    def entered_at(self) -> datetime:
        """When it came to its step."""
        return self.moves_here[0].at

    @property
    def approvers(self) -> frozenset[str]:
        """Who approved the next step while it was at this one."""
        return frozenset(t.actor for t in self.moves_here if t.action == "approve")

    def entered(self, stage: str) -> datetime | None:
        """When it first came to a stage; None: it has not."""
        moves = (t.at for t in self.transitions if self.steps[t.after.step].stage == stage)
        return next(moves, None)


def move(position: Position | None, action: str, steps: Sequence[Step]) -> Position | None:
    """Return where an action leads to; None: the rollout is there already, and nothing is to be recorded.

    NotAllowedError says what the state allows instead.
    """
    if action == "start":
        return None if position else Position("running", 0)
    if position is None:
        raise NotAllowedError(
            "there is no such rollout; `assay rollout start NAME --experiment ID` starts one"
        )
    if _TARGET.get(action) == position.state:
        return None
    if position.state not in _ALLOWED[action]:
        raise NotAllowedError(
            f"{action}: expected a rollout that is {' or '.join(_ALLOWED[action])}, found one that is "
            f"{position.state}; {_HINTS[position.state]}"
        )
    if action == "advance":
        return _advance(position, steps)
    if action == "approve":
        return position
    return Position(_TARGET[action], position.step)


def _advance(position: Position, steps: Sequence[Step]) -> Position:
    step = position.step + 1
    return Position("released" if step == len(steps) - 1 else "running", step)


_TARGET = {"hold": "held", "resume": "running", "rollback": "reverted", "abandon": "abandoned"}
_ALLOWED = {
    "advance": ("running",),
    "approve": ("running", "held"),
    "hold": ("running",),
    "resume": ("held",),
    "rollback": ("running", "held", "released"),
    "abandon": ("running", "held"),
}
_HINTS = {
    "running": "`status` shows what would move it on",
    "held": "`resume` it first, or roll it back",
    "released": "all traffic has the candidate; `rollback` returns to the baseline",
    "reverted": "all traffic has the baseline; start a new rollout for a new attempt",
    "abandoned": "it has ended; start a new rollout for a new attempt",
}


def coverage(position: Position, steps: Sequence[Step]) -> float:
    """Return the share of the traffic that takes part: none after a rollback, all after a release."""
    if position.state in ("reverted", "abandoned"):
        return 0.0
    return steps[position.step].coverage


def candidate_share(position: Position, steps: Sequence[Step]) -> float:
    """Return the share of the traffic that is shown the candidate: half of the coverage until the release."""
    share = coverage(position, steps)
    return share if position.state == "released" else share / 2
