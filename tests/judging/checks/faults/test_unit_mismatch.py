"""Passages in one table and documents in another."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.tables import Documents, Qrels, Run
from assay.judging.checks import ERROR, EvaluationSet, RunTop
from assay.judging.checks.faults.unit_mismatch import find
from tests.judging.checks.evaluation_sets import clean_set, only

FORMS = ("{}#3", "{}_12", "{}-0", "{}::p4", "{}/2", "{}.7", "{}_chunk_5", "{}#sec2#p1", "{}p3", "{}%%2")


@pytest.mark.parametrize("form", FORMS)
def test_passages_of_a_run_are_told_from_judged_documents(form: str) -> None:
    qrels = Qrels({"q1": {"guide": 1, "faq": 0}, "q2": {"plans": 2}})
    run = Run({"q1": {form.format("guide"): 2.0, form.format("faq"): 1.0}, "q2": {form.format("plans"): 1.0}})
    finding = only(find(EvaluationSet(qrels, runs=[RunTop.from_run(run)])))
    assert (finding.kind, finding.severity, finding.count) == ("unit_mismatch", ERROR, 3)
    assert finding.examples[0] == {"passage": form.format("guide"), "document": "guide"}
    assert finding.fix.startswith("cut the ids in run run to those of the documents")


def test_judged_passages_are_told_from_the_documents_of_a_run() -> None:
    qrels = Qrels({"q1": {"D1#1": 1, "D1#2": 0}, "q2": {"D2#1": 2}})
    run = Run({"q1": {"D1": 2.0, "D9": 1.0}, "q2": {"D2": 1.0}})
    finding = only(find(EvaluationSet(qrels, runs=[RunTop.from_run(run)])))
    assert finding.count == 3
    assert "cut the ids of the qrels" in finding.fix


def test_judged_passages_are_told_from_the_documents_of_the_collection() -> None:
    documents = Documents.from_data({"a": "x", "b": "y"})
    finding = only(find(EvaluationSet(Qrels({"q": {"a-1": 1, "b-2": 0}}), documents=documents)))
    assert "the qrels have passages and the documents have documents" in finding.message


def test_numbered_documents_are_no_passages() -> None:
    qrels = Qrels({"q": {f"d-{i}": i % 2 for i in range(9)}})
    run = Run({"q": {f"d-{i}": float(i) for i in range(5, 20)}})
    assert not list(find(EvaluationSet(qrels, runs=[RunTop.from_run(run)])))


def test_passages_in_all_tables_match() -> None:
    qrels = Qrels({"q": {"a#1": 1, "a#2": 0}})
    assert not list(find(EvaluationSet(qrels, runs=[RunTop.from_run(Run({"q": {"a#1": 1.0, "a#9": 0.5}}))])))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_tables_of_one_unit_never_mismatch(seed: int) -> None:
    data = clean_set(seed, queries=10, per_query=6)
    assert not list(find(data))
