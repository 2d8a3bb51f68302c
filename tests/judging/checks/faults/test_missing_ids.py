"""Ids that a table lacks."""

from __future__ import annotations

from assay.core.tables import Documents, Qrels, Queries, Run
from assay.judging.checks import ERROR, INFO, WARNING, EvaluationSet, RunTop
from assay.judging.checks.faults.missing_ids import find
from tests.judging.checks.evaluation_sets import clean_set, only

QRELS = Qrels({f"q{i}": {"alpha": 1, "beta": 0} for i in range(20)})


def test_a_run_without_some_queries_is_a_fact_and_without_many_a_warning() -> None:
    for missing, severity in ((1, INFO), (8, WARNING)):
        run = Run({f"q{i}": {"alpha": 1.0} for i in range(20 - missing)})
        finding = only(find(EvaluationSet(QRELS, runs=[RunTop.from_run(run)])))
        assert (finding.kind, finding.severity, finding.count) == ("missing_queries", severity, missing)


def test_tables_without_a_common_id_are_an_error() -> None:
    queries = Queries({"query_id": ["x", "y"], "text": ["vpn", "wifi"]})
    finding = only(find(EvaluationSet(QRELS, queries)))
    assert (finding.severity, finding.count) == (ERROR, 20)
    run = RunTop.from_run(Run({f"q{i}": {"gamma": 1.0} for i in range(20)}))
    finding = only(find(EvaluationSet(QRELS, runs=[run])))
    assert (finding.kind, finding.severity) == ("missing_documents", ERROR)
    assert finding.examples == [{"qrels": "alpha", "run": "gamma"}]


def test_judged_documents_that_are_gone_are_named() -> None:
    finding = only(find(EvaluationSet(QRELS, documents=Documents.from_data({"alpha": "text"}))))
    assert (finding.kind, finding.count, finding.examples) == ("missing_documents", 1, [{"doc_id": "beta"}])


def test_passages_are_left_to_the_check_of_units() -> None:
    run = RunTop.from_run(Run({f"q{i}": {"alpha#1": 1.0, "beta#1": 0.5} for i in range(20)}))
    assert not list(find(EvaluationSet(QRELS, runs=[run])))


def test_clean_data_lacks_nothing() -> None:
    assert not list(find(clean_set(1)))
