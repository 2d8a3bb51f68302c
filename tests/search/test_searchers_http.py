"""The HTTP searcher with a real service: failures, pages and secrets."""

import json
from collections.abc import Iterator
from http.client import HTTPMessage
from typing import Any

import pytest

from assay.core.errors import ConfigurationError
from assay.remote.connection import Response
from assay.remote.http import HttpClient
from assay.search import Query, SearchError
from assay.search.registry import build_searcher
from assay.search.searchers.templates import JsonPath as JsonPath
from tests.search import searches
from tests.search.searches import SECRET, failure_of
from tests.services.search_service import serving


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", SECRET)


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.mark.parametrize(
    ("path", "kind", "again", "words"),
    [
        ("/flaky?every=1&status=500", "status", True, "answered 500: out of order"),
        ("/flaky?every=1&status=404", "status", False, "answered 404: out of order"),
        ("/reset", "connection", True, "cannot be reached"),
        ("/cut", "connection", True, "IncompleteRead"),
        ("/malformed", "malformed", False, "no JSON"),
        ("/wrong-type", "malformed", False, "text/html, expected JSON: '<html>We are"),
        ("/huge", "too large", False, "more than 10,000,000 bytes"),
        ("/moved", "status", False, "302 and redirects to /ok: use that as url"),
        ("/limited?rate=0", "limited", True, "429: slow down"),
    ],
)
def test_each_failure_of_a_service_has_its_kind(
    service: str, path: str, kind: str, again: bool, words: str
) -> None:
    error = failure_of(searches.http(service, path))
    assert (error.kind, error.is_transient) == (kind, again)
    assert words in error.reason


def test_a_limit_says_how_long_to_wait_in_seconds_or_by_a_date(service: str) -> None:
    assert failure_of(searches.http(service, "/limited?rate=0")).retry_after == 1
    after = failure_of(searches.http(service, "/limited?date=1")).retry_after
    assert after is not None
    assert 90 < after <= 100


@pytest.mark.parametrize("path", ["/hang", "/drip?ms=20"])
def test_the_timeout_limits_the_whole_response_however_slow_its_bytes(service: str, path: str) -> None:
    error = failure_of(searches.http(service, path), timeout=0.3)
    assert (error.kind, error.is_transient) == ("timeout", True)  # each byte alone arrives in time


def test_an_unreachable_service_is_a_transient_connection_error() -> None:
    error = failure_of(searches.http("http://127.0.0.1:1"))
    assert (error.kind, error.is_transient) == ("connection", True)


def test_a_request_is_sent_once_even_when_the_connection_was_used_before(service: str) -> None:
    searcher, looking = searches.http(service, "/reset?every=2"), HttpClient(service)
    looking.call("GET", "/forget", timeout=5)
    searcher.ask(Query("q", "first"), 3)
    assert failure_of(searcher, "second").kind == "connection"
    assert looking.call("GET", "/stats", timeout=5) == {"/reset": {"first": 1, "second": 1}}
    looking.close()


@pytest.mark.parametrize(
    "more",
    [
        {"url": "/pages?size=2&q={query}&page={page}", "body": None},
        {"url": "/pages", "body": {"q": "{query}", "size": 3, "offset": "{offset}"}},
        {"url": "/pages?size=2&q={query}", "body": None, "next_page": "$.next"},
    ],
)
def test_pages_are_requested_until_there_are_k_documents(service: str, more: dict[str, Any]) -> None:
    settings = {"ids": "$.hits[*].id", "scores": "$.hits[*].score"}
    settings |= {k: v for k, v in more.items() if v is not None} | {"url": service + more["url"]}
    searcher, whole = build_searcher("http", "pages", settings), searches.http(service)
    for k in (1, 2, 3, 4, 100):
        query = Query("q", "reset the router & password")
        assert searcher.ask(query, k) == whole.ask(query, k)
    searcher.close()
    whole.close()


def test_a_next_page_on_another_server_is_refused(service: str) -> None:
    from assay.search.searchers.http import HttpSearcher

    searcher = HttpSearcher("x", url=f"{service}/ok?q={{query}}", ids="$.hits[*].id", next_page="$.next")
    with pytest.raises(SearchError, match="on another server: elsewhere"):
        searcher._next_target({"next": "http://elsewhere/ok"})


def test_a_wrong_path_is_reported_with_the_existing_keys(service: str) -> None:
    error = failure_of(searches.http(service, ids="$.results[*].id"))
    assert error.reason == "at $: expected the key 'results', found the keys hits, total"


def test_a_missing_column_fails_the_query(service: str) -> None:
    error = failure_of(searches.http(service, body={"q": "{query}", "topic": "{topic}"}))
    assert error.reason == "the query has no value for {topic}; it has query, k, id, page, offset"


def test_a_secret_comes_from_the_environment_and_arrives(service: str) -> None:
    expected = f"/secret?expect=Bearer%20{SECRET}".replace(SECRET, "${ASSAY_TEST_KEY}")
    headers = {"Authorization": "Bearer ${ASSAY_TEST_KEY}"}
    searcher = searches.http(service, expected, headers=headers)
    assert searcher.ask(Query("q", "router"), 5).documents
    assert SECRET not in json.dumps(dict(searcher.configuration())) + repr(searcher)
    searcher.close()


def test_a_name_and_a_password_are_sent_as_basic(service: str) -> None:
    searcher = searches.http(
        service,
        "/secret?expect=Basic%20YWRhOnMzY3IzdC1vZi10aGUtZW52aXJvbm1lbnQ%3D",
        auth="ada:${ASSAY_TEST_KEY}",
    )
    assert searcher.ask(Query("q", "router"), 5).documents
    searcher.close()


