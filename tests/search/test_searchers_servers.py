"""Searches in servers over HTTP and in milvus-lite: faults, keys and ids."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import ConfigurationError
from assay.remote.http import HttpClient
from assay.search import Query, Searcher
from assay.search.registry import (
    build_searcher,
)
from tests.contracts.adapters import all_closed
from tests.contracts.doubles import Double, open_double
from tests.search import searches
from tests.search.searches import SECRET, Words, failure_of

DOUBLES = ("qdrant", "opensearch", "elasticsearch", "weaviate", "vespa")

QUERY = {"query": "{query}"}


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", SECRET)


@pytest.fixture(params=DOUBLES)
def double(request: pytest.FixtureRequest) -> Iterator[Double]:
    with open_double(request.param) as closing_double, all_closed():
        yield closing_double


def searcher_of_double(double: Double, folder: Path) -> Searcher:
    kind = double.contract.facts["engine"].lower()
    made_: Searcher = getattr(searches, kind)(double, folder)
    return made_


def test_the_double_accepts_every_request(double: Double, tmp_path: Path) -> None:
    searcher = searcher_of_double(double, tmp_path)
    searcher.ask(Query("q", "reset"), 3)
    searcher.close()
    assert double.refused == []
    assert len(double.exchanges_named("search")) >= 1


@pytest.mark.parametrize(
    ("fault", "kind", "again"),
    [
        ("404", "status", False),
        ("503", "status", True),
        ("break", "connection", True),
        ("hang", "timeout", True),
    ],
)
def test_each_fault_of_a_server_has_its_kind(
    double: Double, tmp_path: Path, fault: str, kind: str, again: bool
) -> None:
    searcher = searcher_of_double(double, tmp_path)
    double.faults = {"search": fault}
    error = failure_of(searcher, timeout=0.5 if fault == "hang" else 30)
    assert (error.kind, error.is_transient) == (kind, again)


def test_a_key_of_qdrant_is_sent_and_not_shown(tmp_path: Path) -> None:
    with open_double("qdrant", key=SECRET) as double:
        settings = {"url": double.url, "collection": "x", "api_key": "${ASSAY_TEST_KEY}"}
        error = failure_of(build_searcher("qdrant", "q", settings, encoder=Words()))
        assert error.reason.startswith(
            f"{double.url} answered 404"
        )  # the key is accepted, but there is no such collection


@pytest.mark.parametrize(
    ("kind", "answer", "error", "again", "words"),
    [
        ("opensearch", {"hits": {"hits": []}, "timed_out": True}, "failed", True, "only a part"),
        ("opensearch", {"hits": {"hits": []}, "_shards": {"failed": 1}}, "failed", True, "only a part"),
        ("opensearch", {"took": 1}, "malformed", False, "without hits"),
        ("weaviate", {"errors": [{"message": "no such class"}]}, "failed", False, "no such class"),
        ("vespa", {"root": {"errors": [{"message": "bad yql"}]}}, "failed", False, "bad yql"),
        ("vespa", {"root": {"coverage": {"full": False}}}, "failed", True, "only a part"),
        ("vespa", [], "malformed", False, "without a root"),
        ("qdrant", {"result": {}}, "malformed", False, "expected the key 'points'"),
    ],
)
def test_an_unusable_successful_response_has_its_kind(
    kind: str, answer: Any, error: str, again: bool, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HttpClient, "call", lambda *arguments, **options: answer)
    own: dict[str, dict[str, Any]] = {
        "opensearch": {"index": "x"},
        "vespa": {"yql": "userQuery()", "parameters": QUERY},
    }
    settings = {"url": "http://127.0.0.1:1", **own.get(kind, {"collection": "X"})}
    documents = failure_of(build_searcher(kind, "x", settings, encoder=Words()))
    assert (documents.kind, documents.is_transient) == (error, again)
    assert words in documents.reason


def test_an_id_field_of_opensearch_is_requested() -> None:
    settings = {"url": "http://127.0.0.1:1", "index": "x", "document": "_source.sku"}
    body = build_searcher("opensearch", "x", settings).configuration()["body"]
    assert body == {"size": "{k}", "_source": ["sku"], "query": {"multi_match": {"query": "{query}"}}}


def test_the_last_part_of_an_id_of_vespa_is_the_id(monkeypatch: pytest.MonkeyPatch) -> None:
    hits = [{"id": "id:shop:item::a::7", "relevance": 0.5}, {"id": "index:0/1", "relevance": 0.25}]
    monkeypatch.setattr(HttpClient, "call", lambda *arguments, **options: {"root": {"children": hits}})
    settings = {"url": "http://127.0.0.1:1", "yql": "userQuery()", "parameters": QUERY}
    documents = build_searcher("vespa", "x", settings).ask(Query("q", "how"), 5).documents
    assert documents == [("a::7", 0.5), ("index:0/1", 0.25)]


def test_the_text_of_a_query_is_refused_in_the_yql_of_vespa() -> None:
    settings = {"url": "http://127.0.0.1:1", "yql": 'select * from docs where text contains "{query}"'}
    with pytest.raises(ConfigurationError, match=r"expected no \{placeholder\} but \{k\}"):
        build_searcher("vespa", "v", settings)


def test_a_missing_collection_fails(tmp_path: Path) -> None:
    searches.milvus(tmp_path).close()
    settings = {"uri": str(tmp_path / "docs.db"), "collection": "nowhere"}
    error = failure_of(build_searcher("milvus", "m", settings, encoder=Words()))
    assert (error.kind, error.is_transient) == ("failed", False)
    assert "nowhere" in error.reason
