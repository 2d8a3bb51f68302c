"""Grades outside the scale, never used, or all the same."""

from __future__ import annotations

from assay.core.tables import Qrels
from assay.judging.checks import ERROR, INFO, WARNING, EvaluationSet
from assay.judging.checks.faults.grades import find
from tests.judging.checks.evaluation_sets import clean_set, kinds, only


def test_a_grade_outside_the_scale_is_an_error() -> None:
    finding = only(find(EvaluationSet(Qrels({"q": {"a": 4, "b": 0, "c": 1}}), grades=(0, 1))))
    assert (finding.kind, finding.severity, finding.count) == ("grades_outside_scale", ERROR, 1)
    assert finding.examples == [{"query_id": "q", "doc_id": "a", "grade": 4}]


def test_a_rare_grade_far_above_the_others_is_a_warning() -> None:
    grades = {f"d{i}": i % 4 for i in range(200)} | {"d200": 33}
    finding = only(find(EvaluationSet(Qrels({"q": grades}))))
    assert (finding.severity, finding.examples[0]["doc_id"]) == (WARNING, "d200")


def test_a_grade_that_nobody_gave_is_a_fact() -> None:
    finding = only(find(EvaluationSet(Qrels({"q": {"a": 0, "b": 1, "c": 3}}))))
    assert (finding.kind, finding.severity, finding.examples) == ("unused_grades", INFO, [{"grade": 2}])
    scaled = EvaluationSet(Qrels({"q": {"a": 0, "b": 1}}), grades=(0, 1, 2, 3))
    assert only(find(scaled)).count == 2


def test_a_spam_grade_below_zero_is_allowed() -> None:
    assert not list(find(EvaluationSet(Qrels({"q": {"a": -2, "b": 0, "c": 1}}))))


def test_labels_that_are_all_relevant_are_a_fact_and_none_an_error() -> None:
    assert kinds(find(EvaluationSet(Qrels({"q": {"a": 1, "b": 2}})))) == ["no_irrelevant_documents"]
    finding = only(find(EvaluationSet(Qrels({"q": {"a": 0, "b": -1}}))))
    assert (finding.kind, finding.severity) == ("no_relevant_documents", ERROR)


def test_clean_grades_have_no_finding() -> None:
    assert not list(find(clean_set(6)))
