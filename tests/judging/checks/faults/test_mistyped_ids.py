"""Ids that are spelled differently in two tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.core.tables import Documents, Qrels, Queries, Run
from assay.judging.checks import ERROR, WARNING, EvaluationSet, RunTop
from assay.judging.checks.faults.mistyped_ids import find
from tests.judging.checks.evaluation_sets import clean_set, only

D7 = ("d007", "D7", "d7 ", "\ufeffd7", '"d7"', "ｄ7")
SPELLINGS = [*((written, "d7") for written in D7), ("7.0", "7"), ("d_7", "d-7")]


@pytest.mark.parametrize(("written", "meant"), SPELLINGS)
def test_a_spelling_is_found(written: str, meant: str) -> None:
    documents = Documents.from_data({meant: "text", "other": "words"})
    finding = only(find(EvaluationSet(Qrels({"q": {written: 1, "other": 0}}), documents=documents)))
    assert (finding.kind, finding.severity, finding.count) == ("mistyped_ids", WARNING, 1)
    assert finding.examples == [{"written": written, "meant": meant}]


def test_a_prefix_of_all_ids_is_found() -> None:
    qrels = Qrels({"q": {"doc:11": 1, "doc:12": 0, "doc:13": 0}})
    documents = Documents.from_data({"11": "a", "12": "b", "13": "c"})
    finding = only(find(EvaluationSet(qrels, documents=documents)))
    assert (finding.severity, finding.count) == (ERROR, 3)
    assert finding.examples[0] == {"written": "doc:11", "meant": "11"}


def test_query_ids_are_compared_with_the_queries() -> None:
    queries = Queries({"query_id": ["1", "2"], "text": ["vpn", "wifi"]})
    finding = only(find(EvaluationSet(Qrels({"01": {"a": 1}, "2": {"a": 1}}), queries)))
    assert finding.examples == [{"written": "01", "meant": "1"}]


def test_without_documents_the_qrels_are_compared_with_the_runs() -> None:
    run = RunTop.from_run(Run({"q": {"D1": 2.0, "D2": 1.0}}, name="bm25"))
    finding = only(find(EvaluationSet(Qrels({"q": {"d1": 1, "d2": 0}}), runs=[run])))
    assert "run bm25" in finding.message


def test_one_mistyped_id_in_clean_data_is_found() -> None:
    data = clean_set(3)
    grades = data.qrels.to_dict()
    query = next(iter(grades))
    doc = next(iter(grades[query]))
    grades[query] = {key.upper() if key == doc else key: grade for key, grade in grades[query].items()}
    finding = only(find(replace(data, qrels=Qrels(grades), runs=[])))
    assert finding.examples == [{"written": doc.upper(), "meant": doc}]


def test_an_id_that_is_only_missing_is_not_mistyped() -> None:
    documents = Documents.from_data({"12345": "a", "12346": "b"})
    assert not list(find(EvaluationSet(Qrels({"q": {"12347": 1, "12346": 0}}), documents=documents)))
