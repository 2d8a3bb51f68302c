"""Where a rollout is, what is known at its step, and what would move it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from assay.core.records import Experiment
from assay.rollout.evidence import (
    FAILED,
    OPEN,
    PASSED,
    Decision,
    OnlineEvidence,
    StepCheck,
    check_approval,
    check_online,
    check_time,
    decide_step,
)
from assay.rollout.machine import LIVE, Rollout
from assay.rollout.policy import RolloutPolicy

_VERDICTS = {"passed": PASSED, "failed": FAILED}


@dataclass(frozen=True)
class RolloutStatus:
    """Where a rollout is, why, and what would move it on."""

    rollout: Rollout
    decision: Decision | None  # None: it has ended
    is_changed: bool = True  # False: a command found it where it leads to
    notes: Sequence[str] = ()  # what went wrong beside the move, such as a webhook that did not answer

    @property
    def next(self) -> list[str]:
        """What would move it on."""
        if self.decision is None:
            return []
        if self.rollout.position.state == "held":
            return ["resume it, or roll it back"]
        action, reasons = self.decision.action, list(self.decision.reasons)
        if action == "advance":
            return [f"advance to {self.rollout.steps[self.rollout.position.step + 1].label}"]
        if action == "wait":
            return reasons
        return [f"{'roll it back' if action == 'rollback' else 'hold it'}: {reason}" for reason in reasons]

    def to_dict(self) -> dict[str, Any]:
        """Return the status as plain data, as `assay rollout status --format json` prints it."""
        rollout, last = self.rollout, self.rollout.transitions[-1]
        return {
            "name": rollout.name,
            "state": rollout.position.state,
            "stage": rollout.step.stage,
            "coverage": rollout.coverage,
            "reason": last.reason,
            "next": self.next,
            "evidence": list(self.decision.evidence if self.decision else last.evidence),
            "experiment": rollout.experiment,
            "baseline": rollout.baseline or None,
            "step": rollout.position.step,
            "steps": [step._asdict() for step in rollout.steps],
            "since": rollout.entered_at.isoformat(),
            "number": len(rollout.transitions),
            "decision": self.decision.action if self.decision else None,
        }


@dataclass(frozen=True)
class RolloutLinks:
    """What a rollout rests on: the version of the evaluation set, the experiments and the online records."""

    dataset: str | None = None  # the label of the version
    experiment: Experiment | None = None  # None: it was dropped
    baseline: Experiment | None = None
    records: Sequence[Mapping[str, str]] = ()  # id, kind and name of shadow reports and A/B tests

    def to_dict(self) -> dict[str, Any]:
        """Return the links as plain data."""
        return {
            "dataset": self.dataset,
            "experiment": _link(self.experiment),
            "baseline": _link(self.baseline),
            "records": [dict(record) for record in self.records],
        }


def _link(experiment: Experiment | None) -> dict[str, Any] | None:
    if experiment is None:
        return None
    return {"id": experiment.id, "name": experiment.name, "verdict": experiment.result.get("verdict")}


@dataclass(frozen=True)
class RolloutHistory:
    """Every move of a rollout, the first first, what justified it, and whether that held online."""

    rollout: Rollout
    links: RolloutLinks = field(default_factory=RolloutLinks)

    @property
    def justification(self) -> str:
        """Which offline result justified the rollout."""
        experiment = self.links.experiment
        if experiment is None:
            return f"the experiment {self.rollout.experiment}, which is no longer in the store"
        words = experiment.result.get("words") or experiment.result.get("verdict") or "no verdict"
        return f"the experiment {experiment.name} ({experiment.id}): {words}"

    @property
    def outcome(self) -> str:
        """Whether the offline result held online: yes, no, or not known yet."""
        goals = [entry for entry in self._last_online() if entry["kind"] == "goal"]
        breached = [e for e in self._last_online() if e["kind"] == "guardrail" and e["status"] == FAILED]
        failed = [*breached, *(entry for entry in goals if entry["status"] == FAILED)]
        if failed:
            return f"no: {'; '.join(entry['name'] for entry in failed)} failed online"
        if goals and all(entry["status"] == PASSED for entry in goals):
            return f"yes: {'; '.join(entry['name'] for entry in goals)} was shown online"
        if self.rollout.position.state in ("reverted", "abandoned"):
            return f"not shown: the rollout ended ({self.rollout.transitions[-1].reason})"
        return "not known yet: no online evidence shows a goal"

    def _last_online(self) -> Sequence[Mapping[str, Any]]:
        """Return the newest evidence of metrics that a move rests on."""
        for transition in reversed(self.rollout.transitions):
            if any(entry["kind"] in ("goal", "guardrail") for entry in transition.evidence):
                return transition.evidence
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Return the history as plain data, as `assay rollout history --format json` prints it."""
        rollout = self.rollout
        return {
            "name": rollout.name,
            "experiment": rollout.experiment,
            "justified_by": self.justification,
            "held": self.outcome,
            "links": self.links.to_dict(),
            "policy": dict(rollout.policy),
            "transitions": [move.to_dict(rollout.steps) for move in rollout.transitions],
        }


def assess(
    rollout: Rollout,
    now: datetime,
    evidence: OnlineEvidence | None = None,
    extra: Sequence[StepCheck] = (),
    approvers: Sequence[str] = (),
) -> RolloutStatus:
    """Return where a rollout is and what the policy says of its step.

    `extra` are checks of other evidence, such as the shadow run; `approvers` approve by acting now.
    """
    if rollout.position.state not in LIVE:
        return RolloutStatus(rollout, None)
    policy = RolloutPolicy.from_dict(rollout.policy)
    checks = [
        *_kept_gate(rollout),
        *check_time(rollout, now),
        *extra,
        *check_online(evidence, rollout.step, policy),
        *check_approval(rollout, policy, approvers),
    ]
    return RolloutStatus(rollout, decide_step(checks))


def check_gate(experiment: Experiment) -> StepCheck:
    """Return the verdict of an experiment's gate; without one it is open."""
    verdict = experiment.result.get("verdict")
    figures = {"experiment": experiment.id, "words": experiment.result.get("words")}
    if verdict is None:
        figures["problem"] = "the experiment has no verdict: record one with `assay gate --save NAME`"
    name = f"the offline gate of {experiment.name}"
    return StepCheck("gate", name, _VERDICTS.get(str(verdict), OPEN), figures)


def _kept_gate(rollout: Rollout) -> list[StepCheck]:
    if rollout.step.stage != "gate":
        return []
    return [StepCheck.from_dict(entry) for entry in rollout.transitions[0].evidence]
