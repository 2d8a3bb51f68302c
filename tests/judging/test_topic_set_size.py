"""How many queries a precision needs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from assay.core.errors import InputError, UndecidableError
from assay.judging.topic_set_size import (
    expected_width,
    plan_topic_set,
    queries_for_width,
    spread_of_pilot,
    spread_of_variance,
)
from assay.stats.power import queries_needed


def test_the_expected_width_is_the_mean_width_of_simulated_intervals() -> None:
    samples = np.random.default_rng(0).normal(0.5, 0.3, (20_000, 12))
    widths = 2 * t.ppf(0.975, 11) * samples.std(axis=1, ddof=1) / np.sqrt(12)
    assert expected_width(12, 0.3) == pytest.approx(widths.mean(), rel=0.005)


@given(st.floats(0.02, 0.5), st.floats(0.05, 0.5))
def test_the_number_of_queries_is_the_least_that_is_enough(width: float, deviation: float) -> None:
    n = queries_for_width(width, deviation)
    assert expected_width(n, deviation) <= width
    assert n == 2 or expected_width(n - 1, deviation) > width


def test_the_numbers_by_power_are_those_of_the_paired_t_test() -> None:
    plan = plan_topic_set(spread_of_variance(0.05), widths=[0.1], differences=[0.1], n=60)
    assert plan.by_difference == {0.1: queries_needed(0.1, np.sqrt(0.1))}
    assert plan.by_width == {0.1: queries_for_width(0.1, np.sqrt(0.05))}


def test_a_pilot_gives_the_variance_within_systems_and_of_paired_differences() -> None:
    scores = {"a": {"1": 0.0, "2": 1.0, "3": 0.5}, "b": {"1": 0.1, "2": 0.9, "3": 0.5}}
    spread = spread_of_pilot(scores)
    assert spread.scores**2 == pytest.approx((0.25 + 0.16) / 2)
    assert spread.differences**2 == pytest.approx(0.01)
    assert (spread.source, spread.n, spread.systems) == ("pilot", 3, 2)


def test_one_system_counts_differences_as_of_independent_systems() -> None:
    spread = spread_of_pilot({"a": {"1": 0.0, "2": 1.0}})
    assert spread.differences == pytest.approx(spread.scores * np.sqrt(2))


def test_unequal_weights_widen_what_a_sample_reaches() -> None:
    plain, weighted = (plan_topic_set(spread_of_variance(None), n=100, design_effect=e) for e in (1.0, 2.0))
    assert weighted.effective_n == 50
    assert weighted.width == pytest.approx(plain.width * np.sqrt(2))
    assert weighted.difference > plain.difference  # type: ignore[operator]


def test_wrong_inputs_say_what_is_expected() -> None:
    for scores in ({"a": {"1": 0.5}}, {"a": {"1": 0.5, "2": 0.5}}):
        with pytest.raises(UndecidableError, match="spread is unknown"):
            spread_of_pilot(scores)
    with pytest.raises(InputError, match="above 0, at most 1"):
        spread_of_variance(0.0)
    with pytest.raises(InputError, match="a width must be above 0"):
        plan_topic_set(spread_of_variance(None), widths=[2.0])
