"""Queries without judgments and without relevant documents."""

from __future__ import annotations

from assay.core.tables import Qrels, Queries
from assay.judging.checks import INFO, WARNING, EvaluationSet
from assay.judging.checks.faults.unjudged_queries import find
from tests.judging.checks.evaluation_sets import clean_set, only


def test_a_query_without_judgments_is_named_with_its_text() -> None:
    queries = Queries({"query_id": ["q", "p"], "text": ["vpn", "wifi"]})
    finding = only(find(EvaluationSet(Qrels({"q": {"a": 1}}), queries)))
    assert (finding.kind, finding.severity) == ("queries_without_judgments", INFO)
    assert finding.examples == [{"query_id": "p", "text": "wifi"}]


def test_queries_that_were_given_without_documents_are_found_without_a_table() -> None:
    assert only(find(EvaluationSet(Qrels({"q": {"a": 1}, "p": {}})))).examples == [{"query_id": "p"}]


def test_a_query_without_relevant_documents_is_a_fact_and_many_a_warning() -> None:
    for hopeless, severity in ((1, INFO), (6, WARNING)):
        grades = {f"q{i}": {"a": 0 if i < hopeless else 1, "b": 0} for i in range(40)}
        finding = only(find(EvaluationSet(Qrels(grades))))
        assert (finding.kind, finding.severity) == ("queries_without_relevant", severity)
        assert finding.count == hopeless
        assert finding.examples[0] == {"query_id": "q0", "labels": 2}


def test_clean_data_has_judgments_for_every_query() -> None:
    assert not list(find(clean_set(8)))
