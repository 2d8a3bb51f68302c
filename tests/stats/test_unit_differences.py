"""Differences between two arms, beside other implementations and published results."""

import csv
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
import tea_tasting as tt
from scipy import stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from assay.core.arrays import Floats
from assay.core.errors import InputError
from assay.decisions.checks import check_comparison
from assay.decisions.rules import read_rules
from assay.stats.arms import merge_small_strata
from assay.stats.moments import Moments, add_moments
from assay.stats.unit_differences import (
    LIFT_INTERVALS,
    UnitDifference,
    arm_estimate,
    difference,
    mean_estimate,
    ratio_estimate,
    relative_difference,
)
from tests.stats.effect_vectors import read_vectors


class Units(NamedTuple):
    """Units of both arms."""

    arm: Floats
    value: Floats
    denominator: Floats
    covariate: Floats
    covariate_denominator: Floats

    def moments(self, arm: int, *names: str, rows: slice = slice(None)) -> Moments:
        taken = {name: getattr(self, name)[self.arm == arm][rows] for name in names}
        return Moments.from_values(self.value[self.arm == arm][rows], **taken)

    def arms(self, *names: str) -> tuple[Moments, Moments]:
        return self.moments(0, *names), self.moments(1, *names)


@pytest.fixture(scope="module")
def units() -> Units:
    rng = np.random.default_rng(3)
    n = 1500
    arm, denominator, pages = rng.integers(0, 2, n) * 1.0, rng.poisson(5, n) + 1.0, rng.poisson(4, n) + 1.0
    covariate = pages * rng.gamma(2, 1, n)
    value = denominator * 0.4 + rng.normal(0, 1, n) + 0.5 * covariate + 0.3 * arm
    return Units(*np.array([arm, value, denominator, covariate, pages]))


def ends(result: UnitDifference) -> list[float | None]:
    return list(result.estimate[:3])


def test_a_mean_has_students_interval(units: Units) -> None:
    estimate = mean_estimate(units.moments(0))
    values = units.value[units.arm == 0]
    interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert estimate[:3] == pytest.approx((values.mean(), *interval))


def test_a_share_has_its_exact_interval() -> None:
    estimate = arm_estimate(Moments.from_fields({"n": 50, "sum": 20}))
    assert estimate[1:3] == pytest.approx(tuple(stats.binomtest(20, 50).proportion_ci()))


def test_a_mean_difference_is_welchs_as_in_scipy_and_statsmodels(units: Units) -> None:
    result = difference(*units.arms())
    first, second = (units.value[units.arm == arm] for arm in (0, 1))
    expected = stats.ttest_ind(second, first, equal_var=False)
    interval = expected.confidence_interval()
    assert result.p == pytest.approx(expected.pvalue)
    assert ends(result)[1:] == pytest.approx([interval.low, interval.high])
    other = CompareMeans(DescrStatsW(second), DescrStatsW(first)).tconfint_diff(usevar="unequal")
    assert ends(result)[1:] == pytest.approx(list(other))
    assert result.method == "Welch"


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_one_sided_tests_are_scipys(units: Units, alternative: str) -> None:
    result = difference(*units.arms(), alternative=alternative)
    first, second = (units.value[units.arm == arm] for arm in (0, 1))
    expected = stats.ttest_ind(second, first, equal_var=False, alternative=alternative)
    interval = expected.confidence_interval()
    assert result.p == pytest.approx(expected.pvalue)
    known = [None if math.isinf(end) else pytest.approx(end) for end in interval]
    assert ends(result)[1:] == known


