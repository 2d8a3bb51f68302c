"""Estimates of a population from queries with unequal weights."""

import numpy as np
import pytest

from assay.core.arrays import Floats
from assay.judging.sampling import draw_proportional, draw_strata
from assay.stats import estimate
from assay.stats.weighted import SampleWeights, weighted_central_value, weighted_estimate

KINDS = ["mean", "share", "geometric", "quantile"]


def population(kind: str, size: int = 3000) -> tuple[Floats, Floats]:
    """Values that depend on the frequency of their queries."""
    rng = np.random.default_rng(5)
    frequencies = np.ceil(rng.pareto(1.5, size) * 3 + 1)
    values = np.clip(0.35 + 0.1 * np.log(frequencies) + rng.normal(0, 0.2, size), 0.01, 1.0)
    values = np.where(values > 0.5, 1.0, 0.0) if kind == "share" else values
    return values.astype(np.float64), frequencies.astype(np.float64)


def test_equal_weights_give_the_plain_mean_with_students_interval() -> None:
    values = np.random.default_rng(0).random(50)
    weighted = weighted_estimate(values, SampleWeights(np.full(50, 3.0)), "mean")
    plain = estimate(values, "mean")
    assert weighted[:3] == pytest.approx(plain[:3])
    assert weighted.n == 50


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_the_value_of_the_population(kind: str) -> None:
    values, frequencies = population(kind)
    everyone = SampleWeights(np.ones(len(values)))
    truth = weighted_central_value(values, everyone, kind, 0.3)
    rng, hits, trials = np.random.default_rng(6), 0, 300
    for _ in range(trials):
        draw = draw_proportional(frequencies, 200, rng)
        found = weighted_estimate(values[draw.rows], SampleWeights(1 / draw.probabilities), kind, q=0.3)
        assert found.low is not None
        assert found.high is not None
        assert truth is not None
        hits += found.low <= truth <= found.high
    assert hits / trials >= 0.9


def test_weights_undo_what_a_plain_mean_gets_wrong() -> None:
    values, frequencies = population("mean")
    rng = np.random.default_rng(7)
    draws = [draw_proportional(frequencies, 100, rng) for _ in range(200)]
    weighted = [np.average(values[d.rows], weights=1 / d.probabilities) for d in draws]
    plain = [values[d.rows].mean() for d in draws]
    assert np.mean(weighted) == pytest.approx(values.mean(), abs=0.01)
    assert np.mean(plain) > values.mean() + 0.05


def test_strata_narrow_the_interval() -> None:
    rng = np.random.default_rng(8)
    labels = ["low"] * 300 + ["high"] * 100
    values = np.where(np.arange(400) < 300, 0.2, 0.9) + rng.normal(0, 0.02, 400)
    draw = draw_strata(labels, 60, rng)
    weights, codes = 1 / draw.probabilities, np.array([label == "low" for label in draw.strata]) * 1
    plain = weighted_estimate(values[draw.rows], SampleWeights(weights), "mean")
    strata = weighted_estimate(values[draw.rows], SampleWeights(weights, codes), "mean")
    assert plain.value == strata.value == pytest.approx(values.mean(), abs=0.02)
    assert strata.high - strata.low < (plain.high - plain.low) / 5  # type: ignore[operator]


def test_undefined_values_are_left_out_and_few_have_no_interval() -> None:
    sample = SampleWeights(np.array([1.0, 2.0, 5.0]))
    one = weighted_estimate(np.array([np.nan, 0.5, np.nan]), sample, "mean")
    assert one[:3] == (0.5, None, None)
    assert one.n == 1
    for kind in KINDS:
        none = weighted_estimate(np.full(3, np.nan), sample, kind)
        assert (none.value, none.low, none.n) == (None, None, 0)
        assert weighted_central_value(np.full(3, np.nan), sample, kind) is None


def test_a_share_of_all_or_none_has_an_interval_of_its_effective_number() -> None:
    sample = SampleWeights(np.array([1.0, 1.0, 10.0, 10.0]))
    share = weighted_estimate(np.zeros(4), sample, "share")
    assert (share.value, share.low) == (0.0, 0.0)
    assert share.high is not None
    assert share.high > estimate(np.zeros(4), "share").high  # type: ignore[operator]


def test_a_bounded_mean_stays_within_its_bounds() -> None:
    values = np.array([1.0, 1.0, 0.2, 1.0, 1.0])
    bounded = weighted_estimate(values, SampleWeights(np.arange(1.0, 6.0)), "mean", bounds=(0.0, 1.0))
    assert bounded.high == 1.0
