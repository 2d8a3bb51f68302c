"""Every cause in a case in which it fires, and in a near one in which it does not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import Failures, failures
from assay.evaluation.causes import CAUSES, DuplicateSign, Evidence
from assay.evaluation.chunks import parents_from_ids
from assay.evaluation.corpus import Corpus, normalize_text
from assay.evaluation.failure_cases import FailureScope
from assay.evaluation.vocabulary import exact_terms, fold_word
from assay.measures import parse
from assay.views.causes import CAUSE_TEXTS, describe_evidence, describe_fix

FILL = [f"f{i}" for i in range(9)]  # nine irrelevant documents at the top, all judged
JUDGED = dict.fromkeys(FILL, 0)


def evidence_of(
    qrels: dict[str, int], run: list[str], text: str | None = None, **options: Any
) -> list[Evidence]:
    """The evidence of a query q that fails; the others judge documents and pass."""
    texts = {"query_id": ["q", "ok"], "text": [text, "other"]} if text else None
    judged = {"q": JUDGED | qrels, "ok": {"f0": 1}}
    result = failures(judged, {"q": run, "ok": ["f0"]}, queries=texts, **{"measure": "R@9"} | options)
    return next((f.evidence for f in result.failing if f.query_id == "q"), [])


def describe(evidence: Evidence, measure: str = "R@9") -> str:
    """The sentence of evidence by this measure."""
    parsed = parse(measure)
    return describe_evidence(
        evidence, FailureScope(parsed, 0.5, 1, parsed.depth or 10, 100, Corpus(None, list))
    )


def causes(*args: Any, **options: Any) -> list[str]:
    return [evidence.cause for evidence in evidence_of(*args, **options)]


def documents(**texts: str) -> dict[str, str]:
    return {doc: f"filler {doc}" for doc in FILL} | texts


def test_a_document_that_is_not_there_cannot_be_found() -> None:
    (result,) = evidence_of({"a": 1}, FILL, documents=documents())
    assert (result.cause, result.documents, result.explained_documents) == ("not in the corpus", ("a",), 1)
    assert "a" in describe(result)
    assert causes({"a": 1}, FILL, documents=documents(a="there")) == ["not retrieved"]
    assert causes({"a": 1}, FILL) == ["not retrieved"]


def test_a_document_just_below_the_top_is_a_near_miss() -> None:
    (result,) = evidence_of({"a": 1}, [*FILL, "a"])
    assert result.cause == "near miss"
    assert "a (rank 10); in the best order R@9 would be 1.0000" in describe(result)
    assert causes({"a": 1}, [*FILL, "x", "a"], depth=11) == ["near miss"]
    assert causes({"a": 1}, [*FILL, "x", "a"], depth=10) == ["not retrieved"]


def test_unjudged_documents_at_the_top_may_be_what_is_missing() -> None:
    strange = [f"x{i}" for i in range(9)]
    queries = {f"ok{i}": {"f0": 1, "f1": 0} for i in range(3)}
    qrels, run = {"q": {"a": 1, "f0": 0}, **queries}, {query: ["f0", "f1"] for query in queries}
    result = failures(qrels, {**run, "q": strange}, "R@9").failing[0].evidence
    assert [evidence.cause for evidence in result] == ["unjudged at the top", "not retrieved"]
    assert result[0].documents == tuple(strange)
    assert "9 of the top 9 were never judged: x0, x1, x2 and 6 more" in describe(result[0])


def test_half_unjudged_is_said_but_explains_nothing() -> None:
    result = evidence_of({"a": 1}, [*FILL[:4], "x1", "x2", "x3", "x4", "x5"])
    assert [(e.cause, e.explained_documents) for e in result] == [
        ("not retrieved", 1),
        ("unjudged at the top", 0),
    ]
    assert causes({"a": 1}, [*FILL[:5], "x1", "x2", "x3", "x4"]) == ["not retrieved"]


def test_unjudged_tells_nothing_where_all_is_unjudged_or_only_the_relevant_are_listed() -> None:
    for qrels in ({"q": {"a": 1}, "p": {"b": 1}}, {"q": {"a": 1, "z": 0}, "p": {"b": 1, "z": 0}}):
        result = failures(qrels, {"q": ["x", "y"], "p": ["b", "x", "y", "v", "w", "u"]}, "R@9")
        assert result.failing[0].cause == "not retrieved"
        assert "unjudged at the top" in [unknown.causes for unknown in result.undetectable]


def test_a_term_that_only_the_missing_document_has_was_missed() -> None:
    corpus = documents(a="Error E-4012 means a full disk")
    (result,) = evidence_of({"a": 1}, FILL, "what does e-4012 mean, with a full disk?", documents=corpus)
    assert result.cause == "exact term missed"
    assert describe(result) == "a has “e-4012”, which none of the top 9 has"
    everywhere = dict.fromkeys(FILL, "e-4012 disk full") | {"a": corpus["a"]}
    assert causes({"a": 1}, FILL, "e-4012 full disk", documents=everywhere) == ["not retrieved"]
    other = documents(a="Error E-40125 means a full disk")
    assert causes({"a": 1}, FILL, "e-4012 error full disk", documents=other) == ["not retrieved"]


def test_other_words_are_a_vocabulary_gap() -> None:
    corpus = documents(a="Limit the bandwidth of uploads")
    (result,) = evidence_of({"a": 1}, FILL, "throttle my uploading at the office", documents=corpus)
    assert result.cause == "vocabulary gap"
    assert describe(result) == "a has 1 of the query's 3 words (uploading), not throttle, office"
    assert causes({"a": 1}, FILL, "limits for uploading", documents=corpus) == ["not retrieved"]
    assert causes({"a": 1}, FILL, "how do i", documents=corpus) == ["not retrieved"]


def test_in_a_long_query_the_found_must_use_more_of_the_words() -> None:
    text = "apples pears plums cherries grapes figs dates melons limes"
    for shared, cause in (("pears plums", "vocabulary gap"), ("", "not retrieved")):
        corpus = {doc: f"{doc} {shared}" for doc in FILL} | {"a": "about fruit"}
        assert causes({"a": 1}, FILL, text, documents=corpus) == [cause]


def test_a_sibling_chunk_stands_in_for_the_right_one() -> None:
    run = ["guide#1", *FILL[:8]]
    (result,) = evidence_of({"guide#2": 1, "guide#1": 0}, run)
    assert result.cause == "sibling chunk"
    assert "guide#2, instead guide#1 (rank 1)" in describe(result)
    assert causes({"guide#2": 1}, ["manual#1", *FILL[:8]]) == ["not retrieved"]
    assert causes({"d-2": 1, "d-1": 0}, ["d-1", *FILL[:8]]) == ["not retrieved"]


def test_the_parent_of_a_chunk_is_told_by_a_column() -> None:
    ids = [*FILL, "a", "b"]
    corpus = {"doc_id": ids, "text": ids, "parent_id": [*FILL, "m", "m"]}
    assert causes({"a": 1, "b": 0}, ["b", *FILL[:8]], documents=corpus) == ["sibling chunk"]
    corpus["parent_id"] = ["m"] * len(ids)  # all of one parent: that says nothing
    assert causes({"a": 1, "b": 0}, ["b", *FILL[:8]], documents=corpus) == ["not retrieved"]


def test_numbered_documents_are_no_chunks_unless_few_share_a_parent() -> None:
    assert parents_from_ids([f"d-{i:03}" for i in range(200)]) == {}
    assert parents_from_ids([f"{kind}-{i}" for kind in ("faq", "howto", "error") for i in range(1, 70)]) == {}
    assert parents_from_ids([f"12-{i}" for i in range(9)] + [f"doc{i}" for i in range(9)]) == {}
    assert parents_from_ids(["new-6-2", "new-6-3", *(f"page {i}" for i in range(99))]) == {}
    many = [f"{name}-{i}" for name in map(str.lower, map(chr, range(65, 91))) for i in (1, 2, 3)]
    assert parents_from_ids(many)["c-2"] == "c"


@pytest.mark.parametrize(
    "form", ["manual#{}", "manual_chunk_{}", "manual::{}", "manual_p{}", "manual-part-{}", "manual/page{}"]
)
def test_marked_chunks_are_told_by_their_ids(form: str) -> None:
    first, second = form.format(1), form.format(2)
    assert parents_from_ids([first, second, "faq", "plans"]) == {first: "manual", second: "manual"}


@pytest.mark.parametrize("form", ["manual-{}", "manual:{}", "manual/{}", "manual_{}"])
def test_plain_numbers_count_from_one_among_many_documents(form: str) -> None:
    others = [f"page {name}" for name in range(99)]
    assert len(parents_from_ids([form.format(1), form.format(2), *others])) == 2
    assert parents_from_ids([form.format(2), form.format(4), *others]) == {}


def test_the_same_text_judged_in_two_ways_is_a_contradiction() -> None:
    corpus = documents(a="Reset it.", b="reset  IT.")
    (result,) = evidence_of({"a": 2, "b": 0}, FILL, documents=corpus)
    assert result.cause == "contradictory judgments"
    assert describe(result) == "a (grade 2) reads the same as b (grade 0)"
    assert causes({"a": 2, "b": 1}, FILL, documents=corpus) == ["not retrieved"]
    assert causes({"a": 2, "b": 0}, FILL, documents=documents(a="", b="")) == ["not retrieved"]


def test_a_duplicate_at_the_top_that_nobody_judged_is_a_contradiction() -> None:
    run, corpus = ["b", *FILL[:8]], documents(a="Reset it.", b="reset it.")
    (result,) = evidence_of({"a": 1}, run, documents=corpus)
    assert describe(result) == "a (grade 1) reads the same as b (rank 1, not judged)"
    assert causes({"a": 1}, [*FILL, "b"], documents=corpus) == ["not retrieved"]


def test_two_queries_that_read_the_same_must_agree() -> None:
    qrels = {"q": {"a": 1, "x": 0}, "twin": {"a": 0, "x": 1}}
    queries = {"query_id": ["q", "twin"], "text": ["Reset it", "reset  it"]}
    result = failures(qrels, {"q": ["x"], "twin": ["x"]}, queries=queries)
    assert result.failing[0].cause == "contradictory judgments"
    assert "a has grade 1 here and 0 in twin" in describe(result.failing[0].evidence[0], "R@10")
    queries["text"][1] = "reset them"
    assert failures(qrels, {"q": ["x"], "twin": ["x"]}, queries=queries).failing[0].cause == "not retrieved"


def test_what_exact_search_has_at_the_top_was_lost_by_the_index() -> None:
    (result,) = evidence_of({"a": 1}, [*FILL, "a"], exact={"q": ["a", *FILL]})
    assert (result.cause, describe(result)) == ("ANN loss", "exact search has in its top 9: a (rank 1)")
    assert causes({"a": 1}, [*FILL, "a"], exact={"q": [*FILL, "a"]}) == ["near miss"]


def test_a_query_without_any_document_has_nothing_returned() -> None:
    result = failures({"q": {"a": 1, "b": 1}, "ok": {"a": 1}}, {"ok": ["a"]})
    (evidence,) = result.failing[0].evidence
    assert (evidence.cause, evidence.documents) == ("nothing returned", ("a", "b"))


def test_more_relevant_documents_than_places_cannot_be_reached() -> None:
    many = {f"r{i}": 1 for i in range(40)}
    qrels, run = {"q": many}, {"q": list(many)}
    evidence = failures(qrels, run).failing[0].evidence
    assert [e.cause for e in evidence] == ["unreachable", "near miss"]
    assert (
        describe(evidence[0], "R@10")
        == "with 40 relevant documents the best possible ranking has R@10 0.2500"
    )
    assert failures(qrels, run, "RCap@10").failing == []
    assert failures(qrels, run, below=0.25).failing == []


def test_fewer_relevant_documents_than_precision_asks_for_cannot_be_reached() -> None:
    (evidence,) = failures({"q": {"a": 1}}, {"q": ["a"]}, "P@10").failing[0].evidence
    assert evidence.cause == "unreachable"
    assert failures({"q": {"a": 1}}, {"q": ["a"]}, "P@2").failing == []


def test_a_query_without_relevant_documents_says_so() -> None:
    result = failures({"q": {"a": 0}, "ok": {"a": 1}}, {"q": ["a"], "ok": ["a"]})
    (evidence,) = result.failing[0].evidence
    assert (evidence.cause, evidence.explained_documents) == ("no relevant document", 0)


def test_relevant_documents_low_in_the_top_are_in_the_wrong_order() -> None:
    (evidence,) = failures({"q": {"a": 1}}, {"q": ["x", "y", "z", "a"]}, "RR@10").failing[0].evidence
    assert evidence.cause == "wrong order"
    assert describe(evidence, "RR@10") == "relevant at rank 4; in the best order RR@10 would be 1.0000"
    assert failures({"q": {"a": 1}}, {"q": ["x", "y", "z", "a"]}, "RR@3").failing[0].cause == "near miss"


def test_a_lower_threshold_of_relevance_counts() -> None:
    result = failures({"q": {"a": 1, "b": 2}}, {"q": ["a", "x", "b"]}, "R(rel=2)@1")
    assert result.failing[0].missing == ["b"]


def test_each_cause_says_what_it_means_and_what_to_do() -> None:
    scope = failures({"q": {"a": 1}}, {"q": ["a"]}).scope
    assert CAUSE_TEXTS.keys() == CAUSES.keys()
    for key, cause in CAUSES.items():
        assert CAUSE_TEXTS[key].means
        assert len(describe_fix(key, scope)) <= 80
        assert (cause.detect_in_query is None) != (cause.detect_in_document is None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("HTTP 502 on upload", ["http", "502"]),
        ("bandwidth schedule in 6.3?", ["6.3"]),
        ("upgrade to v2.3.1.", ["2.3.1"]),
        ("exclude *.bak and .dmg files", [".bak", ".dmg"]),
        ("SKU123 or max_user_watches in fooBar", ["sku123", "max_user_watches", "foobar"]),
        ("run TidekeepSetup.exe", ["tidekeepsetup.exe"]),
        ('"two factor" login', ["two factor"]),
        ("turn off 2 of my 10 e.g. two-factor logins, the 2nd", []),
        ("I SHOUT AT YOU", []),
        ("all our PCs AND macs", ["pc"]),
    ],
)
def test_terms_are_what_must_match_to_the_letter(text: str, found: list[str]) -> None:
    assert exact_terms(text) == found


def test_forms_of_a_word_are_the_same_and_other_words_are_not() -> None:
    for one_form, other in (
        ("file", "files"),
        ("sync", "syncing"),
        ("company", "companies"),
        ("stop", "stopped"),
    ):
        assert fold_word(one_form) == fold_word(other)
    assert len({fold_word(word) for word in ("sing", "sin", "660", "6600", "bus", "business")}) == 6


def test_failures_is_one_of_the_front_door() -> None:
    assert isinstance(failures({"q": {"a": 1}}, {"q": ["a"]}), Failures)


@given(st.lists(st.integers(-1, 2), min_size=1, max_size=8), st.permutations(range(10)), st.data())
def test_documents_that_read_the_same_are_those_that_all_pairs_show(
    grades: list[int], top: list[int], data: st.DataObject
) -> None:
    texts = data.draw(
        st.lists(st.sampled_from(["", "Reset it", "reset  it", "other"]), min_size=10, max_size=10)
    )
    qrels = {"a": 1} | {f"d{n}": grade for n, grade in enumerate(grades)}
    run = [f"d{n}" for n in top]
    corpus = {"a": data.draw(st.sampled_from(["", "reset it"]))} | {f"d{n}": t for n, t in enumerate(texts)}
    result = failures({"q": qrels}, {"q": run}, "R@3", 1.0, documents=corpus)
    signs = [sign for failure in result.failing for e in failure.evidence for sign in e.signs]
    expected: dict[str, str] = {}
    for doc in (doc for doc, grade in qrels.items() if grade > 0 and doc not in run[:3]):
        for other in dict.fromkeys([*run[:3], *qrels]):
            is_candidate = qrels.get(other, -1) < 1 and (qrels.get(other, -1) >= 0 or other in run[:3])
            text = normalize_text(corpus[doc])
            if is_candidate and doc != other and text and text == normalize_text(corpus[other]):
                expected.setdefault(doc, other)
    assert {s.document: s.other for s in signs if isinstance(s, DuplicateSign)} == expected
