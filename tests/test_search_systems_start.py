"""What is known of a searcher before it is asked: files, columns, and words of errors."""

import sys
from pathlib import Path
from typing import Any

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
