"""Where a rollout is, what is known at its step, and what would move it on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from assay.core.records import Experiment
from assay.online.ab.analysis import ABTest
from assay.rollout.evidence import (
    FAILED,
    OPEN,
    PASSED,
    Decision,
    StepCheck,
    check_test,
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

    @property
    def next(self) -> list[str]:
        """What would move it on."""
        if self.decision is None:
            return []
        steps, place = self.rollout.steps, self.rollout.position.step
        if self.rollout.position.state == "held":
            return ["resume it, or roll it back"]
        following = steps[place + 1]
        approval = "an approval: `advance` by a person" if following.needs_approval else ""
        waiting = list(self.decision.reasons) if self.decision.action != "advance" else []
        return [*waiting, *([approval] if approval else [])] or [f"advance to {following.label}"]

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
class RolloutHistory:
    """Every move of a rollout, the first first, and the experiment that justified it."""

    rollout: Rollout
    experiment: Experiment | None

    def to_dict(self) -> dict[str, Any]:
        """Return the history as plain data, as `assay rollout history --format json` prints it."""
        rollout = self.rollout
        return {
            "name": rollout.name,
            "experiment": rollout.experiment,
            "experiment_name": self.experiment.name if self.experiment else None,
            "baseline": rollout.baseline or None,
            "dataset": self.experiment.digests.get("qrels") if self.experiment else None,
            "policy": dict(rollout.policy),
            "transitions": [move.to_dict(rollout.steps) for move in rollout.transitions],
        }


def assess(
    rollout: Rollout, now: datetime, test: ABTest | None = None, extra: Sequence[StepCheck] = ()
) -> RolloutStatus:
    """Return where a rollout is and what the policy says of its step."""
    if rollout.position.state not in LIVE:
        return RolloutStatus(rollout, None)
    policy = RolloutPolicy.from_dict(rollout.policy)
    checks = [
        *_kept_gate(rollout),
        *check_time(rollout, now),
        *check_test(test, rollout.step, policy),
        *extra,
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
