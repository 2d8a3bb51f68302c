"""The rows of records of any kind, read and written unchanged to copy records between databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Column, Connection, Table, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from assay.store.database import Database
from assay.store.records import batches
from assay.store.schema import LOCAL_TABLES, SHARED_TABLES, metadata, records

_SHARED_BATCH = 1000  # rows copied at once
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
            if table not in (*SHARED_TABLES, *LOCAL_TABLES)
        }


def insert_rows(database: Database, rows: RecordRows) -> None:
    """Insert rows in one transaction: all of them, or none."""
    with database.write_transaction() as connection:
        for table, table_rows in rows.items():
            if table_rows:
                connection.execute(insert(table), [dict(row) for row in table_rows])


def copy_shared_rows(source: Database, target: Database) -> None:
    """Insert the rows that belong to no single record, unless they are there."""
    for table in SHARED_TABLES:
        with source.read_transaction() as reader, target.write_transaction() as writer:
            rows = reader.execution_options(yield_per=_SHARED_BATCH).execute(select(table)).mappings()
            for batch in rows.partitions():
                insert_missing(writer, table, [dict(row) for row in batch])


def insert_missing(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, except those whose key is there already."""
    if rows:
        make_insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
        connection.execute(make_insert(table).on_conflict_do_nothing(), [dict(row) for row in rows])


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
