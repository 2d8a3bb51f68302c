"""How bad failures are: where returned ids stand in the truth, counted by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.studies.severity import failure_severity
from assay.bench.studies.truth_ranks import DUPLICATE, MISSING, truth_ranks
from assay.core.vectors import Neighbors
from tests.studies import trial_with_histogram, trial_with_hits

TRUTH = Neighbors(np.arange(100)[None, :] + np.array([[0], [1000], [2000], [3000]]))


@given(st.lists(st.lists(st.integers(-1, 9), min_size=4, max_size=4), min_size=1, max_size=5))
def test_places_are_those_of_looking_each_id_up(value: list[list[int]]) -> None:
    truth = [[3, 1, 4, -1]] * len(value)
    expected = [
        [
            MISSING if i < 0 else DUPLICATE if i in row[:at] else truth[0].index(i) if i in truth[0] else 4
            for at, i in enumerate(row)
        ]
        for row in value
    ]
    assert truth_ranks(np.array(value), np.array(truth)).tolist() == expected


def test_the_answers_of_bad_queries_are_counted_by_where_they_stand() -> None:
    good = list(range(10))
    nearby = [1000, 1010, 1019, 1020, 1049, 1050, 1099, 1100, 5000, 9]
    bad = [2000, 2001, 2002, *range(6000, 6007)]
    fair = [3000, 3001, 3002, 3003, *range(6000, 6006)]
    severity = failure_severity(trial_with_hits([10, 1, 3, 4], ids=[good, nearby, bad, fair]), TRUTH)
    assert severity is not None
    assert (severity.failed, severity.edges) == (2, (0, 10, 20, 50, 100))
    assert severity.bands == (1 + 3, 2, 2, 2)
    assert (severity.outside.value, severity.outside.n, severity.missing) == (0.5, 2, 0)


def test_a_repeated_id_counts_once_and_nothing_returned_is_missing() -> None:
    severity = failure_severity(
        trial_with_hits([1, 10, 10, 10], ids=[[0] * 3 + [500] * 3 + [-1] * 4] + [[0] * 10] * 3), TRUTH
    )
    assert severity is not None
    assert (severity.bands, severity.outside.value, severity.missing) == ((1, 0, 0, 0), 0.5, 4)


def test_the_ids_of_one_query_are_not_as_many_witnesses() -> None:
    """Half of 20 queries returned only ids outside: as sure as of 20 things, not of 200."""
    ids = [list(range(10))] * 10 + [list(range(500, 510))] * 10
    truth = Neighbors(np.tile(np.arange(20, 120), (20, 1)))
    truth.positions[:10] -= 20
    severity = failure_severity(trial_with_hits([0] * 20, ids=ids), truth)
    assert severity is not None
    assert severity.outside.value == 0.5
    assert (severity.outside.low, severity.outside.high) == pytest.approx((0.3, 0.7), abs=0.051)


def test_where_nothing_is_outside_it_is_not_sure_that_nothing_ever_is() -> None:
    severity = failure_severity(
        trial_with_hits([0], ids=[list(range(10, 20))]), Neighbors(TRUTH.positions[:1])
    )
    assert severity is not None
    assert severity.bands == (0, 10, 0, 0)
    assert severity.outside.value == 0
    assert severity.outside.high == pytest.approx(0.975)  # by Clopper and Pearson


def test_no_failures_have_no_severity() -> None:
    severity = failure_severity(trial_with_hits([9] * 4, ids=[[0] * 10] * 4), TRUTH)
    assert severity is not None
    assert (severity.failed, severity.bands, severity.outside.value) == (0, (0, 0, 0, 0), None)


def test_a_truth_is_as_deep_as_it_is_and_no_deeper_than_100_or_five_times_k_is_looked() -> None:
    shallow, deep = (Neighbors(np.arange(n)[None, :]) for n in (20, 1000))
    scored_trial = trial_with_hits([0], ids=[list(range(11, 21))])
    edges = [
        result.edges
        for result in (failure_severity(scored_trial, shallow), failure_severity(scored_trial, deep))
        if result
    ]
    assert edges == [(0, 10, 20), (0, 10, 20, 50, 100)]
    whole = failure_severity(trial_with_hits([0], k=100, ids=[[*range(100, 190), *range(500, 510)]]), deep)
    assert whole is not None
    assert (whole.edges, whole.bands, whole.outside.value) == ((0, 100, 200, 500), (0, 90, 0), 0.1)


def test_a_truth_of_k_says_no_more_than_the_recall() -> None:
    assert (
        failure_severity(
            trial_with_hits([0], k=100, ids=[list(range(100, 200))]), Neighbors(np.arange(100)[None, :])
        )
        is None
    )


def test_the_threshold_is_a_whole_number_of_hits() -> None:
    """0.29 · 100 is 28.999999999999996."""
    scored_trial = trial_with_hits([29], k=100, ids=[list(range(100))])
    severity = failure_severity(scored_trial, Neighbors(np.arange(200)[None, :]), 0.29)
    assert severity is not None
    assert severity.failed == 1


def test_without_ids_nothing_is_told() -> None:
    assert failure_severity(trial_with_histogram([1, 1]), TRUTH) is None
    assert failure_severity(trial_with_hits([0, 0, 0, 0]), TRUTH) is None
