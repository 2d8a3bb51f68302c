"""Redaction: no secret of the environment and no login of a URL is left in a text."""

import json
from urllib.parse import quote, quote_plus

import pytest

from assay.remote.http import error_message
from assay.remote.redaction import excerpt, redact, redact_login, redact_parameters, redact_url

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
def test_a_secret_is_redacted_as_urls_and_json_write_it(form: str) -> None:
    assert redact(f"key={form}.") == "key=${ODD_PASSWORD}."


def test_a_secret_that_begins_like_another_is_redacted_whole() -> None:
    assert redact("abcdef-and-more, abcdef") == "${LONG_TOKEN}, ${SHORT_TOKEN}"


def test_other_variables_are_redacted_if_they_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TENANT", "acme")
    assert (redact("acme"), redact("acme", {"TENANT"})) == ("acme", "${TENANT}")


def test_an_error_without_a_message_is_redacted_before_it_is_cut() -> None:
    assert "abcdef" not in error_message({"x": "." * 283 + "abcdef-and-more"})


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("no ftp://me:my%20secret@host:99999", "no ftp://…@host:99999"),
        ('"http://key@a.org/x" and "http://b.org"', '"http://…@a.org/x" and "http://b.org"'),
        ("postgresql://ada:p@ss@db/assay", "postgresql://…@db/assay"),
        ("see http://a.org/x, or write to ada@a.org", "see http://a.org/x, or write to ada@a.org"),
    ],
)
def test_logins_in_urls_are_redacted(text: str, redacted: str) -> None:
    assert redact(text) == redact_login(text) == redact(redacted) == redacted


def test_the_url_of_a_store_keeps_its_user() -> None:
    assert (
        redact_url("postgresql://me:se@cret@db/x?tables=s3://b") == "postgresql://me:***@db/x?tables=s3://b"
    )
    assert redact_url("postgresql://me@db/x") == "postgresql://me@db/x"


def test_parameters_are_redacted_by_their_name_and_in_their_urls() -> None:
    parameters = {"dsn": "host=a password=hush", "url": "redis://me:hush@h", "access_token": "hush", "m": 16}
    redacted = {"dsn": "host=a password=…", "url": "redis://me@h", "access_token": "…", "m": 16}
    assert redact_parameters(parameters) == redacted
    assert redact_parameters({"token": ""}) == {"token": ""}


def test_an_excerpt_is_cut_after_it_is_redacted() -> None:
    assert excerpt("." * 95 + "abcdef-and-more") == "." * 95 + "${LON"
