"""Histograms of latencies against sorted arrays."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.core.errors import FormatError
from assay.stats import percentiles
from assay.stats.histograms import PERCENTILES, Histogram, min_samples
from assay.stats.intervals import estimate_share

VALUES = st.lists(st.integers(0, 10**12), min_size=1, max_size=60)
PARTS = st.lists(st.lists(st.integers(0, 10**10), max_size=20), max_size=6)


@given(VALUES, st.sampled_from([1.0, 25.0, 50.0, 90.0, 99.0, 99.9]))
def test_a_percentile_is_that_of_the_sorted_values_within_half_a_percent(
    values: list[int], percentile: float
) -> None:
    many = values * 170 if percentile > 95 else values * 20
    exact = float(np.percentile(many, percentile, method="inverted_cdf")) / 1e6
    result = Histogram.of(many).percentile(percentile)
    if len(many) < min_samples(percentile):
        assert result is None
    else:
        assert result == pytest.approx(exact, rel=0.002, abs=1e-9)


@given(PARTS)
def test_the_parts_add_up_to_the_whole_in_any_order(parts: list[list[int]]) -> None:
    whole = Histogram.of(value for part in parts for value in part)
    forward = sum(map(Histogram.of, parts), Histogram())
    backward = sum(map(Histogram.of, reversed(parts)), Histogram())
    assert forward == backward == whole
    assert whole.n == sum(map(len, parts))


@example([249], 249)
@given(VALUES, st.integers(1, 10**12))
def test_a_share_is_exact_for_a_limit_that_is_off_by_half_a_percent(values: list[int], limit: int) -> None:
    result = Histogram.of(values).share_within(limit / 1e6)
    least, most = (sum(value <= edge for value in values) for edge in (limit, limit * 1.005))
    assert result.value is not None
    assert least - 1e-9 <= result.value * len(values) <= most + 1e-9
    assert result == estimate_share(round(result.value * len(values)), len(values))


@given(VALUES)
def test_what_was_stored_comes_back(values: list[int]) -> None:
    result = Histogram.of(values)
    assert Histogram.from_dict(json.loads(json.dumps(result.to_dict()))) == result


def test_it_is_read_as_the_latencies_of_an_index_are() -> None:
    values = np.random.default_rng(0).lognormal(14, 1, 20_000).astype(np.int64)
    result, exact = Histogram.of(values).percentiles(), percentiles.latency_percentiles(values)
    assert list(result) == list(exact) == [f"p{p:g}_ms" for p in PERCENTILES]
    assert list(result.values()) == pytest.approx(list(exact.values()), rel=0.002)
    assert len(Histogram.of(values).counts) < 3000


def test_few_values_give_no_percentile() -> None:
    assert Histogram.of([1] * 999).percentile(99) is None
    assert Histogram.of([1] * 1000).percentile(99) is not None
    assert Histogram().percentile(50) is None
    assert Histogram().share_within(5).value is None


def test_what_was_not_answered_is_not_within() -> None:
    result = Histogram.of([1_000_000] * 8).share_within(5, unanswered=2)
    assert result == estimate_share(8, 10)


def test_something_else_is_no_histogram() -> None:
    with pytest.raises(FormatError, match="expected a histogram"):
        Histogram.from_dict({"p50": "fast"})
