"""All checks together: clean data has no fault, and every planted one is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.tables import Qrels
from assay.datasets import helpcentre, open_run, read, read_collection
from assay.judging.checks import INFO, SEVERITIES, EvaluationSet, RunTop, TrainingSet, check_evaluation_set
from assay.judging.checks.registry import list_checks
from tests.judging.checks.evaluation_sets import clean_set, kinds


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.integers(30, 80), st.integers(0, 3))
def test_clean_data_has_facts_only(seed: int, queries: int, runs: int) -> None:
    findings = check_evaluation_set(clean_set(seed, queries, runs=runs))
    assert {finding.severity for finding in findings} == {INFO}


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6))
def test_two_sets_of_other_texts_do_not_leak(seed: int) -> None:
    train = clean_set(seed + 1)
    data = replace(clean_set(seed), train=TrainingSet(train.qrels, train.queries))
    assert "leakage" not in kinds(check_evaluation_set(data))


def test_cranfield_has_no_fault(shared: Path) -> None:
    collection = read_collection(shared / "cranfield")
    assert collection.qrels is not None
    findings = check_evaluation_set(EvaluationSet(collection.qrels, collection.queries, collection.documents))
    assert {finding.severity for finding in findings} == {INFO}
    empty = next(finding for finding in findings if finding.kind == "empty_texts")
    assert [example["doc_id"] for example in empty.examples] == ["471", "995"]


def test_trec_dl2019_has_no_fault(shared: Path) -> None:
    folder = shared / "trec_dl2019"
    runs = [RunTop.from_run(open_run(folder / f"input.{name}.gz")) for name in ("bm25base_p", "p_bert")]
    queries = read(folder / "msmarco-test2019-queries.tsv", "queries")
    data = EvaluationSet(read(folder / "2019qrels-pass.txt", "qrels"), queries, runs=runs)
    findings = check_evaluation_set(data)
    assert {finding.severity for finding in findings} == {INFO}
    unjudged = next(finding for finding in findings if finding.kind == "queries_without_judgments")
    assert unjudged.count == 157


def test_the_built_in_collection_has_two_small_slices_and_no_error() -> None:
    queries, qrels, documents = helpcentre()
    findings = [
        f for f in check_evaluation_set(EvaluationSet(qrels, queries, documents)) if f.severity != INFO
    ]
    assert kinds(findings) == ["unbalanced_slices"]


def test_findings_are_sorted_by_severity() -> None:
    data = EvaluationSet(Qrels({"q": {"a": 0}}))
    places = [SEVERITIES.index(finding.severity) for finding in check_evaluation_set(data)]
    assert places == sorted(places)
    assert len(places) > 1


def test_every_module_of_faults_is_a_check() -> None:
    checks = list_checks()
    assert {"unit_mismatch", "leakage", "stale_judgments", "false_negatives"} <= checks.keys()
    assert all(callable(check) for check in checks.values())