@pytest.mark.parametrize("denominator", [(), ("denominator",)])
def test_means_and_ratios_and_their_lift_are_those_of_tea_tasting(
    units: Units, denominator: tuple[str, ...]
) -> None:
    table = pa.table({"variant": units.arm.astype(int), "y": units.value, "d": units.denominator})
    metric = tt.RatioOfMeans("y", "d") if denominator else tt.Mean("y")
    expected = tt.Experiment(m=metric).analyze(table)["m"]
    result = difference(*units.arms(*denominator))
    lift = relative_difference(*units.arms(*denominator), interval="log")
    assert ends(result) == pytest.approx(
        [expected.effect_size, expected.effect_size_ci_lower, expected.effect_size_ci_upper]
    )
    assert ends(lift) == pytest.approx(
        [expected.rel_effect_size, expected.rel_effect_size_ci_lower, expected.rel_effect_size_ci_upper]
    )
    assert result.p == pytest.approx(expected.pvalue)


def test_cuped_is_welchs_test_of_adjusted_values(units: Units) -> None:
    arms = [np.array([units.value[units.arm == a], units.covariate[units.arm == a]]) for a in (0, 1)]
    covariances = [np.cov(arm) / arm.shape[1] for arm in arms]
    factor = sum(c[0, 1] for c in covariances) / sum(c[1, 1] for c in covariances)
    control, treatment = (arm[0] - factor * arm[1] for arm in arms)
    expected = stats.ttest_ind(treatment, control, equal_var=False)
    result = difference(*units.arms("covariate"))
    assert result.p == pytest.approx(expected.pvalue)
    assert result.estimate.value == pytest.approx(treatment.mean() - control.mean())
    assert result.method == "Welch, CUPED"
    assert (result.variance_reduction or 0) > 0.3


@pytest.mark.parametrize("is_ratio", [False, True])
def test_cuped_agrees_with_tea_tasting_up_to_the_choice_of_its_factor(units: Units, is_ratio: bool) -> None:
    table = pa.table({"variant": units.arm.astype(int), "y": units.value, "d": units.denominator,
                      "x": units.covariate, "e": units.covariate_denominator})  # fmt: skip
    metric = tt.RatioOfMeans("y", "d", "x", "e") if is_ratio else tt.Mean("y", "x")
    names = ("denominator", "covariate", "covariate_denominator") if is_ratio else ("covariate",)
    expected, result = tt.Experiment(m=metric).analyze(table)["m"], difference(*units.arms(*names))
    width = expected.effect_size_ci_upper - expected.effect_size_ci_lower
    assert result.estimate.value == pytest.approx(expected.effect_size, abs=0.01 * width)
    assert result.estimate.low == pytest.approx(expected.effect_size_ci_lower, abs=0.01 * width)


def test_the_public_engines_results_are_reproduced(shared: Path) -> None:
    vectors = [v for v in read_vectors(shared) if not v.test.startswith("Sequential")]
    assert len(vectors) == 5
    for vector in vectors:
        result = relative_difference(vector.control, vector.treatment, alternative=vector.alternative)
        assert result.estimate.value == pytest.approx(vector.result["expected"], abs=1e-9)
        assert ends(result)[1:] == [end if end is None else pytest.approx(end, 1e-9) for end in vector.ends]
        assert result.error == pytest.approx(vector.result["uplift"]["stddev"], rel=1e-9)
        assert result.p == pytest.approx(vector.result["pValue"], rel=1e-9)


def test_intervals_of_lift_agree_far_from_0_and_fiellers_is_unknown_near_it() -> None:
    rng = np.random.default_rng(1)
    far = [Moments.from_values(rng.normal(mean, 1, 4000)) for mean in (10.0, 10.5)]
    lifts = [relative_difference(*far, interval=i) for i in LIFT_INTERVALS]
    for lift in lifts[1:]:
        assert ends(lift) == pytest.approx(ends(lifts[0]), abs=1e-4)
    near = [Moments.from_values(rng.normal(mean, 1, 50)) for mean in (0.2, 0.3)]
    fieller = relative_difference(*near, interval="fieller")
    assert (ends(fieller)[1:], fieller.reason) == ([None, None], "the control may be 0")
    assert relative_difference(*near).estimate.is_narrow


