"""What differs between configurations, and nothing else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.evaluation.configuration import differing_settings, flatten_settings
from tests.reference_measures import quick

VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
NAMES = st.text("abc", min_size=1, max_size=2)
NESTED = st.recursive(VALUES, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8)
CONFIGURATIONS = st.dictionaries(NAMES, NESTED, max_size=4)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, {}),
        ({"top_k": 10}, {"top_k": 10}),
        ({"index": {"hnsw": {"m": 16, "ef": 40}}}, {"index.hnsw.m": 16, "index.hnsw.ef": 40}),
        ({"fields": ["title", "body"]}, {"fields": ["title", "body"]}),
        ({"rerank": None, "boost": {}}, {"rerank": None, "boost": {}}),
        ({1: {2: "x"}}, {"1.2": "x"}),
    ],
)
def test_settings_are_named_by_their_path(given: dict[str, Any], found: dict[str, Any]) -> None:
    assert flatten_settings(given) == found


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ({"m": 16}, {"m": 16}, {}),
        ({}, {}, {}),
        ({"m": 16, "ef": 40}, {"m": 16, "ef": 80}, {"ef": (40, 80)}),
        ({"index": {"m": 16, "ef": 40}}, {"index": {"ef": 80, "m": 16}}, {"index.ef": (40, 80)}),
        ({"fields": ["a", "b"]}, {"fields": ["a", "b"]}, {}),
        ({"fields": ["a", "b"]}, {"fields": ["b", "a"]}, {"fields": (["a", "b"], ["b", "a"])}),
        ({"rerank": True}, {}, {"rerank": (True, None)}),
        ({}, {"rerank": {"model": "x"}}, {"rerank.model": (None, "x")}),
        ({"index": "flat"}, {"index": {"m": 16}}, {"index": ("flat", None), "index.m": (None, 16)}),
        ({"rerank": None}, {}, {}),
    ],
)
def test_only_what_differs_is_given(first: Any, second: Any, found: dict[str, tuple[Any, Any]]) -> None:
    expected = {key: {"before": a, "after": b} for key, (a, b) in found.items()}
    assert differing_settings({"before": first, "after": second}) == expected


def test_a_setting_that_one_of_many_has_differently_is_given_for_all() -> None:
    result = differing_settings({"a": {"ef": 40}, "b": {"ef": 40}, "c": {"ef": 80}})
    assert result == {"ef": {"a": 40, "b": 40, "c": 80}}


def test_the_order_of_the_settings_is_kept() -> None:
    result = differing_settings({"a": {"z": 1, "b": 1}, "b": {"a": 1}})
    assert list(result) == ["z", "b", "a"]


@pytest.mark.parametrize("given", [{}, {"only": {"ef": 40}}])
def test_one_system_or_none_has_nothing_that_differs(given: Any) -> None:
    assert differing_settings(given) == {}


@quick
@given(CONFIGURATIONS)
def test_a_configuration_does_not_differ_from_itself(one: dict[str, Any]) -> None:
    assert differing_settings({"a": one, "b": dict(reversed(one.items())), "c": one}) == {}


@quick
@given(CONFIGURATIONS, CONFIGURATIONS)
def test_what_is_not_given_is_equal(first: dict[str, Any], second: dict[str, Any]) -> None:
    result, a, b = (
        differing_settings({"a": first, "b": second}),
        flatten_settings(first),
        flatten_settings(second),
    )
    for key in {*a, *b}:
        assert (key in result) == (a.get(key) != b.get(key))
