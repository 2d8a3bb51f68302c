"""The database of the records: opened, brought to the newest schema, written in whole transactions."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from assay.core.errors import MissingExtraError, StoreError

REVISIONS = ("0001", "0002")
_WAIT = 60_000  # milliseconds that a writer waits for another
_PATIENCE = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "tcp_user_timeout": 30_000,
}  # with a silent network
_LOCK = 0x61737361  # of PostgreSQL, held while the schema is made


class Database:
    """SQLite in WAL, or PostgreSQL."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = _engine(url)
        try:
            self._migrate()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the store."""
        with told(f"the store {shown(self.url)}"), self.engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is kept whole or not at all."""
        with told(f"the store {shown(self.url)}"), self.engine.connect() as connection:
            writer = connection.execution_options(assay_writes=True)
            with writer.begin():
                yield writer

    def _migrate(self) -> None:
        """Bring the schema up to date, one process at a time."""
        with self.reading() as connection:
            revision = _revision(connection)
        if revision == REVISIONS[-1]:
            return
        with self.writing() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
            revision = _revision(connection)
            if revision is not None and revision not in REVISIONS:
                raise StoreError(
                    f"the store {shown(self.url)} was written by a newer Assay (schema {revision}, this one "
                    f"knows {REVISIONS[-1]}); install a newer Assay to open it"
                )
            if revision != REVISIONS[-1]:
                upgrade(connection, "head")

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()


def upgrade(connection: Connection, revision: str) -> None:
    """Bring the schema to a revision, in the transaction of the connection."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def _engine(url: str) -> Engine:
    if url.startswith("sqlite:"):
        return _sqlite(url)
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise MissingExtraError("psycopg", "a store in PostgreSQL", "postgres") from None
    return create_engine(driven(url), pool_pre_ping=True, connect_args=_PATIENCE)


def _sqlite(url: str) -> Engine:
    engine = create_engine(url)

    @event.listens_for(engine, "connect")
    def configure(connection, _):  # type: ignore[no-untyped-def]
        connection.isolation_level = None  # transactions are begun below
        connection.execute(f"PRAGMA busy_timeout = {_WAIT}")
        _patiently(connection, "PRAGMA journal_mode = WAL")  # which does not wait by itself
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("assay_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _patiently(connection: sqlite3.Connection, statement: str) -> None:
    """Carry out a statement, again while another process holds the database."""
    until = time.monotonic() + _WAIT / 1000
    while True:
        try:
            connection.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def shown(url: str) -> str:
    """A URL without its password.

    >>> shown("postgresql://me:secret@db/assay")
    'postgresql://me:***@db/assay'
    """
    head, at, tail = url.rpartition("@")
    scheme, _, login = head.partition("://")
    return f"{scheme}://{login.partition(':')[0]}:***@{tail}" if at and ":" in login else url


@contextmanager
def told(what: str) -> Iterator[None]:
    """Say what a database says in one line, without a trace."""
    try:
        yield
    except DBAPIError as error:
        raise StoreError(f"{what} cannot be used: {' '.join(str(error.orig).split())}") from error
    except SQLAlchemyError as error:
        raise StoreError(f"{what} cannot be used: {error}") from error


def driven(url: str) -> str:
    """A URL with the driver that is installed for it."""
    return url.replace("postgresql://", "postgresql+psycopg://", 1)
