"""The verdict: what is undecided, what outweighs what, and what is refused."""

from typing import Any

import numpy as np
import pytest

from assay.core.errors import ConfigurationError
from assay.evaluation.gate import CandidateMeasurements, GateVerdict, gate
from assay.views.checks import describe_advice, describe_check, describe_verdict
from tests.evaluation.gates import Columns, gate_values, latencies, moved_scores, only_check, share, spread

# Too little to decide


def test_fewer_queries_than_asked_for_decide_nothing_whatever_they_say() -> None:
    for threshold in (0.1, 0.9):
        verdict = gate_values({"measure": "R@10", "at_least": threshold}, min_queries=101, undecided="pass")
        assert (verdict.status, verdict.exit_code) == ("undecided", 3)
        assert describe_verdict(verdict) == (
            "cannot be decided: 100 judged queries, the rules require 101 (min_queries): judge more queries"
        )
    assert gate_values({"measure": "R@10", "at_least": 0.1}, min_queries=100).status == "passed"


@pytest.mark.parametrize(
    ("policy", "status", "code"), [("hold", "undecided", 3), ("pass", "passed", 0), ("fail", "failed", 1)]
)
def test_what_is_undecided_holds_passes_or_fails_as_the_rules_say(
    policy: str, status: str, code: int
) -> None:
    verdict = gate_values({"measure": "R@10", "at_least": 0.5}, undecided=policy)
    assert (verdict.status, verdict.exit_code, only_check(verdict).status) == (status, code, "undecided")
    if policy == "pass":
        assert describe_verdict(verdict).endswith('1 undecided and let through (undecided = "pass")')


@pytest.mark.parametrize(
    ("rule", "columns", "advice"),
    [
        (
            {"measure": "R@10", "at_least": 0.51},
            {"R@10": [spread(0.5, 0.1)]},
            "about 787 queries would tell (now 100; if the value stays the same); or move the threshold",
        ),
        (
            {"measure": "R@10", "at_least": 0.5001},
            {"R@10": [spread(0.5, 0.1)]},
            "it lies so close that even 100 times as many queries would not tell: move the threshold",
        ),
        (
            {"measure": "ZeroHit@10", "at_most": 0.0},
            {"ZeroHit@10": [share(0)]},
            "it lies on the threshold, where no number of queries can tell: move the threshold",
        ),
        (
            {"measure": "R@10", "not_worse_than": 0.05},
            {"R@10": (np.full(3, 0.5), np.full(3, 0.5))},
            "measure more queries",
        ),
    ],
)
def test_what_is_undecided_says_what_would_decide(
    rule: dict[str, Any], columns: Columns, advice: str
) -> None:
    assert describe_advice(only_check(gate_values(rule, columns))) == advice


def test_latencies_speak_of_requests_and_milliseconds() -> None:
    check = only_check(
        gate_values({"latency": "p95", "at_most": 200}, measurements=CandidateMeasurements(latencies(50)))
    )
    assert describe_check(check) == "100.0 ms (100.0 ms … 300.0 ms), n 1,000: too close to tell"
    assert describe_advice(check) == "measure more requests, or move the threshold"


def test_an_end_that_lies_outside_the_sample_is_not_known() -> None:
    check = only_check(
        gate_values({"latency": "p95", "at_most": 200}, measurements=CandidateMeasurements(latencies(0, 10)))
    )
    assert (check.status, check.value.high) == ("undecided", None)
    assert describe_check(check) == "100.0 ms (100.0 ms … –), n 10: too close to tell"


def test_what_failed_says_by_how_much_and_where_to_look() -> None:
    check = only_check(gate_values({"measure": "R@10", "at_least": 0.6}))
    assert describe_check(check).endswith("n 100: below it, p < 0.001")
    assert (
        describe_advice(check)
        == "it lies 0.1 on the wrong side of 0.6 (assay failures shows the queries behind it)"
    )


# Priorities


def conflict(gain: int, loss: int) -> GateVerdict:
    """nDCG@10 is better, R@10 is worse: each at a priority."""
    rules = [
        {"measure": "nDCG@10", "better_by": 0.01, "priority": gain},
        {"measure": "R@10", "not_worse_than": 0.01, "priority": loss},
    ]
    return gate_values(rules, {"nDCG@10": moved_scores(0.1, 0.05), "R@10": moved_scores(-0.1, 0.05)})


def test_a_win_at_priority_1_outweighs_a_loss_at_priority_2_and_says_so() -> None:
    verdict = conflict(gain=1, loss=2)
    assert (verdict.status, verdict.exit_code) == ("passed", 0)
    assert describe_verdict(verdict) == (
        "passed: priority 1 decides: nDCG@10 better by 0.01 (all): +0.1000 (+0.0901 … +0.1099), n 100; "
        "this outweighs R@10 not worse by more than 0.01 (all, priority 2): "
        "−0.1000 (−0.1099 … −0.0901), n 100: worse by more than that, p < 0.001"
    )
    assert [check.rule.name for check in verdict.outweighed] == ["R@10 not worse by more than 0.01"]


def test_a_loss_at_priority_1_is_not_outweighed_by_a_win_at_priority_2_and_says_so() -> None:
    verdict = conflict(gain=2, loss=1)
    assert (verdict.status, verdict.outweighed) == ("failed", [])
    assert describe_verdict(verdict).startswith("failed: R@10 not worse by more than 0.01 (all): −0.1000")
    assert describe_verdict(verdict).endswith(
        "; priority 1 decides, although this holds: nDCG@10 better by 0.01 (all, priority 2)"
    )


