"""The policy of a rollout: the defaults follow the guides, and every problem is named with its place."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.errors import ConfigurationError
from assay.rollout.assignment import Slot
from assay.rollout.policy import Approvals, MetricRule, RolloutPolicy, Webhook, read_policy

GUIDE = Path(__file__).parents[2] / "docs" / "rollouts.md"
FULL = """
alpha = 0.01
min_traffic = 0.4
arms = ["old", "new"]
salt = "2026"
holdout = 0.05
events = "events"
overrides = {tester = "new"}
exclusive = {group = "ranking", start = 0.0, end = 0.5}
approvals = {people = ["ann", "bob"], role = "admin", count = 2}
[[steps]]
stage = "gate"
[[steps]]
stage = "ab"
coverage = 0.1
min_days = 7
max_days = 21
min_units = 5000
[[steps]]
stage = "full"
coverage = 1.0
approval = true
[[goals]]
metric = "ctr"
better_by = 0.01
[[guardrails]]
metric = "zero_result"
not_worse_than = 0.02
[[guardrails]]
metric = "cost"
dry_run = true
lower_is_better = true
[[signals]]
metric = "reformulation"
[[webhooks]]
url = "https://example.org/hook"
secret_env = "HOOK_SECRET"
"""


def test_without_settings_the_steps_are_those_of_the_guides() -> None:
    policy = read_policy({})
    assert [(s.stage, s.coverage, s.min_days) for s in policy.steps] == [
        ("gate", 0, 0),
        ("shadow", 0, 1),
        ("ab", 0.1, 7),
        ("ramp", 0.25, 1),
        ("ramp", 0.5, 1),
        ("full", 1, 0),
    ]


def test_every_setting_is_read() -> None:
    policy = read_policy(tomllib.loads(FULL))
    assert (policy.alpha, policy.min_traffic, policy.holdout, policy.salt) == (0.01, 0.4, 0.05, "2026")
    assert (policy.arms, policy.events, policy.overrides) == (("old", "new"), ("events",), {"tester": "new"})
    assert policy.exclusive == Slot("ranking", 0, 0.5)
    assert policy.approvals == Approvals(("ann", "bob"), "admin", 2)
    assert policy.webhooks == (Webhook("https://example.org/hook", "HOOK_SECRET"),)
    assert (policy.steps[1].max_days, policy.steps[1].min_units, policy.steps[2].needs_approval) == (
        21,
        5000,
        True,
    )
    assert [(r.role, r.metric, r.margin, r.is_dry_run) for r in policy.rules] == [
        ("goal", "ctr", 0.01, False),
        ("guardrail", "zero_result", 0.02, False),
        ("guardrail", "cost", 0, True),
        ("signal", "reformulation", 0, False),
    ]


def test_a_policy_is_read_back_from_its_plain_data() -> None:
    policy = read_policy(tomllib.loads(FULL))
    assert RolloutPolicy.from_dict(policy.to_dict()) == policy


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("alpha = 2", "rollout.alpha", "a share from 0 to 1"),
        ("guardrail = []", "rollout.guardrail", "did you mean guardrails"),
        ("[[steps]]\nstage = 'abc'", "rollout.steps[1].stage", "expected one of gate, shadow"),
        ("[[steps]]\nstage = 'ab'\ncoverage = 0.1", "rollout.steps", "a first step gate"),
        ("[[goals]]\nbetter_by = 0.1", "rollout.goals[1].metric", "expected the name of a metric"),
        ("arms = ['a', 'a']", "rollout.arms", "two different names"),
        ("overrides = {u = 'x'}", "rollout.overrides", "control and treatment"),
        ("exclusive = {start = 0.5, end = 0.1}", "rollout.exclusive.start", "less than the end 0.1"),
        ("approvals = {people = ['a'], count = 2}", "rollout.approvals.count", "at most the 1 people"),
        ("[[webhooks]]\nurl = 'file:///x'", "rollout.webhooks[1].url", "http:// or https://"),
        ("[[webhooks]]\nurl = 'http://x'", "rollout.webhooks[1].secret_env", "the name of the variable"),
    ],
)
def test_a_wrong_setting_is_named_with_its_place(text: str, place: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        read_policy(tomllib.loads(text))
    assert problem in error.value.problems[place]


def test_coverage_never_falls_from_step_to_step() -> None:
    steps = "".join(
        f"[[steps]]\nstage = '{stage}'\ncoverage = {share}\n"
        for stage, share in (("gate", 0), ("ab", 0.5), ("ramp", 0.1), ("full", 1))
    )
    with pytest.raises(ConfigurationError, match=r"ramp to 10 %: expected a coverage of 0\.5 or more"):
        read_policy(tomllib.loads(steps))


def test_without_a_metric_that_decides_only_people_expose_more_users() -> None:
    policy = RolloutPolicy()
    needed = [policy.steps[i].label for i in range(len(policy.steps)) if policy.needs_approval(i)]
    assert needed == ["ramp to 25 %", "ramp to 50 %", "full"]
    watched = replace(policy, rules=(MetricRule("ctr", "guardrail"),))
    assert [i for i in range(6) if watched.needs_approval(i)] == [5]


@pytest.mark.parametrize(
    ("person", "role", "is_allowed"),
    [("ann", "admin", True), ("ann", "engineer", False), ("eve", "admin", False), ("ann", "viewer", False)],
)
def test_only_the_named_people_with_the_role_may_approve(person: str, role: str, is_allowed: bool) -> None:
    assert Approvals(("ann", "bob"), "admin").is_allowed(person, role) is is_allowed


def test_the_policy_of_the_guide_is_read_whole() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
    policy = read_policy(tomllib.loads(text)["rollout"])
    assert [step.stage for step in policy.steps] == ["gate", "ab", "full"]
    assert [rule.metric for rule in policy.rules] == ["ctr", "zero_result", "slo(300)", "reformulation"]
