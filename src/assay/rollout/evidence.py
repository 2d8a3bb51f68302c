"""What is known at a step of a rollout: checks of its time, its traffic, its metrics and its approvals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from assay.online.ab.analysis import ABTest
from assay.online.ab.comparisons import MetricResult
from assay.online.ab.design import ABDesign, Margin, MetricRole, Phase
from assay.rollout.machine import Rollout, Step
from assay.rollout.policy import MetricRule, RolloutPolicy
from assay.stats.sample_ratio import SRM_ALPHA, log_bayes_factor

PASSED, FAILED, OPEN = "passed", "failed", "undecided"
_SECONDS = 86_400.0
_LEAST_USUAL = 20  # units of a usual day, below which a quiet day is chance
_CONCENTRATIONS = (100.0, 10_000.0)  # of the priors of the test of the sample ratio
_AB_ROLES = {"goal": "goal", "guardrail": "guardrail", "signal": "secondary"}


@dataclass(frozen=True)
class StepCheck:
    """One thing that a step asks for, or watches, and whether it holds."""

    kind: str  # gate, shadow, time, sample, sample ratio, traffic, goal, guardrail, signal or approval
    name: str
    status: str  # PASSED, FAILED or OPEN
    figures: Mapping[str, Any] = field(default_factory=dict)
    is_dry_run: bool = False  # it is reported and decides nothing

    def to_dict(self) -> dict[str, Any]:
        """Return the check as plain data."""
        return {
            "kind": self.kind,
            "name": self.name,
            "status": self.status,
            "dry_run": self.is_dry_run,
            **self.figures,
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> StepCheck:
        """Return the check of plain data."""
        own = ("kind", "name", "status", "dry_run")
        figures = {name: entry for name, entry in value.items() if name not in own}
        return cls(value["kind"], value["name"], value["status"], figures, bool(value.get("dry_run")))


def check_time(rollout: Rollout, now: datetime) -> list[StepCheck]:
    """Check that a step has lasted as long as it must, and not longer than it may."""
    step = rollout.step
    days = (now - rollout.entered_at).total_seconds() / _SECONDS
    if step.max_days and days > step.max_days:
        name = f"the goals are shown within {step.max_days:g} days"
        return [StepCheck("time", name, FAILED, {"days": days, "max_days": step.max_days})]
    if not step.min_days:
        return []
    status = PASSED if days >= step.min_days else OPEN
    name = f"{step.min_days:g} day{'s' * (step.min_days != 1)} at this step"
    return [StepCheck("time", name, status, {"days": days, "min_days": step.min_days})]


def check_approval(rollout: Rollout, policy: RolloutPolicy, extra: Sequence[str] = ()) -> list[StepCheck]:
    """Check that the next step is approved, if it needs that; `extra` are people who approve by acting."""
    if not policy.needs_approval(rollout.position.step + 1):
        return []
    people = sorted({*rollout.approvers, *extra})
    status = PASSED if len(people) >= policy.approvals.count else OPEN
    following = rollout.steps[rollout.position.step + 1].label
    figures = {"approved_by": people, "needed": policy.approvals.count}
    return [StepCheck("approval", f"{policy.approvals.words}, for {following}", status, figures)]


def design_test(policy: RolloutPolicy, metrics: Sequence[str], lower: Mapping[str, bool]) -> ABDesign:
    """Return how the A/B test of a rollout is analysed: the arms are equal, and it is looked at at any time.

    `metrics` are those that the data have, `lower` says which are better if lower by their own definition.
    """
    least = max((step.min_units for step in policy.steps if step.stage in ("ab", "ramp")), default=0)
    roles = {
        rule.metric: MetricRole(
            _AB_ROLES[rule.role],
            Margin(rule.margin, is_relative=True),
            lower.get(rule.metric, False) if rule.lower_is_better is None else rule.lower_is_better,
        )
        for rule in reversed(policy.rules)
        if rule.metric in metrics
    }
    return ABDesign(
        control=policy.arms[0],
        phases=[Phase(dict.fromkeys(policy.arms, 1.0))],
        roles=roles,
        is_watched=True,
        planned_n=2 * least if least else None,
    )


@dataclass(frozen=True)
class OnlineEvidence:
    """What users did since the A/B test began: the analysis, and how many units came each day."""

    test: ABTest
    by_day: Mapping[str, int] = field(default_factory=dict)  # active units of each day, in order
    new_units: Sequence[Mapping[str, int]] = ()  # of each arm by day, in order; empty: all at once
    source: str = ""  # the files, or the id of the saved test
    record: str = ""  # the id of the saved test


def check_online(evidence: OnlineEvidence | None, step: Step, policy: RolloutPolicy) -> list[StepCheck]:
    """Check the online test of a rollout: its sample, its traffic and its metrics."""
    if step.stage not in ("ab", "ramp"):
        return []
    if evidence is None:
        problem = (
            "the events were not read; `status` reads them"
            if policy.events
            else "no events are known of this rollout"
        )
        figures = {"n": 0, "min_units": step.min_units, "problem": problem}
        return [StepCheck("sample", f"{max(1, step.min_units):,} units in each arm", OPEN, figures)]
    test = evidence.test
    return [
        _check_sample(test, step, evidence),
        _check_ratio(evidence, policy.arms),
        *_check_traffic(evidence.by_day, policy),
        *(_check_rule(rule, test, step, policy) for rule in policy.rules),
    ]


def _check_sample(test: ABTest, step: Step, evidence: OnlineEvidence) -> StepCheck:
    least = min(test.units.values(), default=0)
    figures = {"n": least, "min_units": step.min_units, "source": evidence.source, "record": evidence.record}
    status = PASSED if least >= max(1, step.min_units) else OPEN
    return StepCheck("sample", f"{max(1, step.min_units):,} units in each arm", status, figures)


def _check_ratio(evidence: OnlineEvidence, arms: Sequence[str]) -> StepCheck:
    """Check that the arms received equal numbers of units, by a test that holds at every look.

    Single days and segments are reported as faults and decide nothing: with many looks they alarm by chance.
    """
    traffic = evidence.test.traffic
    days = evidence.new_units or [evidence.test.units]
    p = equal_arms_p([{arm: day.get(arm, 0) for arm in arms} for day in days])
    is_wrong = traffic.exposures.has_too_many_in_several_arms or (p is not None and p < SRM_ALPHA)
    status = FAILED if is_wrong else OPEN if p is None else PASSED
    figures = {
        "p": p,
        "observed": dict(traffic.ratio.observed),
        "method": "sequential multinomial",
        "faults": list(traffic.faults),
    }
    return StepCheck("sample ratio", "the arms received equal numbers of units", status, figures)


def equal_arms_p(days: Sequence[Mapping[str, int]]) -> float | None:
    """Return p, valid at every look, that the arms receive equal numbers of units; None without units.

    The sequential multinomial test (arXiv 2011.03567), averaged over two priors: one finds large mismatches
    among few units, the other small ones among many. An average of Bayes factors is one, too.

    >>> equal_arms_p([{"control": 1000, "treatment": 700}]) < 0.001
    True
    """
    totals: dict[str, int] = {}
    largest = 0.0
    for day in days:
        totals = {arm: totals.get(arm, 0) + n for arm, n in day.items()}
        logs = [log_bayes_factor(totals, dict.fromkeys(totals, 1.0), c) for c in _CONCENTRATIONS]
        largest = max(largest, max(logs) + math.log(sum(math.exp(x - max(logs)) for x in logs) / len(logs)))
    return math.exp(-largest) if sum(totals.values()) else None


def _check_traffic(by_day: Mapping[str, int], policy: RolloutPolicy) -> list[StepCheck]:
    """Check that units still come: of the whole days, the last beside the median of those before it."""
    whole = list(by_day.values())[:-1]  # the newest day is not over
    if len(whole) >= 2 and not any(whole):
        figures = {"n": 0, "expected": 0.0, "problem": f"no unit came in {len(whole)} days"}
        return [StepCheck("traffic", "units come", FAILED, figures)]
    if len(whole) < 3:
        return []
    before = sorted(whole[-8:-1])
    expected, found = float(before[len(before) // 2]), whole[-1]
    if expected < _LEAST_USUAL:
        return []
    figures = {"n": found, "expected": expected, "share": found / expected, "min_share": policy.min_traffic}
    status = FAILED if found / expected < policy.min_traffic else PASSED
    return [StepCheck("traffic", f"at least {policy.min_traffic:.0%} of the usual units", status, figures)]


def _check_rule(rule: MetricRule, test: ABTest, step: Step, policy: RolloutPolicy) -> StepCheck:
    found = next((result for result in test.metrics if result.metric == rule.metric), None)
    if found is None:
        has_units = any(test.units.values())
        problem = f"the events do not have the metric {rule.metric}" if has_units else "no unit came yet"
        return StepCheck(rule.role, rule.name, OPEN, {"problem": problem}, rule.is_dry_run)
    watched = sum(other.role != "goal" and not other.is_dry_run for other in policy.rules)
    alpha = policy.alpha if rule.role == "goal" else policy.alpha / max(1, watched)
    p_holds, p_fails = _sides(rule, found)
    status = PASSED if _is_shown(p_holds, alpha) else FAILED if _is_shown(p_fails, alpha) else OPEN
    figures = {
        "relative": found.relative.estimate.to_dict(),
        "margin": rule.margin,
        "p_holds": p_holds,
        "p_fails": p_fails,
        "alpha": alpha,
        "method": found.relative.method,
        "problem": found.relative.reason or None,
    }
    is_late_goal = rule.role == "goal" and step.stage != "ab" and status != FAILED
    return StepCheck(rule.role, rule.name, status, figures, rule.is_dry_run or is_late_goal)


def _is_shown(p: float | None, alpha: float) -> bool:
    return p is not None and p <= alpha


def _sides(rule: MetricRule, found: MetricResult) -> tuple[float | None, float | None]:
    """Return p that a rule holds and p that it fails, each one-sided and valid at every look."""
    comparison = found.relative.to_comparison(rule.metric, lower_is_better=found.role.lower_is_better)
    boundary = rule.margin if rule.role == "goal" else -rule.margin
    return comparison.p_above(boundary), comparison.p_below(boundary)


@dataclass(frozen=True)
class Decision:
    """What the policy says of a step: advance, hold, roll back, or wait for what is missing."""

    action: str  # advance, hold, rollback or wait
    reasons: Sequence[str]
    checks: Sequence[StepCheck]

    @property
    def evidence(self) -> tuple[dict[str, Any], ...]:
        """The checks as plain data."""
        return tuple(check.to_dict() for check in self.checks)


def decide_step(checks: Sequence[StepCheck]) -> Decision:
    """Return what the checks of a step lead to, the most urgent first.

    A breached guardrail rolls back; a signal, a goal that is shown to fail, a wrong sample ratio, missing
    traffic or too long a time holds; anything that is not shown yet waits. Guardrails and signals need only
    not to be breached, but they must be measured: an unknown one waits.
    """
    active = [check for check in checks if not check.is_dry_run]
    failed = [check for check in active if check.status == FAILED]
    breached = [check.name for check in failed if check.kind == "guardrail"]
    if breached:
        return Decision("rollback", [f"breached: {name}" for name in breached], checks)
    missing = [check for check in active if _is_missing(check)]
    holding = [check.name for check in failed if check.kind in _HOLDING and (check.kind != "time" or missing)]
    if holding:
        return Decision("hold", [f"failed: {name}" for name in holding], checks)
    if missing:
        return Decision("wait", [_describe_missing(check) for check in missing], checks)
    shown = [check.name for check in active if check.status == PASSED]
    return Decision(
        "advance", shown + [f"not breached: {c.name}" for c in active if c.status != PASSED], checks
    )


_HOLDING = ("signal", "goal", "sample ratio", "traffic", "time")


def _is_missing(check: StepCheck) -> bool:
    if check.kind in ("guardrail", "signal"):
        return check.status == OPEN and check.figures.get("p_fails") is None
    return check.status != PASSED and (check.kind != "time" or "max_days" not in check.figures)


def _describe_missing(check: StepCheck) -> str:
    problem = check.figures.get("problem")
    return f"{check.name} ({problem})" if problem else check.name