def test_at_one_priority_a_win_outweighs_nothing() -> None:
    verdict = conflict(gain=1, loss=1)
    assert verdict.status == "failed"
    assert "priority 1 decides" not in describe_verdict(verdict)


def test_a_rule_that_merely_holds_outweighs_nothing() -> None:
    rules = [
        {"measure": "nDCG@10", "at_least": 0.2},
        {"measure": "R@10", "not_worse_than": 0.01, "priority": 2},
    ]
    verdict = gate_values(rules, {"nDCG@10": moved_scores(0.1), "R@10": moved_scores(-0.1)})
    assert verdict.status == "failed"
    assert describe_verdict(verdict).endswith("; priority 2 decides")


def test_a_win_outweighs_nothing_while_its_own_priority_has_an_open_question() -> None:
    rules = [
        {"measure": "nDCG@10", "better_by": 0.01},
        {"measure": "R@10", "at_least": 0.5},
        {"measure": "P@10", "at_least": 0.9, "priority": 2},
    ]
    flat = spread(0.5, 0.1)
    columns = {"nDCG@10": moved_scores(0.1), "R@10": (flat, flat), "P@10": (flat, flat)}
    verdict = gate_values(rules, columns, undecided="pass")
    assert (verdict.status, verdict.outweighed) == ("failed", [])


def test_an_open_question_at_priority_1_is_not_closed_by_priority_2() -> None:
    rules = [
        {"measure": "R@10", "better_by": 0.01},
        {"measure": "nDCG@10", "better_by": 0.01, "priority": 2},
    ]
    verdict = gate_values(rules, {"R@10": moved_scores(0.01), "nDCG@10": moved_scores(0.1)})
    assert verdict.status == "undecided"
    assert describe_verdict(verdict).endswith("; priority 1 comes first")


def test_many_failures_are_counted_not_all_told() -> None:
    rules = [{"measure": "R@10", "at_least": 0.6 + i / 100} for i in range(5)]
    assert describe_verdict(gate_values(rules)).endswith("; and 2 more")


# The function


QRELS = {f"q{i}": {"a": 1} for i in range(40)}
RIGHT = {f"q{i}": ["a"] for i in range(40)}
WRONG = {f"q{i}": ["x", "a"] for i in range(40)}


def test_runs_are_scored_and_compared_from_plain_data() -> None:
    rules = {"rules": [{"measure": "RR@10", "better_by": 0.1, "by": "team"}], "min_queries": 40}
    queries = {"query_id": list(QRELS), "team": ["a", "b"] * 20}
    verdict = gate(rules, QRELS, RIGHT, WRONG, queries)
    assert (verdict.status, verdict.n, list(verdict.counts)) == (
        "passed",
        40,
        ["baseline", "candidate"],
    )
    assert [c.value.value for c in verdict.checks] == [0.5, 0.5, 0.5]
    assert gate(rules, QRELS, WRONG, RIGHT, queries).status == "failed"


def test_a_gate_of_budgets_alone_needs_no_measure() -> None:
    rules = {"rules": [{"slo_ms": 100, "at_least": 0.5}, {"figure": "cost", "at_most": 1}]}
    verdict = gate(rules, QRELS, RIGHT, latencies=[50.0] * 20, figures={"cost": 0.5})
    assert [check.status for check in verdict.checks] == ["passed", "passed"]


def test_all_that_the_rules_need_and_was_not_given_is_said_at_once() -> None:
    rules = {
        "rules": [
            {"measure": "R@10", "not_worse_than": 0.01},
            {"latency": "p95", "at_most": 200},
            {"figure": "cost", "at_most": 1},
        ]
    }
    with pytest.raises(ConfigurationError) as caught:
        gate(rules, QRELS, RIGHT, figures={"costs": 0.5})
    assert caught.value.problems == {
        "baseline.run": "the rule “R@10 not worse by more than 0.01” compares with a baseline: "
        "give its run (or --baseline)",
        "candidate.latencies": "the rule “latency p95 in ms at most 200” needs them: give them",
        "candidate.figures.cost": "the rule “cost at most 1” needs it; there is costs",
    }


@pytest.mark.parametrize(
    "figure",
    [
        "0.5",
        True,
        None,
        float("nan"),
        {},
        {"low": 1, "high": 2},
        {"value": 3, "low": 4},
        {"value": 1, "hgih": 2},
    ],
)
def test_a_figure_that_is_none_is_refused(figure: Any) -> None:
    rules = {"rules": [{"figure": "cost", "at_most": 1}]}
    with pytest.raises(ConfigurationError, match=r"candidate\.figures\.cost: expected a number"):
        gate(rules, QRELS, RIGHT, figures={"cost": figure})


@pytest.mark.parametrize("given", [[], [-1.0], [float("nan")], [float("inf")]])
def test_latencies_that_cannot_be_are_refused(given: list[float]) -> None:
    rules = {"rules": [{"latency": "p95", "at_most": 200}]}
    with pytest.raises(ConfigurationError, match=r"candidate\.latencies: expected numbers of 0 ms or more"):
        gate(rules, QRELS, RIGHT, latencies=given)
