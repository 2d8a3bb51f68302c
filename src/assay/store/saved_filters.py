"""Saved filters: states of the table of experiments under a name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import delete, insert, select

from assay.core.errors import InputError
from assay.store.database import Database
from assay.store.schema import saved_filters

MAX_FILTERS = 100
_MAX_NAME = 64
_MAX_ADDRESS = 4000


class SavedFilter(NamedTuple):
    """A state of the table of experiments: its filter, columns, order and groups."""

    name: str
    address: str  # the query of the address


def read_filters(database: Database) -> list[SavedFilter]:
    """Return the saved filters by name."""
    columns = saved_filters.c
    query = select(columns.name, columns.address).order_by(columns.name).limit(MAX_FILTERS)
    with database.read_transaction() as connection:
        return [SavedFilter(row.name, row.address) for row in connection.execute(query)]


def save_filter(database: Database, value: SavedFilter) -> None:
    """Save a filter in place of one of the same name."""
    if not value.name.strip() or len(value.name) > _MAX_NAME or "\0" in value.name + value.address:
        raise InputError(f"a saved filter needs a name of 1 to {_MAX_NAME} characters, found {value.name!r}")
    if len(value.address) > _MAX_ADDRESS:
        raise InputError(f"a saved filter has at most {_MAX_ADDRESS} characters")
    at = int(datetime.now(UTC).timestamp() * 1_000_000)
    with database.write_transaction() as connection:
        connection.execute(delete(saved_filters).where(saved_filters.c.name == value.name))
        connection.execute(
            insert(saved_filters).values(name=value.name, address=value.address, created_at=at)
        )


def delete_filter(database: Database, name: str) -> None:
    """Remove a saved filter."""
    with database.write_transaction() as connection:
        connection.execute(delete(saved_filters).where(saved_filters.c.name == name))
