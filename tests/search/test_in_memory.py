"""Searches in memory."""

import pytest

from assay.core.errors import ConfigurationError, InputError
from assay.core.tables import Documents
from assay.search.registry import build_searcher
from assay.search.searcher import Query

ENGLISH = {"d1": "The routers of this building are restarted.", "d2": "What to do with a lamp."}
GERMAN = {"d1": "Die Router werden in der Nacht neu gestartet.", "d2": "Was mit einer Lampe zu tun ist."}


def find_documents(texts: dict[str, str], query: str, **settings: str) -> list[str]:
    searcher = build_searcher("bm25", "b", settings, documents=Documents.from_data(texts))
    return [doc_id for doc_id, _ in searcher.ask(Query("q", query), 10).documents]


def test_documents_without_any_word_are_refused_by_bm25() -> None:
    documents = Documents({"doc_id": ["d1", "d2"], "text": ["", "… !"]})
    with pytest.raises(InputError, match="b: expected documents with words, found 2 without any"):
        build_searcher("bm25", "b", {}, documents=documents)


def test_bm25_matches_other_forms_of_an_english_word_and_no_stop_words() -> None:
    assert find_documents(ENGLISH, "restarting with a router") == ["d1"]
    assert find_documents(ENGLISH, "restarting with a router", language="none") == ["d2"]


def test_bm25_leaves_documents_in_another_language_as_they_are_written() -> None:
    assert find_documents(GERMAN, "in der") == ["d1"]
    assert find_documents(GERMAN, "in der", language="german") == []
    assert find_documents(GERMAN, "Lampen") == []
    assert find_documents(GERMAN, "Lampen", language="german") == ["d2"]


def test_the_language_that_bm25_chose_is_part_of_its_identity() -> None:
    searchers = [
        build_searcher("bm25", "b", settings, documents=Documents.from_data(texts))
        for texts, settings in ((ENGLISH, {}), (ENGLISH, {"language": "none"}), (GERMAN, {}))
    ]
    assert [dict(searcher.identity())["language"] for searcher in searchers] == ["english", "none", "none"]


def test_a_language_that_bm25_does_not_have_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"b\.language: expected auto, none or .*found 'klingon'"):
        find_documents(ENGLISH, "router", language="klingon")


@pytest.mark.parametrize("parameters", [{"k1": -1.0}, {"b": 1.5}, {"k1": float("nan")}])
def test_parameters_of_bm25_outside_their_range_are_refused(parameters: dict[str, float]) -> None:
    with pytest.raises(InputError, match="expected k1 of 0 or more and b from 0 to 1"):
        build_searcher("bm25", "b", parameters, documents=Documents({"doc_id": ["a"], "text": ["router"]}))
