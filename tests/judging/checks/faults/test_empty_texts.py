"""Queries and documents without text."""

from __future__ import annotations

from assay.core.tables import Documents, Qrels, Queries
from assay.judging.checks import INFO, WARNING, EvaluationSet
from assay.judging.checks.faults.empty_texts import find
from tests.judging.checks.evaluation_sets import clean_set, only

QRELS = Qrels({"q": {"d0": 1, "d1": 0}})


def test_an_empty_document_among_many_is_a_fact_and_among_few_a_warning() -> None:
    for count, severity in ((2, WARNING), (500, INFO)):
        texts = {f"d{i}": "text" if i else " " for i in range(count)}
        finding = only(find(EvaluationSet(QRELS, documents=Documents.from_data(texts))))
        assert (finding.kind, finding.severity, finding.count) == ("empty_texts", severity, 1)
        assert finding.examples == [{"doc_id": "d0", "is_judged": True}]


def test_a_missing_text_is_empty_and_a_title_is_a_text() -> None:
    queries = Queries({"query_id": ["q", "p"], "text": ["vpn", None]})
    assert only(find(EvaluationSet(QRELS, queries))).examples == [{"query_id": "p", "is_judged": False}]
    documents = Documents({"doc_id": ["d0"], "title": ["Reset"], "text": [""]})
    assert not list(find(EvaluationSet(QRELS, documents=documents)))


def test_clean_texts_have_no_finding() -> None:
    assert not list(find(clean_set(11)))
