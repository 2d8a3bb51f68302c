"""Searchers with settings: identity, columns, the vector of a query, and ids."""

import re
from typing import Any

import numpy as np
import pytest

from assay.core.errors import ConfigurationError
from assay.models.model import Usage
from assay.remote.errors import RemoteError
from assay.search import Query
from assay.search.registry import (
    build_searcher,
)
from assay.search.searchers.configured import rank_as_returned
from tests.search import searches
from tests.search.searches import SECRET, Words, failure_of


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", SECRET)


def test_a_vector_in_the_settings_requires_an_encoder() -> None:
    body = {"query": {"knn": {"v": {"vector": "{vector}"}}}}
    with pytest.raises(ConfigurationError, match=r"systems\.os\.encoder: must be given"):
        build_searcher("opensearch", "os", {"url": "http://127.0.0.1:1", "index": "x", "body": body})


class Paid(Words):
    """An encoder with usage that fails for one text."""

    def vectors(self, texts: list[str], role: str) -> Any:
        if texts == ["too much"]:
            raise RemoteError("limited", f"wait, {SECRET}", is_transient=True, retry_after=2.5)
        self.add_usage(Usage(3, 1, 0.25))
        return super().vectors(texts, role)


def test_the_usage_and_the_errors_of_an_encoder_are_passed_on() -> None:
    searcher = build_searcher("index", "i", {}, documents=searches.TABLE, encoder=Paid())
    answer = searcher.ask(Query("q", "router"), 1)
    assert (answer.tokens, answer.cost) == (3, 0.25)
    error = failure_of(searcher, "too much")
    assert (error.kind, error.is_transient, error.retry_after) == ("limited", True, 2.5)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("command", {"command": "find {kind} {id} {k}"}),
        ("sql", {"url": "sqlite://", "statement": "SELECT :kind, :query, '{tag}'"}),
        ("opensearch", {"url": "http://localhost:1", "index": "i", "body": {"query": ["{kind}", "{query}"]}}),
        (
            "vespa",
            {
                "url": "http://localhost:1",
                "yql": "limit {k}",
                "parameters": {"kind": "{kind}", "query": "{query}"},
            },
        ),
        ("qdrant", {"url": "http://localhost:1", "collection": "c", "filter": {"is": "{kind}"}}),
    ],
)
def test_the_required_columns_are_known_in_advance(kind: str, settings: dict[str, Any]) -> None:
    assert build_searcher(kind, "mine", settings, encoder=Words()).required_columns() == {"kind"}


def test_an_invalid_id_is_redacted_before_it_is_cut() -> None:
    with pytest.raises(RemoteError) as caught:
        rank_as_returned([(["x" * 90, SECRET], None)], 10)
    assert SECRET[:4] not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("http", {"url": "http://h/s?q={query}&index=${PLACE}", "ids": "$"}),
        ("http", {"url": "${PLACE}&q={query}", "ids": "$"}),
        ("http", {"url": "http://h/s", "ids": "$", "body": {"q": "{query}", "in": [{"index": "${PLACE}"}]}}),
        (
            "vespa",
            {"url": "http://h", "yql": "select", "parameters": {"query": "{query}", "schema": "${PLACE}"}},
        ),
        ("sql", {"url": "postgresql://h/db?options=${PLACE}", "statement": "SELECT :query"}),
    ],
)
def test_the_environment_in_a_request_changes_the_identity(
    monkeypatch: pytest.MonkeyPatch, kind: str, settings: dict[str, Any]
) -> None:
    def identity_at(place: str) -> str:
        monkeypatch.setenv("PLACE", f"http://h/s?index={place}")
        return str(build_searcher(kind, "mine", settings).identity())

    assert identity_at("one") == identity_at("one") != identity_at("two")
    assert "index=one" not in identity_at("one")


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("http", {"url": "http://h?q={query}", "ids": "$", "headers": {"X-Api-Key": "${ASSAY_TEST_KEY}"}}),
        ("http", {"url": "http://h?q={query}", "ids": "$", "auth": "ada:${ASSAY_TEST_KEY}"}),
        ("http", {"url": "http://ada:${ASSAY_TEST_KEY}@h?q={query}", "ids": "$"}),
        ("qdrant", {"url": "http://h", "collection": "c", "api_key": "${ASSAY_TEST_KEY}"}),
    ],
)
def test_a_new_key_does_not_change_the_identity(
    monkeypatch: pytest.MonkeyPatch, kind: str, settings: dict[str, Any]
) -> None:
    before = build_searcher(kind, "mine", settings, encoder=Words()).identity()
    monkeypatch.setenv("ASSAY_TEST_KEY", "another")
    assert build_searcher(kind, "mine", settings, encoder=Words()).identity() == before


def test_numpy_integers_are_ids_and_booleans_are_not() -> None:
    assert rank_as_returned([(np.int64(7), None), (np.str_("a"), None)], 10) == [("7", 1.0), ("a", 0.5)]
    for odd in (True, np.True_, 1.5):
        with pytest.raises(RemoteError, match="expected text or a whole number as id"):
            rank_as_returned([(odd, None)], 10)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (
            "http",
            {"url": "http://h/s?size={k}&lang={language}", "ids": "$"},
            "url: expected {query} or {vector}, found {k}, {language}: the request",
        ),
        (
            "http",
            {"url": "http://h", "ids": "$", "body": {"text": "query"}},
            "body: expected {query} or {vector}, found no placeholder",
        ),
        ("opensearch", {"url": "http://h", "index": "i", "body": {"query": "how"}}, "body: expected {query}"),
        ("vespa", {"url": "http://h", "yql": "userQuery()"}, "parameters: expected {query} or {vector}"),
        (
            "sql",
            {"url": "sqlite://", "statement": "SELECT 1 LIMIT :k"},
            "statement: expected :query or :vector",
        ),
    ],
)
def test_a_request_that_is_the_same_for_every_query_is_refused(
    kind: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        build_searcher(kind, "mine", settings, encoder=Words())
