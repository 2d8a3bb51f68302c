"""Start a rollout, say where it is, and move it: what `assay rollout` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.core.errors import ConfigurationError, InputError
from assay.rollout.evidence import PASSED, OnlineEvidence
from assay.rollout.machine import LIVE, NotAllowedError, Position, Rollout, Transition, move
from assay.rollout.policy import RolloutPolicy, read_policy
from assay.rollout.status import RolloutHistory, RolloutLinks, RolloutStatus, assess, check_gate
from assay.store.datasets import DatasetVersions
from assay.store.rollouts import Rollouts
from assay.store.store import Store
from assay.workflows.rollout_evidence import (
    check_shadow,
    dataset_digest,
    find_experiment,
    linked_records,
    read_online,
    save_test,
)
from assay.workflows.rollout_people import Person, identify_person
from assay.workflows.rollout_splits import publish_if_configured
from assay.workflows.rollout_webhooks import deliver_webhooks
from assay.workflows.settings import PROJECT_FILE, read_settings
from assay.workflows.store_location import store_url
from assay.workflows.stores import open_existing_store

_MAX_NAME = 64
_NEEDS_REASON = ("hold", "rollback", "abandon")


@dataclass(frozen=True, kw_only=True)
class StartRolloutRequest:
    """The candidate that is to be released, and the policy by which."""

    name: str
    experiment: str
    baseline: str | None = None
    project: str | Path = PROJECT_FILE  # its [rollout] is the policy; without one, the defaults
    reason: str = ""
    actor: str = ""
    person: Person | None = None  # who is logged in; None: whoever is at the terminal
    store: str | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)


@dataclass(frozen=True, kw_only=True)
class RolloutRequest:
    """One rollout, and the events since its A/B test began; without any, those that its policy names."""

    name: str
    events: Sequence[str] = ()
    store: str | None = None


@dataclass(frozen=True, kw_only=True)
class MoveRolloutRequest:
    """A move of a rollout: by whom, and why."""

    name: str
    action: str
    reason: str = ""
    is_skip: bool = False  # leave the step on purpose though something is missing; needs a reason
    number: int | None = None  # refuse if the rollout has had another number of transitions meanwhile
    events: Sequence[str] = ()
    actor: str = ""
    person: Person | None = None
    store: str | None = None

    def __post_init__(self) -> None:
        if (self.action in _NEEDS_REASON or self.is_skip) and not self.reason.strip():
            what = "--skip" if self.is_skip else self.action
            raise InputError(f"{what} needs a reason, which is kept in the record: --reason TEXT")


@dataclass(frozen=True)
class RolloutList:
    """All rollouts, the newest first."""

    rollouts: Sequence[Rollout]

    def to_dict(self) -> dict[str, Any]:
        """Return the rollouts as plain data."""
        return {
            "rollouts": [
                {
                    "name": rollout.name,
                    "state": rollout.position.state,
                    "stage": rollout.step.stage,
                    "step": rollout.step.label,
                    "coverage": rollout.coverage,
                    "since": rollout.entered_at.isoformat(),
                    "reason": rollout.transitions[-1].reason,
                    "experiment": rollout.experiment,
                }
                for rollout in self.rollouts
            ]
        }


class NotReadyError(InputError):
    """A step may not be left yet."""

    exit_code = 1


def start_rollout(request: StartRolloutRequest) -> RolloutStatus:
    """Start a rollout from an experiment, whose verdict is the first evidence."""
    policy = _read_policy(request.project)
    with Store(store_url(request.store, request.project)) as store:
        person = request.person or identify_person(store.database, request.actor, "start", request.name)
        _check_role(person)
        experiment = store.get(request.experiment)
        baseline = store.get(request.baseline).id if request.baseline else ""
        gate, kept, now = check_gate(experiment), Rollouts(store.database), datetime.now(UTC)
        _check_exclusive(request.name, policy, kept.all())
        reason = request.reason or f"the gate of {experiment.name}: {gate.status}"
        first = Transition(
            1, now, person.name, "start", None, Position("running", 0), reason, (gate.to_dict(),)
        )
        rollout = Rollout(
            request.name, experiment.id, baseline, policy.steps, policy.to_dict(), policy.arms, now, (first,)
        )
        stored = kept.start(rollout)
        is_new = stored.transitions[0].at >= now and len(stored.transitions) == 1
        notes = _announce(store, stored) if is_new else ()
        return replace(assess(stored, now), is_changed=is_new, notes=notes)


def _check_exclusive(name: str, policy: RolloutPolicy, rollouts: Sequence[Rollout]) -> None:
    """Refuse a part of a group that another rollout which has not ended has."""
    slot = policy.exclusive
    for other in rollouts if slot else ():
        taken = RolloutPolicy.from_dict(other.policy).exclusive
        is_other = other.name != name and other.position.state in LIVE and taken is not None
        if slot and taken and is_other and taken.name == slot.name and _overlap(slot, taken):
            raise InputError(
                f"rollout.exclusive: {other.name} has the units from {taken.start:g} to {taken.end:g} of the "
                f"group {slot.name}; choose others, or wait until it has ended"
            )


def _overlap(first: Any, second: Any) -> bool:
    return bool(first.start < second.end and second.start < first.end)


def list_rollouts(store: str | None = None) -> RolloutList:
    """Return every rollout of a store."""
    with open_existing_store(store) as opened:
        return RolloutList(Rollouts(opened.database).all())


def read_status(request: RolloutRequest) -> RolloutStatus:
    """Return where a rollout is, why, and what would move it on."""
    with open_existing_store(request.store) as store:
        rollout, now = Rollouts(store.database).get(request.name), datetime.now(UTC)
        evidence = read_online(rollout, request.events, now) if rollout.position.state in LIVE else None
        return assess(rollout, now, evidence, check_shadow(store, rollout))


def read_history(request: RolloutRequest) -> RolloutHistory:
    """Return every move of a rollout, with what it rests on."""
    with open_existing_store(request.store) as store:
        rollout = Rollouts(store.database).get(request.name)
        return RolloutHistory(rollout, read_links(store, rollout))


def read_links(store: Store, rollout: Rollout) -> RolloutLinks:
    """Return the version of the evaluation set, the experiments and the online records of a rollout."""
    experiment = find_experiment(store, rollout.experiment)
    digest = dataset_digest(store, experiment) if experiment else None
    label = next((v.label for v in DatasetVersions(store).find() if v.digest == digest), None)
    baseline = find_experiment(store, rollout.baseline)
    return RolloutLinks(label, experiment, baseline, linked_records(store, rollout))


def move_rollout(request: MoveRolloutRequest) -> RolloutStatus:
    """Move a rollout, and keep who did it, why, and what was known.

    Only `advance` reads events: a rollback must not wait for a warehouse.
    """
    with open_existing_store(request.store) as store:
        kept = Rollouts(store.database)
        rollout = kept.get(request.name)
        person = request.person or identify_person(
            store.database, request.actor, request.action, request.name
        )
        _check_role(person)
        _check_number(rollout, request.number)
        after = move(rollout.position, request.action, rollout.steps)
        now = datetime.now(UTC)
        evidence = read_online(rollout, request.events, now) if request.action == "advance" else None
        shadow = check_shadow(store, rollout)
        approvers = _approvers(rollout, request.action, person)
        status = assess(rollout, now, evidence, shadow, approvers)
        if after is None or (request.action == "approve" and person.name in rollout.approvers):
            return replace(status, is_changed=False)
        if request.action == "advance":
            _require(status, request.is_skip)
        return record_move(store, status, request.action, person.name, request.reason, evidence)


def _approvers(rollout: Rollout, action: str, person: Person) -> Sequence[str]:
    """Return who approves by acting: whoever approves, or moves the rollout on, and may approve."""
    policy = RolloutPolicy.from_dict(rollout.policy)
    is_allowed = policy.approvals.is_allowed(person.name, person.role)
    if action != "approve":
        return [person.name] if is_allowed and action == "advance" else []
    following = rollout.position.step + 1
    if following >= len(rollout.steps) or not policy.needs_approval(following):
        raise NotAllowedError(f"{rollout.name}: the step after {rollout.step.label} needs no approval")
    if not is_allowed:
        raise InputError(
            f"{rollout.name} needs {policy.approvals.words}; {person.name} ({person.role}) may not approve it"
        )
    return [person.name]


def record_move(
    store: Store,
    status: RolloutStatus,
    action: str,
    actor: str,
    reason: str,
    evidence: OnlineEvidence | None = None,
) -> RolloutStatus:
    """Add a move with what was known, and tell services and webhooks; ConflictError if someone was first."""
    rollout, decision = status.rollout, status.decision
    after = move(rollout.position, action, rollout.steps)
    if after is None:
        return replace(status, is_changed=False)
    known = list(decision.evidence) if decision else []
    if evidence is not None:
        record = save_test(store, rollout, evidence)
        known = [{**entry, "record": record} if entry["kind"] == "sample" else entry for entry in known]
    is_skipped = action == "advance" and decision is not None and decision.action != "advance"
    transition = Transition(
        len(rollout.transitions) + 1,
        datetime.now(UTC),
        actor,
        action,
        rollout.position,
        after,
        reason or _reason(action, status),
        tuple(known),
        is_skipped,
    )
    stored = Rollouts(store.database).append(rollout, transition)
    shown = assess(stored, transition.at, evidence, check_shadow(store, stored))
    return replace(shown, notes=_announce(store, stored))


def _announce(store: Store, rollout: Rollout) -> Sequence[str]:
    """Tell services and webhooks of a move; return what went wrong, which the move does not depend on."""
    problem = publish_if_configured(store.database)
    return [*([problem] if problem else []), *deliver_webhooks(store.database, [rollout])]


def _check_role(person: Person) -> None:
    if not person.may_move:
        raise InputError(f"this needs the role engineer, that of {person.name} is {person.role}")


def _check_number(rollout: Rollout, number: int | None) -> None:
    """Refuse to move a rollout that has moved since it was shown."""
    last = rollout.transitions[-1]
    if number is not None and number != len(rollout.transitions):
        raise InputError(
            f"{rollout.name} has moved since it was shown ({last.action} by {last.actor}): look at it again"
        )


def _require(status: RolloutStatus, is_skip: bool) -> None:
    """Refuse to leave a step at which something is missing; --skip does not replace an approval."""
    decision = status.decision
    if decision is None or decision.action == "advance":
        return
    reasons, hint = list(decision.reasons), "--skip --reason TEXT leaves the step on purpose"
    if is_skip:
        reasons = [c.name for c in decision.checks if c.kind == "approval" and c.status != PASSED]
        hint = "an approval is not skipped"
    if reasons:
        raise NotReadyError(
            f"{status.rollout.name} may not leave {status.rollout.step.label} yet: {'; '.join(reasons)}; "
            f"`status` shows the evidence, and {hint}"
        )


def _reason(action: str, status: RolloutStatus) -> str:
    if action == "advance" and status.decision and status.decision.reasons:
        return "; ".join(status.decision.reasons)
    defaults = {"advance": "nothing is asked for at this step", "resume": "resumed", "approve": "approved"}
    return defaults.get(action, "")


def _read_policy(project: str | Path) -> RolloutPolicy:
    path = Path(project)
    if not path.is_file():
        if str(project) != PROJECT_FILE:
            raise InputError(f"there is no {project}: name a project with a table [rollout], or leave it out")
        return RolloutPolicy()
    settings = read_settings(path).get("rollout", {})
    if not isinstance(settings, dict):
        raise ConfigurationError({"rollout": f"expected a table, found {settings!r}"}, str(path))
    try:
        policy = read_policy(settings)
    except ConfigurationError as error:
        raise ConfigurationError(error.problems, str(path)) from None
    folder = path.absolute().parent
    return replace(policy, events=tuple(str(folder / name) for name in policy.events))


def _check_name(name: str) -> None:
    is_valid = 0 < len(name) <= _MAX_NAME and name.isprintable() and name == name.strip() and "/" not in name
    if not is_valid:
        raise InputError(
            f"expected a name of up to {_MAX_NAME} characters without a slash or a space at its ends, "
            f"found {name!r}"
        )
