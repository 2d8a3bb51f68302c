"""Sample ratio mismatch."""

import math

import numpy as np
import pyarrow as pa
import pytest
import tea_tasting as tt
from scipy import stats

from assay.core.errors import InputError
from assay.stats.sample_ratio import (
    SequentialSampleRatio,
    check_exposures,
    check_sample_ratio,
    log_bayes_factor,
    watch_sample_ratio,
)

HALVES = {"a": 0.5, "b": 0.5}


def test_chi_squared_is_scipys() -> None:
    counts, weights = {"a": 480, "b": 520, "c": 1100}, {"a": 1.0, "b": 1.0, "c": 2.0}
    result = check_sample_ratio(counts, weights)
    expected = stats.chisquare([480, 520, 1100], [525, 525, 1050])
    assert result.p == pytest.approx(expected.pvalue)
    assert result.expected == {"a": 525, "b": 525, "c": 1050}


def test_chi_squared_is_near_tea_tastings() -> None:
    table = pa.table({"variant": [0] * 1000 + [1] * 1100})
    expected = tt.Experiment(s=tt.SampleRatio(method="norm", correction=False)).analyze(table)["s"]
    assert check_sample_ratio({"a": 1000, "b": 1100}, HALVES).p == pytest.approx(expected.pvalue)


def test_an_arm_with_weight_0_is_not_a_degree_of_freedom() -> None:
    two = check_sample_ratio({"a": 4900, "b": 5100}, HALVES)
    three = check_sample_ratio({"a": 4900, "b": 5100, "off": 0}, HALVES | {"off": 0.0})
    assert three.p == two.p == pytest.approx(stats.chisquare([4900, 5100]).pvalue)
    assert three.expected["off"] == 0.0
    assert three.is_mismatch() is False


@pytest.mark.parametrize("weights", [HALVES | {"off": 0.0}, HALVES])
def test_units_in_an_arm_without_weight_are_a_mismatch(weights: dict[str, float]) -> None:
    result = check_sample_ratio({"a": 5000, "b": 5000, "off": 3}, weights)
    assert (result.p, result.unplanned, result.is_mismatch()) == (1.0, 3, True)


@pytest.mark.parametrize(
    ("counts", "weights", "reason"),
    [
        ({"a": 0, "b": 0}, HALVES, "no units"),
        ({"a": 3, "b": 4}, HALVES, "fewer than 5 expected units"),
        ({"a": 100}, {"a": 1.0, "b": 0.0}, "fewer than two arms"),
    ],
)
def test_a_ratio_that_cannot_be_tested_has_a_reason(
    counts: dict[str, int], weights: dict[str, float], reason: str
) -> None:
    result = check_sample_ratio(counts, weights)
    assert (result.p, result.is_mismatch()) == (None, None)
    assert result.reason.startswith(reason)
    assert result.to_dict()["reason"] == result.reason


@pytest.mark.parametrize(
    ("counts", "weights"),
    [({"a": 1}, {"a": 0.0}), ({"a": 1}, {"a": -1.0, "b": 2.0}), ({"a": 1}, {}), ({"a": -1}, {"a": 1.0})],
)
def test_impossible_weights_and_counts_are_refused(counts: dict[str, int], weights: dict[str, float]) -> None:
    with pytest.raises(InputError, match="0 or more"):
        check_sample_ratio(counts, weights)


def test_the_bayes_factor_is_the_ratio_of_two_marginal_likelihoods() -> None:
    counts, weights = {"a": 12, "b": 30}, {"a": 1.0, "b": 2.0}
    mixture = stats.dirichlet_multinomial([20, 40], 42).logpmf([12, 30])
    plan = stats.multinomial(42, [1 / 3, 2 / 3]).logpmf([12, 30])
    assert log_bayes_factor(counts, weights, 60) == pytest.approx(mixture - plan)


def test_the_sequential_p_never_rises_and_finds_a_mismatch() -> None:
    rng, test, ps = np.random.default_rng(0), SequentialSampleRatio(HALVES), []
    for _ in range(200):
        hits = int(rng.binomial(100, 0.54))
        test = test.update({"a": hits, "b": 100 - hits})
        ps.append(test.p or 1.0)
    assert ps == sorted(ps, reverse=True)
    assert test.result.is_mismatch()
    assert test.result.method == "sequential multinomial"


def test_the_sequential_test_keeps_its_alpha_over_hourly_looks() -> None:
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(400):
        hits = rng.binomial(50, 0.5, 336)
        result = watch_sample_ratio(({"a": int(h), "b": 50 - int(h)} for h in hits), HALVES)
        alarms += result.is_mismatch(0.05) is True
    assert alarms / 400 <= 0.05


def test_the_sequential_test_of_weight_0_and_of_nothing() -> None:
    weights = HALVES | {"off": 0.0}
    assert watch_sample_ratio([], weights).reason == "no units"
    assert watch_sample_ratio([{"a": 5, "b": 5, "off": 1}], weights).is_mismatch() is True
    plain = watch_sample_ratio([{"a": 50, "b": 70}], HALVES)
    assert watch_sample_ratio([{"a": 50, "b": 70}], weights).p == plain.p
    assert watch_sample_ratio([{"a": 50}], {"a": 1.0}).reason == "fewer than two arms with a weight"


def test_exposures_are_checked() -> None:
    check = check_exposures({"a": 90, "b": 950}, 30)
    assert check.several_share == pytest.approx(30 / 1070)
    assert (check.has_too_many_in_several_arms, check.has_too_few_units) == (True, True)
    empty = check_exposures({}, 0)
    assert (empty.several_share, empty.has_too_many_in_several_arms) == (None, False)
    assert math.isclose(check_exposures({"a": 500}, 0).several_share or 0, 0)
