"""The newest tables of a role, over records of any kind; no body of a record is read."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select

from assay.store.annotation_rows import from_microseconds
from assay.store.database import Database
from assay.store.schema import links, records


class LinkedTable(NamedTuple):
    """A table that a record refers to."""

    name: str  # of the record
    at: datetime
    digest: str


def find_linked_tables(database: Database, role: str, limit: int) -> list[LinkedTable]:
    """Return the tables in a role of the newest records that are not deleted."""
    query = (
        select(records.c.name, records.c.at, links.c.digest)
        .join(links, links.c.record == records.c.id)
        .where(links.c.role == role, records.c.deleted_at.is_(None))
        .order_by(records.c.at.desc(), records.c.id)
        .limit(limit)
    )
    with database.read_transaction() as connection:
        rows = connection.execute(query).all()
    return [LinkedTable(row.name, from_microseconds(row.at), row.digest) for row in rows]
