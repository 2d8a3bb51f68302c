"""Searches by a Python function."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import ConfigurationError
from assay.search import Query
from assay.search.registry import build_searcher
from assay.search.searchers.callable import FunctionSearcher
from tests.search import searches
from tests.search.searches import SECRET, failure_of


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", SECRET)


def test_a_function_may_take_the_query_and_return_several_types(tmp_path: Path) -> None:
    (tmp_path / "forms.py").write_text(
        "from assay.search import Query\n"
        "def ids(text): return [text, 2]\n"
        "def of_query(query: Query, k): return [{'id': query.columns['lang'], 'score': k}]\n"
    )
    query = Query("q", "how", {"lang": "de"})
    answers = [
        build_searcher("callable", "f", {"function": f"forms:{name}", "folder": str(tmp_path)})
        .ask(query, 4)
        .documents
        for name in ("ids", "of_query")
    ]
    assert answers == [[("how", 1.0), ("2", 0.5)], [("de", 4.0)]]


@pytest.mark.parametrize(
    ("text", "kind", "again"),
    [("timeout", "timeout", True), ("connection", "connection", True), ("x", "failed", False)],
)
def test_each_exception_of_a_function_has_its_kind(tmp_path: Path, text: str, kind: str, again: bool) -> None:
    searches.function(tmp_path)
    error = failure_of(
        build_searcher("callable", "f", {"function": "own_search:fails", "folder": str(tmp_path)}), text
    )
    assert (error.kind, error.is_transient) == (kind, again)
    assert f"no {text}" in error.reason


@pytest.mark.parametrize(
    "function",
    [
        lambda text, k: [k],
        lambda text, count: [count],
        lambda text, number, /, other=1: [number],
        lambda text, *more: [more[0]],
        lambda text, *, top_k: [top_k],
        lambda text, *, top_k=10: [top_k],
        lambda text, top_k=10: [top_k],
        lambda text, other=1, limit=10: [limit],
    ],
)
def test_a_function_gets_k_by_the_parameter_that_takes_it(function: Callable[..., Any]) -> None:
    searcher = FunctionSearcher("f", function=function)
    assert searcher.ask(Query("q", "how"), 4).documents == [("4", 1.0)]


def test_a_function_with_another_required_parameter_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"found that it needs index too; give a default"):
        FunctionSearcher("f", function=lambda text, k, *, index: [])


def test_an_exception_of_a_function_is_reported_with_its_file_and_line(tmp_path: Path) -> None:
    text = "def search(text):\n    return look_up(text)\n\ndef look_up(text):\n    raise KeyError(text)\n"
    (tmp_path / "raising_search.py").write_text(text)
    settings = {"function": "raising_search:search", "folder": str(tmp_path)}
    error = failure_of(build_searcher("callable", "f", settings), "how")
    assert error.reason == f"{tmp_path}/raising_search.py:5: KeyError: 'how'"


def test_a_missing_function_is_named() -> None:
    with pytest.raises(
        ConfigurationError, match=r"systems\.f\.function: expected module:function, found 'os:no'"
    ):
        build_searcher("callable", "f", {"function": "os:no"})
    with pytest.raises(ConfigurationError, match=r"expected a function of \(text\)"):
        build_searcher("callable", "f", {"function": "os:name"})


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ("d1", "expected a list of documents, found 'd1'"),
        ([None], "as id, found 'None'"),
        ([("a", float("nan"))], "expected a number as the score of 'a', found 'nan'"),
        ([("a", 1), ("b", 3), ("c", 2)], "neither fall nor rise from first to last: 1 before 3"),
        ([{"doc": "a"}], "expected an id, found a document with doc"),
    ],
)
def test_a_return_value_without_documents_is_malformed(returned: Any, words: str) -> None:
    def search(text: str) -> Any:
        return returned

    error = failure_of(FunctionSearcher("f", function=search))
    assert (error.kind, error.is_transient) == ("malformed", False)
    assert words in error.reason


def test_an_edited_file_changes_the_identity_of_a_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest_of_text(text: str) -> Any:
        (tmp_path / "edited_search.py").write_text(text)
        monkeypatch.delitem(sys.modules, "edited_search", raising=False)
        settings = {"function": "edited_search:search", "folder": str(tmp_path)}
        return dict(build_searcher("callable", "f", settings).configuration())

    first = digest_of_text("def search(text):\n    return []\n")
    assert digest_of_text("def search(text):\n    return []\n") == first
    assert digest_of_text("def search(text):\n    return ['a']\n") != first
    assert str(tmp_path) not in str(first)


def test_the_output_of_an_import_goes_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "talks_at_once.py").write_text("print('loading')\ndef search(text): return []\n")
    build_searcher("callable", "f", {"function": "talks_at_once:search", "folder": str(tmp_path)})
    assert capsys.readouterr() == ("", "loading\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def search(text:\n", "SyntaxError"),
        (
            "raise RuntimeError('no ' + __import__('os').environ['ASSAY_TEST_KEY'])\n",
            r"broken_search.py:1: RuntimeError: no \$",
        ),
        ("raise SystemExit('usage')\n", "broken_search.py:1: SystemExit: usage"),
    ],
)
def test_a_module_that_cannot_be_imported_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "broken_search.py").write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        build_searcher("callable", "f", {"function": "broken_search:search", "folder": str(tmp_path)})
