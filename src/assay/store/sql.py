"""Rows of experiments in a table of any database that SQLAlchemy supports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Connection,
    Float,
    Integer,
    MetaData,
    Numeric,
    String,
    Text,
    bindparam,
    create_engine,
    delete,
    insert,
    inspect,
    select,
)
from sqlalchemy import Column as SqlColumn
from sqlalchemy import Table as SqlTable
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.types import TypeEngine

from assay.core.errors import InputError, MissingExtraError
from assay.remote.redaction import redact_url
from assay.store.database import add_driver, report_database_errors
from assay.store.rows import ImportTable, Rows

_KEY_COLUMN = "experiment_id"
_BATCH_SIZE = 500  # ids in one statement


def write_table(url: str, name: str, head: Sequence[str], rows: Rows) -> None:
    """Write rows in one transaction; a row with the same experiment_id is replaced."""
    with _connect(url) as connection:
        types = {
            column: _column_type(column, [row[place] for row in rows]) for place, column in enumerate(head)
        }
        table = _prepare_table(connection, name, types, url)
        ids = [row[head.index(_KEY_COLUMN)] for row in rows]
        for start in range(0, len(rows), _BATCH_SIZE):
            connection.execute(
                delete(table).where(table.c[_KEY_COLUMN].in_(ids[start : start + _BATCH_SIZE]))
            )
        if rows:
            connection.execute(_insert_statement(table, head), _bind_rows(table, head, rows, url))


def read_table(url: str, name: str) -> ImportTable:
    """The rows of a table."""
    with _connect(url) as connection:
        if not inspect(connection).has_table(name):
            raise InputError(
                f"there is no table {name!r} in {redact_url(url)}; name another one with --table"
            )
        table = SqlTable(name, MetaData(), autoload_with=connection)
        rows = [tuple(row) for row in connection.execute(select(table))]
        return ImportTable(f"{redact_url(url)} {name}", list(table.columns.keys()), list(enumerate(rows, 1)))


@contextmanager
def _connect(url: str) -> Iterator[Connection]:
    """A transaction on a database."""
    try:
        engine = create_engine(add_driver(url))
    except NoSuchModuleError:
        raise InputError(f"{redact_url(url)} names a database that SQLAlchemy does not support") from None
    except ModuleNotFoundError as error:
        if error.name == "psycopg":
            raise MissingExtraError("psycopg", "a table in PostgreSQL", "postgres") from None
        raise InputError(f"{redact_url(url)} needs {error.name}, which is not installed") from None
    except ArgumentError:
        raise InputError(f"expected a URL such as sqlite:///results.db, found {redact_url(url)!r}") from None
    try:
        with report_database_errors(redact_url(url)), engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _column_type(column: str, values: Sequence[Any]) -> TypeEngine[Any]:
    """The SQL type that can hold all values of a column."""
    if column == _KEY_COLUMN:
        return String(255)
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {int} and all(abs(value or 0) < 2**63 for value in values):
        return BigInteger()
    if kinds:
        return Float() if kinds <= {int, float} else Text()
    numbers = column.endswith(("_at_10", "_ms")) or column.startswith("cost_")
    return Float() if numbers else BigInteger() if column == "top_k" else Text()


def _prepare_table(
    connection: Connection, name: str, types: dict[str, TypeEngine[Any]], url: str
) -> SqlTable:
    """The table, created or extended to have all columns."""
    max_length = connection.dialect.max_identifier_length
    too_long = next((column for column in types if len(column.encode()) > max_length), None)
    if too_long is not None:
        raise InputError(
            f"{redact_url(url)} allows names of at most {max_length} bytes: {too_long!r} cannot be a column"
        )
    if not inspect(connection).has_table(name):
        columns = [
            SqlColumn(column, kind, primary_key=column == _KEY_COLUMN) for column, kind in types.items()
        ]
        table = SqlTable(name, MetaData(), *columns)
        table.create(connection)
        return table
    table = SqlTable(name, MetaData(), autoload_with=connection)
    if _KEY_COLUMN not in table.c:
        raise InputError(
            f"the table {name!r} of {redact_url(url)} has no column {_KEY_COLUMN}: it holds other "
            "data; name another one with --table"
        )
    missing = [SqlColumn(column, kind) for column, kind in types.items() if column not in table.c]
    change = Operations(MigrationContext.configure(connection))
    for column in missing:
        change.add_column(name, column)
    return SqlTable(name, MetaData(), autoload_with=connection) if missing else table


def _insert_statement(table: SqlTable, head: Sequence[str]) -> Any:
    """An INSERT with numbered parameters, because a column may have any name."""
    return insert(table).values({table.c[name]: bindparam(f"c{i}") for i, name in enumerate(head)})


def _bind_rows(table: SqlTable, head: Sequence[str], rows: Rows, url: str) -> list[dict[str, Any]]:
    kinds = [table.c[name].type for name in head]
    for name, kind, values in zip(head, kinds, zip(*rows, strict=True), strict=True):
        misfit = next((value for value in values if not _has_type(kind, value)), None)
        if misfit is not None:
            raise InputError(
                f"the column {name!r} of {table.name!r} in {redact_url(url)} holds {kind}, found {misfit!r}; "
                "name another table with --table"
            )
    return [
        {f"c{i}": _convert_value(kind, value) for i, (kind, value) in enumerate(zip(kinds, row, strict=True))}
        for row in rows
    ]


def _has_type(kind: TypeEngine[Any], value: Any) -> bool:
    if isinstance(kind, Integer):
        return value is None or isinstance(value, int)
    return not isinstance(kind, Numeric) or value is None or isinstance(value, int | float)


def _convert_value(kind: TypeEngine[Any], value: Any) -> Any:
    """A value for a column; a number becomes text if the column holds text."""
    return json.dumps(value) if isinstance(kind, String) and isinstance(value, int | float) else value
