"""Phases with constant shares of the arms."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from assay.stats.moments import Moments, add_moments
from assay.stats.phases import find_phases, homogeneity_p
from assay.stats.unit_differences import difference


def days(shares: list[float], n: int = 2000) -> list[tuple[str, dict[str, int]]]:
    rng = np.random.default_rng(0)
    draws = [int(rng.binomial(n, share)) for share in shares]
    return [(f"day {i + 1}", {"control": n - hits, "treatment": hits}) for i, hits in enumerate(draws)]


def test_a_ramp_is_split_where_the_share_changes() -> None:
    phases = find_phases(days([0.05] * 4 + [0.2] * 3 + [0.5] * 7))
    assert [phase.name for phase in phases] == ["day 1 to day 4", "day 5 to day 7", "day 8 to day 14"]
    assert sum(phases[0].counts.values()) == 8000


def test_constant_shares_are_one_phase() -> None:
    assert len(find_phases(days([0.5] * 14))) == 1
    assert find_phases([]) == []


def test_homogeneity_is_scipys_test() -> None:
    expected = chi2_contingency([[40, 60], [30, 90]], correction=False).pvalue
    assert homogeneity_p({"a": 40, "b": 60}, {"a": 30, "b": 90}) == pytest.approx(expected)
    assert homogeneity_p({"a": 4}, {"a": 9}) == 1.0
    assert homogeneity_p({}, {"a": 9}) is None


def test_a_ramp_over_a_moving_baseline_shows_nothing_by_phase() -> None:
    """Of an A/A test ramped from 5 to 50 % while the rate moves from 30 to 33 %."""
    rng = np.random.default_rng(1)
    strata: tuple[dict[str, Moments], dict[str, Moments]] = ({}, {})
    for phase, share, rate in (("first", 0.05, 0.30), ("second", 0.5, 0.33)):
        for arm, part in enumerate((1 - share, share)):
            n = int(100_000 * part)
            strata[arm][phase] = Moments.from_fields({"n": n, "sum": int(rng.binomial(n, rate))})
    pooled = difference(*(add_moments(arm.values()) for arm in strata))
    assert (pooled.p or 1) < 1e-6
    assert (difference(*strata).p or 0) > 0.01