def test_fiellers_interval_ends_where_its_p_is_alpha(units: Units) -> None:
    result = relative_difference(*units.arms("covariate"), interval="fieller")
    low, high = ends(result)[1:]
    assert low is not None
    assert high is not None
    assert result.spread.p_at_most(low) == pytest.approx(0.025)
    assert result.spread.p_at_most(high) == pytest.approx(0.975)


def test_post_stratification_removes_differences_between_strata() -> None:
    rng = np.random.default_rng(2)
    control = {name: Moments.from_values(rng.normal(mean, 1, 500)) for name, mean in (("a", 0), ("b", 20))}
    treatment = {n: Moments.from_values(rng.normal(m, 1, k)) for n, m, k in (("a", 0, 400), ("b", 20, 600))}
    pooled = difference(add_moments(control.values()), add_moments(treatment.values()))
    result = difference(control, treatment)
    assert abs(pooled.estimate.value or 0) > 1
    assert abs(result.estimate.value or 1) < 0.15
    assert (result.error or 1) < (pooled.error or 0) / 4
    assert result.method == "Welch, post-stratified"
    assert result.n == 2000


def test_stratified_means_are_weighted_by_the_strata_of_both_arms(units: Units) -> None:
    control = {"a": units.moments(0, rows=slice(0, 300)), "b": units.moments(0, rows=slice(300, None))}
    treatment = {"a": units.moments(1, rows=slice(0, 500)), "b": units.moments(1, rows=slice(500, None))}
    counts = {name: control[name].n + treatment[name].n for name in control}
    result = difference(control, treatment, weights=counts)
    gaps = {s: difference(control[s], treatment[s]) for s in counts}
    n = sum(counts.values())
    assert result.estimate.value == pytest.approx(
        sum(counts[s] / n * (gaps[s].estimate.value or 0) for s in counts)
    )
    variance = sum((counts[s] / n) ** 2 * (gaps[s].error or 0) ** 2 for s in counts)
    assert result.error == pytest.approx(math.sqrt(variance))


def test_one_stratum_is_no_stratification(units: Units) -> None:
    names = ("denominator", "covariate", "covariate_denominator")
    control, treatment = units.arms(*names)
    whole, one = difference(control, treatment), difference({"all": control}, {"all": treatment})
    assert ends(one) == pytest.approx(ends(whole))
    assert one.p == pytest.approx(whole.p)


def test_small_strata_are_merged() -> None:
    def strata(*counts: int) -> dict[str, Moments]:
        return {f"s{i}": Moments.from_values(np.arange(n, dtype=float)) for i, n in enumerate(counts)}

    control, treatment = merge_small_strata(strata(50, 1, 30), strata(50, 9, 30), least=5)
    assert {name: m.n for name, m in control.items()} == {"s0": 50, "other": 31}
    assert {name: m.n for name, m in treatment.items()} == {"s0": 50, "other": 39}
    only = merge_small_strata({"x": Moments.from_values([1.0, 2.0])}, {"y": Moments.from_values([1.0])})
    assert [m["other"].n for m in only] == [2, 1]


@pytest.mark.parametrize(
    ("control", "treatment", "reason"),
    [
        (Moments(), Moments(), "no units"),
        (Moments(), Moments.from_values([1.0, 2.0]), "fewer than 2 units in an arm"),
        (Moments.from_values([1.0]), Moments.from_values([1.0, 2.0]), "fewer than 2 units in an arm"),
        (Moments.from_values([1.0, 1.0]), Moments.from_values([1.0, 1.0]), "no variance"),
        (
            Moments.from_values([1.0, 2.0], [0.0, 0.0]),
            Moments.from_values([1.0, 2.0], [1.0, 2.0]),
            "a denominator of 0",
        ),
        (
            Moments.from_values([1.0, 2.0]),
            Moments.from_values([1.0, 2.0], [1.0, 2.0]),
            "the arms have different sums",
        ),
    ],
)
def test_what_is_unknown_has_a_reason_and_no_p(control: Moments, treatment: Moments, reason: str) -> None:
    for result in (difference(control, treatment), relative_difference(control, treatment)):
        assert (ends(result)[1:], result.p, result.error) == ([None, None], None, None)
        assert result.reason.startswith(reason)


