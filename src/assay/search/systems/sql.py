"""Any database by a statement: PostgreSQL with pgvector or full text, SQLite, whatever SQLAlchemy reaches."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, QueuePool, create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from assay.core.errors import ConfigurationError, MissingExtraError
from assay.core.secrets import expanded_url, refuse_written, refuse_written_in
from assay.models.encoder import Encoder
from assay.search.searcher import SearchError
from assay.search.systems.system import Found, System, shown

_CAST = re.compile(r"(?<![:\w])(:\w+)::")  # SQLAlchemy sees no parameter before a cast of PostgreSQL
_CANCELLED = "57014"  # PostgreSQL's state of a statement that was stopped


class SQL(System):
    """A statement whose rows are an id and, if there is a second column, a score or a distance, best first.

    `:query`, `:k`, `:id`, `:vector` (as text: `[0.1,0.2]`) and columns of the query are bound, never pasted.
    A file of SQLite is looked for from `folder` on, and never made.
    """

    def __init__(
        self, name: str, encoder: Encoder | None = None, *, url: str, statement: str, folder: str = "."
    ) -> None:
        asked = text(_CAST.sub(r"\1 ::", statement))
        self._bound = set(asked.compile().params)
        super().__init__(name, {"url": url, "statement": statement}, encoder, "vector" in self._bound)
        self._statement, self._engine = asked, _engine(url, folder)
        self._dialect = self._engine.dialect.name
        self._folder = folder if self._dialect == "sqlite" else None

    def found(self, values: Mapping[str, Any], k: int, timeout: float | None) -> Found:
        """The rows of the statement, over a connection of a pool."""
        known = {**values, "vector": _written(values.get("vector"))}
        missing = self._bound - set(known)
        if missing:
            raise SearchError(
                "failed", f"the query has nothing for :{min(missing)}; it has {', '.join(known)}"
            )
        try:
            with self._engine.connect() as connection:
                self._limit(connection, timeout)
                rows = connection.execute(self._statement, {name: known[name] for name in self._bound}).all()
        except DBAPIError as error:
            raise _failed(error) from None
        except SQLAlchemyError as error:
            raise SearchError("failed", shown(error, 300)) from None
        return [(row[0], row[1] if len(row) > 1 else None) for row in rows]

    def wanted(self) -> set[str]:
        """The columns that the statement binds."""
        return self._bound - self._given

    def _limit(self, connection: Connection, timeout: float | None) -> None:
        """Let PostgreSQL stop a statement that takes too long; others cannot be told.

        The limit is a multiple of 100 ms, so that a connection is told once and not for every query.
        """
        limit = 0 if timeout is None else math.ceil(timeout * 10) * 100
        if self._dialect == "postgresql" and limit != connection.info.get("limit", 0):
            connection.exec_driver_sql(f"SET statement_timeout = {limit}")
            connection.info["limit"] = limit

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


def _engine(url: str, folder: str) -> Any:
    try:
        _refuse_secrets(url)
        found = _placed(make_url(expanded_url("url", url)), folder)
        found = found.set(drivername="postgresql+psycopg") if found.drivername == "postgresql" else found
        return create_engine(found, isolation_level="AUTOCOMMIT", poolclass=QueuePool, pool_size=0)
    except (ArgumentError, NoSuchModuleError) as error:
        said = f"expected a URL of SQLAlchemy such as postgresql://HOST/NAME ({type(error).__name__})"
        raise ConfigurationError({"url": said}) from None
    except ModuleNotFoundError as error:
        how = "" if error.name == "psycopg" else f"pip install {error.name}"
        raise MissingExtraError(str(error.name), "this database", "postgres", how) from None


def _refuse_secrets(url: str) -> None:
    """Refuse a password that is written down, before a host or among the parameters."""
    parts = make_url(url if "://" in url else f"any://{url}")  # the environment may have what it begins with
    refuse_written("url", "password", str(parts.password or ""))
    for name, values in parts.normalized_query.items():
        refuse_written_in("url", name, list(values))


def _placed(url: URL, folder: str) -> URL:
    """The URL with its file of SQLite from a folder on; one that is not there is refused."""
    file = url.database if url.get_backend_name() == "sqlite" else None
    if not file or file == ":memory:" or file.startswith("file:"):  # a URI says itself how it is opened
        return url
    place = Path(folder, file)
    if not place.is_file():
        raise ConfigurationError({"url": f"there is no database {place}"})
    return url.set(database=str(place))


def _written(vector: list[float] | None) -> str | None:
    return None if vector is None else f"[{','.join(map(repr, vector))}]"


def _failed(error: DBAPIError) -> SearchError:
    """What the database said, without the statement and its values."""
    said = shown(" ".join(str(error.orig).split()), 300)
    if getattr(error.orig, "sqlstate", None) == _CANCELLED:
        return SearchError("timeout", said, again=True)
    lost = error.connection_invalidated or "connect" in said
    return SearchError("connection" if lost else "failed", said, again=lost)
