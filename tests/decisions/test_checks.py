"""Rules checked on estimates and comparisons, whatever was measured."""

import numpy as np
import pytest

from assay.core.arrays import Floats
from assay.decisions.checks import Check, check_comparison, check_estimate, check_figure
from assay.decisions.rules import Rule
from assay.stats import Estimate
from assay.stats.comparison import Comparison, Subject, compare_columns
from assay.stats.thresholds import Sides

BEFORE = np.random.default_rng(0).uniform(0.2, 0.4, 400)


def compare(after: Floats, lower_is_better: bool = False) -> Comparison:
    """The comparison of an online metric, which no run or judgment knows."""
    subject = Subject("CTR", lower_is_better=lower_is_better)
    (comparison,) = compare_columns([subject], BEFORE[:, None], after[:, None])
    return comparison


def shifted(shift: float) -> Floats:
    return BEFORE + np.random.default_rng(1).normal(shift, 0.05, len(BEFORE))


@pytest.mark.parametrize(("shift", "side"), [(0.0, 1), (-0.1, -1), (-0.05, 0)])
def test_the_side_of_a_margin_is_that_of_the_whole_interval(shift: float, side: int) -> None:
    check = check_comparison(Rule("measure", "CTR", "not_worse_than", 0.05), compare(shifted(shift)))
    assert (check.boundary, check.side, check.slice) == (-0.05, side, "all")


def test_where_lower_is_better_a_fall_is_an_improvement() -> None:
    rule = Rule("measure", "CTR", "better_by", 0.01)
    rise, fall = (check_comparison(rule, compare(shifted(shift), True)) for shift in (0.1, -0.1))
    assert (rise.side, fall.side) == (-1, 1)
    assert fall.value.value == pytest.approx(0.1, abs=0.01)
    assert fall.value.low is not None
    assert fall.value.high is not None
    assert fall.value.low < fall.value.high


@pytest.mark.parametrize(("condition", "ps"), [("at_least", (0.2, 0.8)), ("at_most", (0.8, 0.2))])
def test_a_ceiling_holds_below_and_a_floor_above(condition: str, ps: tuple[float, float]) -> None:
    value = Estimate(0.5, 0.4, 0.6, 0.95, 100)
    check = check_estimate(Rule("measure", "CTR", condition, 0.5), value, Sides(above=0.2, below=0.8))
    assert (check.p_holds, check.p_fails) == ps


@pytest.mark.parametrize(
    ("figure", "side"),
    [(5.0, 1), (7.0, -1), ({"value": 5.0, "low": 4.0, "high": 7.0}, 0), ({"value": 5, "high": 6}, 1)],
)
def test_a_figure_is_on_the_side_of_its_ends(figure: float | dict[str, float], side: int) -> None:
    assert check_figure(Rule("figure", "cost", "at_most", 6.0), figure, 0.95).side == side


def near(value: float, family: int = 1) -> Check:
    rule = Rule("measure", "CTR", "at_least", 0.5)
    return Check(rule, "all", Estimate(value, 0.4, 0.6, 0.95, 100), 0.5, 0.5, 0.2, family=family)


def test_the_number_of_queries_that_would_decide_grows_towards_the_boundary() -> None:
    counts = [near(value).deciding_n or 0 for value in (0.6, 0.55, 0.51)]
    assert counts == sorted(counts)
    assert near(0.5).deciding_n is None
    assert near(0.5).is_at_boundary


def test_a_failure_among_many_needs_more_queries() -> None:
    alone, among_many = near(0.45).deciding_n, near(0.45, family=10).deciding_n
    assert alone is not None
    assert among_many is not None
    assert alone < among_many
    assert near(0.55).deciding_n == near(0.55, family=10).deciding_n  # a pass is not corrected
