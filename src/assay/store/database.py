"""The database of the records: opens it, upgrades its schema, and gives transactions."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from assay.core.errors import InputError, MissingExtraError, StoreError
from assay.remote.redaction import redact_url

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008")
_BUSY_TIMEOUT_MS = 60_000  # how long a writer waits for another
_POSTGRES_TIMEOUTS = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "tcp_user_timeout": 30_000,
}  # seconds and milliseconds, for a network that does not answer
_MIGRATION_LOCK = 0x61737361  # an advisory lock of PostgreSQL, held while the schema is upgraded


class Database:
    """A database of SQLite (in WAL mode) or PostgreSQL."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = _engine(url)
        try:
            self._migrate()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def read_transaction(self) -> Iterator[Connection]:
        """A transaction that sees one consistent state of the store."""
        with report_database_errors(f"the store {redact_url(self.url)}"), self.engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def write_transaction(self) -> Iterator[Connection]:
        """A transaction that is committed as a whole or not at all."""
        with report_database_errors(f"the store {redact_url(self.url)}"), self.engine.connect() as connection:
            writer = connection.execution_options(assay_writes=True)
            with writer.begin():
                yield writer

    def _migrate(self) -> None:
        """Upgrade the schema to the newest revision, one process at a time."""
        with self.read_transaction() as connection:
            revision = _revision(connection)
        if revision == REVISIONS[-1]:
            return
        with self.write_transaction() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})"))
            revision = _revision(connection)
            if revision is not None and revision not in REVISIONS:
                raise StoreError(
                    f"the store {redact_url(self.url)} was written by a newer Assay (schema {revision}, this "
                    f"one supports {REVISIONS[-1]}); install a newer Assay to open it"
                )
            if revision != REVISIONS[-1]:
                upgrade(connection, "head")

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def upgrade(connection: Connection, revision: str) -> None:
    """Upgrade the schema to a revision, in the transaction of the connection."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if revision is None else str(revision)


def _engine(url: str) -> Engine:
    if url.startswith("sqlite:"):
        return _sqlite(url)
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise MissingExtraError("psycopg", "a store in PostgreSQL", "postgres") from None
    return create_engine(
        add_driver(url), pool_pre_ping=True, max_overflow=-1, connect_args=_POSTGRES_TIMEOUTS
    )


def _sqlite(url: str) -> Engine:
    engine = create_engine(url, max_overflow=-1)  # threads share it in a server

    @event.listens_for(engine, "connect")
    def configure(connection, _):  # type: ignore[no-untyped-def]
        connection.isolation_level = None  # transactions are started explicitly below
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
        _execute_when_unlocked(
            connection, "PRAGMA journal_mode = WAL"
        )  # this statement ignores the busy timeout
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("assay_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _execute_when_unlocked(connection: sqlite3.Connection, statement: str) -> None:
    """Execute a statement, and retry it while another process holds the database locked."""
    until = time.monotonic() + _BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


@contextmanager
def report_database_errors(database: str) -> Iterator[None]:
    """Turn errors of SQLAlchemy into a StoreError with a message of one line."""
    try:
        yield
    except DBAPIError as error:
        raise StoreError(f"{database} cannot be used: {' '.join(str(error.orig).split())}") from error
    except SQLAlchemyError as error:
        raise StoreError(f"{database} cannot be used: {error}") from error
    except OverflowError:  # SQLite has integers of 64 bits
        raise InputError("expected a number of at most 64 bits, found a larger one") from None


def add_driver(url: str) -> str:
    """The URL with the installed driver for its database."""
    return url.replace("postgresql://", "postgresql+psycopg://", 1)
