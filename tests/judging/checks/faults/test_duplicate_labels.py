"""Labels and queries that appear twice, and labels that contradict."""

from __future__ import annotations

import polars as pl

from assay.core.tables import Documents, Qrels, Queries
from assay.judging.checks import INFO, WARNING, EvaluationSet
from assay.judging.checks.faults.duplicate_labels import find
from tests.judging.checks.evaluation_sets import clean_set, kinds, only

QUERIES = Queries({"query_id": ["q1", "q2"], "text": ["Reset VPN", "reset  vpn!"]})


def test_copies_of_a_query_are_found_and_their_different_grades() -> None:
    findings = list(find(EvaluationSet(Qrels({"q1": {"a": 2}, "q2": {"a": 0}}), QUERIES)))
    assert kinds(findings) == ["duplicate_queries", "contradictory_labels"]
    assert findings[0].examples == [{"query_id": ["q1", "q2"], "text": "Reset VPN"}]
    assert findings[1].severity == WARNING
    assert findings[1].examples[0]["grades"] == [2, 0]


def test_copies_of_a_document_with_different_grades_contradict() -> None:
    documents = Documents.from_data({"a": "Press it.", "b": "press it", "c": "other"})
    finding = only(find(EvaluationSet(Qrels({"q": {"a": 2, "b": 0, "c": 0}}), documents=documents)))
    assert (finding.kind, finding.count) == ("contradictory_labels", 1)
    assert finding.examples[0]["doc_id"] == ["a", "b"]


def test_copies_with_the_same_grade_are_a_fact() -> None:
    documents = Documents.from_data({"a": "Press it.", "b": "press it"})
    finding = only(find(EvaluationSet(Qrels({"q": {"a": 1, "b": 1}}), documents=documents)))
    assert (finding.kind, finding.severity) == ("duplicate_labels", INFO)


def test_repeated_rows_of_a_file_are_told_apart_by_their_grades() -> None:
    rows = pl.DataFrame({"query_id": ["q"] * 4, "doc_id": ["a", "a", "b", "b"], "grade": [1, 2, 0, 0]})
    findings = list(find(EvaluationSet(Qrels({"q": {"a": 1, "b": 0}}), repeated_rows=rows)))
    assert kinds(findings) == ["contradictory_labels", "duplicate_labels"]
    assert findings[0].examples == [{"query_id": "q", "doc_id": "a", "grades": [1, 2]}]


def test_empty_texts_are_no_copies_of_each_other() -> None:
    documents = Documents.from_data({"a": "", "b": " "})
    assert not list(find(EvaluationSet(Qrels({"q": {"a": 1, "b": 0}}), documents=documents)))


def test_clean_data_has_no_copies() -> None:
    assert not list(find(clean_set(2)))