def test_strata_that_cannot_be_compared_have_a_reason() -> None:
    some = Moments.from_values([1.0, 2.0, 4.0])
    assert "one arm only: b" in difference({"a": some, "b": some}, {"a": some}).reason
    assert "2 units of b" in difference({"a": some, "b": some}, {"a": some, "b": Moments()}).reason
    assert (
        "no weight of b"
        in difference({"a": some, "b": some}, {"a": some, "b": some}, weights={"a": 1}).reason
    )


def test_lift_over_a_control_that_is_not_positive_is_unknown() -> None:
    negative, positive = Moments.from_values([-3.0, -1.0]), Moments.from_values([1.0, 3.0])
    result = relative_difference(negative, positive)
    assert (result.estimate.value, result.p) == (None, None)
    assert result.reason == "relative to a control that is not above 0"
    assert "logarithm" in relative_difference(positive, negative, interval="log").reason


def test_a_covariate_without_variance_adjusts_nothing(units: Units) -> None:
    constant = [
        Moments.from_values(units.value[units.arm == a], covariate=np.full((units.arm == a).sum(), 2.0))
        for a in (0, 1)
    ]
    result = difference(constant[0], constant[1])
    assert (result.method, result.variance_reduction) == ("Welch", None)
    assert ends(result) == pytest.approx(ends(difference(*units.arms())))


def test_wrong_options_are_refused(units: Units) -> None:
    with pytest.raises(InputError, match="expected an interval of"):
        relative_difference(*units.arms(), interval="wide")
    with pytest.raises(InputError, match="expected an alternative of"):
        difference(*units.arms(), alternative="larger")


def test_a_difference_is_read_by_decisions(units: Units) -> None:
    comparison = difference(*units.arms()).to_comparison("value")
    settings = {"rules": [{"measure": "nDCG@10", "not_worse_than": 0.1}]}
    check = check_comparison(read_rules(settings).rules[0], comparison)
    assert (check.value.value, check.side) == (comparison.difference.value, 1)
    assert (check.p_holds or 1) < 0.05
    worse = difference(*units.arms()).to_comparison("value", lower_is_better=True)
    assert worse.improvement == -(comparison.difference.value or 0)


def test_a_ratio_estimate_is_that_of_linearised_units(units: Units) -> None:
    value, denominator = units.value[units.arm == 0], units.denominator[units.arm == 0]
    ratio = value.sum() / denominator.sum()
    parts = (value - ratio * denominator) / denominator.mean()
    half = stats.t.ppf(0.975, len(value) - 1) * parts.std(ddof=1) / math.sqrt(len(value))
    estimate = ratio_estimate(units.moments(0, "denominator"))
    assert estimate[:3] == pytest.approx((ratio, ratio - half, ratio + half))
    assert estimate.n == len(value)


def test_udacitys_published_intervals_are_reproduced(shared: Path) -> None:
    path = shared / "abtest" / "Udacity-AB-Testing-Final-Project-Experiment-Results.csv"
    days = [row for row in csv.DictReader(path.read_text().splitlines()) if row["payments_con"]]

    def total(name: str) -> int:
        return sum(int(day[name]) for day in days)

    published = {"enrollments": (-0.0206, -0.0291, -0.0120), "payments": (-0.0049, -0.0116, 0.0019)}
    for name, expected in published.items():
        arms = [
            Moments.from_fields({"n": total(f"clicks_{arm}"), "sum": total(f"{name}_{arm}")})
            for arm in ("con", "exp")
        ]
        assert ends(difference(*arms)) == pytest.approx(expected, abs=5.1e-5)
