"""Rollouts as tables and sentences: where they are, what is known, and every move."""

from __future__ import annotations

from collections.abc import Sequence

from assay.rollout.evidence import StepCheck
from assay.rollout.machine import Rollout, Transition
from assay.rollout.status import RolloutHistory, RolloutStatus
from assay.views.numbers import format_short
from assay.views.sections import Section, render_sections
from assay.views.text import render_csv

FORMATS = ("table", "csv", "md", "html", "latex")
_STATES = {
    "running": "is at",
    "held": "is held at",
    "released": "is released: all traffic has the candidate",
    "reverted": "is rolled back: all traffic has the baseline",
    "abandoned": "was abandoned",
}
_MOVE_HEAD = ["at", "by", "what", "from", "to", "coverage", "reason"]
_CHECK_HEAD = ["what", "status", "found"]
_LIST_HEAD = ["rollout", "state", "step", "coverage", "since", "experiment"]


def describe_rollout(rollout: Rollout) -> str:
    """Return where a rollout is in one sentence."""
    state = rollout.position.state
    if state not in ("running", "held"):
        return f"{rollout.name} {_STATES[state]}"
    share = f", {100 * rollout.coverage:g} % of the traffic takes part" if rollout.coverage else ""
    since = f"since {rollout.entered_at:%Y-%m-%d %H:%M} UTC"
    step = f"{rollout.step.label} (step {rollout.position.step + 1} of {len(rollout.steps)})"
    return f"{rollout.name} {_STATES[state]} {step} {since}{share}"


def render_status(status: RolloutStatus, style: str) -> str:
    """Return where a rollout is, why, and what would move it on; CSV has the evidence."""
    checks = status.decision.checks if status.decision else []
    rows = [_check_row(check) for check in checks]
    if style == "csv":
        return render_csv(_CHECK_HEAD, rows)
    last = status.rollout.transitions[-1]
    notes = [describe_rollout(status.rollout), f"last move: {_describe_move(last)}"]
    sections = [
        Section("", notes),
        Section("what is known", (), _CHECK_HEAD, rows),
        Section("what would move it on", status.next),
    ]
    return render_sections(f"Rollout {status.rollout.name}", sections, style)


def render_history(history: RolloutHistory, style: str) -> str:
    """Return every move of a rollout; CSV has one row for each."""
    rollout = history.rollout
    rows = [_move_row(move, rollout) for move in rollout.transitions]
    if style == "csv":
        return render_csv(_MOVE_HEAD, rows)
    name = f"{history.experiment.name} ({rollout.experiment})" if history.experiment else rollout.experiment
    notes = [describe_rollout(rollout), f"justified by the experiment {name}"]
    notes += [f"compared with {rollout.baseline}"] * bool(rollout.baseline)
    sections = [Section("", notes), Section("moves", (), _MOVE_HEAD, rows)]
    return render_sections(f"History of {rollout.name}", sections, style)


def render_rollouts(rollouts: Sequence[Rollout], style: str) -> str:
    """Return a row for each rollout."""
    rows = [
        [
            rollout.name,
            rollout.position.state,
            rollout.step.label,
            f"{100 * rollout.coverage:g} %",
            f"{rollout.entered_at:%Y-%m-%d %H:%M}",
            rollout.experiment,
        ]
        for rollout in rollouts
    ]
    if style == "csv":
        return render_csv(_LIST_HEAD, rows)
    return render_sections("Rollouts", [Section("", (), _LIST_HEAD, rows)], style)


def _describe_move(move: Transition) -> str:
    reason = f": {move.reason}" if move.reason else ""
    return f"{_verb(move)} by {move.actor}, {move.at:%Y-%m-%d %H:%M:%S} UTC{reason}"


def _verb(move: Transition) -> str:
    return f"{move.action}, skipping what was missing" if move.is_skipped else move.action


def _move_row(move: Transition, rollout: Rollout) -> list[str]:
    fields = move.to_dict(rollout.steps)
    coverage = f"{100 * fields['coverage']:g} %"
    before = fields["from"] or "–"
    return [
        f"{move.at:%Y-%m-%d %H:%M:%S}",
        move.actor,
        _verb(move),
        before,
        fields["to"],
        coverage,
        move.reason,
    ]


def _check_row(check: StepCheck) -> list[str]:
    mark = f"{check.status} (only reported)" if check.is_dry_run else check.status
    return [f"{check.kind}: {check.name}", mark, _describe_figures(check)]


def _describe_figures(check: StepCheck) -> str:
    """Return what was found, in words."""
    found = check.figures
    if found.get("problem"):
        return str(found["problem"])
    if check.kind == "time":
        return f"{found['days']:.1f} days"
    if check.kind == "sample":
        return f"{found['n']:,} units in the smaller arm"
    if check.kind == "traffic":
        return f"{found['n']:,} units, {found['expected']:,.0f} were expected"
    if check.kind == "sample ratio":
        counts = ", ".join(f"{name} {n:,}" for name, n in found["observed"].items())
        return f"{counts}; p {format_short(found['p'])}"
    if "relative" in found:
        change = found["relative"]
        if change["value"] is None:
            return "–"
        ends = " … ".join(_percent(change[end]) for end in ("low", "high"))
        return f"{_percent(change['value'])} ({ends}), n {change['n']:,}"
    return str(found.get("words") or "")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:+.2f} %"
