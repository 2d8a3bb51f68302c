"""Start a rollout, say where it is, and move it: what `assay rollout` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from getpass import getuser
from pathlib import Path

from assay.core.errors import ConfigurationError, InputError
from assay.online.ab.analysis import ABTest
from assay.rollout.evidence import StepCheck
from assay.rollout.machine import Position, Rollout, Transition, move
from assay.rollout.policy import RolloutPolicy, read_policy
from assay.rollout.status import RolloutHistory, RolloutStatus, assess, check_gate
from assay.store.rollouts import Rollouts
from assay.store.store import Store
from assay.workflows.settings import PROJECT_FILE, read_settings
from assay.workflows.store_location import store_url
from assay.workflows.stores import open_existing_store

_MAX_NAME = 64


@dataclass(frozen=True, kw_only=True)
class StartRolloutRequest:
    """The candidate that is to be released, and the policy by which."""

    name: str
    experiment: str
    baseline: str | None = None
    project: str | Path = PROJECT_FILE  # its [rollout] is the policy; without one, the defaults
    reason: str = ""
    actor: str = ""
    store: str | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)


@dataclass(frozen=True, kw_only=True)
class RolloutRequest:
    """One rollout."""

    name: str
    store: str | None = None


@dataclass(frozen=True, kw_only=True)
class MoveRolloutRequest:
    """A move of a rollout: by whom, and why."""

    name: str
    action: str
    reason: str = ""
    is_skip: bool = False  # leave the step on purpose though something is missing; needs a reason
    number: int | None = None  # refuse if the rollout has had another number of transitions meanwhile
    actor: str = ""
    store: str | None = None

    def __post_init__(self) -> None:
        needs_reason = self.action in ("hold", "rollback", "abandon") or self.is_skip
        if needs_reason and not self.reason.strip():
            what = "--skip" if self.is_skip else self.action
            raise InputError(f"{what} needs a reason, which is kept in the record: --reason TEXT")


def start_rollout(request: StartRolloutRequest) -> RolloutStatus:
    """Start a rollout from an experiment, whose verdict is the first evidence."""
    policy = _read_policy(request.project)
    with Store(store_url(request.store, request.project)) as store:
        experiment = store.get(request.experiment)
        baseline = store.get(request.baseline).id if request.baseline else ""
        gate = check_gate(experiment)
        reason = request.reason or f"the gate of {experiment.name}: {gate.status}"
        first = Transition(
            1,
            datetime.now(UTC),
            request.actor or current_actor(),
            "start",
            None,
            Position("running", 0),
            reason,
            (gate.to_dict(),),
        )
        rollout = Rollout(
            request.name, experiment.id, baseline, policy.steps, policy.to_dict(), transitions=(first,)
        )
        kept = Rollouts(store.database).start(rollout)
        is_new = kept.transitions[0].at == first.at
        return replace(assess(kept, datetime.now(UTC)), is_changed=is_new)


def read_status(request: RolloutRequest, test: ABTest | None = None) -> RolloutStatus:
    """Return where a rollout is."""
    with open_existing_store(request.store) as store:
        return assess(Rollouts(store.database).get(request.name), datetime.now(UTC), test)


def read_history(request: RolloutRequest) -> RolloutHistory:
    """Return every move of a rollout."""
    with open_existing_store(request.store) as store:
        rollout = Rollouts(store.database).get(request.name)
        try:
            experiment = store.get(rollout.experiment)
        except InputError:  # it was dropped
            experiment = None
        return RolloutHistory(rollout, experiment)


def move_rollout(
    request: MoveRolloutRequest, test: ABTest | None = None, extra: Sequence[StepCheck] = ()
) -> RolloutStatus:
    """Move a rollout, and keep who did it, why, and what was known."""
    with open_existing_store(request.store) as store:
        kept = Rollouts(store.database)
        rollout = kept.get(request.name)
        if request.number is not None and request.number != len(rollout.transitions):
            raise InputError(
                f"{request.name} has moved since it was shown ({rollout.transitions[-1].action} by "
                f"{rollout.transitions[-1].actor}): look at it again"
            )
        after = move(rollout.position, request.action, rollout.steps)
        status = assess(rollout, datetime.now(UTC), test, extra)
        if after is None:
            return replace(status, is_changed=False)
        if request.action == "advance" and not request.is_skip:
            _require(status)
        transition = Transition(
            len(rollout.transitions) + 1,
            datetime.now(UTC),
            request.actor or current_actor(),
            request.action,
            rollout.position,
            after,
            request.reason or _reason(request.action, status),
            status.decision.evidence if status.decision else (),
            request.is_skip and status.decision is not None and status.decision.action != "advance",
        )
        return assess(kept.append(rollout, transition), transition.at, test)


class NotReadyError(InputError):
    """A step may not be left yet."""

    exit_code = 1


def _require(status: RolloutStatus) -> None:
    """Refuse to leave a step at which something is missing."""
    decision = status.decision
    if decision is None or decision.action == "advance":
        return
    raise NotReadyError(
        f"{status.rollout.name} may not leave {status.rollout.step.label} yet: "
        f"{'; '.join(decision.reasons)}; "
        "`status` shows the evidence, and --skip --reason TEXT leaves the step on purpose"
    )


def _reason(action: str, status: RolloutStatus) -> str:
    if action == "advance" and status.decision and status.decision.reasons:
        return "; ".join(status.decision.reasons)
    return {"advance": "nothing is asked for at this step", "resume": "resumed"}.get(action, "")


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
        return read_policy(settings)
    except ConfigurationError as error:
        raise ConfigurationError(error.problems, str(path)) from None


def _check_name(name: str) -> None:
    is_valid = 0 < len(name) <= _MAX_NAME and name.isprintable() and name == name.strip() and "/" not in name
    if not is_valid:
        raise InputError(
            f"expected a name of up to {_MAX_NAME} characters without a slash or a space at its ends, "
            f"found {name!r}"
        )


def current_actor() -> str:
    """Return who acts: ASSAY_ACTOR, or the user of this machine."""
    name = os.environ.get("ASSAY_ACTOR", "").strip()
    return name or _attempt(getuser) or "unknown"


def _attempt(function: Callable[[], str]) -> str:
    try:
        return function()
    except (OSError, KeyError):  # a process without a name of a user
        return ""
