"""Rollouts in the database: what each releases, and its transitions, which are only ever added.

Where a rollout is follows from its last transition, so a process that dies leaves either all of a move or
nothing of it. Two moves at once would have the same number: one is added, and the other is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, func, insert, or_, select, text
from sqlalchemy.exc import IntegrityError

from assay.core.errors import InputError, StoreError
from assay.rollout.machine import Position, Rollout, Transition
from assay.rollout.policy import RolloutPolicy
from assay.store.annotation_rows import from_microseconds, to_microseconds
from assay.store.database import Database
from assay.store.schema import rollout_transitions, rollouts


class ConflictError(StoreError):
    """Someone else moved the rollout in the meantime; nothing was changed."""


class Rollouts:
    """The rollouts of a store."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def start(self, rollout: Rollout) -> Rollout:
        """Store a new rollout with its first transition; return the one of that name if it is the same."""
        first = rollout.transitions[0]
        row = {
            "name": rollout.name,
            "experiment": rollout.experiment,
            "baseline": rollout.baseline,
            "policy": json.dumps(rollout.policy),
            "arms": json.dumps(rollout.arms),
            "created_at": to_microseconds(first.at),
        }
        try:
            with self.database.write_transaction() as connection:
                connection.execute(insert(rollouts).values(row))
                _insert(connection, rollout.name, first)
        except StoreError as error:
            if not isinstance(error.__cause__, IntegrityError):
                raise
            return self._existing(rollout)
        return self.get(rollout.name)

    def _existing(self, rollout: Rollout) -> Rollout:
        found = self.get(rollout.name)
        if found.experiment != rollout.experiment:
            raise InputError(
                f"the rollout {rollout.name!r} exists and releases the experiment {found.experiment}, not "
                f"{rollout.experiment}; choose another name"
            )
        return found

    def get(self, name: str) -> Rollout:
        """Return a rollout."""
        with self.database.read_transaction() as connection:
            row = connection.execute(select(rollouts).where(rollouts.c.name == name)).mappings().first()
            if row is None:
                names = connection.execute(
                    select(rollouts.c.name).order_by(rollouts.c.name).limit(20)
                ).scalars()
                known = ", ".join(names) or "none yet"
                raise InputError(f"there is no rollout {name!r}; those there are: {known}")
            moves = _transitions(connection, rollout_transitions.c.rollout == name)
        return _rollout(row, moves.get(name, ()))

    def all(self) -> list[Rollout]:
        """Return every rollout, the newest first."""
        return self._find()

    def of_experiment(self, experiment: str) -> list[Rollout]:
        """Return the rollouts that release an experiment or have it as their baseline, the newest first."""
        return self._find(or_(rollouts.c.experiment == experiment, rollouts.c.baseline == experiment))

    def _find(self, *conditions: ColumnElement[bool]) -> list[Rollout]:
        names = select(rollouts.c.name).where(*conditions)
        query = select(rollouts).where(*conditions).order_by(rollouts.c.created_at.desc(), rollouts.c.name)
        with self.database.read_transaction() as connection:
            found = connection.execute(query).mappings().all()
            moves = _transitions(connection, rollout_transitions.c.rollout.in_(names))
        return [_rollout(row, moves.get(row["name"], ())) for row in found]

    def append(self, rollout: Rollout, transition: Transition) -> Rollout:
        """Add a transition to a rollout as it was read; ConflictError if it has moved since."""
        if transition.number != len(rollout.transitions) + 1:
            raise ValueError(f"expected the transition {len(rollout.transitions) + 1}")
        try:
            with self.database.write_transaction() as connection:
                _insert(connection, rollout.name, transition)
        except StoreError as error:
            if not isinstance(error.__cause__, IntegrityError):
                raise
            raise _conflict(self.get(rollout.name)) from None
        return self.get(rollout.name)

    def sequence(self) -> int:
        """Return the number of the newest transition of all rollouts: it never falls."""
        with self.database.read_transaction() as connection:
            return int(connection.execute(select(func.max(rollout_transitions.c.at))).scalar() or 0)


def _conflict(rollout: Rollout) -> ConflictError:
    last = rollout.transitions[-1]
    return ConflictError(
        f"{rollout.name}: {last.actor} was first ({last.action}, {last.at:%Y-%m-%d %H:%M:%S} UTC), and "
        f"nothing was changed; it is {rollout.position.to_text(rollout.steps)} now: repeat the command if it "
        "still applies"
    )


def _insert(connection: Connection, name: str, transition: Transition) -> None:
    if connection.dialect.name == "postgresql":  # or moves could be kept in another order than their times
        connection.execute(text(f"LOCK TABLE {rollout_transitions.name} IN EXCLUSIVE MODE"))
    last = connection.execute(select(func.max(rollout_transitions.c.at))).scalar() or 0
    row = {
        "rollout": name,
        "number": transition.number,
        "at": max(to_microseconds(transition.at), last + 1),  # also if the clock was set back
        "actor": transition.actor,
        "action": transition.action,
        "state": transition.after.state,
        "step": transition.after.step,
        "reason": transition.reason,
        "is_skipped": transition.is_skipped,
        "evidence": json.dumps([dict(entry) for entry in transition.evidence]),
    }
    connection.execute(insert(rollout_transitions).values(row))


def _transitions(connection: Connection, *conditions: Any) -> Mapping[str, Sequence[Transition]]:
    """Return the transitions of each rollout, in their order."""
    order = (rollout_transitions.c.rollout, rollout_transitions.c.number)
    rows = connection.execute(select(rollout_transitions).where(*conditions).order_by(*order)).mappings()
    found: dict[str, list[Transition]] = {}
    for row in rows:
        moves = found.setdefault(row["rollout"], [])
        moves.append(_transition(row, moves[-1].after if moves else None))
    return found


def _transition(row: RowMapping, before: Position | None) -> Transition:
    return Transition(
        row["number"],
        from_microseconds(row["at"]),
        row["actor"],
        row["action"],
        before,
        Position(row["state"], row["step"]),
        row["reason"],
        tuple(json.loads(row["evidence"])),
        bool(row["is_skipped"]),
    )


def _rollout(row: RowMapping, transitions: Iterable[Transition]) -> Rollout:
    policy = json.loads(row["policy"])
    return Rollout(
        row["name"],
        row["experiment"],
        row["baseline"],
        RolloutPolicy.from_dict(policy).steps,
        policy,
        tuple(json.loads(row["arms"])),
        from_microseconds(row["created_at"]),
        tuple(transitions),
    )
