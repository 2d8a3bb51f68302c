"""Processes that die in the middle of a move, and two operators at once: the record has one truth."""

import random
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from assay.rollout.machine import Rollout, move
from assay.store.rollouts import ConflictError, Rollouts, _insert
from assay.store.store import Store
from tests.rollout.moving import NAME, command, first_rollout, move_on

KILLS = 25
Server = subprocess.Popen[str]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A process that starts others and kills them."""
    pipe, root = subprocess.PIPE, Path(__file__).parents[2]
    with subprocess.Popen(command(), stdin=pipe, stdout=pipe, text=True, cwd=root) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        yield process


def killed(server: Server, place: str, delay: float) -> list[int]:
    """Return the numbers of the moves that a process acknowledged until it was killed."""
    assert server.stdin
    assert server.stdout
    server.stdin.write(f"{place} {delay}\n")
    server.stdin.flush()
    return [int(line) for line in iter(server.stdout.readline, "killed\n")]


def read(place: str) -> Rollout:
    with Store(place) as store:
        return Rollouts(store.database).get(NAME)


def check_record(rollout: Rollout) -> None:
    """Every move is whole, follows from the one before it, and has its evidence."""
    for before, after in pairwise(rollout.transitions):
        assert after.number == before.number + 1
        assert after.at > before.at
        assert move(before.after, after.action, rollout.steps) == after.after
        assert after.evidence[0]["text"] == "x" * 2000


def test_a_process_that_is_killed_at_any_moment_leaves_one_truth(server: Server, place: str) -> None:
    rng, acknowledged, unknown = random.Random(3), 1, 0
    with Store(place) as store:
        Rollouts(store.database).start(first_rollout())
    longest = 0.4
    for _ in range(KILLS):
        numbers = killed(server, place, rng.uniform(0, longest))
        longest = longest * 0.95 if numbers else longest * 1.2  # for some moves, on any machine
        rollout = read(place)
        check_record(rollout)
        last = max([acknowledged, *numbers])
        assert len(rollout.transitions) - last in (0, 1)  # the last may be kept and not yet told
        unknown += len(rollout.transitions) - last
        acknowledged = len(rollout.transitions)
    assert acknowledged > 1 + KILLS // 2
    assert unknown <= KILLS


def test_of_two_operators_at_once_one_wins_and_the_other_is_told(place: str) -> None:
    with Store(place) as store:
        kept = Rollouts(store.database)
        kept.start(first_rollout())

        def attempt(number: int) -> str:
            try:
                return str(move_on(kept, f"operator {number}"))
            except ConflictError as error:
                return str(error)

        with ThreadPoolExecutor(6) as pool:
            results = list(pool.map(attempt, range(24)))
        rollout = kept.get(NAME)
    won = [int(result) for result in results if result.isdecimal()]
    assert sorted(won) == list(range(2, len(rollout.transitions) + 1))
    assert all("was first" in result for result in results if not result.isdecimal())
    check_record(rollout)


def test_a_move_waits_for_one_of_another_rollout_and_has_a_later_time(place: str) -> None:
    other = replace(first_rollout(), name="other")
    with Store(place) as store:
        kept = Rollouts(store.database)
        for rollout in (first_rollout(), other):
            kept.start(rollout)
        with ThreadPoolExecutor(1) as pool:
            with store.database.write_transaction() as connection:
                _insert(connection, other.name, replace(other.transitions[0], number=2))
                moving = pool.submit(move_on, kept, "ann")
                assert not wait([moving], timeout=0.3).done
            moving.result()
        assert kept.get(NAME).transitions[-1].at > kept.get(other.name).transitions[-1].at
