"""The queries of a comparison by the size of their difference."""

import numpy as np
import pytest

from assay.core.tables import Scores
from assay.evaluation.compare import Comparisons, compare_scores
from assay.workflows import compare_queries
from assay.workflows.compare_queries import list_query_differences

QUERIES = ["q0", "q1", "q2", "q3"]


def comparisons() -> Comparisons:
    before = Scores(QUERIES, {"nDCG@10": np.array([0.5, 0.5, 0.5, 0.5]), "R@10": np.array([0.0, 0, 0, 1])})
    after = Scores(QUERIES, {"nDCG@10": np.array([0.6, 0.1, 0.5, 0.9]), "R@10": np.array([0.0, 0, 1, 1])})
    return compare_scores(before, {"new": after}, baseline_name="old")


def test_the_largest_difference_is_first() -> None:
    listed = list_query_differences(comparisons(), "nDCG@10", "new")
    assert [row.query_id for row in listed.rows] == ["q1", "q3", "q0", "q2"]
    assert [row.state for row in listed.rows] == ["worse", "better", "better", "same"]
    assert listed.rows[0].change == pytest.approx(-0.4)
    assert listed.reach == pytest.approx(0.4)


def test_a_choice_shows_its_queries_and_counts_all() -> None:
    listed = list_query_differences(comparisons(), "nDCG@10", "new", "better")
    assert [row.query_id for row in listed.rows] == ["q3", "q0"]
    assert (listed.total, listed.next) == (2, None)
    assert dict(listed.counts) == {"all": 4, "better": 2, "worse": 1, "equal": 1}


def test_an_unknown_measure_or_candidate_means_the_first() -> None:
    listed = list_query_differences(comparisons(), "no such", "no such")
    assert (listed.measure, listed.candidate) == ("nDCG@10", "new")


def test_queries_are_listed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_queries, "PAGE_SIZE", 2)
    first = list_query_differences(comparisons(), "nDCG@10", "new")
    second = list_query_differences(comparisons(), "nDCG@10", "new", offset=2)
    assert (first.next, second.next) == (2, None)
    assert [row.query_id for row in (*first.rows, *second.rows)] == ["q1", "q3", "q0", "q2"]
