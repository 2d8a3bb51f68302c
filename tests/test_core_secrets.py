"""Secrets: taken from the environment as they are, and out of whatever is said in every spelling."""

import json
from urllib.parse import quote, quote_plus, urlsplit

import pytest

from assay.core.errors import ConfigurationError
from assay.core.http import message
from assay.core.secrets import expanded_in, expanded_url, hidden, refuse_unsendable, refuse_written_in

ODD = 'p@ss w/"ö#&+'


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_PASSWORD", ODD)
    monkeypatch.setenv("LONG_TOKEN", "abcdef-and-more")
    monkeypatch.setenv("SHORT_TOKEN", "abcdef")


@pytest.mark.parametrize(
    "form",
    [
        ODD,
        quote(ODD),
        quote(ODD, safe=""),
        quote_plus(ODD),
        json.dumps(ODD)[1:-1],
        json.dumps(ODD, ensure_ascii=False)[1:-1],
    ],
)
def test_a_secret_is_hidden_as_urls_and_json_write_it(form: str) -> None:
    assert hidden(f"key={form}.") == "key=${ODD_PASSWORD}."


def test_a_secret_that_begins_like_another_is_hidden_whole() -> None:
    assert hidden("abcdef-and-more, abcdef") == "${LONG_TOKEN}, ${SHORT_TOKEN}"


def test_a_name_that_speaks_of_no_secret_is_hidden_where_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENANT", "acme")
    assert (hidden("acme"), hidden("acme", {"TENANT"})) == ("acme", "${TENANT}")


def test_an_error_without_words_is_hidden_before_it_is_cut() -> None:
    assert "abcdef" not in message({"x": "." * 283 + "abcdef-and-more"})


def test_a_value_in_a_url_arrives_as_it_is() -> None:
    parts = urlsplit(
        expanded_url("url", "https://ada:${ODD_PASSWORD}@a.org/find?key=${ODD_PASSWORD}&q={query}")
    )
    assert (parts.hostname, parts.path, parts.fragment) == ("a.org", "/find", "")
    assert parts.password == quote(ODD, safe="")
    assert parts.query == f"key={quote(ODD)}&q={{query}}"


def test_an_address_of_the_environment_stays_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADDRESS", "http://a.org:9200/base?x=1#y")
    assert expanded_url("url", "${ADDRESS}") == "http://a.org:9200/base?x=1#y"


@pytest.mark.parametrize("name", ["api_key", "apiKey", "token", "x-password", "Authorization", "access_key"])
def test_a_secret_that_is_written_down_is_found_however_deep(name: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"body\.inner\.{name}: a secret comes from") as caught:
        refuse_written_in("body", "body", {"q": "{query}", "inner": [{name: ["hunter2"]}]})
    assert "hunter2" not in str(caught.value)


def test_what_is_of_the_environment_or_the_query_or_no_secret_is_not_refused() -> None:
    fine = {"token": "Bearer ${LONG_TOKEN}", "password": "{column}", "sort_key": "price", "token_type": "x"}
    refuse_written_in("body", "body", [fine, {"key": "city", "max_token": 3, "secret": None}])


def test_variables_are_put_in_tables_and_lists() -> None:
    assert expanded_in("body", {"a": ["${SHORT_TOKEN}", 3]}) == {"a": ["abcdef", 3]}


@pytest.mark.parametrize(("value", "what"), [("hunter2\n", "a line break"), ("hunter2€", "beyond Latin-1")])
def test_what_no_header_carries_is_said_by_its_name_alone(value: str, what: str) -> None:
    with pytest.raises(ConfigurationError, match=f"THE_KEY has .*{what}") as caught:
        refuse_unsendable("key_env", "THE_KEY", value)
    assert "hunter2" not in str(caught.value)
