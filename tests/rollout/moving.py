"""A process that starts others, which move a rollout as fast as they can, and kills each after a delay.

Each line of its input is a store and a delay; it answers with the number of each move that was acknowledged.
"""

import os
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from assay.rollout.machine import Position, Rollout, Transition, move
from assay.rollout.policy import RolloutPolicy
from assay.store.rollouts import Rollouts
from assay.store.store import Store

NAME = "ranker"


def command() -> list[str]:
    """Return the command that starts this process."""
    return [sys.executable, "-m", "tests.rollout.moving"]


def first_rollout() -> Rollout:
    """Return a rollout that has just begun."""
    policy = RolloutPolicy()
    first = Transition(1, datetime.now(UTC), "a", "start", None, Position("running", 0), "")
    return Rollout(NAME, "e", "", policy.steps, policy.to_dict(), transitions=(first,))


def move_on(kept: Rollouts, actor: str) -> int:
    """Hold the rollout or resume it, whichever is possible; return the number of the move."""
    rollout = kept.get(NAME)
    action = "hold" if rollout.position.state == "running" else "resume"
    after = move(rollout.position, action, rollout.steps)
    assert after is not None
    number, now = len(rollout.transitions) + 1, datetime.now(UTC)
    evidence = ({"kind": "time", "days": 1.5, "text": "x" * 2000},)
    kept.append(rollout, Transition(number, now, actor, action, rollout.position, after, "", evidence))
    return number


def _move_for_ever(url: str, writer: int) -> None:
    with Store(url) as store:
        kept = Rollouts(store.database)
        kept.start(first_rollout())
        while True:
            os.write(writer, f"{move_on(kept, str(os.getpid()))}\n".encode())


def main() -> None:
    """Answer each line."""
    print("ready", flush=True)
    for line in sys.stdin:
        url, _, delay = line.rpartition(" ")
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            _move_for_ever(url, writer)
        os.close(writer)
        time.sleep(float(delay))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(reader) as answers:
            sys.stdout.write(answers.read())
        print("killed", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main()
