"""Rollouts as tables and sentences: where they are, what is known, and every move."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from assay.rollout.evidence import StepCheck
from assay.rollout.machine import Rollout, Transition
from assay.rollout.served_splits import ServedSplits
from assay.rollout.status import RolloutHistory, RolloutStatus
from assay.views.numbers import format_short, format_signed
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
    notes = [describe_rollout(status.rollout), f"last move: {describe_move(last)}"]
    sections = [
        Section("", notes),
        Section("what is known", (), _CHECK_HEAD, rows),
        Section("what would move it on", status.next),
    ]
    return render_sections(f"Rollout {status.rollout.name}", sections, style)


def format_coverage(share: float) -> str:
    """Return a share of the traffic.

    >>> format_coverage(0.125), format_coverage(0.0)
    ('12.5 %', '0 %')
    """
    return f"{100 * share:g} %"


def render_history(history: RolloutHistory, style: str) -> str:
    """Return every move of a rollout; CSV has one row for each."""
    rollout = history.rollout
    rows = [_move_row(move, rollout) for move in rollout.transitions]
    if style == "csv":
        return render_csv(_MOVE_HEAD, rows)
    sections = [
        Section("", [describe_rollout(rollout)]),
        Section("which offline result justified this?", [history.justification, *describe_links(history)]),
        Section("did it hold?", [history.outcome]),
        Section("moves", (), _MOVE_HEAD, rows),
    ]
    return render_sections(f"History of {rollout.name}", sections, style)


def describe_links(history: RolloutHistory) -> list[str]:
    """Return the chain from the evaluation set to the rollout, one line for each part that is known."""
    links = history.links
    lines = [f"evaluation set {links.dataset}"] if links.dataset else []
    if links.baseline:
        lines.append(f"compared with {links.baseline.name} ({links.baseline.id})")
    words = {"shadow": "shadow report", "ab_test": "A/B test"}
    lines += [f"{words.get(r['kind'], r['kind'])} {r['id']} of {r['at'][:16]}" for r in links.records]
    return lines


def render_splits(served: ServedSplits, style: str) -> str:
    """Return which users see what, a row for each rollout."""
    head = ["rollout", "coverage", "arms", "everyone else sees"]
    rows = [
        [
            split.name,
            "–" if split.everyone else f"{100 * split.coverage:g} %",
            "–" if split.everyone else ", ".join(split.arms),
            split.everyone or split.arms[0],
        ]
        for split in served.splits.values()
    ]
    if style == "csv":
        return render_csv(head, rows)
    title = f"Splits number {served.sequence}"
    return render_sections(title, [Section("", [title], head, rows)], style)


def render_watch(result: WatchLike, style: str) -> str:
    """Return what was done with each rollout."""
    head = ["rollout", "done", "why"]
    rows = [[one.name, one.action, one.problem or one.reason] for one in result.rollouts]
    if style == "csv":
        return render_csv(head, rows)
    notes = [] if rows else ["no rollout is under way"]
    return render_sections("Watched rollouts", [Section("", notes, head, rows)], style)


def describe_watched(result: WatchLike) -> list[str]:
    """Return a line for each rollout of a look."""
    at = f"{result.at:%Y-%m-%d %H:%M:%S}"
    lines = [f"{at} {one.name}: {one.action}: {one.problem or one.reason}" for one in result.rollouts]
    return lines or [f"{at} no rollout is under way"]


class WatchedLike(Protocol):
    """What was done with one rollout."""

    @property
    def name(self) -> str:
        """The rollout."""

    @property
    def action(self) -> str:
        """What was done."""

    @property
    def reason(self) -> str:
        """Why."""

    @property
    def problem(self) -> str:
        """Why it could not be looked at."""


class WatchLike(Protocol):
    """One look at several rollouts."""

    @property
    def at(self) -> datetime:
        """When."""

    @property
    def rollouts(self) -> Sequence[WatchedLike]:
        """What was done with each."""


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


def describe_move(move: Transition) -> str:
    """Return a move in one sentence: what, by whom, when and why."""
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
    return [f"{check.kind}: {check.name}", mark, describe_figures(check)]


def describe_figures(check: StepCheck) -> str:
    """Return what was found, in words."""
    found = check.figures
    if found.get("problem"):
        return str(found["problem"])
    if "relative" in found:
        return _describe_change(found["relative"])
    describe = _DESCRIBERS.get(check.kind)
    return describe(found) if describe else str(found.get("words") or "")


def _describe_change(change: Mapping[str, Any]) -> str:
    if change["value"] is None:
        return "–"
    ends = " … ".join(_percent(change[end]) for end in ("low", "high"))
    return f"{_percent(change['value'])} ({ends}), n {change['n']:,}"


def _describe_ratio(found: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{name} {n:,}" for name, n in found["observed"].items())
    return f"{counts}; p {format_short(found['p'])}"


def _describe_approvals(found: Mapping[str, Any]) -> str:
    return f"approved by {', '.join(found['approved_by'])}" if found["approved_by"] else "not approved yet"


_DESCRIBERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "time": lambda found: f"{found['days']:.1f} days",
    "sample": lambda found: f"{found['n']:,} units in the smaller arm",
    "shadow": lambda found: f"{found['n']:,} compared requests, record {found['record']}",
    "traffic": lambda found: f"{found['n']:,} units, {found['expected']:,.0f} were expected",
    "sample ratio": _describe_ratio,
    "approval": _describe_approvals,
}


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{format_signed(100 * share, 2)} %"
