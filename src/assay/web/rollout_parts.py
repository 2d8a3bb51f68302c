"""Parts of the pages of rollouts: the line of stages, rows of evidence, links and moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from assay.rollout.evidence import FAILED, OPEN, PASSED, StepCheck
from assay.rollout.machine import LIVE, Rollout, candidate_share
from assay.rollout.status import RolloutHistory
from assay.views.rollouts import describe_figures, describe_move

_CLASSES = {"released": "up", "reverted": "down", "held": "warn"}
_STATES = {PASSED: ("better", "holds"), FAILED: ("worse", "fails"), OPEN: ("open", "open")}
_METRIC_KINDS = ("goal", "guardrail", "signal")


def state_class(rollout: Rollout) -> str:
    """Return the class of the state: its colour."""
    return _CLASSES.get(rollout.position.state, "open")


def stage_share(rollout: Rollout) -> float:
    """Return the share of the traffic that is shown the candidate."""
    return candidate_share(rollout.position, rollout.steps)


def stage_line(rollout: Rollout) -> list[dict[str, Any]]:
    """Return each step: whether it was left, is the present one or comes, its coverage and when it began."""
    entered = {move.after.step: move for move in reversed(rollout.transitions)}
    place, is_live = rollout.position.step, rollout.position.state in LIVE
    lines = []
    for number, step in enumerate(rollout.steps):
        is_here = number == place and is_live
        is_done = number < place or (number == place and not is_live)
        lines.append(
            {
                "label": step.label,
                "coverage": step.coverage,
                "state": "here" if is_here else "done" if is_done else "next",
                "move": entered.get(number),
                "is_skipped": number + 1 in entered and entered[number + 1].is_skipped,
                "is_end": number == place and rollout.position.state in ("reverted", "abandoned"),
                "conditions": _conditions(step.min_days, step.min_units, step.needs_approval),
            }
        )
    return lines


def _conditions(days: float, units: int, needs_approval: bool) -> str:
    parts = [f"{days:g} d"] * bool(days) + [f"{units:,} units"] * bool(units) + ["approval"] * needs_approval
    return " · ".join(parts)


def evidence_rows(checks: Sequence[StepCheck]) -> tuple[list[dict[str, Any]], tuple[float, float]]:
    """Return a row for each check, and the common axis of the relative differences."""
    rows = [_evidence_row(check) for check in checks]
    ends = [abs(end) for row in rows for end in (row["low"], row["high"], row["value"]) if end is not None]
    reach = min(max(ends, default=0.01), 1.0) or 0.01
    return rows, (-reach, reach)


def _evidence_row(check: StepCheck) -> dict[str, Any]:
    relative: Mapping[str, Any] = check.figures.get("relative") or {}
    state, words = _STATES[check.status]
    is_unbreached = check.kind in ("guardrail", "signal") and check.status == OPEN
    return {
        "kind": check.kind,
        "name": check.name,
        "state": state,
        "words": "not breached" if is_unbreached and not check.figures.get("problem") else words,
        "found": describe_figures(check),
        "is_dry_run": check.is_dry_run,
        "relative": relative,
        "margin": check.figures.get("margin") or None,
        "record": check.figures.get("record") or "",
        **{name: relative.get(name) for name in ("value", "low", "high", "n")},
        "is_metric": check.kind in _METRIC_KINDS,
    }


def move_rows(rollout: Rollout) -> list[dict[str, Any]]:
    """Return a row for each move, the newest first, with what was known."""
    rows = []
    for move in reversed(rollout.transitions):
        checks = [StepCheck.from_dict(entry) for entry in move.evidence]
        rows.append(
            {
                "move": move,
                "words": describe_move(move),
                "to": move.after.to_text(rollout.steps),
                "coverage": move.to_dict(rollout.steps)["coverage"],
                "checks": evidence_rows(checks)[0],
            }
        )
    return rows


def link_rows(history: RolloutHistory) -> list[dict[str, str]]:
    """Return the chain from the evaluation set to the rollout, with addresses."""
    links, rows = history.links, []
    if links.dataset:
        name = links.dataset.partition("@")[0]
        rows.append({"kind": "evaluation set", "name": links.dataset, "address": f"/datasets/{quote(name)}"})
    if links.baseline:
        rows.append(_experiment_row("baseline", links.baseline.name, links.baseline.id))
    if links.experiment:
        rows.append(_experiment_row("experiment", links.experiment.name, links.experiment.id))
    addresses = {"ab_test": "/online/tests/{}", "shadow": "/shadow/{}"}
    words = {"ab_test": "A/B test", "shadow": "shadow report"}
    for record in links.records:
        address = addresses[record["kind"]].format(record["id"])
        rows.append({"kind": words[record["kind"]], "name": record["at"][:16], "address": address})
    return rows


def _experiment_row(kind: str, name: str, identity: str) -> dict[str, str]:
    return {"kind": kind, "name": name, "address": f"/experiments/{identity}"}
