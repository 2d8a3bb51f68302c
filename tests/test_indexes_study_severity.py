"""How bad failures are: where returned ids stand in the truth, counted by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.vectors import Neighbors
from assay.indexes.study.places import AGAIN, MISSING, places
from assay.indexes.study.severity import severity
from studies import asked, stated

TRUTH = Neighbors(np.arange(100)[None, :] + np.array([[0], [1000], [2000], [3000]]))


@given(st.lists(st.lists(st.integers(-1, 9), min_size=4, max_size=4), min_size=1, max_size=5))
def test_places_are_those_of_looking_each_id_up(found: list[list[int]]) -> None:
    truth = [[3, 1, 4, -1]] * len(found)
    expected = [
        [
            MISSING if i < 0 else AGAIN if i in row[:at] else truth[0].index(i) if i in truth[0] else 4
            for at, i in enumerate(row)
        ]
        for row in found
    ]
    assert places(np.array(found), np.array(truth)).tolist() == expected


def test_the_answers_of_bad_queries_are_counted_by_where_they_stand() -> None:
    good = list(range(10))
    near = [1000, 1010, 1019, 1020, 1049, 1050, 1099, 1100, 5000, 9]
    bad = [2000, 2001, 2002, *range(6000, 6007)]
    fair = [3000, 3001, 3002, 3003, *range(6000, 6006)]
    found = severity(asked([10, 1, 3, 4], ids=[good, near, bad, fair]), TRUTH)
    assert found is not None
    assert (found.failed, found.edges) == (2, (0, 10, 20, 50, 100))
    assert found.bands == (1 + 3, 2, 2, 2)
    assert (found.outside.value, found.outside.n, found.missing) == (0.5, 2, 0)


def test_a_repeated_id_counts_once_and_nothing_returned_is_missing() -> None:
    found = severity(asked([1, 10, 10, 10], ids=[[0] * 3 + [500] * 3 + [-1] * 4] + [[0] * 10] * 3), TRUTH)
    assert found is not None
    assert (found.bands, found.outside.value, found.missing) == ((1, 0, 0, 0), 0.5, 4)


def test_the_ids_of_one_query_are_not_as_many_witnesses() -> None:
    """Half of 20 queries returned only ids outside: as sure as of 20 things, not of 200."""
    ids = [list(range(10))] * 10 + [list(range(500, 510))] * 10
    truth = Neighbors(np.tile(np.arange(20, 120), (20, 1)))
    truth.positions[:10] -= 20
    found = severity(asked([0] * 20, ids=ids), truth)
    assert found is not None
    assert found.outside.value == 0.5
    assert (found.outside.low, found.outside.high) == pytest.approx((0.3, 0.7), abs=0.051)


def test_where_nothing_is_outside_it_is_not_sure_that_nothing_ever_is() -> None:
    found = severity(asked([0], ids=[list(range(10, 20))]), Neighbors(TRUTH.positions[:1]))
    assert found is not None
    assert found.bands == (0, 10, 0, 0)
    assert found.outside.value == 0
    assert found.outside.high == pytest.approx(0.793, abs=0.001)


def test_no_failures_have_no_severity() -> None:
    found = severity(asked([9] * 4, ids=[[0] * 10] * 4), TRUTH)
    assert found is not None
    assert (found.failed, found.bands, found.outside.value) == (0, (0, 0, 0, 0), None)


def test_a_truth_is_as_deep_as_it_is_and_no_deeper_than_100_or_five_times_k_is_looked() -> None:
    shallow, deep = (Neighbors(np.arange(n)[None, :]) for n in (20, 1000))
    one = asked([0], ids=[list(range(11, 21))])
    edges = [found.edges for found in (severity(one, shallow), severity(one, deep)) if found]
    assert edges == [(0, 10, 20), (0, 10, 20, 50, 100)]
    whole = severity(asked([0], k=100, ids=[[*range(100, 190), *range(500, 510)]]), deep)
    assert whole is not None
    assert (whole.edges, whole.bands, whole.outside.value) == ((0, 100, 200, 500), (0, 90, 0), 0.1)


def test_a_truth_of_k_says_no_more_than_the_recall() -> None:
    assert (
        severity(asked([0], k=100, ids=[list(range(100, 200))]), Neighbors(np.arange(100)[None, :])) is None
    )


def test_the_threshold_is_a_whole_number_of_hits() -> None:
    """0.29 · 100 is 28.999999999999996."""
    one = asked([29], k=100, ids=[list(range(100))])
    found = severity(one, Neighbors(np.arange(200)[None, :]), 0.29)
    assert found is not None
    assert found.failed == 1


def test_without_ids_nothing_is_told() -> None:
    assert severity(stated([1, 1]), TRUTH) is None
    assert severity(asked([0, 0, 0, 0]), TRUTH) is None
