"""May it ship: every kind of rule passes, fails and refuses, and the noise decides nothing."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from assay.evaluation.gate import CandidateMeasurements, gate, missing_inputs
from assay.evaluation.slices import Slice
from assay.views.checks import describe_advice, describe_check, describe_verdict
from tests.evaluation.gates import (
    QUARTERS,
    Columns,
    N,
    gate_values,
    latencies,
    moved_scores,
    only_check,
    share,
    spread,
)
from tests.reference_measures import quick

# Every kind of rule, in each of the three


@pytest.mark.parametrize(
    ("rule", "passing", "failing", "noisy"),
    [
        ("at_least", 0.45, 0.55, 0.51),
        ("at_most", 0.55, 0.45, 0.49),
    ],
)
def test_a_floor_and_a_ceiling(rule: str, passing: float, failing: float, noisy: float) -> None:
    for threshold, status in ((passing, "passed"), (failing, "failed"), (noisy, "undecided")):
        assert gate_values({"measure": "R@10", rule: threshold}).status == status


@pytest.mark.parametrize(
    ("rule", "by", "status"),
    [
        ({"not_worse_than": 0.05}, 0.0, "passed"),
        ({"not_worse_than": 0.05}, -0.02, "passed"),
        ({"not_worse_than": 0.05}, -0.1, "failed"),
        ({"not_worse_than": 0.05}, -0.04, "undecided"),
        ({"not_worse_than": 0.0}, 0.03, "passed"),
        ({"better_by": 0.01}, 0.05, "passed"),
        ({"better_by": 0.01}, -0.02, "failed"),
        ({"better_by": 0.01}, 0.02, "undecided"),
        ({"better_by": 0.0}, 0.03, "passed"),
    ],
)
def test_a_margin_is_held_against_the_paired_difference(
    rule: dict[str, float], by: float, status: str
) -> None:
    assert gate_values({"measure": "nDCG@10", **rule}, {"nDCG@10": moved_scores(by)}).status == status


@pytest.mark.parametrize(("threshold", "status"), [(0.8, "passed"), (0.97, "failed"), (0.88, "undecided")])
def test_a_robustness_floor_is_held_by_the_exact_binomial_test(threshold: float, status: str) -> None:
    rule = {"measure": "Robustness-0.3@10", "at_least": threshold}
    check = only_check(gate_values(rule, {"Robustness-0.3@10": [share(90)]}))
    assert check.status == status
    assert check.p_holds == pytest.approx(stats.binomtest(90, N, threshold, "greater").pvalue)
    assert check.p_fails == pytest.approx(stats.binomtest(90, N, threshold, "less").pvalue)


@pytest.mark.parametrize(("threshold", "status"), [(0.2, "passed"), (0.03, "failed"), (0.12, "undecided")])
def test_where_lower_is_better_a_ceiling_holds_below(threshold: float, status: str) -> None:
    rule = {"measure": "ZeroHit@10", "at_most": threshold}
    check = only_check(gate_values(rule, {"ZeroHit@10": [share(10)]}))
    assert check.status == status
    assert check.p_holds == pytest.approx(stats.binomtest(10, N, threshold, "less").pvalue)


@pytest.mark.parametrize(
    ("gained", "lost", "status"), [(2, 3, "passed"), (60, 0, "failed"), (12, 4, "undecided")]
)
def test_where_lower_is_better_no_worse_means_no_higher(gained: int, lost: int, status: str) -> None:
    before = (np.arange(200) < 100).astype(np.float64)
    after = before.copy()
    after[:lost], after[100 : 100 + gained] = 0.0, 1.0  # zero hits gained are for the worse
    rule = {"measure": "ZeroHit@10", "not_worse_than": 0.06}
    check = only_check(gate_values(rule, {"ZeroHit@10": (before, after)}))
    assert check.status == status
    assert check.value.value == pytest.approx((lost - gained) / 200)  # the improvement


@pytest.mark.parametrize(("by", "status"), [(0.12, "passed"), (-0.12, "failed"), (0.02, "undecided")])
@pytest.mark.parametrize("measure", ["Quantile(R@10, 0.25)", "gmAP"])
def test_quantiles_and_geometric_means_are_compared(measure: str, by: float, status: str) -> None:
    columns = {measure: moved_scores(by, 0.05)}
    assert gate_values({"measure": measure, "better_by": 0.02}, columns).status == status


@pytest.mark.parametrize(("threshold", "status"), [(0.3, "passed"), (0.6, "failed"), (0.42, "undecided")])
@pytest.mark.parametrize("measure", ["Quantile(R@10, 0.25)", "gmAP"])
def test_quantiles_and_geometric_means_have_floors(measure: str, threshold: float, status: str) -> None:
    values = {"Quantile(R@10, 0.25)": spread(0.5, 0.1), "gmAP": spread(0.425, 0.1)}
    assert (
        gate_values({"measure": measure, "at_least": threshold}, {measure: [values[measure]]}).status
        == status
    )


def test_a_quantile_that_equals_its_ceiling_is_at_most_it() -> None:
    rule = {"measure": "Quantile(R@10, 0.2)", "at_most": 0.5}
    assert gate_values(rule, {"Quantile(R@10, 0.2)": [np.full(50, 0.5)]}).status == "passed"


@pytest.mark.parametrize(("slow", "status"), [(30, "passed"), (80, "failed"), (50, "undecided")])
def test_a_latency_percentile_is_held_by_the_share_of_requests_within_it(slow: int, status: str) -> None:
    check = only_check(
        gate_values({"latency": "p95", "at_most": 200}, measurements=CandidateMeasurements(latencies(slow)))
    )
    assert check.status == status
    assert check.p_holds == pytest.approx(stats.binomtest(1000 - slow, 1000, 0.95, "greater").pvalue)
    assert check.p_fails == pytest.approx(stats.binomtest(1000 - slow, 1000, 0.95, "less").pvalue)


@pytest.mark.parametrize(("slow", "status"), [(80, "passed"), (30, "failed"), (50, "undecided")])
def test_a_latency_may_have_a_floor(slow: int, status: str) -> None:
    rule = {"latency": "p95", "at_least": 200}
    assert gate_values(rule, measurements=CandidateMeasurements(latencies(slow))).status == status


@pytest.mark.parametrize(("slow", "status"), [(30, "passed"), (80, "failed"), (50, "undecided")])
def test_an_slo_is_a_share_of_requests_held_exactly(slow: int, status: str) -> None:
    rule = {"slo_ms": 200, "at_least": 0.95}
    check = only_check(gate_values(rule, measurements=CandidateMeasurements(latencies(slow))))
    assert check.status == status
    assert check.value.value == 1 - slow / 1000
    assert check.p_holds == pytest.approx(stats.binomtest(1000 - slow, 1000, 0.95, "greater").pvalue)


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (0.4, "passed"),
        (0.5, "passed"),
        (0.6, "failed"),
        ({"value": 0.4, "low": 0.3, "high": 0.45}, "passed"),
        ({"value": 0.6, "low": 0.55, "high": 0.7}, "failed"),
        ({"value": 0.4, "low": 0.3, "high": 0.6}, "undecided"),
        ({"value": 0.4, "high": 0.6}, "undecided"),
    ],
)
def test_a_figure_is_held_by_itself_or_by_its_interval(given: Any, status: str) -> None:
    check = only_check(
        gate_values(
            {"figure": "cost", "at_most": 0.5}, measurements=CandidateMeasurements(None, {"cost": given})
        )
    )
    assert check.status == status
    assert ("a single figure, no interval" in describe_check(check)) == isinstance(given, float)


def test_a_figure_may_have_a_floor() -> None:
    measurements = CandidateMeasurements(None, {"uptime": {"value": 0.99, "low": 0.98, "high": 0.995}})
    for threshold, status in ((0.97, "passed"), (0.999, "failed"), (0.985, "undecided")):
        assert (
            gate_values({"figure": "uptime", "at_least": threshold}, measurements=measurements).status
            == status
        )


# The noise decides nothing


def test_the_p_of_a_margin_is_that_of_scipys_paired_test() -> None:
    before, after = moved_scores(-0.03)
    check = only_check(gate_values({"measure": "R@10", "not_worse_than": 0.05}, {"R@10": (before, after)}))
    assert check.p_holds == pytest.approx(stats.ttest_rel(after + 0.05, before, alternative="greater").pvalue)
    assert check.p_fails == pytest.approx(stats.ttest_rel(after + 0.05, before, alternative="less").pvalue)


KINDS: Columns = {
    "R@10": [spread(0.5, 0.1)],
    "Robustness-0.3@10": [share(80)],
    "Quantile(R@10, 0.1)": [np.round(spread(0.5, 0.1), 2)],
    "gmAP": [spread(0.5, 0.1)],
}


@quick
@given(
    st.sampled_from(sorted(KINDS)),
    st.sampled_from(["at_least", "at_most"]),
    st.floats(0, 1),
    st.sampled_from([0.8, 0.95, 0.99]),
)
def test_a_threshold_inside_the_noise_is_neither_held_nor_failed(
    measure: str, condition: str, threshold: float, level: float
) -> None:
    rule = {"measure": measure, condition: threshold}
    check = only_check(gate_values(rule, {measure: KINDS[measure]}, level=level))
    low, high = check.value.low or 0.0, check.value.high or 1.0
    if low < threshold < high:
        assert check.status == "undecided"
    if check.status != "undecided":
        right = threshold <= low if condition == "at_least" else threshold >= high
        assert check.status == ("passed" if right else "failed")


@quick
@given(
    st.floats(-0.2, 0.2),
    st.floats(0, 0.1),
    st.sampled_from(["not_worse_than", "better_by"]),
    st.sampled_from(["R@10", "ZeroHit@10", "Quantile(R@10, 0.2)", "gmAP"]),
)
def test_a_margin_inside_the_noise_is_neither_held_nor_failed(
    by: float, margin: float, condition: str, measure: str
) -> None:
    before, after = moved_scores(by)
    if measure == "ZeroHit@10":
        before, after = (np.round(values) for values in (before, after))
    check = only_check(
        gate_values({"measure": measure, condition: margin}, {measure: (before, np.abs(after))})
    )
    edge = -margin if condition == "not_worse_than" else margin
    assert check.value.low is not None
    assert check.value.high is not None
    expected = "passed" if check.value.low >= edge else "failed" if check.value.high < edge else "undecided"
    assert check.status in (expected, "undecided")


def test_a_candidate_that_is_worse_by_less_than_can_be_told_is_not_failed_but_said_to_be_worse() -> None:
    check = only_check(
        gate_values({"measure": "R@10", "not_worse_than": 0.05}, {"R@10": moved_scores(-0.04)})
    )
    assert (
        describe_check(check)
        == "−0.0400 (−0.0598 … −0.0202), n 100: worse, but too close to tell whether by more than that"
    )
    assert describe_advice(check).startswith("look at the queries that lost most, such as q")
    assert describe_advice(check).endswith(
        "would tell (now 100; if the value stays the same); or widen the margin"
    )


@pytest.mark.parametrize("shift", [0.0, -0.02])
def test_many_slices_seldom_raise_a_false_alarm(shift: float) -> None:
    """300 gates of ten slices, each with no loss, or just the loss that its margin allows."""
    rule = {"measure": "nDCG@10", "not_worse_than": 0.02, "by": "team"}
    parts = [Slice("team", str(i), list(range(40 * i, 40 * i + 40))) for i in range(10)]
    rng, result = np.random.default_rng(7), Counter[str]()
    for _ in range(300):
        before = rng.random(400)
        result[
            gate_values(rule, {"nDCG@10": (before, before + rng.normal(shift, 0.1, 400))}, parts).status
        ] += 1
    most = int(stats.binom.ppf(0.999, 300, 0.025))
    assert max(result["failed"], result["passed"]) <= most


def test_without_correction_the_same_slices_would_often_raise_one() -> None:
    rule = {"measure": "nDCG@10", "not_worse_than": 0.02, "by": "team"}
    parts = [Slice("team", str(i), list(range(40 * i, 40 * i + 40))) for i in range(10)]
    rng, failed = np.random.default_rng(7), 0
    for _ in range(100):
        before = rng.random(400)
        columns = {"nDCG@10": (before, before + rng.normal(-0.02, 0.1, 400))}
        failed += gate_values(rule, columns, parts, correction="none").status == "failed"
    assert failed > 12


def test_a_slice_that_lost_passes_no_more_often_than_one_side_of_the_interval() -> None:
    """All rules must hold, so that a pass needs no correction: 300 gates with one slice on its margin."""
    rule = {"measure": "nDCG@10", "not_worse_than": 0.05, "by": "team"}
    rng, passed = np.random.default_rng(8), 0
    for _ in range(300):
        before = rng.random(N)
        change = rng.normal(0.1, 0.05, N)
        change[:25] = rng.normal(-0.05, 0.05, 25)
        passed += gate_values(rule, {"nDCG@10": (before, before + change)}, QUARTERS).status == "passed"
    assert passed <= stats.binom.ppf(0.999, 300, 0.025)


def test_failures_are_corrected_by_holm_over_all_checks() -> None:
    rules: list[dict[str, Any]] = [
        {"measure": "R@10", "not_worse_than": 0.01, "by": "team"},
        {"measure": "R@10", "at_least": 0.6},
        {"figure": "cost", "at_most": 1},
    ]
    verdict = gate_values(
        rules, {"R@10": moved_scores(-0.04)}, QUARTERS, CandidateMeasurements(None, {"cost": 2})
    )
    checks = [check for check in verdict.checks if check.rule.subject == "measure"]
    expected = multipletests([check.p_fails for check in checks], method="holm")[1]
    assert [check.corrected_p for check in checks] == pytest.approx(expected)
    assert (
        verdict.checks[-1].corrected_p == 0
    )  # a figure raises no false alarm, and the others do not pay for it


# Slices


def test_a_rule_is_held_in_every_slice_and_over_all() -> None:
    before, after = moved_scores(0.03)
    after[:25] = before[:25] - spread(0.2, 0.05, 25)
    verdict = gate_values(
        {"measure": "R@10", "not_worse_than": 0.05, "by": "team"}, {"R@10": (before, after)}, QUARTERS
    )
    assert [(c.slice, c.status) for c in verdict.checks if c.status == "failed"] == [("team: a", "failed")]
    assert [c.slice for c in verdict.checks] == ["all", "team: a", "team: b", "team: c", "team: d"]
    assert verdict.status == "failed"
    assert "R@10 not worse by more than 0.05 (team: a)" in describe_verdict(verdict)


def test_the_queries_named_are_those_of_the_slice_that_lost_most() -> None:
    before, after = moved_scores(0.1, 0.02)
    after[25:50] = before[25:50] - np.linspace(0.2, 0.3, 25)
    rule = {"measure": "R@10", "not_worse_than": 0.05, "by": "team"}
    verdict = gate_values(rule, {"R@10": (before, after)}, QUARTERS)
    loser = next(check for check in verdict.checks if check.slice == "team: b")
    assert (
        describe_advice(loser) == "look at the queries that lost most, such as q49, q48, q47 (assay compare)"
    )


def test_a_slice_too_small_is_not_looked_at_and_said_so() -> None:
    parts = [Slice("team", "few", [0, 1, 2]), Slice("team", "rest", list(range(3, N)))]
    rule = {"measure": "R@10", "at_least": 0.4, "by": "team", "min_n": 10}
    verdict = gate_values(rule, {"R@10": [spread(0.5, 0.1)]}, parts)
    assert [check.status for check in verdict.checks] == ["passed", "skipped", "passed"]
    assert describe_check(verdict.checks[1]) == "skipped: 3 queries, the rule requires 10"
    assert describe_verdict(verdict) == "passed: 2 of 3 checks hold, 1 slice too small and skipped"


def test_a_slice_too_small_makes_others_pay_nothing() -> None:
    parts = [Slice("team", "few", [0, 1, 2]), Slice("team", "rest", list(range(3, N)))]
    rule = {"measure": "R@10", "at_least": 0.55, "by": "team", "min_n": 10}
    whole, few, rest = gate_values(rule, {"R@10": [spread(0.5, 0.1)]}, parts).checks
    expected = multipletests([whole.p_fails, rest.p_fails], method="holm")[1]
    assert [whole.corrected_p, rest.corrected_p] == pytest.approx(expected)
    assert few.status == "skipped"


def test_an_improvement_may_be_asked_of_every_slice() -> None:
    rule = {"measure": "nDCG@10", "better_by": 0.01, "by": "team"}
    before, after = moved_scores(0.06, 0.05)
    assert gate_values(rule, {"nDCG@10": (before, after)}, QUARTERS).status == "passed"
    after[75:] = before[75:] + spread(0.01, 0.05, 25)
    verdict = gate_values(rule, {"nDCG@10": (before, after)}, QUARTERS)
    assert verdict.status == "undecided"
    assert describe_verdict(verdict).startswith("cannot be decided: nDCG@10 better by 0.01 (team: d)")


def test_a_query_without_a_value_counts_for_nothing() -> None:
    values = spread(0.5, 0.1)
    values[:30] = np.nan
    assert only_check(gate_values({"measure": "R@10", "at_least": 0.3}, {"R@10": [values]})).value.n == 70


def test_a_measure_that_is_nowhere_defined_decides_nothing() -> None:
    check = only_check(gate_values({"measure": "R@10", "at_least": 0.3}, {"R@10": [np.full(5, np.nan)]}))
    assert (check.status, check.value.n) == ("undecided", 0)
    assert describe_advice(check) == "judge queries for which R@10 is defined"


def test_a_gate_computes_no_overlap_of_documents_that_were_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise AssertionError("an overlap was computed")

    monkeypatch.setattr("assay.evaluation.compare.measure_overlap", refuse)
    qrels, runs = (
        {"q1": {"a": 1}, "q2": {"b": 1}},
        ({"q1": ["x", "a"], "q2": ["b"]}, {"q1": ["a"], "q2": ["b"]}),
    )
    verdict = gate({"rules": [{"measure": "RR@10", "not_worse_than": 0.1}]}, qrels, runs[1], runs[0])
    assert verdict.comparisons is not None
    assert verdict.comparisons.overlaps == {}


def test_a_gate_looks_for_missing_inputs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def count(*arguments: Any) -> dict[str, str]:
        calls.append(arguments)
        return missing_inputs(*arguments)

    monkeypatch.setattr("assay.evaluation.gate.missing_inputs", count)
    gate({"rules": [{"measure": "RR@10", "at_least": 0.1}]}, {"q": {"a": 1}}, {"q": ["a"]})
    assert len(calls) == 1


@pytest.mark.parametrize("n", [3, 43])
def test_a_candidate_that_changes_no_result_passes_however_few_queries_there_are(n: int) -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(n)}
    run = {f"q{i}": {"a": 2.0, "b": 1.0} for i in range(n)}
    rules = {"rules": [{"measure": m, "not_worse_than": 0.02} for m in ("nDCG@10", "ZeroHit@10")]}
    verdict = gate(rules, qrels, run, run)
    assert verdict.status == "passed"
    assert "both returned the same judged documents" in describe_check(verdict.checks[0])


def test_the_same_scores_of_other_results_are_not_shown_to_be_no_worse() -> None:
    qrels = {f"q{i}": {"a": 1, "c": 1} for i in range(5)}
    baseline = {f"q{i}": {"a": 2.0, "b": 1.0} for i in range(5)}
    candidate = {f"q{i}": {"c": 2.0, "b": 1.0} for i in range(5)}
    rules = {"rules": [{"measure": "ZeroHit@10", "not_worse_than": 0.02}]}
    assert gate(rules, qrels, candidate, baseline).status == "undecided"
