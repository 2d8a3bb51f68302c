"""The rows of records of any kind, read and written unchanged to copy records between databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Column, Table, insert, select

from assay.store.database import Database
from assay.store.records import batches
from assay.store.schema import metadata, records

RecordRows = Mapping[Table, Sequence[Mapping[str, Any]]]


def read_record_ids(database: Database) -> list[str]:
    """The ids of all records of every kind, including deleted ones."""
    with database.read_transaction() as connection:
        return list(connection.execute(select(records.c.id).order_by(records.c.id)).scalars())


def read_rows(database: Database, ids: Sequence[str]) -> RecordRows:
    """All rows of these records, by table; a table follows the tables that it refers to."""
    with database.read_transaction() as connection:
        return {
            table: [
                {column.key: row[column] for column in table.c}
                for batch in batches(ids)
                for row in connection.execute(select(table).where(_record_id(table).in_(batch))).mappings()
            ]
            for table in metadata.sorted_tables
        }


def insert_rows(database: Database, rows: RecordRows) -> None:
    """Insert rows in one transaction: all of them, or none."""
    with database.write_transaction() as connection:
        for table, table_rows in rows.items():
            if table_rows:
                connection.execute(insert(table), [dict(row) for row in table_rows])


def differing_records(first: RecordRows, second: RecordRows) -> list[str]:
    """The ids of the records of the first whose rows are not the same in the second."""
    copies = _contents(second)
    return [record_id for record_id, content in _contents(first).items() if copies.get(record_id) != content]


def _contents(rows: RecordRows) -> dict[str, set[tuple[Any, ...]]]:
    """All values of each record; a set, because each database has its own order."""
    contents: dict[str, set[tuple[Any, ...]]] = {}
    for table, table_rows in rows.items():
        key = _record_id(table).key
        for row in table_rows:
            contents.setdefault(row[key], set()).add((table.name, *sorted(row.items())))
    return contents


def _record_id(table: Table) -> Column[Any]:
    return table.c.id if table is records else table.c.record
