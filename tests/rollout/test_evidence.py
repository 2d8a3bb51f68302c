"""What the checks of a step lead to, and how the sums of an A/B test become checks."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.online.ab.analysis import analyse_sums
from assay.online.ab.sums_file import read_sums
from assay.rollout.evidence import (
    FAILED,
    OPEN,
    PASSED,
    OnlineEvidence,
    StepCheck,
    check_approval,
    check_online,
    check_time,
    decide_step,
    design_test,
)
from assay.rollout.machine import Position, Rollout, Step, Transition
from assay.rollout.policy import MetricRule, RolloutPolicy

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
AB, RAMP = Step("ab", 0.1, 7.0, 1000, max_days=28.0), Step("ramp", 0.5)
KINDS = (
    "gate",
    "shadow",
    "time",
    "sample",
    "sample ratio",
    "traffic",
    "goal",
    "guardrail",
    "signal",
    "approval",
)
CHECKS = st.lists(
    st.builds(
        StepCheck,
        st.sampled_from(KINDS),
        st.just("x"),
        st.sampled_from([PASSED, FAILED, OPEN]),
        st.just({"p_fails": 0.5}),
        st.booleans(),
    ),
    max_size=8,
)


def check(kind: str, status: str, **figures: float | None) -> StepCheck:
    return StepCheck(kind, kind, status, {"p_fails": 0.5, **figures})


@pytest.mark.parametrize(
    ("checks", "action"),
    [
        ([], "advance"),
        ([check("time", OPEN)], "wait"),
        ([check("gate", FAILED)], "wait"),
        ([check("goal", OPEN)], "wait"),
        ([check("approval", OPEN)], "wait"),
        ([check("guardrail", OPEN), check("signal", OPEN)], "advance"),
        ([check("guardrail", OPEN, p_fails=None)], "wait"),
        ([check("guardrail", FAILED), check("signal", FAILED), check("time", OPEN)], "rollback"),
        ([check("signal", FAILED), check("time", OPEN)], "hold"),
        ([check("sample ratio", FAILED)], "hold"),
        ([check("traffic", FAILED)], "hold"),
        ([check("goal", FAILED)], "hold"),
        ([replace(check("guardrail", FAILED), is_dry_run=True)], "advance"),
        ([check("time", FAILED, max_days=28.0), check("goal", OPEN)], "hold"),
        ([check("time", FAILED, max_days=28.0), check("goal", PASSED)], "advance"),
    ],
)
def test_checks_lead_to_an_action(checks: Sequence[StepCheck], action: str) -> None:
    assert decide_step(checks).action == action


@given(CHECKS)
def test_no_breach_is_ever_passed_over(checks: list[StepCheck]) -> None:
    action = decide_step(checks).action
    active = [one for one in checks if not one.is_dry_run]
    is_breached = any(one.kind == "guardrail" and one.status == FAILED for one in active)
    assert (action == "rollback") == is_breached
    if action == "advance":
        optional = ("guardrail", "signal")
        assert all(one.status == PASSED or (one.kind in optional and one.status == OPEN) for one in active)


@given(CHECKS, st.randoms())
def test_the_order_of_the_checks_does_not_matter(checks: list[StepCheck], random: object) -> None:
    shuffled = sorted(checks, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert decide_step(checks).action == decide_step(shuffled).action


def evidence(
    control: tuple[int, float], treatment: tuple[int, float], policy: RolloutPolicy, metric: str = "ctr"
) -> OnlineEvidence:
    variants = [
        {"name": name, "n": n, "metrics": {metric: {"sum": n * mean, "sum_squares": n * mean}}}
        for name, (n, mean) in (("control", control), ("treatment", treatment))
    ]
    sums = read_sums({"variants": variants})
    return OnlineEvidence(analyse_sums(sums, design_test(policy, sums.metrics, {})))


def statuses(found: Sequence[StepCheck]) -> dict[str, str]:
    return {one.kind: one.status for one in found}


def test_a_guardrail_fails_only_if_it_is_shown_to_be_worse_than_its_margin() -> None:
    policy = RolloutPolicy(rules=(MetricRule("ctr", "guardrail", 0.02),))
    for rate, status in ((0.2, FAILED), (0.299, OPEN), (0.4, PASSED)):
        found = check_online(evidence((5000, 0.3), (5000, rate), policy), AB, policy)
        assert statuses(found)["guardrail"] == status


def test_a_metric_that_is_better_if_lower_is_read_so() -> None:
    for lower, status in ((True, FAILED), (False, PASSED)):
        policy = RolloutPolicy(rules=(MetricRule("cost", "guardrail", 0.02, lower_is_better=lower),))
        found = check_online(evidence((5000, 0.3), (5000, 0.4), policy, "cost"), AB, policy)
        assert statuses(found)["guardrail"] == status


def test_a_goal_decides_in_the_ab_test_and_later_only_if_it_fails() -> None:
    policy = RolloutPolicy(rules=(MetricRule("ctr", "goal"),))
    even, worse = (evidence((5000, 0.3), (5000, rate), policy) for rate in (0.3, 0.2))
    assert decide_step(check_online(even, AB, policy)).action == "wait"
    assert decide_step(check_online(even, RAMP, policy)).action == "advance"
    assert decide_step(check_online(worse, RAMP, policy)).action == "hold"


def test_more_guardrails_share_one_alpha() -> None:
    one = RolloutPolicy(rules=(MetricRule("ctr", "guardrail"),))
    four = replace(one, rules=(*one.rules, *(MetricRule(f"m{i}", "signal") for i in range(3))))
    for policy, alpha in ((one, 0.05), (four, 0.0125)):
        found = check_online(evidence((5000, 0.3), (5000, 0.3), policy), AB, policy)
        assert next(c for c in found if c.kind == "guardrail").figures["alpha"] == alpha


def test_a_wrong_sample_ratio_fails_and_a_metric_without_events_is_missing() -> None:
    policy = RolloutPolicy(rules=(MetricRule("nothing", "guardrail"),))
    found = check_online(evidence((6000, 0.3), (5000, 0.3), policy), AB, policy)
    assert statuses(found)["sample ratio"] == FAILED
    assert found[-1].figures["problem"] == "the events do not have the metric nothing"
    even = check_online(evidence((5000, 0.3), (5000, 0.3), policy), AB, policy)
    assert decide_step(even).action == "wait"


def test_too_few_units_wait_and_no_events_are_said() -> None:
    policy = RolloutPolicy()
    found = check_online(evidence((900, 0.3), (900, 0.3), policy), AB, policy)
    assert statuses(found)["sample"] == OPEN
    assert check_online(None, AB, policy)[0].figures["problem"] == "no events are known of this rollout"
    guarded = RolloutPolicy(rules=(MetricRule("nothing", "guardrail"),))
    none = check_online(evidence((0, 0.0), (0, 0.0), guarded), AB, guarded)
    assert none[-1].figures["problem"] == "no unit came yet"


@pytest.mark.parametrize(
    ("days", "status"),
    [
        ([100, 110, 90, 100, 5], {"traffic": PASSED}),
        ([100, 110, 90, 20, 5], {"traffic": FAILED}),
        ([100, 110, 90, 0, 0], {"traffic": FAILED}),
        ([0, 0, 0], {"traffic": FAILED}),
        ([3, 4, 2, 0, 0], {}),
        ([100, 0], {}),
    ],
)
def test_a_whole_day_with_far_fewer_units_than_usual_is_missing_traffic(
    days: list[int], status: dict[str, str]
) -> None:
    policy = RolloutPolicy()
    known = evidence((5000, 0.3), (5000, 0.3), policy)
    by_day = {f"2026-01-0{number}": units for number, units in enumerate(days, 1)}
    found = statuses(check_online(replace(known, by_day=by_day), AB, policy))
    assert {kind: one for kind, one in found.items() if kind == "traffic"} == status


def rollout(*moves: tuple[str, int, str], policy: RolloutPolicy | None = None) -> Rollout:
    policy = policy or RolloutPolicy()
    transitions = tuple(
        Transition(i, AT, actor, action, None, Position("running", step), "")
        for i, (action, step, actor) in enumerate(moves, 1)
    )
    return Rollout("r", "e", "", policy.steps, policy.to_dict(), transitions=transitions)


@pytest.mark.parametrize(("days", "status"), [(1, OPEN), (7, PASSED), (29, FAILED)])
def test_a_step_lasts_as_long_as_it_must_and_not_longer_than_it_may(days: int, status: str) -> None:
    found = check_time(rollout(("start", 0, "a"), ("advance", 2, "a")), AT + timedelta(days=days))
    assert [one.status for one in found] == [status]


def test_approvals_count_each_person_once_and_only_at_this_step() -> None:
    policy = RolloutPolicy(approvals=replace(RolloutPolicy().approvals, count=2))
    moves = [("start", 0, "a"), ("approve", 1, "old"), ("advance", 2, "a"), ("approve", 2, "b")]
    found = check_approval(rollout(*moves, ("approve", 2, "b"), policy=policy), policy)
    assert (found[0].status, found[0].figures["approved_by"]) == (OPEN, ["b"])
    found = check_approval(rollout(*moves, ("approve", 2, "c"), policy=policy), policy)
    assert (found[0].status, found[0].figures["approved_by"]) == (PASSED, ["b", "c"])
