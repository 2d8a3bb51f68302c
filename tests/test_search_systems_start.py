"""What is known of a searcher before it is asked: files, columns, and words of errors."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import ConfigurationError
from assay.search.searcher import SearchError
from assay.search.systems import made
from assay.search.systems.system import ranked
from searches import SECRET, Words


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", SECRET)


def test_a_function_whose_file_was_edited_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(text: str) -> Any:
        (tmp_path / "edited_search.py").write_text(text)
        monkeypatch.delitem(sys.modules, "edited_search", raising=False)
        given = {"function": "edited_search:search", "folder": str(tmp_path)}
        return dict(made("callable", "f", given).configuration())

    first = told("def search(text):\n    return []\n")
    assert told("def search(text):\n    return []\n") == first
    assert told("def search(text):\n    return ['a']\n") != first
    assert str(tmp_path) not in str(first)


def test_what_a_module_prints_when_it_is_loaded_is_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "talks_at_once.py").write_text("print('loading')\ndef search(text): return []\n")
    made("callable", "f", {"function": "talks_at_once:search", "folder": str(tmp_path)})
    assert capsys.readouterr() == ("", "loading\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def search(text:\n", "SyntaxError"),
        ("raise RuntimeError('no ' + __import__('os').environ['ASSAY_TEST_KEY'])\n", "RuntimeError: no \\$"),
        ("raise SystemExit('usage')\n", "SystemExit: usage"),
    ],
)
def test_a_module_that_cannot_be_loaded_is_said_to_be_so(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "broken_search.py").write_text(text)
    with pytest.raises(ConfigurationError, match=said):
        made("callable", "f", {"function": "broken_search:search", "folder": str(tmp_path)})


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("command", {"command": "find {kind} {id} {k}"}),
        ("sql", {"url": "sqlite://", "statement": "SELECT :kind, :query, '{tag}'"}),
        ("opensearch", {"url": "http://localhost:1", "index": "i", "body": {"query": ["{kind}"]}}),
        ("vespa", {"url": "http://localhost:1", "yql": "limit {k}", "parameters": {"kind": "{kind}"}}),
        ("qdrant", {"url": "http://localhost:1", "collection": "c", "filter": {"is": "{kind}"}}),
    ],
)
def test_the_columns_that_are_asked_with_are_known_before(kind: str, given: dict[str, Any]) -> None:
    assert made(kind, "mine", given, encoder=Words()).wanted() == {"kind"}


def test_an_id_that_is_none_is_cut_only_after_secrets_are_taken_out() -> None:
    with pytest.raises(SearchError) as caught:
        ranked([(["x" * 90, SECRET], None)], 10)
    assert SECRET[:4] not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("http", {"url": "http://h/s?q={query}&index=${PLACE}", "ids": "$"}),
        ("http", {"url": "${PLACE}&q={query}", "ids": "$"}),
        ("http", {"url": "http://h/s", "ids": "$", "body": {"in": [{"index": "${PLACE}"}]}}),
        ("vespa", {"url": "http://h", "yql": "select", "parameters": {"schema": "${PLACE}"}}),
        ("sql", {"url": "postgresql://h/db?options=${PLACE}", "statement": "SELECT 1"}),
    ],
)
def test_what_the_environment_makes_of_a_question_makes_another_search(
    monkeypatch: pytest.MonkeyPatch, kind: str, given: dict[str, Any]
) -> None:
    def told(place: str) -> str:
        monkeypatch.setenv("PLACE", f"http://h/s?index={place}")
        return str(made(kind, "mine", given).identity())

    assert told("one") == told("one") != told("two")
    assert "index=one" not in told("one")


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("http", {"url": "http://h", "ids": "$", "headers": {"X-Api-Key": "${ASSAY_TEST_KEY}"}}),
        ("http", {"url": "http://h", "ids": "$", "auth": "ada:${ASSAY_TEST_KEY}"}),
        ("http", {"url": "http://ada:${ASSAY_TEST_KEY}@h", "ids": "$"}),
        ("qdrant", {"url": "http://h", "collection": "c", "api_key": "${ASSAY_TEST_KEY}"}),
    ],
)
def test_a_new_key_makes_no_other_search(
    monkeypatch: pytest.MonkeyPatch, kind: str, given: dict[str, Any]
) -> None:
    before = made(kind, "mine", given, encoder=Words()).identity()
    monkeypatch.setenv("ASSAY_TEST_KEY", "another")
    assert made(kind, "mine", given, encoder=Words()).identity() == before


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:abc-written-down@h/db",
        "postgresql://h/db?password=abc-written-down",
        "${ASSAY_TEST_KEY}?sslpassword=abc-written-down",
    ],
)
def test_a_password_of_a_database_is_not_written_down(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"systems\.db\.url: a secret comes from") as caught:
        made("sql", "db", {"url": url, "statement": "SELECT 1"})
    assert "written-down" not in str(caught.value)


def test_the_address_of_a_database_may_be_all_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ada:hush@h/db?sslkey=my.key")
    searcher = made("sql", "db", {"url": "${DATABASE_URL}", "statement": "SELECT 1"})
    assert "hush" not in f"{searcher.configuration()} {searcher.identity()}"


def test_ids_of_numpy_are_ids_and_truths_are_none() -> None:
    assert ranked([(np.int64(7), None), (np.str_("a"), None)], 10) == [("7", 1.0), ("a", 0.5)]
    for odd in (True, np.True_, 1.5):
        with pytest.raises(SearchError, match="expected text or a whole number as id"):
            ranked([(odd, None)], 10)
