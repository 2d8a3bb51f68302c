"""The states of a rollout, explored: no illegal path, no lost transition, repeated commands are idle."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from assay.core.errors import InputError
from assay.rollout.machine import (
    ACTIONS,
    LIVE,
    STATES,
    NotAllowedError,
    Position,
    Rollout,
    Step,
    Transition,
    candidate_share,
    coverage,
    move,
)
from assay.rollout.policy import DEFAULT_STEPS, RolloutPolicy
from assay.store.database import Database
from assay.store.rollouts import ConflictError, Rollouts

STEPS = DEFAULT_STEPS
AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
LEGAL = {  # what each command may do, written down a second time: by state, the states after it
    "advance": {"running": {"running", "released"}},
    "approve": {"running": {"running"}, "held": {"held"}},
    "hold": {"running": {"held"}, "held": {"held"}},
    "resume": {"held": {"running"}, "running": {"running"}},
    "rollback": {
        "running": {"reverted"},
        "held": {"reverted"},
        "released": {"reverted"},
        "reverted": {"reverted"},
    },
    "abandon": {"running": {"abandoned"}, "held": {"abandoned"}, "abandoned": {"abandoned"}},
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("action", [action for action in ACTIONS if action != "start"])
def test_each_command_in_each_state_does_what_is_written_down(state: str, action: str) -> None:
    place = len(STEPS) - 1 if state == "released" else 2
    expected = LEGAL[action].get(state)
    if expected is None:
        with pytest.raises(NotAllowedError, match=f"found one that is {state}"):
            move(Position(state, place), action, STEPS)
        return
    after = move(Position(state, place), action, STEPS)
    assert (after.state if after else state) in expected


def test_advancing_passes_every_step_once_to_the_release() -> None:
    position, path = Position("running", 0), ["gate"]
    while position.state == "running":
        after = move(position, "advance", STEPS)
        assert after is not None
        position = after
        path.append(STEPS[position.step].label)
    assert path == ["gate", "shadow", "ab", "ramp to 25 %", "ramp to 50 %", "full"]
    assert position.state == "released"


def test_the_arms_divide_the_coverage_equally_until_the_release() -> None:
    shares = [candidate_share(Position("running", step), STEPS) for step in range(len(STEPS))]
    assert shares[:-1] == [0, 0, 0.05, 0.125, 0.25]
    assert candidate_share(Position("released", len(STEPS) - 1), STEPS) == 1
    assert candidate_share(Position("reverted", 3), STEPS) == 0


def test_a_command_for_no_rollout_is_refused() -> None:
    with pytest.raises(NotAllowedError, match="there is no such rollout"):
        move(None, "advance", STEPS)


class RolloutPaths(RuleBasedStateMachine):
    """Commands in any order by two operators who may have an old view, against a real database."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.kept = Rollouts(Database(f"sqlite:///{Path(self.folder.name) / 'a.db'}"))
        self.model: list[tuple[str, Position]] = []

    def teardown(self) -> None:
        """Close the database."""
        self.kept.database.close()
        self.folder.cleanup()

    @initialize()
    def start(self) -> None:
        """Start the rollout."""
        first = Transition(1, AT, "a", "start", None, Position("running", 0), "")
        policy = RolloutPolicy()
        rollout = Rollout("r", "e", "", policy.steps, policy.to_dict(), transitions=(first,))
        self.seen = self.kept.start(rollout)
        self.stale = self.seen
        self.model = [("start", first.after)]

    @rule(action=st.sampled_from(sorted(LEGAL)), actor=st.sampled_from("ab"))
    def command(self, action: str, actor: str) -> None:
        """Give a command: it is recorded, changes nothing, or is refused, as is written down."""
        before = self.kept.get("r")
        expected = LEGAL[action].get(before.position.state)
        try:
            after = move(before.position, action, STEPS)
        except NotAllowedError:
            assert expected is None
            return
        assert expected is not None
        if after is None:
            assert before.position.state in expected
            return
        number = len(before.transitions) + 1
        self.seen = self.kept.append(
            before, Transition(number, AT, actor, action, before.position, after, "")
        )
        self.model.append((action, after))

    @rule()
    def look(self) -> None:
        """The second operator looks at the rollout."""
        self.stale = self.kept.get("r")

    @precondition(lambda self: len(self.stale.transitions) < len(self.model))
    @rule(action=st.sampled_from(["hold", "rollback"]))
    def command_on_an_old_view(self, action: str) -> None:
        """The second operator acts on what has changed: nothing happens, and the operator is told."""
        if self.stale.position.state not in LIVE:
            return
        number = len(self.stale.transitions) + 1
        transition = Transition(number, AT, "c", action, self.stale.position, Position("held", 0), "")
        with pytest.raises(ConflictError, match="was first"):
            self.kept.append(self.stale, transition)

    @rule()
    def start_again(self) -> None:
        """Starting it again changes nothing; another experiment of the same name is refused."""
        assert len(self.kept.start(self.seen).transitions) == len(self.model)
        with pytest.raises(InputError, match="exists and releases"):
            self.kept.start(replace(self.seen, experiment="other"))

    @invariant()
    def the_record_is_whole(self) -> None:
        """Every transition is there, in order, and each begins where the one before it ended."""
        moves = self.kept.get("r").transitions
        assert [(m.action, m.after) for m in moves] == self.model
        assert [m.number for m in moves] == list(range(1, len(moves) + 1))
        assert all(b.before == a.after and b.at > a.at for a, b in pairwise(moves))

    @invariant()
    def the_coverage_fits_the_state(self) -> None:
        """Nobody takes part after a rollback, everybody after a release."""
        position = self.kept.get("r").position
        if position.state in ("reverted", "abandoned"):
            assert coverage(position, STEPS) == 0
        if position.state == "released":
            assert coverage(position, STEPS) == 1


TestRolloutPaths = RolloutPaths.TestCase
TestRolloutPaths.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)


def test_a_step_names_its_coverage() -> None:
    assert Step("ramp", 0.05).label == "ramp to 5 %"
