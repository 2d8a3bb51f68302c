"""Secrets in settings: expanded from the environment, and refused if they are literal."""

from urllib.parse import quote, urlsplit

import pytest

from assay.core.errors import ConfigurationError
from assay.remote.secrets import expand_nested, expand_url, refuse_invalid_header, refuse_literal_secrets

ODD = 'p@ss w/"ö#&+'


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_PASSWORD", ODD)
    monkeypatch.setenv("LONG_TOKEN", "abcdef-and-more")
    monkeypatch.setenv("SHORT_TOKEN", "abcdef")


def test_a_value_in_a_url_arrives_as_it_is() -> None:
    parts = urlsplit(
        expand_url("url", "https://ada:${ODD_PASSWORD}@a.org/find?key=${ODD_PASSWORD}&q={query}")
    )
    assert (parts.hostname, parts.path, parts.fragment) == ("a.org", "/find", "")
    assert parts.password == quote(ODD, safe="")
    assert parts.query == f"key={quote(ODD)}&q={{query}}"


def test_an_address_from_the_environment_is_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADDRESS", "http://a.org:9200/base?x=1#y")
    assert expand_url("url", "${ADDRESS}") == "http://a.org:9200/base?x=1#y"


@pytest.mark.parametrize("name", ["api_key", "apiKey", "token", "x-password", "Authorization", "access_key"])
def test_a_literal_secret_is_found_at_any_depth(name: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"body\.inner\.{name}: a secret comes from") as caught:
        refuse_literal_secrets("body", "body", {"q": "{query}", "inner": [{name: ["hunter2"]}]})
    assert "hunter2" not in str(caught.value)


def test_variables_placeholders_and_other_fields_are_not_refused() -> None:
    fine = {"token": "Bearer ${LONG_TOKEN}", "password": "{column}", "sort_key": "price", "token_type": "x"}
    refuse_literal_secrets("body", "body", [fine, {"key": "city", "max_token": 3, "secret": None}])


def test_variables_are_put_in_tables_and_lists() -> None:
    assert expand_nested("body", {"a": ["${SHORT_TOKEN}", 3]}) == {"a": ["abcdef", 3]}


@pytest.mark.parametrize(("value", "what"), [("hunter2\n", "a line break"), ("hunter2€", "outside Latin-1")])
def test_an_invalid_header_is_reported_by_the_name_of_its_source(value: str, what: str) -> None:
    with pytest.raises(ConfigurationError, match=f"THE_KEY has .*{what}") as caught:
        refuse_invalid_header("key_env", "THE_KEY", value)
    assert "hunter2" not in str(caught.value)
