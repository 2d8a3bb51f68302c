"""Rollouts in the database: one of two moves at once wins, and nothing of the record is lost."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.rollout.machine import Position, Rollout, Transition
from assay.rollout.policy import DEFAULT_STEPS, RolloutPolicy
from assay.store.database import Database
from assay.store.rollouts import ConflictError, Rollouts

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
START = Transition(
    1, AT, "operator", "start", None, Position("running", 0), "the gate passed", ({"kind": "gate"},)
)


@pytest.fixture
def kept(tmp_path: Path) -> Rollouts:
    return Rollouts(Database(f"sqlite:///{tmp_path / 'a.db'}"))


def rollout(name: str = "ranker", experiment: str = "e1") -> Rollout:
    return Rollout(name, experiment, "e0", DEFAULT_STEPS, RolloutPolicy().to_dict(), transitions=(START,))


def hold(found: Rollout, actor: str = "operator") -> Transition:
    number = len(found.transitions) + 1
    return Transition(number, AT, actor, "hold", found.position, Position("held", 0), "a look")


def test_a_rollout_is_read_back_as_it_was_written(kept: Rollouts) -> None:
    found = kept.start(rollout())
    assert found.transitions == (START,)
    assert (found.steps, found.coverage, found.step.stage) == (DEFAULT_STEPS, 0.0, "gate")
    assert [other.name for other in kept.all()] == ["ranker"]


def test_starting_again_gives_the_rollout_that_is_there(kept: Rollouts) -> None:
    kept.append(found := kept.start(rollout()), hold(found))
    assert len(kept.start(rollout()).transitions) == 2
    with pytest.raises(InputError, match="exists and releases the experiment e1, not e2"):
        kept.start(rollout(experiment="e2"))


def test_of_two_moves_at_once_one_wins_and_the_other_is_told(kept: Rollouts) -> None:
    found = kept.start(rollout())

    def attempt(number: int) -> str:
        try:
            kept.append(found, hold(found, f"operator {number}"))
            return "won"
        except ConflictError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(attempt, range(8)))
    winner = kept.get("ranker").transitions[-1].actor
    assert results.count("won") == 1
    assert all(f"{winner} was first (hold" in result for result in results if result != "won")
    assert len(kept.get("ranker").transitions) == 2


def test_times_never_fall_even_if_the_clock_is_set_back(kept: Rollouts) -> None:
    found = kept.start(rollout())
    before = kept.sequence()
    found = kept.append(found, hold(found))
    assert kept.sequence() == before + 1
    assert found.transitions[1].at > found.transitions[0].at


def test_an_unknown_rollout_names_those_there_are(kept: Rollouts) -> None:
    with pytest.raises(InputError, match="there is no rollout 'x'; those there are: none yet"):
        kept.get("x")
    kept.start(rollout())
    with pytest.raises(InputError, match="those there are: ranker"):
        kept.get("x")
