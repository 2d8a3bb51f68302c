"""What a test set shares with its training set."""

from __future__ import annotations

from dataclasses import replace

from assay.core.tables import Documents, Qrels, Queries
from assay.judging.checks import ERROR, INFO, WARNING, EvaluationSet, Finding, TrainingSet
from assay.judging.checks.faults.leakage import find
from tests.judging.checks.evaluation_sets import clean_set, kinds, only

TEST = EvaluationSet(
    Qrels({"t1": {"a": 1}, "t2": {"b": 1}}),
    Queries({"query_id": ["t1", "t2"], "text": ["How to reset my password?", "connect a printer"]}),
)


def find_in(texts: dict[str, str]) -> list[Finding]:
    return list(find(replace(TEST, train=TrainingSet(queries=Queries.from_data(texts)))))


def test_the_same_text_is_an_error() -> None:
    finding = only(find_in({"x": "how to  reset my password"}))
    assert (finding.kind, finding.severity, finding.count) == ("leakage", ERROR, 1)
    assert finding.examples[0]["train_query_id"] == "x"
    assert finding.examples[0]["match"] == "exact"


def test_nearly_the_same_text_is_a_warning() -> None:
    finding = only(find_in({"x": "How to reset my passwords?"}))
    assert (finding.severity, finding.examples[0]["match"]) == (WARNING, "near-duplicate")


def test_a_family_that_a_column_names_is_a_warning() -> None:
    queries = TEST.queries
    assert queries is not None
    test = replace(TEST, queries=Queries({**queries.columns, "family": ["7", "8"]}))
    train = Queries({"query_id": ["x"], "text": ["forgotten credentials"], "family": ["7"]})
    finding = only(find(replace(test, train=TrainingSet(queries=train))))
    assert (finding.severity, finding.examples[0]["query_id"]) == (WARNING, "t1")
    assert finding.examples[0]["match"] == "family"


def test_other_queries_do_not_leak() -> None:
    assert not find_in({"x": "cancel my contract", "y": "change the address"})


def test_without_texts_the_ids_are_compared() -> None:
    data = EvaluationSet(Qrels({"1": {"a": 1}, "2": {"b": 1}}), train=TrainingSet(Qrels({"2": {"c": 1}})))
    finding = only(find(data))
    assert (finding.severity, finding.examples) == (ERROR, [{"query_id": "2", "match": "id"}])


def test_only_the_judged_queries_of_a_common_table_count() -> None:
    data = clean_set(5)
    grades = data.qrels.to_dict()
    test, train = dict(list(grades.items())[:30]), dict(list(grades.items())[30:])
    split = replace(data, qrels=Qrels(test), runs=[], train=TrainingSet(Qrels(train), data.queries))
    assert kinds(find(split)) == ["shared_documents"]
    leaky = train | {"query0": grades["query0"]}
    split = replace(split, train=TrainingSet(Qrels(leaky), data.queries))
    assert kinds(find(split)) == ["leakage", "shared_documents"]


def test_a_document_under_another_id_leaks() -> None:
    text = "Press the power button for ten seconds until the light turns blue."
    data = EvaluationSet(Qrels({"q": {"a": 1}}), documents=Documents.from_data({"a": text}))
    for copy, match in ((text.upper(), "exact"), (f"{text} Now", "near-duplicate")):
        train = TrainingSet(Qrels({"p": {"z": 1}}), documents=Documents.from_data({"z": copy}))
        finding = next(f for f in find(replace(data, train=train)) if f.kind == "leakage")
        assert (finding.severity, finding.examples[0]["match"]) == (WARNING, match)
        assert finding.examples[0]["train_doc_id"] == "z"


def test_a_common_collection_is_a_fact() -> None:
    train = TrainingSet(Qrels({"p": {"a": 1}}))
    finding = only(find(EvaluationSet(Qrels({"q": {"a": 1}}), train=train)))
    assert (finding.kind, finding.severity) == ("shared_documents", INFO)
