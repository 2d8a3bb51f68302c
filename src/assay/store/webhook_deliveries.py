"""Which moves of rollouts were told to which addresses.

The transitions are the outbox: what no row says was delivered is still to be sent, so a crash loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, RowMapping, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from assay.core.errors import StoreError
from assay.rollout.machine import Rollout
from assay.rollout.policy import RolloutPolicy
from assay.store.annotation_rows import to_microseconds
from assay.store.database import Database
from assay.store.schema import webhook_deliveries as table

MAX_ATTEMPTS = 12
_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(seconds=10), timedelta(hours=6)


@dataclass(frozen=True)
class Delivery:
    """One move that one address is to be told."""

    rollout: Rollout
    number: int  # of the transition
    url: str
    secret_env: str
    attempts: int = 0  # until now


def pause_after(attempts: int) -> timedelta:
    """Return how long after an attempt the next may follow.

    >>> [pause_after(n).total_seconds() for n in (1, 2, 3)]
    [10.0, 20.0, 40.0]
    """
    return min(_LONGEST_PAUSE, _FIRST_PAUSE * (1 << (attempts - 1)))


class WebhookDeliveries:
    """The deliveries of a store."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def due(self, rollouts: Sequence[Rollout], now: datetime) -> list[Delivery]:
        """Return what is to be sent now, the first move first."""
        rows = self._rows()
        found = []
        for rollout in rollouts:
            for webhook in RolloutPolicy.from_dict(rollout.policy).webhooks:
                for number in range(1, len(rollout.transitions) + 1):
                    row = rows.get((rollout.name, number, webhook.url))
                    if row is None or _is_due(row, now):
                        attempts = row["attempts"] if row else 0
                        found.append(Delivery(rollout, number, webhook.url, webhook.secret_env, attempts))
        return sorted(found, key=lambda d: d.rollout.transitions[d.number - 1].at)

    def _rows(self) -> dict[tuple[str, int, str], RowMapping]:
        with self.database.read_transaction() as connection:
            rows = connection.execute(select(table)).mappings().all()
        return {(row["rollout"], row["number"], row["url"]): row for row in rows}

    def claim(self, delivery: Delivery, now: datetime) -> bool:
        """Count an attempt before it is made; False if another process makes it."""
        values = {
            "attempts": delivery.attempts + 1,
            "next_at": to_microseconds(now + pause_after(delivery.attempts + 1)),
        }
        if delivery.attempts:
            with self.database.write_transaction() as connection:
                same = (*_is_row(delivery), table.c.attempts == delivery.attempts)
                return connection.execute(update(table).where(*same).values(values)).rowcount == 1
        row = {"rollout": delivery.rollout.name, "number": delivery.number, "url": delivery.url, "error": ""}
        try:
            with self.database.write_transaction() as connection:
                connection.execute(insert(table).values({**row, **values}))
        except StoreError as error:
            if not isinstance(error.__cause__, IntegrityError):
                raise
            return False
        return True

    def finish(self, delivery: Delivery, now: datetime, error: str = "") -> None:
        """Note that an attempt was answered, or why not."""
        values = {"error": error[:500], **({} if error else {"delivered_at": to_microseconds(now)})}
        with self.database.write_transaction() as connection:
            connection.execute(update(table).where(*_is_row(delivery)).values(values))

    def given_up(self) -> int:
        """Return how many deliveries are no longer tried."""
        with self.database.read_transaction() as connection:
            failed = (table.c.delivered_at.is_(None), table.c.attempts >= MAX_ATTEMPTS)
            return int(connection.execute(select(func.count()).where(*failed)).scalar_one())


def _is_due(row: RowMapping, now: datetime) -> bool:
    is_open = row["delivered_at"] is None and row["attempts"] < MAX_ATTEMPTS
    return is_open and row["next_at"] <= to_microseconds(now)


def _is_row(delivery: Delivery) -> tuple[ColumnElement[bool], ...]:
    return (
        table.c.rollout == delivery.rollout.name,
        table.c.number == delivery.number,
        table.c.url == delivery.url,
    )
