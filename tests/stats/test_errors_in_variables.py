"""A line between two measured quantities has the slope of the true ones."""

import numpy as np
import pytest

from assay.stats.errors_in_variables import fit_line


def test_without_errors_it_is_least_squares() -> None:
    generator = np.random.default_rng(1)
    x = generator.normal(size=20)
    y = 0.3 + 2 * x + generator.normal(0, 0.1, 20)
    line = fit_line(x, y, np.zeros(20), np.zeros(20))
    slope, intercept = np.polyfit(x, y, 1)
    assert line.slope.value == pytest.approx(slope)
    assert line.intercept.value == pytest.approx(intercept)
    assert line.reliability == 1


def test_errors_of_x_do_not_flatten_the_slope() -> None:
    generator = np.random.default_rng(2)
    true = generator.normal(size=4000)
    x = true + generator.normal(0, 0.7, 4000)
    line = fit_line(x, 2 * true, np.full(4000, 0.7), np.zeros(4000))
    assert np.polyfit(x, 2 * true, 1)[0] < 1.5
    assert line.slope.value == pytest.approx(2, abs=0.1)
    assert line.reliability == pytest.approx(1 / 1.49, abs=0.03)


def test_the_interval_covers_as_its_level_says() -> None:
    generator = np.random.default_rng(3)
    hits = count = 0
    for _ in range(600):
        true = generator.normal(0.5, 1, 10)
        x = true + generator.normal(0, 0.4, 10)
        y = 0.2 + 0.8 * true + generator.normal(0, 0.5, 10)
        slope = fit_line(x, y, np.full(10, 0.4), np.full(10, 0.3)).slope
        if slope.low is not None and slope.high is not None:
            hits, count = hits + int(slope.low <= 0.8 <= slope.high), count + 1
    assert hits / count > 0.92


def test_differences_no_larger_than_their_errors_have_no_slope() -> None:
    x = np.array([0.1, -0.1, 0.05, -0.05, 0.0])
    line = fit_line(x, x, np.full(5, 1.0), np.zeros(5))
    assert line.slope.value is None
    assert line.reliability == 0
    assert fit_line(np.ones(5), x, np.zeros(5), np.zeros(5)).reliability is None
