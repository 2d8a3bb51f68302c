"""What a set of a size can be used for."""

from __future__ import annotations

import pytest

from assay.core.tables import Qrels
from assay.judging.checks import INFO, WARNING, EvaluationSet
from assay.judging.checks.faults.benchmark_size import find
from assay.stats.power import detectable_difference
from tests.judging.checks.evaluation_sets import clean_set, only


def sized(queries: int, labels: int = 12) -> EvaluationSet:
    return EvaluationSet(Qrels({f"q{i}": {f"d{j}": j % 2 for j in range(labels)} for i in range(queries)}))


@pytest.mark.parametrize(
    ("queries", "labels", "words", "severity"),
    [
        (10, 12, "below the 25 queries that any conclusion needs", WARNING),
        (40, 12, "below the 50 queries that guides name to start with", INFO),
        (60, 4, "with fewer than the 10 labels", INFO),
        (60, 12, "below the 1,000 queries that guides name to gate releases", INFO),
        (1200, 12, "enough to gate releases", INFO),
    ],
)
def test_the_verdict_follows_the_guides(queries: int, labels: int, words: str, severity: str) -> None:
    finding = only(find(sized(queries, labels)))
    assert words in finding.message
    assert (finding.severity, finding.count) == (severity, queries)


def test_the_smallest_difference_is_that_of_the_paired_test() -> None:
    (example,) = only(find(sized(100))).examples
    assert example["detectable"] == detectable_difference(0.25, 100)
    assert example["labels_per_query"] == 12


def test_with_two_runs_the_spread_of_their_differences_is_measured() -> None:
    finding = only(find(clean_set(10)))
    assert "the differences of the runs deviate by" in finding.message
    assert finding.examples[0]["deviation"] != 0.25
