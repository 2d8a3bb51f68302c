"""SQL: PostgreSQL with pgvector or full text, SQLite, and any other database of SQLAlchemy."""

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
from assay.models.encoder import Encoder
from assay.remote.errors import RemoteError
from assay.remote.redaction import excerpt
from assay.remote.secrets import expand_url, refuse_literal_secret, refuse_literal_secrets
from assay.search.searchers.configured import ConfiguredSearcher, ReturnedDocuments, refuse_same_requests

_CAST = re.compile(r"(?<![:\w])(:\w+)::")  # SQLAlchemy finds no parameter before a cast of PostgreSQL
_CANCELLED_STATE = "57014"  # PostgreSQL's state of a canceled statement


class SQLSearcher(ConfiguredSearcher):
    """Runs a statement whose rows are an id and optionally a score or a distance, best first.

    `:query`, `:k`, `:id`, `:vector` (as text: `[0.1,0.2]`) and columns of the query are bound parameters.
    The path of a SQLite file is relative to `folder`; the file must exist.
    """

    def __init__(
        self, name: str, encoder: Encoder | None = None, *, url: str, statement: str, folder: str = "."
    ) -> None:
        query = text(_CAST.sub(r"\1 ::", statement))
        self._parameters = set(query.compile().params)
        super().__init__(name, {"url": url, "statement": statement}, encoder, "vector" in self._parameters)
        self._statement, self._engine = query, _engine(url, folder)
        refuse_same_requests("statement", self._parameters, ":{}")
        self._dialect = self._engine.dialect.name
        self._folder = folder if self._dialect == "sqlite" else None

    def find_documents(self, values: Mapping[str, Any], k: int, timeout: float | None) -> ReturnedDocuments:
        """Return the rows of the statement."""
        parameters = {**values, "vector": _format_vector(values.get("vector"))}
        missing = self._parameters - set(parameters)
        if missing:
            reason = f"the query has no value for :{min(missing)}; it has {', '.join(parameters)}"
            raise RemoteError("failed", reason)
        try:
            with self._engine.connect() as connection:
                self._set_timeout(connection, timeout)
                bound = {name: parameters[name] for name in self._parameters}
                rows = connection.execute(self._statement, bound).all()
        except DBAPIError as error:
            raise _search_error(error) from None
        except SQLAlchemyError as error:
            raise RemoteError("failed", excerpt(error, 300)) from None
        return [(row[0], row[1] if len(row) > 1 else None) for row in rows]

    def required_columns(self) -> set[str]:
        """Return the columns that the statement binds."""
        return self._parameters - self._standard_values

    def _set_timeout(self, connection: Connection, timeout: float | None) -> None:
        """Let PostgreSQL cancel a statement that takes too long; other databases have no such setting.

        The limit is a multiple of 100 ms, so that it is set once for a connection and not for every query.
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
        database_url = _resolve_file(make_url(expand_url("url", url)), folder)
        if database_url.drivername == "postgresql":
            database_url = database_url.set(drivername="postgresql+psycopg")
        return create_engine(database_url, isolation_level="AUTOCOMMIT", poolclass=QueuePool, pool_size=0)
    except (ArgumentError, NoSuchModuleError) as error:
        problem = f"expected a URL of SQLAlchemy such as postgresql://HOST/NAME ({type(error).__name__})"
        raise ConfigurationError({"url": problem}) from None
    except ModuleNotFoundError as error:
        how = "" if error.name == "psycopg" else f"pip install {error.name}"
        raise MissingExtraError(str(error.name), "this database", "postgres", how) from None


def _refuse_secrets(url: str) -> None:
    """Refuse a literal password, before the host or among the parameters."""
    parts = make_url(url if "://" in url else f"any://{url}")  # the scheme may come from the environment
    refuse_literal_secret("url", "password", str(parts.password or ""))
    for name, values in parts.normalized_query.items():
        refuse_literal_secrets("url", name, list(values))


def _resolve_file(url: URL, folder: str) -> URL:
    """Return the URL with the path of its SQLite file resolved; a file that does not exist is refused."""
    file = url.database if url.get_backend_name() == "sqlite" else None
    if not file or file == ":memory:" or file.startswith("file:"):  # a URI has its own options
        return url
    path = Path(folder, file)
    if not path.is_file():
        raise ConfigurationError({"url": f"there is no database {path}"})
    return url.set(database=str(path))


def _format_vector(vector: list[float] | None) -> str | None:
    return None if vector is None else f"[{','.join(map(repr, vector))}]"


def _search_error(error: DBAPIError) -> RemoteError:
    """Return the message of the database, without the statement and its values."""
    reason = excerpt(" ".join(str(error.orig).split()), 300)
    if getattr(error.orig, "sqlstate", None) == _CANCELLED_STATE:
        return RemoteError("timeout", reason, is_transient=True)
    is_connection_lost = error.connection_invalidated or "connect" in reason
    kind = "connection" if is_connection_lost else "failed"
    return RemoteError(kind, reason, is_transient=is_connection_lost)
