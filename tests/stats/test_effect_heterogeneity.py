"""Effects by slice and by day."""

import numpy as np
import pytest
from statsmodels.stats.meta_analysis import combine_effects

from assay.stats.effect_heterogeneity import check_heterogeneity, fit_trend
from assay.stats.moments import Moments
from assay.stats.unit_differences import UnitDifference, difference


def effect(rng: np.random.Generator, lift: float, n: int = 400) -> UnitDifference:
    return difference(*(Moments.from_values(rng.normal(mean, 1, n)) for mean in (0, lift)))


def test_cochrans_test_is_statsmodels() -> None:
    rng = np.random.default_rng(0)
    effects = {
        name: effect(rng, lift, n) for name, lift, n in (("a", 0, 300), ("b", 0.2, 500), ("c", 0.1, 90))
    }
    result = check_heterogeneity(effects)
    centres = [e.estimate.value for e in effects.values()]
    expected = combine_effects(np.array(centres), np.array([(e.error or 0) ** 2 for e in effects.values()]))
    assert result.statistic == pytest.approx(expected.q)
    assert result.df == 2
    assert result.i_squared == pytest.approx(max(0.0, expected.i2))
    assert result.p == pytest.approx(expected.test_homogeneity().pvalue)


def test_the_slice_that_deviates_is_named() -> None:
    rng = np.random.default_rng(1)
    effects = {name: effect(rng, 0.0) for name in "abcd"} | {"e": effect(rng, -0.6)}
    result = check_heterogeneity(effects)
    assert (result.p or 1) < 1e-6
    assert [s.name for s in result.slices if s.corrected_p < 0.05] == ["e"]
    deviation = result.slices[-1].deviation
    assert deviation.high is not None
    assert deviation.high < 0


def test_equal_effects_alarm_at_alpha() -> None:
    rng = np.random.default_rng(2)
    ps = [check_heterogeneity({s: effect(rng, 0.3, 60) for s in "abcd"}).p or 0 for _ in range(300)]
    assert np.mean(np.array(ps) < 0.05) == pytest.approx(0.05, abs=0.04)


def test_slices_without_an_interval_are_left_out_and_named() -> None:
    rng = np.random.default_rng(3)
    empty = difference(Moments(), Moments())
    result = check_heterogeneity({"a": effect(rng, 0), "b": empty, "c": effect(rng, 0)})
    assert result.left_out == ("b",)
    assert result.df == 1
    alone = check_heterogeneity({"a": effect(rng, 0), "b": empty})
    assert (alone.p, alone.reason) == (None, "fewer than two slices with an interval")


def test_a_fading_effect_is_found_and_a_constant_one_is_not() -> None:
    rng = np.random.default_rng(4)
    fading = fit_trend({day: effect(rng, 0.6 - 0.05 * day) for day in range(10)})
    constant = fit_trend({day: effect(rng, 0.3) for day in range(10)})
    assert fading.is_fading is True
    assert fading.is_growing is False
    assert fading.slope.value == pytest.approx(-0.05, abs=0.02)
    assert constant.is_fading is constant.is_growing is False
    growing = fit_trend({day: effect(rng, 0.05 * day) for day in range(10)})
    assert growing.is_growing is True


def test_two_days_have_no_trend() -> None:
    rng = np.random.default_rng(5)
    trend = fit_trend({1.0: effect(rng, 0), 2.0: effect(rng, 0)})
    assert (trend.p, trend.is_fading, trend.is_growing) == (None, None, None)
    assert trend.reason == "fewer than three days with an interval"
