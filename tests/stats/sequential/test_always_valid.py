"""Confidence sequences."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from assay.core.errors import InputError
from assay.stats.moments import Moments
from assay.stats.sequential.always_valid import (
    AlwaysValidSpread,
    choose_rho,
    half_width_ratio,
    make_always_valid,
    power_at,
)
from assay.stats.unit_differences import difference, relative_difference
from tests.stats.effect_vectors import read_vectors

CONTROL = Moments.from_fields({"n": 3000, "sum": 1396})
TREATMENT = Moments.from_fields({"n": 3461, "sum": 2422})


def test_the_public_engines_sequential_results_are_reproduced(shared: Path) -> None:
    vectors = [v for v in read_vectors(shared) if v.test.startswith("Sequential")]
    assert len(vectors) == 5
    for vector in vectors:
        lift = relative_difference(vector.control, vector.treatment)
        result = make_always_valid(lift, vector.planned_n, alternative=vector.alternative)
        ends = [result.estimate.low, result.estimate.high]
        assert ends == [end if end is None else pytest.approx(end, 1e-9) for end in vector.ends]
        if vector.alternative == "two-sided":
            assert result.p == pytest.approx(vector.result["pValue"], rel=1e-9)
        else:  # the engine reports no p above .4999
            assert (result.p or 0) >= vector.result["pValue"]


def test_the_interval_is_narrowest_at_the_planned_n() -> None:
    for planned_n in (100.0, 5000.0):
        n = 800.0
        best = minimize_scalar(lambda log, n=n: half_width_at(math.exp(log), n), bounds=(-15, 2))
        chosen = half_width_at(choose_rho(n), n)
        assert chosen == pytest.approx(best.fun, rel=1e-3)
        assert half_width_ratio(planned_n, planned_n) == pytest.approx(3.035, abs=1e-3)


def half_width_at(rho_squared: float, n: float) -> float:
    mixture = n * rho_squared
    return math.sqrt(2 * (mixture + 1) / mixture * math.log(math.sqrt(mixture + 1) / 0.05))


@given(st.floats(-5, 5), st.integers(10, 10**6), st.sampled_from([0.01, 0.05, 0.2]))
def test_p_is_alpha_where_the_interval_ends(z: float, n: int, alpha: float) -> None:
    spread = AlwaysValidSpread(z, 1.0, n, choose_rho(2000, alpha))
    low, high = spread.interval(1 - alpha)
    for end in (low, high):
        assert end is not None
        assert spread._replace(centre=z - end).two_sided() == pytest.approx(alpha)
    below = spread.p_at_most(z - spread.bound_reach(1 - alpha))
    above = spread.p_at_most(z + spread.bound_reach(1 - alpha))
    assert [below, above] == pytest.approx([alpha, 1 - alpha])


def test_neither_side_is_shown_near_the_margin() -> None:
    spread = AlwaysValidSpread(0.1, 1.0, 5000, choose_rho(5000))
    assert spread.p_at_most(0.0) == spread.p_at_most(0.1) == spread.p_at_most(0.2) == 0.5
    assert spread.two_sided() == 1.0


@pytest.mark.parametrize("names", [(), ("denominator",), ("covariate",)])
def test_means_ratios_and_cuped_get_the_same_widening(names: tuple[str, ...]) -> None:
    rng = np.random.default_rng(0)
    arms = [
        Moments.from_values(rng.normal(5, 1, 500), **{name: rng.gamma(3, 1, 500) for name in names})
        for _ in range(2)
    ]
    for plain in (difference(arms[0], arms[1]), relative_difference(arms[0], arms[1])):
        result = make_always_valid(plain, 1000)
        assert result.estimate.value == plain.estimate.value
        assert result.estimate.low is not None
        assert plain.error is not None
        assert plain.estimate.value is not None
        reach = (plain.estimate.value - result.estimate.low) / plain.error
        assert reach == pytest.approx(half_width_ratio(1000, 1000))
        assert result.method == f"{plain.method}, always valid"


def test_one_sided_bounds_are_nearer_than_two_sided_ends() -> None:
    plain = difference(CONTROL, TREATMENT)
    both = make_always_valid(plain)
    lower = make_always_valid(plain, alternative="greater")
    upper = make_always_valid(plain, alternative="less")
    assert lower.estimate.low is not None
    assert upper.estimate.high is not None
    assert both.estimate.low < lower.estimate.low < plain.estimate.low  # type: ignore[operator]
    assert both.estimate.high > upper.estimate.high > plain.estimate.high  # type: ignore[operator]
    assert (lower.estimate.high, upper.estimate.low) == (None, None)
    assert upper.p == 1 - (lower.p or 0)


def test_what_is_unknown_stays_unknown() -> None:
    empty = difference(Moments(), Moments())
    assert make_always_valid(empty) == empty


def test_wrong_options_are_refused() -> None:
    plain = difference(CONTROL, TREATMENT)
    with pytest.raises(InputError, match="alternative"):
        make_always_valid(plain, alternative="larger")
    with pytest.raises(InputError, match="planned n above 0"):
        make_always_valid(plain, 0)
    with pytest.raises(InputError, match="delta method"):
        make_always_valid(relative_difference(CONTROL, TREATMENT, interval="log"))


def test_power_of_one_look_is_below_that_of_a_fixed_test() -> None:
    assert power_at(5000, 5000, 2.8016) == pytest.approx(0.41, abs=0.01)
    assert power_at(5000, 5000, 0.0) < 0.01
