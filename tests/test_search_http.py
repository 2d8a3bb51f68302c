"""Searching over HTTP: a real service that fails in every way, templates, pages, and secrets."""

import json
import time
from collections.abc import Iterator
from http.client import HTTPMessage
from typing import Any

import pytest

import searches
from assay.core.errors import ConfigurationError
from assay.core.http import Response
from assay.search import Query, SearchError
from assay.search.systems import made
from assay.search.systems.service import Service
from assay.search.systems.templates import Path as JsonPath
from assay.search.systems.templates import filled
from searches import SECRET, refused
from services.search_service import serving


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
        ("/moved", "status", False, "302 and sends to /ok: give that as url"),
        ("/limited?rate=0", "limited", True, "429: slow down"),
    ],
)
def test_a_service_that_fails_is_told_apart(
    service: str, path: str, kind: str, again: bool, words: str
) -> None:
    error = refused(searches.http(service, path))
    assert (error.kind, error.again) == (kind, again)
    assert words in error.said


def test_a_limit_says_how_long_to_wait_in_seconds_or_by_a_date(service: str) -> None:
    assert refused(searches.http(service, "/limited?rate=0")).after == 1
    after = refused(searches.http(service, "/limited?date=1")).after
    assert after is not None
    assert 90 < after <= 100


@pytest.mark.parametrize("path", ["/hang", "/drip?ms=20"])
def test_the_time_is_over_when_it_is_over_however_many_bytes_drip(service: str, path: str) -> None:
    begin = time.monotonic()
    error = refused(searches.http(service, path), timeout=0.3)
    assert (error.kind, error.again) == ("timeout", True)
    assert time.monotonic() - begin < 15  # the drip would take 20 s


def test_a_service_that_is_not_there_is_a_connection_that_may_come_back() -> None:
    error = refused(searches.http("http://127.0.0.1:1"))
    assert (error.kind, error.again) == ("connection", True)


def test_a_request_is_sent_once_even_when_the_connection_was_used_before(service: str) -> None:
    searcher, looking = searches.http(service, "/reset?every=2"), Service(service, None)
    looking.call("GET", "/forget", None, 5)
    searcher.ask(Query("q", "first"), 3)
    assert refused(searcher, "second").kind == "connection"
    assert looking.call("GET", "/stats", None, 5) == {"/reset": {"first": 1, "second": 1}}
    looking.close()


@pytest.mark.parametrize(
    "more",
    [
        {"url": "/pages?size=2&q={query}&page={page}", "body": None},
        {"url": "/pages", "body": {"q": "{query}", "size": 3, "offset": "{offset}"}},
        {"url": "/pages?size=2&q={query}", "body": None, "next_page": "$.next"},
    ],
)
def test_pages_are_asked_for_until_there_are_k(service: str, more: dict[str, Any]) -> None:
    given = {"ids": "$.hits[*].id", "scores": "$.hits[*].score"}
    given |= {k: v for k, v in more.items() if v is not None} | {"url": service + more["url"]}
    searcher, whole = made("http", "pages", given), searches.http(service)
    for k in (1, 2, 3, 4, 100):
        asked = Query("q", "reset the router & password")
        assert searcher.ask(asked, k) == whole.ask(asked, k)
    searcher.close()
    whole.close()


def test_a_next_page_on_another_server_is_not_asked(service: str) -> None:
    from assay.search.systems.http import Http

    searcher = Http("x", url=f"{service}/ok", ids="$.hits[*].id", next_page="$.next")
    with pytest.raises(SearchError, match="on another server: elsewhere"):
        searcher._following({"next": "http://elsewhere/ok"})


def test_the_wrong_path_says_what_is_there(service: str) -> None:
    error = refused(searches.http(service, ids="$.results[*].id"))
    assert error.said == "at $: expected the key 'results', found the keys hits, total"


def test_columns_of_a_query_are_put_in_the_body_with_their_type() -> None:
    template = {"filter": {"lang": "{language}", "year": "{year}"}, "text": ["{query} in {language}"]}
    assert filled(template, {"query": "how", "language": "de", "year": 1990}) == {
        "filter": {"lang": "de", "year": 1990},
        "text": ["how in de"],
    }


def test_a_column_that_is_not_there_fails_the_query(service: str) -> None:
    error = refused(searches.http(service, body={"q": "{topic}"}))
    assert error.said == "the query has nothing for {topic}; it has query, k, id, page, offset"


@pytest.mark.parametrize("path", ["hits", "$.a[", "$..a", "$.a[?(@.x)]", "$.a[1:2]", ""])
def test_a_path_beyond_the_subset_is_refused(path: str) -> None:
    with pytest.raises(ConfigurationError, match=r"expected a path such as \$\.hits"):
        JsonPath(path)


