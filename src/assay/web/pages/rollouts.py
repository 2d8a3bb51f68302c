"""Rollouts: where each is, what is known, and its moves: advance, approve, hold, resume, roll back…"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from assay.rollout.machine import LIVE
from assay.rollout.policy import RolloutPolicy
from assay.views.rollouts import describe_rollout
from assay.web.page import Action, Context, Document, Page, Parameters, Result, Role, View
from assay.web.rollout_parts import (
    evidence_rows,
    link_rows,
    move_rows,
    stage_line,
    stage_share,
    state_class,
)
from assay.workflows.rollout_pages import (
    RolloutDetail,
    RolloutEvidence,
    list_stored_rollouts,
    read_detail,
    read_evidence,
)
from assay.workflows.rollout_people import Person, current_actor
from assay.workflows.rollout_splits import read_document
from assay.workflows.rollout_telemetry import read_prometheus
from assay.workflows.rollouts import (
    MoveRolloutRequest,
    RolloutList,
    RolloutRequest,
    StartRolloutRequest,
    move_rollout,
    start_rollout,
)


class RolloutParameters(Parameters):
    """The rollout."""

    name: str = ""  # part of the path


class MoveForm(Parameters):
    """Why a rollout is moved, and which state of it was shown."""

    name: str = ""  # part of the path
    reason: str = ""
    number: int | None = None  # of transitions when the page was shown
    skip: bool = False


class StartForm(Parameters):
    """The name of a new rollout and the experiments that it rests on."""

    name: str
    experiment: str
    baseline: str = ""


def _read_list(context: Context, parameters: Parameters) -> RolloutList:
    return list_stored_rollouts(context.store)


def _present_list(context: Context, value: RolloutList, parameters: Parameters) -> View:
    rows = [
        {
            "rollout": rollout,
            "address": _address(rollout.name),
            "sentence": describe_rollout(rollout),
            "class": state_class(rollout),
            "stages": stage_line(rollout),
            "share": stage_share(rollout),
            "reason": rollout.transitions[-1].reason,
            "actor": rollout.transitions[-1].actor,
        }
        for rollout in value.rollouts
    ]
    live = [row for row, rollout in zip(rows, value.rollouts, strict=True) if rollout.position.state in LIVE]
    parts = {"live": live, "ended": [row for row in rows if row not in live]}
    return View("Rollouts", "assay rollout list", parts)


def _read(context: Context, parameters: RolloutParameters) -> RolloutDetail:
    return read_detail(RolloutRequest(name=parameters.name, store=context.store))


def _present(context: Context, value: RolloutDetail, parameters: RolloutParameters) -> View:
    rollout, policy = value.status.rollout, RolloutPolicy.from_dict(value.status.rollout.policy)
    state, role = rollout.position.state, context.role.name.lower()
    following = rollout.position.step + 1
    needs_approval = state in LIVE and policy.needs_approval(following)
    person = _person(context)
    can_approve = policy.approvals.is_allowed(person.name, role) and person.name not in rollout.approvers
    parts = {
        "rollout": rollout,
        "address": _address(rollout.name),
        "sentence": describe_rollout(rollout),
        "class": state_class(rollout),
        "stages": stage_line(rollout),
        "moves": move_rows(rollout),
        "last": rollout.transitions[-1],
        "links": link_rows(value.history),
        "justification": value.history.justification,
        "outcome": value.history.outcome,
        "next_label": rollout.steps[following].label if following < len(rollout.steps) else "",
        "may_move": context.role >= Role.ENGINEER,
        "is_live": state in LIVE,
        "can_roll_back": state in (*LIVE, "released"),
        "approval": policy.approvals.words if needs_approval else "",
        "approvers": sorted(rollout.approvers),
        "can_approve": needs_approval and can_approve,
        "number": len(rollout.transitions),
    }
    return View(rollout.name, f"assay rollout status {rollout.name}", parts)


def _read_evidence(context: Context, parameters: RolloutParameters) -> RolloutEvidence:
    return read_evidence(RolloutRequest(name=parameters.name, store=context.store))


def _present_evidence(context: Context, value: RolloutEvidence, parameters: RolloutParameters) -> View:
    rollout, decision = value.status.rollout, value.status.decision
    checks = list(decision.checks) if decision else []
    rows, axis = evidence_rows(checks)
    parts = {
        "rollout": rollout,
        "address": _address(rollout.name),
        "rows": rows,
        "axis": axis,
        "decision": decision.action if decision else "",
        "next": value.status.next,
        "problem": value.problem,
        "sources": list(value.sources),
    }
    return View(f"Evidence of {rollout.name}", f"assay rollout status {rollout.name}", parts)


def _address(name: str) -> str:
    return f"/rollouts/{quote(name, safe='')}"


def _person(context: Context) -> Person:
    return Person(context.user or current_actor(), context.role.name.lower())


def _mover(action: str) -> Callable[[Context, MoveForm], Result]:
    def run(context: Context, form: MoveForm) -> Result:
        status = move_rollout(
            MoveRolloutRequest(
                name=form.name,
                action=action,
                reason=form.reason,
                is_skip=form.skip,
                number=form.number,
                person=_person(context),
                store=context.store,
            )
        )
        value: dict[str, Any] = {**status.to_dict(), "notes": list(status.notes)}
        return Result(_address(form.name), describe_rollout(status.rollout), value)

    return run


def _start(context: Context, form: StartForm) -> Result:
    status = start_rollout(
        StartRolloutRequest(
            name=form.name,
            experiment=form.experiment,
            baseline=form.baseline or None,
            person=_person(context),
            store=context.store,
        )
    )
    return Result(_address(form.name), describe_rollout(status.rollout))


PAGES = (
    Page("/rollouts", "Rollouts", "rollouts.html", _read_list, _present_list, key="L"),
    Page("/rollouts/{name}", "", "rollout.html", _read, _present, RolloutParameters),
    Page(
        "/rollouts/{name}/evidence",
        "",
        "rollout_evidence.html",
        _read_evidence,
        _present_evidence,
        RolloutParameters,
    ),
)
DOCUMENTS = (
    Document("/metrics", "text/plain; version=0.0.4; charset=utf-8", lambda c: read_prometheus(c.store)),
    Document("/splits", "application/json", lambda c: read_document(c.store)),
)
ACTIONS = (
    Action("/rollouts", StartForm, _start),
    *(
        Action(f"/rollouts/{{name}}/{action}", MoveForm, _mover(action))
        for action in ("advance", "approve", "hold", "resume", "rollback", "abandon")
    ),
)
