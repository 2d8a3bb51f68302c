"""Slices with few queries."""

from __future__ import annotations

import pytest

from assay.core.tables import Qrels, Queries
from assay.judging.checks import INFO, WARNING, EvaluationSet
from assay.judging.checks.faults.unbalanced_slices import find
from tests.judging.checks.evaluation_sets import clean_set, only


def sliced(sizes: dict[str, int], grade: int = 1, by: tuple[str, ...] = ()) -> EvaluationSet:
    labels = [label for label, size in sizes.items() for _ in range(size)]
    ids = [f"q{i}" for i in range(len(labels))]
    grades = {
        query: {"a": grade if label == "new" else 1, "b": 0} for query, label in zip(ids, labels, strict=True)
    }
    return EvaluationSet(Qrels(grades), Queries({"query_id": ids, "kind": labels}), by=by)


def test_a_small_slice_beside_a_large_one_is_a_warning() -> None:
    finding = only(find(sliced({"old": 50, "new": 3})))
    assert (finding.kind, finding.severity, finding.count) == ("unbalanced_slices", WARNING, 1)
    assert finding.examples == [{"column": "kind", "value": "new", "queries": 3}]


def test_a_small_slice_beside_small_ones_is_a_fact() -> None:
    assert only(find(sliced({"old": 12, "new": 8}))).severity == INFO


def test_large_slices_have_no_finding() -> None:
    assert not list(find(sliced({"old": 50, "new": 12})))


def test_a_slice_without_relevant_documents_is_found() -> None:
    finding = only(find(sliced({"old": 50, "new": 12}, grade=0)))
    assert (finding.kind, finding.examples[0]["value"]) == ("slices_without_relevant", "new")


def test_slices_can_be_chosen() -> None:
    assert only(find(sliced({"old": 50, "new": 3}, by=("kind",)))).count == 1
    with pytest.raises(Exception, match="there is no column 'knd'"):
        list(find(sliced({"old": 50, "new": 3}, by=("knd",))))


def test_columns_of_many_values_are_no_slices() -> None:
    ids = [f"q{i}" for i in range(40)]
    queries = Queries(
        {"query_id": ids, "author": [f"person {i}" for i in range(40)], "length": list(range(40))}
    )
    assert not list(find(EvaluationSet(Qrels({query: {"a": 1} for query in ids}), queries)))
    assert not list(find(clean_set(9)))
