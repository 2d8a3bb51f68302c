"""Splits that share no family of queries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError, UndecidableError
from assay.core.tables import Queries
from assay.judging.splits import (
    check_shares,
    describe_parts,
    join_groups,
    parse_times,
    part_names,
    slice_columns,
    split_groups,
    split_times,
)


@given(st.lists(st.integers(0, 12), min_size=30, max_size=200), st.integers(0, 3))
def test_no_group_is_divided_and_shares_are_met_to_a_group(labels: list[int], seed: int) -> None:
    groups = np.unique(np.array(labels), return_inverse=True)[1].astype(np.int64)
    if groups.max() < 2:
        return
    parts = split_groups(groups, [0.7, 0.3], np.random.default_rng(seed))
    for group in range(groups.max() + 1):
        assert len(set(parts[groups == group].tolist())) == 1
    assert abs(np.mean(parts == 0) - 0.7) <= np.bincount(groups).max() / len(groups) + 1e-9


def test_a_seed_gives_the_same_split() -> None:
    groups = np.arange(100)
    first, again, other = (
        split_groups(groups, [0.5, 0.5], np.random.default_rng(s)).tolist() for s in (1, 1, 2)
    )
    assert first == again != other


def test_groups_of_two_kinds_are_joined() -> None:
    families, categories = np.array([0, 0, 1, 2, 3]), np.array([0, 1, 1, 2, 3])
    assert join_groups(families, categories).tolist() == [0, 0, 0, 1, 2]


def test_earlier_queries_come_first_and_a_family_belongs_to_its_earliest_time() -> None:
    families, times = np.array([0, 1, 2, 3, 0]), np.array([1.0, 2.0, 3.0, 4.0, 9.0])
    assert split_times(families, times, [0.6, 0.4]).tolist() == [0, 0, 1, 1, 0]


def test_queries_of_one_time_stay_together() -> None:
    parts = split_times(np.arange(6), np.array([1.0, 1, 1, 1, 2, 2]), [0.5, 0.5])
    assert parts.tolist() == [0, 0, 0, 0, 1, 1]
    with pytest.raises(UndecidableError, match="a part would be empty"):
        split_times(np.arange(3), np.ones(3), [0.5, 0.5])


def test_times_are_dates_with_or_without_zone_or_numbers() -> None:
    times = parse_times(
        ["2026-01-31", "2026-01-31T01:00:00Z", "2026-01-31T02:00:00+01:00"], list("abc"), "at"
    )
    assert (times - times[0]).tolist() == [0, 3600, 3600]
    assert parse_times([3, 0.5], list("ab"), "at").tolist() == [3, 0.5]
    for wrong in ("soon", None, float("nan"), True):
        with pytest.raises(InputError, match="the at of query 'a'"):
            parse_times([wrong], ["a"], "at")


def test_parts_are_counted_by_slice() -> None:
    queries = Queries(
        {"query_id": list("abc"), "text": list("xyz"), "kind": ["k", None, "k"], "n": [1, 1, 1]}
    )
    assert slice_columns(queries) == ["kind"]
    parts = describe_parts(
        queries, np.array([0, 1, 0]), np.array([0, 1, 0]), ["train", "test"], [0.6, 0.4], ["kind"]
    )
    assert parts[0].to_dict() == {
        "name": "train",
        "share": 0.6,
        "queries": 2,
        "families": 1,
        "slices": {"kind": {"(none)": 0, "k": 2}},
    }


@pytest.mark.parametrize("shares", [[1.0], [0.5, 0.6], [1.2, -0.2], [1.0, 0.0]])
def test_wrong_shares_are_refused(shares: list[float]) -> None:
    with pytest.raises(InputError, match="two or more shares above 0 with the sum 1"):
        check_shares(shares)


def test_wrong_names_and_too_few_groups_are_refused() -> None:
    for names in (["a"], ["a", "a"], ["a", "../b"], ["", "b"]):
        with pytest.raises(InputError, match="2 different names"):
            part_names(names, 2)
    with pytest.raises(UndecidableError, match="too few for 2 parts"):
        split_groups(np.zeros(5, np.int64), [0.5, 0.5], np.random.default_rng(0))
