"""Rows of experiments in a table of any database that SQLAlchemy reaches."""

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
from assay.store.database import driven, shown, told
from assay.store.rows import Rows, Table

_KEY = "experiment_id"
_SOME = 500  # rows or names in one statement


def write_table(url: str, name: str, head: Sequence[str], rows: Rows) -> None:
    """Write rows in one transaction; a row with the same experiment_id is replaced."""
    with _connected(url) as connection:
        types = {column: _type(column, [row[place] for row in rows]) for place, column in enumerate(head)}
        table = _made(connection, name, types, url)
        ids = [row[head.index(_KEY)] for row in rows]
        for start in range(0, len(rows), _SOME):
            connection.execute(delete(table).where(table.c[_KEY].in_(ids[start : start + _SOME])))
        if rows:
            connection.execute(_statement(table, head), _bound(table, head, rows, url))


def read_table(url: str, name: str) -> Table:
    """The rows of a table."""
    with _connected(url) as connection:
        if not inspect(connection).has_table(name):
            raise InputError(f"there is no table {name!r} in {shown(url)}; name another by --table")
        table = SqlTable(name, MetaData(), autoload_with=connection)
        rows = [tuple(row) for row in connection.execute(select(table))]
        return Table(f"{shown(url)} {name}", list(table.columns.keys()), list(enumerate(rows, 1)))


@contextmanager
def _connected(url: str) -> Iterator[Connection]:
    """A transaction; what the database says is told in one line."""
    try:
        engine = create_engine(driven(url))
    except NoSuchModuleError:
        raise InputError(f"{shown(url)} names a database that SQLAlchemy does not know") from None
    except ModuleNotFoundError as error:
        if error.name == "psycopg":
            raise MissingExtraError("psycopg", "a table in PostgreSQL", "postgres") from None
        raise InputError(f"{shown(url)} needs {error.name}, which is not installed") from None
    except ArgumentError:
        raise InputError(f"expected a URL such as sqlite:///results.db, found {shown(url)!r}") from None
    try:
        with told(shown(url)), engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _type(column: str, values: Sequence[Any]) -> TypeEngine[Any]:
    """The type that holds all values of a column."""
    if column == _KEY:
        return String(255)
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {int} and all(abs(value or 0) < 2**63 for value in values):
        return BigInteger()
    if kinds:
        return Float() if kinds <= {int, float} else Text()
    numbers = column.endswith(("_at_10", "_ms")) or column.startswith("cost_")
    return Float() if numbers else BigInteger() if column == "top_k" else Text()


def _made(connection: Connection, name: str, types: dict[str, TypeEngine[Any]], url: str) -> SqlTable:
    """The table, with all columns that are needed."""
    most = connection.dialect.max_identifier_length
    long = next((column for column in types if len(column.encode()) > most), None)
    if long is not None:
        raise InputError(f"{shown(url)} has names of at most {most} bytes: {long!r} cannot be a column")
    if not inspect(connection).has_table(name):
        columns = [SqlColumn(column, kind, primary_key=column == _KEY) for column, kind in types.items()]
        table = SqlTable(name, MetaData(), *columns)
        table.create(connection)
        return table
    table = SqlTable(name, MetaData(), autoload_with=connection)
    if _KEY not in table.c:
        raise InputError(
            f"the table {name!r} of {shown(url)} has no column {_KEY}: it holds something else; "
            "name another by --table"
        )
    missing = [SqlColumn(column, kind) for column, kind in types.items() if column not in table.c]
    change = Operations(MigrationContext.configure(connection))
    for column in missing:
        change.add_column(name, column)
    return SqlTable(name, MetaData(), autoload_with=connection) if missing else table


def _statement(table: SqlTable, head: Sequence[str]) -> Any:
    """An insertion whose parameters are numbered: a column may have any name."""
    return insert(table).values({table.c[name]: bindparam(f"c{i}") for i, name in enumerate(head)})


def _bound(table: SqlTable, head: Sequence[str], rows: Rows, url: str) -> list[dict[str, Any]]:
    kinds = [table.c[name].type for name in head]
    for name, kind, values in zip(head, kinds, zip(*rows, strict=True), strict=True):
        wrong = next((value for value in values if not _fits(kind, value)), None)
        if wrong is not None:
            raise InputError(
                f"the column {name!r} of {table.name!r} in {shown(url)} holds {kind}, found {wrong!r}; "
                "name another table by --table"
            )
    return [
        {f"c{i}": _text(kind, value) for i, (kind, value) in enumerate(zip(kinds, row, strict=True))}
        for row in rows
    ]


def _fits(kind: TypeEngine[Any], value: Any) -> bool:
    if isinstance(kind, Integer):
        return value is None or isinstance(value, int)
    return not isinstance(kind, Numeric) or value is None or isinstance(value, int | float)


def _text(kind: TypeEngine[Any], value: Any) -> Any:
    """A number as text where the column holds texts."""
    return json.dumps(value) if isinstance(kind, String) and isinstance(value, int | float) else value
