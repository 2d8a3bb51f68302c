"""Judgments of texts that changed since."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.core.judgments import Judgments
from assay.core.tables import Documents, Qrels, Queries
from assay.judging.checks import WARNING, EvaluationSet
from assay.judging.checks.faults.stale_judgments import find
from tests.judging.checks.evaluation_sets import clean_set, only

BEFORE = EvaluationSet(
    Qrels({"q": {"a": 1, "b": 0}}),
    Queries({"query_id": ["q"], "text": ["vpn"]}),
    Documents.from_data({"a": "old text", "b": "same"}),
)
AFTER = replace(BEFORE, documents=Documents.from_data({"a": "new text", "b": "same"}), previous=BEFORE)


def test_a_label_that_outlives_its_text_is_stale() -> None:
    finding = only(find(AFTER))
    assert (finding.kind, finding.severity, finding.count) == ("stale_judgments", WARNING, 1)
    assert finding.examples[0]["before"] == "old text"


def test_a_new_grade_is_not_stale() -> None:
    assert not list(find(replace(AFTER, qrels=Qrels({"q": {"a": 2, "b": 0}}))))


def test_a_query_that_was_reworded_makes_its_labels_stale() -> None:
    reworded = replace(BEFORE, queries=Queries({"query_id": ["q"], "text": ["wifi"]}), previous=BEFORE)
    assert only(find(reworded)).count == 2


def test_blanks_do_not_count_as_a_change() -> None:
    assert not list(find(replace(AFTER, documents=Documents.from_data({"a": "old  text\n", "b": "same"}))))


def test_a_pair_that_was_judged_again_is_not_stale() -> None:
    old = {"query_id": ["q"], "doc_id": ["a"], "judge": ["r"], "grade": [1], "at": ["2026-01-01"]}
    before = replace(BEFORE, judgments=Judgments(old))
    again = Judgments({**old, "at": ["2026-02-01"]})
    assert not list(find(replace(AFTER, previous=before, judgments=again)))
    assert only(find(replace(AFTER, previous=before, judgments=Judgments(old)))).count == 1


@pytest.mark.parametrize(
    ("changed", "count"),
    [
        ("2026-01-03", 1),
        ("2026-01-01T00:00:00Z", 0),
        ("2026-01-02 12:00:01", 1),
        ("2026-01-02T12:00:00+02:00", 0),
    ],
)
def test_a_document_that_changed_after_its_judgment_is_found(changed: str, count: int) -> None:
    documents = Documents({"doc_id": ["a"], "text": ["x"], "updated_at": [changed]})
    rows = {"query_id": ["q"], "doc_id": ["a"], "judge": ["r"], "grade": [1], "at": ["2026-01-02T12:00:00Z"]}
    data = EvaluationSet(Qrels({"q": {"a": 1}}), documents=documents, judgments=Judgments(rows))
    assert sum(finding.count for finding in find(data)) == count


def test_the_same_version_is_not_stale() -> None:
    data = clean_set(4)
    assert not list(find(replace(data, previous=data)))
