"""What is known at a step of a rollout: checks of its time, its traffic and its metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from assay.online.ab.analysis import ABTest
from assay.online.ab.comparisons import MetricResult
from assay.rollout.machine import Rollout, Step
from assay.rollout.policy import MetricRule, RolloutPolicy

PASSED, FAILED, OPEN = "passed", "failed", "undecided"
_SECONDS = 86_400.0


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
    """Check that a step has lasted as long as it must."""
    step = rollout.step
    if not step.min_days:
        return []
    days = (now - rollout.entered_at).total_seconds() / _SECONDS
    status = PASSED if days >= step.min_days else OPEN
    name = f"{step.min_days:g} day{'s' * (step.min_days != 1)} at this step"
    return [StepCheck("time", name, status, {"days": days, "min_days": step.min_days})]


def check_test(test: ABTest | None, step: Step, policy: RolloutPolicy) -> list[StepCheck]:
    """Check the online test of a rollout: its traffic and its metrics."""
    if step.stage not in ("ab", "ramp", "full"):
        return []
    if test is None:
        return [StepCheck("sample", "units of both arms", OPEN, {"n": 0, "min_units": step.min_units})]
    return [
        *_check_sample(test, step),
        _check_ratio(test),
        *(_check_rule(rule, test, policy) for rule in policy.rules),
    ]


def _check_sample(test: ABTest, step: Step) -> list[StepCheck]:
    least = min(test.units.values(), default=0)
    figures = {"n": least, "min_units": step.min_units}
    status = PASSED if least >= max(1, step.min_units) else OPEN
    return [StepCheck("sample", f"{max(1, step.min_units):,} units in each arm", status, figures)]


def _check_ratio(test: ABTest) -> StepCheck:
    """Check that the arms received what they should; a ratio that cannot be tested yet is open."""
    ratio = test.traffic.ratio
    status = FAILED if not test.traffic.is_healthy else OPEN if ratio.p is None else PASSED
    figures = {"p": ratio.p, "observed": dict(ratio.observed), "faults": list(test.traffic.faults)}
    return StepCheck("sample ratio", "the arms received equal numbers of units", status, figures)


def check_traffic(expected: float | None, found: int, policy: RolloutPolicy) -> list[StepCheck]:
    """Check that units are still arriving: far fewer than before means that events are missing."""
    if expected is None or expected < 1:
        return []
    share = found / expected
    figures = {"n": found, "expected": expected, "share": share, "min_share": policy.min_traffic}
    status = FAILED if share < policy.min_traffic else PASSED
    return [StepCheck("traffic", f"at least {policy.min_traffic:.0%} of the usual units", status, figures)]


def _check_rule(rule: MetricRule, test: ABTest, policy: RolloutPolicy) -> StepCheck:
    found = next((result for result in test.metrics if result.metric == rule.metric), None)
    watched = sum(other.role != "goal" and not other.is_dry_run for other in policy.rules)
    if found is None:
        return StepCheck(rule.role, rule.name, OPEN, {"problem": "the events do not have this metric"})
    alpha = policy.alpha if rule.role == "goal" else policy.alpha / max(1, watched)
    p_holds, p_fails = _sides(rule, found)
    status = PASSED if _is_shown(p_holds, alpha) else FAILED if _is_shown(p_fails, alpha) else OPEN
    figures = {
        "relative": found.relative.estimate.to_dict(),
        "margin": rule.margin,
        "p_holds": p_holds,
        "p_fails": p_fails,
        "alpha": alpha,
        "problem": found.relative.reason or None,
    }
    return StepCheck(rule.role, rule.name, status, figures, rule.is_dry_run)


def _is_shown(p: float | None, alpha: float) -> bool:
    return p is not None and p <= alpha


def _sides(rule: MetricRule, found: MetricResult) -> tuple[float | None, float | None]:
    """Return p that a rule holds and p that it fails, each one-sided and valid at every look."""
    comparison = found.relative.to_comparison(rule.metric, lower_is_better=found.role.lower_is_better)
    boundary = rule.margin if rule.role == "goal" else -rule.margin
    return comparison.p_above(boundary), comparison.p_below(boundary)


@dataclass(frozen=True)
class Decision:
    """What the policy says of a step: advance, hold, roll back, or wait for `open_checks`."""

    action: str  # advance, hold, rollback or wait
    reasons: Sequence[str]
    checks: Sequence[StepCheck]

    @property
    def evidence(self) -> tuple[dict[str, Any], ...]:
        """The checks as plain data."""
        return tuple(check.to_dict() for check in self.checks)


def decide_step(checks: Sequence[StepCheck]) -> Decision:
    """Return what the checks of a step lead to, the most urgent first.

    A breached guardrail rolls back; a signal, a wrong sample ratio or missing traffic holds; anything that is
    not shown yet waits, guardrails and signals excepted: they need only not to be breached.
    """
    active = [check for check in checks if not check.is_dry_run]
    failed = [check for check in active if check.status == FAILED]
    breached = [check.name for check in failed if check.kind == "guardrail"]
    if breached:
        return Decision("rollback", breached, checks)
    holding = [check.name for check in failed if check.kind in ("signal", "sample ratio", "traffic")]
    if holding:
        return Decision("hold", holding, checks)
    waiting = [
        check.name for check in active if check.status != PASSED and check.kind not in ("guardrail", "signal")
    ]
    if waiting:
        return Decision("wait", waiting, checks)
    return Decision("advance", [check.name for check in active], checks)