def test_a_secret_that_a_service_repeats_is_redacted(service: str) -> None:
    error = failure_of(
        searches.http(service, "/secret", headers={"Authorization": "Bearer ${ASSAY_TEST_KEY}"})
    )
    assert "'Bearer ${ASSAY_TEST_KEY}' is not allowed" in error.reason


def test_an_encoded_password_that_a_service_repeats_is_redacted(service: str) -> None:
    error = failure_of(searches.http(service, "/secret", auth="ada:${ASSAY_TEST_KEY}"))
    assert "'Basic …' is not allowed" in error.reason


def test_a_secret_in_a_url_arrives_with_all_its_characters(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", "a#b&c+d %41")
    searcher = searches.http(
        service, "/secret?expect=${ASSAY_TEST_KEY}", headers={"Authorization": "${ASSAY_TEST_KEY}"}
    )
    assert searcher.ask(Query("q", "router"), 5).documents
    searcher.close()


@pytest.mark.parametrize(("status", "kind", "dots"), [(500, "text/plain", 294), (200, "text/html", 55)])
def test_an_error_is_redacted_before_it_is_cut(status: int, kind: str, dots: int) -> None:
    headers = HTTPMessage()
    headers["Content-Type"] = kind
    answer = Response(status, headers, ("." * dots + SECRET).encode())
    service = HttpClient("http://127.0.0.1:1")
    with pytest.raises(SearchError) as caught:
        raise service._status_error(answer) if status == 500 else service._parse(answer)
    assert "s3cr" not in str(caught.value)


def test_a_variable_that_is_missing_is_named(service: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"systems\.service\.headers\.api-key: the environment has no NO_SUCH_KEY"
    ):
        searches.http(service, headers={"api-key": "${NO_SUCH_KEY}"})


def test_an_invalid_url_is_shown_without_values_of_the_environment() -> None:
    with pytest.raises(ConfigurationError, match=r"found 'localhost:1/\?key=\$\{ASSAY_TEST_KEY\}'"):
        build_searcher("http", "x", {"url": "localhost:1/?key=${ASSAY_TEST_KEY}", "ids": "$"})


@pytest.mark.parametrize(
    "settings",
    [
        {"headers": {"X-Api-Key": "abc-written-down"}},
        {"auth": "ada:abc-written-down"},
        {"url": "http://ada:abc-written-down@127.0.0.1:1/"},
        {"url": "http://127.0.0.1:1/?api_key=abc-written-down"},
        {"url": "localhost:1/?api_key=abc-written-down"},
        {"url": "http://abc-written-down@127.0.0.1:1/"},
        {"auth": "abc-written-down"},
        {"body": {"q": "{query}", "api_key": "abc-written-down"}},
        {"body": [{"who": {"accessToken": "abc-written-down"}}]},
    ],
)
def test_a_literal_secret_is_refused_and_not_shown(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="comes from the environment") as caught:
        build_searcher("http", "service", {"url": "http://127.0.0.1:1", "ids": "$", **settings})
    assert "written-down" not in str(caught.value)


def test_a_literal_secret_is_refused_in_the_settings_of_other_searchers() -> None:
    settings = {"url": "http://127.0.0.1:1", "yql": "select", "parameters": {"token": "abc-written-down"}}
    with pytest.raises(ConfigurationError, match=r"systems\.v\.parameters\.token: a secret comes from"):
        build_searcher("vespa", "v", settings)
    body = {"query": {"term": {"api_key": "abc-written-down"}}}
    with pytest.raises(ConfigurationError, match=r"systems\.o\.body\.query\.term\.api_key"):
        build_searcher("opensearch", "o", {"url": "http://127.0.0.1:1", "index": "i", "body": body})


def test_variables_in_a_body_are_expanded_by_every_searcher() -> None:
    url, token = "http://127.0.0.1:1", {"token": "${ASSAY_TEST_KEY}"}
    parameters, body = {"query": "{query}", **token}, {"query": token, "text": "{query}"}
    vespa: Any = build_searcher("vespa", "v", {"url": url, "yql": "select", "parameters": parameters})
    search: Any = build_searcher("opensearch", "o", {"url": url, "index": "i", "body": body})
    point: Any = build_searcher(
        "qdrant", "q", {"url": url, "collection": "c", "filter": token}, encoder=searches.Words()
    )
    assert vespa._template["token"] == SECRET
    assert (search._template["query"], point._template["filter"]) == ({"token": SECRET}, {"token": SECRET})
    assert SECRET not in str([searcher.configuration() for searcher in (vespa, search, point)])


def test_a_header_that_cannot_be_sent_is_refused_by_the_name_of_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", f"{SECRET}\n")
    with pytest.raises(ConfigurationError, match="ASSAY_TEST_KEY has a line break") as caught:
        searches.http("http://127.0.0.1:1", headers={"X-Api-Key": "${ASSAY_TEST_KEY}"})
    assert SECRET not in str(caught.value)


def test_a_response_is_redacted_before_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENANT", "acme-and-sons")
    searcher: Any = searches.http("http://127.0.0.1:1", body={"q": "{query}", "tenant": "${TENANT}"})
    error = searcher._client._status_error(Response(500, HTTPMessage(), b"." * 294 + b"acme-and-sons"))
    assert "acme" not in str(error)
