"""Judgments against the qrels that were made of them."""

from __future__ import annotations

from assay.core.judgments import Judgments
from assay.core.tables import Documents, Qrels
from assay.judging.checks import EvaluationSet
from assay.judging.checks.faults.judge_labels import find
from tests.judging.checks.evaluation_sets import only

ROWS: list[tuple[str, str, str, float | None]] = [
    ("q", "a", "r1", 2),
    ("q", "a", "r2", 1),
    ("q", "b", "r1", 0),
]


def test_a_grade_that_no_judge_gave_is_found() -> None:
    finding = only(find(EvaluationSet(Qrels({"q": {"a": 0, "b": 0}}), judgments=Judgments.from_rows(ROWS))))
    assert (finding.kind, finding.count) == ("contradictory_labels", 1)
    assert finding.examples[0]["lowest"] == 1


def test_judged_pairs_that_the_qrels_lack_are_a_fact() -> None:
    finding = only(find(EvaluationSet(Qrels({"q": {"a": 1}}), judgments=Judgments.from_rows(ROWS))))
    assert (finding.kind, finding.examples) == ("lost_judgments", [{"query_id": "q", "doc_id": "b"}])


def test_a_judge_who_grades_two_copies_differently_is_named() -> None:
    documents = Documents.from_data({"a": "press it", "b": "Press it!"})
    data = EvaluationSet(
        Qrels({"q": {"a": 1, "b": 0}}), documents=documents, judgments=Judgments.from_rows(ROWS)
    )
    finding = only(find(data))
    assert finding.kind == "contradictory_judgments"
    assert finding.examples[0]["judge"] == "r1"


def test_a_pair_that_could_not_be_rated_is_not_lost() -> None:
    rows = Judgments.from_rows([("q", "a", "r1", 2), ("q", "c", "r1", None)])
    assert not list(find(EvaluationSet(Qrels({"q": {"a": 2}}), judgments=rows)))


def test_without_judgments_nothing_is_compared() -> None:
    assert not list(find(EvaluationSet(Qrels({"q": {"a": 2}}))))
