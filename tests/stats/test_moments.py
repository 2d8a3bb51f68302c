"""Sums over units."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.stats.moments import Moments, add_moments

Rows = list[tuple[float, float, float, float]]
numbers = st.floats(-100, 100).map(lambda x: round(x, 3))
rows = st.lists(st.tuples(numbers, numbers, numbers, numbers), min_size=2, max_size=30)


def moments_of(units: Rows) -> Moments:
    values, denominator, covariate, covariate_denominator = np.array(units).T
    return Moments.from_values(values, denominator, covariate, covariate_denominator)


@given(rows)
def test_means_and_covariances_are_those_of_numpy(units: Rows) -> None:
    moments, table = moments_of(units), np.array(units)
    assert moments.means() == pytest.approx(table.mean(axis=0), abs=1e-9)
    assert moments.covariance() == pytest.approx(np.cov(table.T), rel=1e-6, abs=1e-6)


@given(rows, rows, rows)
def test_moments_add_up_in_any_order(first: Rows, second: Rows, third: Rows) -> None:
    parts = [moments_of(units) for units in (first, second, third)]
    whole = moments_of(first + second + third).to_dict()
    assert add_moments(parts).to_dict() == pytest.approx(whole, rel=1e-9, abs=1e-6)
    assert add_moments(reversed(parts)).to_dict() == pytest.approx(whole, rel=1e-9, abs=1e-6)


@given(rows)
def test_moments_survive_their_plain_form(units: Rows) -> None:
    moments = moments_of(units)
    assert Moments.from_fields(moments.to_dict()) == moments


def test_units_with_an_undefined_value_are_left_out() -> None:
    moments = Moments.from_values([1.0, np.nan, 3.0], denominator=[1.0, 1.0, np.nan])
    assert (moments.n, moments.sum, moments.denominator_sum) == (1, 1.0, 1.0)


def test_no_moments_add_nothing() -> None:
    moments = Moments.from_values([1.0, 2.0], covariate=[0.0, 1.0])
    assert add_moments([]) == Moments()
    assert add_moments([Moments(), moments]) == moments == moments + Moments()


def test_values_of_0_and_1_have_the_variance_of_a_share() -> None:
    share = Moments.from_fields({"n": 10, "sum": 4})
    assert share.is_share
    assert share.covariance()[0, 0] == pytest.approx(0.24)
    assert not Moments.from_values([0.5, 1.5]).is_share


def test_a_large_mean_does_not_become_a_variance() -> None:
    assert Moments.from_values([1e6] * 10).covariance()[0, 0] == 0.0
    spread = Moments.from_values(1e4 + np.arange(10.0)).covariance()[0, 0]
    assert spread == pytest.approx(np.var(np.arange(10.0), ddof=1), rel=1e-6)


@pytest.mark.parametrize(
    ("sums", "message"),
    [
        ({"n": 3}, "no \\['sum'\\]"),
        ({"n": 3, "sum": 2, "mean": 1}, "unknown \\['mean'\\]"),
        ({"n": 3, "sum": 7}, "expected sum_squares"),
        ({"n": 3, "sum": 7, "sum_squares": 2}, "at least sum²"),
        ({"n": -1, "sum": 0, "sum_squares": 0}, "n of at least 0"),
        ({"n": 3, "sum": float("nan"), "sum_squares": 2}, "finite sums"),
        ({"n": 3, "sum": "many", "sum_squares": 2}, "expected numbers"),
        ({"n": 3, "sum": 1, "sum_squares": 2, "denominator_sum": 3}, "denominator_sum_squares together"),
        (
            {"n": 3, "sum": 1, "sum_squares": 2, "denominator_sum": 3, "denominator_sum_squares": 3},
            "expected cross",
        ),
    ],
)
def test_sums_that_no_values_have_are_refused(sums: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Moments.from_fields(sums)


def test_moments_of_different_metrics_do_not_add() -> None:
    with pytest.raises(InputError, match="same sums"):
        Moments.from_values([1.0]) + Moments.from_values([1.0], denominator=[2.0])