def test_a_path_goes_into_lists_and_lists_of_lists() -> None:
    body = {"groups": [{"docs": [{"id": 1}, {"id": 2}]}, {"docs": [{"id": 3}]}]}
    assert JsonPath("$.groups[*].docs[*].id").all(body) == [1, 2, 3]
    assert JsonPath("$.groups[1].docs[0].id").all(body) == [3]


# secrets


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


def test_a_service_that_repeats_a_secret_does_not_have_it_repeated(service: str) -> None:
    error = refused(searches.http(service, "/secret", headers={"Authorization": "Bearer ${ASSAY_TEST_KEY}"}))
    assert "'Bearer ${ASSAY_TEST_KEY}' is not allowed" in error.said


def test_nor_is_a_password_in_another_spelling(service: str) -> None:
    error = refused(searches.http(service, "/secret", auth="ada:${ASSAY_TEST_KEY}"))
    assert "'Basic …' is not allowed" in error.said


def test_a_secret_in_a_url_arrives_with_all_its_signs(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", "a#b&c+d %41")
    searcher = searches.http(
        service, "/secret?expect=${ASSAY_TEST_KEY}", headers={"Authorization": "${ASSAY_TEST_KEY}"}
    )
    assert searcher.ask(Query("q", "router"), 5).documents
    searcher.close()


@pytest.mark.parametrize(("status", "kind", "dots"), [(500, "text/plain", 294), (200, "text/html", 55)])
def test_words_are_cut_only_after_secrets_are_taken_out(status: int, kind: str, dots: int) -> None:
    told = HTTPMessage()
    told["Content-Type"] = kind
    answer = Response(status, told, ("." * dots + SECRET).encode())
    service = Service("http://127.0.0.1:1", None)
    with pytest.raises(SearchError) as caught:
        raise service._failure(answer) if status == 500 else service._read(answer)
    assert "s3cr" not in str(caught.value)


def test_a_variable_that_is_missing_is_named(service: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"systems\.service\.headers\.api-key: the environment has no NO_SUCH_KEY"
    ):
        searches.http(service, headers={"api-key": "${NO_SUCH_KEY}"})


def test_a_url_that_is_none_does_not_show_what_the_environment_has() -> None:
    with pytest.raises(ConfigurationError, match=r"found 'localhost:1/\?key=\$\{ASSAY_TEST_KEY\}'"):
        made("http", "x", {"url": "localhost:1/?key=${ASSAY_TEST_KEY}", "ids": "$"})


@pytest.mark.parametrize(
    "given",
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
def test_a_secret_that_is_written_down_is_refused_and_not_repeated(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="comes from the environment") as caught:
        made("http", "service", {"url": "http://127.0.0.1:1", "ids": "$", **given})
    assert "written-down" not in str(caught.value)


def test_a_secret_that_is_written_down_is_refused_in_the_words_of_other_engines() -> None:
    given = {"url": "http://127.0.0.1:1", "yql": "select", "parameters": {"token": "abc-written-down"}}
    with pytest.raises(ConfigurationError, match=r"systems\.v\.parameters\.token: a secret comes from"):
        made("vespa", "v", given)
    body = {"query": {"term": {"api_key": "abc-written-down"}}}
    with pytest.raises(ConfigurationError, match=r"systems\.o\.body\.query\.term\.api_key"):
        made("opensearch", "o", {"url": "http://127.0.0.1:1", "index": "i", "body": body})


def test_what_is_sent_in_a_body_comes_from_the_environment_with_every_engine() -> None:
    url, token = "http://127.0.0.1:1", {"token": "${ASSAY_TEST_KEY}"}
    vespa: Any = made("vespa", "v", {"url": url, "yql": "select", "parameters": token})
    search: Any = made("opensearch", "o", {"url": url, "index": "i", "body": {"query": token}})
    point: Any = made(
        "qdrant", "q", {"url": url, "collection": "c", "filter": token}, encoder=searches.Words()
    )
    assert vespa._template["token"] == SECRET
    assert (search._template["query"], point._template["filter"]) == ({"token": SECRET}, {"token": SECRET})
    assert SECRET not in str([one.configuration() for one in (vespa, search, point)])


def test_a_header_that_cannot_be_sent_is_refused_by_the_name_of_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", f"{SECRET}\n")
    with pytest.raises(ConfigurationError, match="ASSAY_TEST_KEY has a line break") as caught:
        searches.http("http://127.0.0.1:1", headers={"X-Api-Key": "${ASSAY_TEST_KEY}"})
    assert SECRET not in str(caught.value)


def test_what_a_body_repeats_is_hidden_before_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENANT", "acme-and-sons")
    searcher: Any = searches.http("http://127.0.0.1:1", body={"tenant": "${TENANT}"})
    error = searcher._service._failure(Response(500, HTTPMessage(), b"." * 294 + b"acme-and-sons"))
    assert "acme" not in str(error)
