"""Quantiles of values that are clustered by user."""

import numpy as np
import pytest

from assay.core.arrays import Floats, Ints
from assay.core.errors import InputError
from assay.stats.clustered_quantiles import (
    clustered_quantile,
    estimate_clustered_quantile,
    levels_to_read,
    quantile_difference,
    share_error,
)
from assay.stats.moments import Moments


def latencies(rng: np.random.Generator, users: int, factor: float = 1.0) -> tuple[Floats, Ints]:
    """Milliseconds of requests; users differ in speed and in number of requests."""
    speed, counts = rng.normal(0, 0.6, users), rng.poisson(9, users) + 1
    owners = np.repeat(np.arange(users), counts)
    return factor * np.exp(5 + speed[owners] + rng.normal(0, 0.4, len(owners))), owners


def test_the_quantile_is_that_of_the_values() -> None:
    values, owners = latencies(np.random.default_rng(0), 300)
    for q in (0.5, 0.95, 0.99):
        result = clustered_quantile(values, owners, q)
        assert result.value == np.quantile(values, q, method="inverted_cdf")
        assert (result.users, result.values) == (300, len(values))


def test_the_error_of_independent_values_is_the_binomial_one() -> None:
    rng = np.random.default_rng(1)
    hits = (rng.random(5000) < 0.9) * 1.0
    error = share_error(Moments.from_values(hits, denominator=np.ones(5000)))
    assert error == pytest.approx(np.sqrt(hits.mean() * (1 - hits.mean()) / 5000), rel=1e-3)


@pytest.mark.parametrize("q", [0.5, 0.95])
def test_intervals_cover_with_clustered_users(q: float) -> None:
    rng = np.random.default_rng(2)
    truth = np.quantile(latencies(rng, 200_000)[0], q)
    hits = 0
    for _ in range(200):
        result = clustered_quantile(*latencies(rng, 400), q)
        low, high = result.interval
        hits += bool(low is not None and high is not None and low <= truth <= high)
    assert hits / 200 >= 0.91


def test_the_difference_covers_no_difference_and_finds_a_real_one() -> None:
    rng = np.random.default_rng(3)
    alarms = shown = 0
    for _ in range(150):
        same = [clustered_quantile(*latencies(rng, 300), 0.95) for _ in range(2)]
        alarms += (quantile_difference(same[0], same[1]).p or 0) < 0.05
        slower = clustered_quantile(*latencies(rng, 300, 1.5), 0.95)
        shown += (quantile_difference(same[0], slower, is_relative=True).p or 1) < 0.05
    assert alarms <= 15
    assert shown > 130


def test_the_relative_difference_is_divided_by_the_control() -> None:
    rng = np.random.default_rng(4)
    before, after = (clustered_quantile(*latencies(rng, 300, f), 0.9) for f in (1.0, 1.2))
    plain, lift = quantile_difference(before, after), quantile_difference(before, after, is_relative=True)
    assert before.value is not None
    assert lift.estimate.value == pytest.approx((plain.estimate.value or 0) / before.value)
    assert lift.method == "p90, clustered by user, relative"
    assert lift.p == pytest.approx(plain.p or 0, abs=0.05)


def test_levels_are_read_back_from_the_data() -> None:
    below = Moments.from_values(np.full(100, 9.0) + np.arange(100) % 2, denominator=np.full(100, 10.0))
    ends = levels_to_read(below, 0.95)
    assert ends is not None
    assert ends[0] < 0.95 < ends[1] < 1
    result = estimate_clustered_quantile(below, 0.95, lambda at: 100 * at)
    assert result.value == 95
    assert result.interval == pytest.approx((100 * ends[0], 100 * ends[1]))
    assert result.error == pytest.approx(100 * (share_error(below) or 0))


@pytest.mark.parametrize(
    ("values", "owners", "reason"),
    [
        ([], [], "no values"),
        ([1.0, 2.0], [0, 0], "fewer than 2 users"),
        ([1.0, 2.0, 3.0], [0, 1, 2], "fewer than 20 users"),
        (np.arange(60.0), np.arange(60), "all users have the same share"),
        (np.arange(200.0), np.arange(200), "the interval reaches beyond"),
    ],
)
def test_a_quantile_without_interval_has_a_reason(values: Floats, owners: Ints, reason: str) -> None:
    result = clustered_quantile(np.asarray(values, float), np.asarray(owners, int), 0.99)
    assert result.error is None
    assert result.reason.startswith(reason)
    assert quantile_difference(result, result).p is None
    assert quantile_difference(result, result).reason == result.reason


def test_undefined_values_are_ignored_and_wrong_quantiles_refused() -> None:
    values, owners = latencies(np.random.default_rng(5), 50)
    gaps = np.append(values, np.nan)
    assert clustered_quantile(gaps, np.append(owners, 999), 0.5) == clustered_quantile(values, owners, 0.5)
    with pytest.raises(InputError, match="between 0 and 1"):
        clustered_quantile(values, owners, 1.0)


def test_values_that_are_all_equal_have_no_error() -> None:
    result = clustered_quantile(np.ones(100), np.arange(100), 0.5)
    assert result.value == 1.0
    assert result.error is None
