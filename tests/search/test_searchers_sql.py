"""Searches by SQL."""

from collections.abc import Iterator
from typing import Any

import pytest

from assay.core.errors import ConfigurationError
from assay.indexes.servers.postgres import PostgresServer
from assay.search import Query, Searcher
from assay.search.registry import (
    build_searcher,
)
from tests.search import searches
from tests.search.searches import SECRET, failure_of


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", SECRET)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real PostgreSQL with pgvector."""
    server = PostgresServer(tmp_path_factory.mktemp("postgres"))
    server.start()
    yield server.url
    server.stop()


def sql(url: str, statement: str, **beside: Any) -> Searcher:
    return build_searcher("sql", "db", {"url": url, "statement": statement}, **beside)


def test_a_wrong_statement_fails_with_the_message_of_the_database(database: str) -> None:
    error = failure_of(sql(database, "SELECT id FROM nowhere WHERE :query = :query"))
    assert (error.kind, error.is_transient) == ("failed", False)
    assert 'relation "nowhere" does not exist' in error.reason


def test_postgres_stops_a_statement_that_takes_too_long(database: str) -> None:
    searcher = sql(database, "SELECT :id::text, pg_sleep(30)::text")
    error = failure_of(searcher, timeout=0.2)
    assert (error.kind, error.is_transient) == ("timeout", True)
    again = sql(database, "SELECT :id::text")
    assert again.ask(Query("a", ""), 1).documents == [("a", 1.0)]
    again.close()


def test_an_unreachable_database_is_a_transient_error() -> None:
    error = failure_of(sql("postgresql://ada:${ASSAY_TEST_KEY}@127.0.0.1:1/none", "SELECT :query"))
    assert (error.kind, error.is_transient) == ("connection", True)


def test_a_password_in_the_url_of_a_database_comes_from_the_environment() -> None:
    with pytest.raises(ConfigurationError, match="comes from the environment") as caught:
        sql("postgresql://ada:abc-written-down@127.0.0.1:1/none", "SELECT :query")
    assert "written-down" not in str(caught.value)


def test_text_is_a_bound_parameter(database: str) -> None:
    searcher = sql(database, "SELECT :query::text")
    text = "'; DROP TABLE docs; --"
    assert searcher.ask(Query("q", text), 1).documents == [(text, 1.0)]
    searcher.close()


def test_distances_of_pgvector_are_negated(database: str) -> None:
    searcher = searches.pgvector(database)
    documents = searcher.ask(Query("q", "invoice number seven"), 2).documents
    assert documents[0] == ("7", 0.0)
    assert documents[1][1] < 0
    searcher.close()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:abc-written-down@h/db",
        "postgresql://h/db?password=abc-written-down",
        "${ASSAY_TEST_KEY}?sslpassword=abc-written-down",
    ],
)
def test_a_literal_password_of_a_database_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"systems\.db\.url: a secret comes from") as caught:
        build_searcher("sql", "db", {"url": url, "statement": "SELECT :query"})
    assert "written-down" not in str(caught.value)


def test_the_url_of_a_database_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ada:hush@h/db?sslkey=my.key")
    searcher = build_searcher("sql", "db", {"url": "${DATABASE_URL}", "statement": "SELECT :query"})
    assert "hush" not in f"{searcher.configuration()} {searcher.identity()}"
