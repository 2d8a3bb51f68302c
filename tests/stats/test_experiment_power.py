"""Planning of experiments."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.power import TTestIndPower

from assay.core.errors import InputError
from assay.stats.experiment_power import (
    Design,
    achieved_precision,
    days_left,
    detectable_effect,
    power_of,
    sequential_inflation,
    unit_deviation,
    units_needed,
)
from assay.stats.moments import Moments
from assay.stats.unit_differences import difference


@pytest.mark.parametrize("share", [0.5, 0.2])
@pytest.mark.parametrize(("sides", "alternative"), [(2, "two-sided"), (1, "larger")])
def test_power_is_statsmodels(share: float, sides: int, alternative: str) -> None:
    design, n = Design(treatment_share=share, sides=sides), 200
    ratio = share / (1 - share)
    expected = TTestIndPower().power(0.3, n * (1 - share), 0.05, ratio=ratio, alternative=alternative)
    assert power_of(0.6, 2.0, n, design) == pytest.approx(expected, abs=1e-6)


def test_units_needed_are_statsmodels() -> None:
    expected = TTestIndPower().solve_power(0.1, power=0.8, alpha=0.05)
    assert units_needed(0.1, 1.0) == pytest.approx(2 * expected, abs=2)
    assert detectable_effect(1.0, 2 * expected) == pytest.approx(0.1, rel=1e-6)


@given(st.floats(0.01, 10), st.floats(0.01, 100), st.floats(0.05, 0.95))
def test_the_units_needed_are_just_enough(effect: float, deviation: float, share: float) -> None:
    design = Design(treatment_share=share)
    n = units_needed(effect, deviation, design)
    assert n is not None
    assert (power_of(effect, deviation, n, design) or 0) >= 0.8
    fewer = power_of(effect, deviation, n - 1, design)
    assert fewer is None or fewer < 0.8


def test_what_cannot_be_planned_is_none() -> None:
    assert units_needed(0.0, 1.0) is None
    assert units_needed(1e-9, 1.0) is None
    assert power_of(0.1, 1.0, 3) is None
    assert power_of(0.1, 0.0, 100) is None
    assert detectable_effect(1.0, 2) is None
    with pytest.raises(InputError, match="treatment share"):
        power_of(0.1, 1.0, 100, Design(treatment_share=1.0))
    with pytest.raises(InputError, match="at least one look"):
        sequential_inflation(0)


def test_the_deviation_of_units_is_that_of_the_metric() -> None:
    rng = np.random.default_rng(0)
    covariate = rng.normal(0, 1, 4000)
    values = covariate + rng.normal(0, 1, 4000)
    plain, adjusted = Moments.from_values(values), Moments.from_values(values, covariate=covariate)
    assert unit_deviation(plain) == pytest.approx(values.std(ddof=1))
    assert unit_deviation(adjusted) == pytest.approx(1.0, abs=0.05)
    assert unit_deviation(adjusted, use_covariate=False) == unit_deviation(plain)
    assert unit_deviation(Moments.from_values([1.0])) is None
    assert unit_deviation(Moments.from_values([1.0, 1.0])) is None


def test_days_left_count_whole_days_at_the_recent_rate() -> None:
    assert days_left(1000, 2000, [500] * 7 + [100] * 7) == 10
    assert days_left(1000, 1001, [100]) == 1
    assert days_left(1000, 900, []) == 0
    assert days_left(1000, 2000, []) is None
    assert days_left(1000, 2000, [0, 0]) is None
    assert days_left(1000, None, [5]) is None


def test_looks_cost_few_units() -> None:
    assert sequential_inflation(1) == pytest.approx(1.0)
    assert 1.0 < sequential_inflation(14) < 1.05 < sequential_inflation(14, spending="pocock") < 1.4


def test_the_precision_reached_is_what_would_be_shown() -> None:
    rng = np.random.default_rng(1)
    arms = [Moments.from_values(rng.normal(0, 1, 500)) for _ in range(2)]
    precision = achieved_precision(difference(arms[0], arms[1]))
    assert precision == pytest.approx(detectable_effect(1.0, 1000), rel=0.05)
    assert achieved_precision(difference(Moments(), Moments())) is None
    assert math.isfinite(precision or math.inf)
