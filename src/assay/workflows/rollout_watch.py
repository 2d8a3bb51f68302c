"""Watch rollouts: look at new data and act as the policy allows, once or for ever; any number may watch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from assay.core.errors import AssayError, InputError
from assay.rollout.machine import LIVE, Rollout
from assay.rollout.status import RolloutStatus, assess
from assay.store.rollouts import ConflictError, Rollouts
from assay.store.store import Store
from assay.workflows.rollout_evidence import check_shadow, read_online
from assay.workflows.rollout_people import identify_person
from assay.workflows.rollout_splits import publish_if_configured
from assay.workflows.rollout_telemetry import push_metrics
from assay.workflows.rollout_webhooks import deliver_webhooks
from assay.workflows.rollouts import record_move
from assay.workflows.stores import open_existing_store

WATCHER = "assay rollout watch"
_ACTS_WHEN = {"running": ("advance", "hold", "rollback"), "held": ("rollback",)}


@dataclass(frozen=True, kw_only=True)
class WatchRolloutsRequest:
    """The rollouts that are watched; none named: all."""

    names: Sequence[str] = ()
    events: Sequence[str] = ()
    actor: str = ""
    store: str | None = None


@dataclass(frozen=True)
class WatchedRollout:
    """What was done with one rollout, and why."""

    name: str
    action: str  # advance, hold, rollback, wait, or none if it could not be looked at
    status: RolloutStatus | None = None
    reason: str = ""
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "name": self.name,
            "action": self.action,
            "reason": self.reason,
            "problem": self.problem or None,
            "status": self.status and self.status.to_dict(),
        }


@dataclass(frozen=True)
class WatchPass:
    """One look at all watched rollouts."""

    at: datetime
    rollouts: Sequence[WatchedRollout]
    notes: Sequence[str] = ()

    @property
    def exit_code(self) -> int:
        """0; 1 if one was rolled back, 3 if one could not be looked at."""
        if any(one.problem for one in self.rollouts):
            return 3
        return 1 if any(one.action == "rollback" for one in self.rollouts) else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the look as plain data."""
        rollouts = [one.to_dict() for one in self.rollouts]
        return {"at": self.at.isoformat(), "rollouts": rollouts, "notes": list(self.notes)}


def watch_rollouts(request: WatchRolloutsRequest, now: datetime | None = None) -> WatchPass:
    """Look once at each rollout and act as its policy allows; a problem of one does not stop the others."""
    with open_existing_store(request.store) as store:
        kept = Rollouts(store.database)
        actor = identify_person(store.database, request.actor or WATCHER, "watch", "").name
        chosen = [kept.get(name) for name in request.names] or kept.all()
        live = [rollout for rollout in chosen if rollout.position.state in LIVE]
        watched = [_watch_one(store, rollout, request.events, actor, now) for rollout in live]
        problem = publish_if_configured(store.database)
        notes = [*([problem] if problem else []), *deliver_webhooks(store.database, kept.all())]
        notes += push_metrics(store.database)
        return WatchPass(now or datetime.now(UTC), watched, notes)


def _watch_one(
    store: Store, rollout: Rollout, events: Sequence[str], actor: str, now: datetime | None
) -> WatchedRollout:
    try:
        return _act(store, rollout, events, actor, now or datetime.now(UTC))
    except ConflictError as error:
        return WatchedRollout(rollout.name, "none", None, str(error))
    except AssayError as error:
        return WatchedRollout(rollout.name, "none", None, "", str(error))


def _act(store: Store, rollout: Rollout, events: Sequence[str], actor: str, now: datetime) -> WatchedRollout:
    evidence = read_online(rollout, events, now)
    status = assess(rollout, now, evidence, check_shadow(store, rollout))
    assert status.decision is not None  # it is live
    action, reason = status.decision.action, "; ".join(status.decision.reasons)
    if action not in _ACTS_WHEN[rollout.position.state]:
        return WatchedRollout(rollout.name, "wait", status, reason)
    after = record_move(store, status, action, actor, reason, evidence)
    return WatchedRollout(rollout.name, action, after, reason)


def watch_for_ever(
    request: WatchRolloutsRequest,
    report: Callable[[WatchPass], None],
    pause: Callable[[], bool],
) -> None:
    """Look again and again until `pause`, which waits, returns False; a store that is down is tried again."""
    while True:
        try:
            report(watch_rollouts(request))
        except InputError:
            raise
        except AssayError as error:
            report(WatchPass(datetime.now(UTC), (), [str(error)]))
        if not pause():
            return


def parse_pause(text: str) -> float:
    """Return the seconds of a text such as 30s, 5m or 2h.

    >>> parse_pause("5m")
    300.0
    """
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    try:
        seconds = float(text[:-1]) * units[text[-1:]]
    except (ValueError, KeyError):
        seconds = 0.0
    if not 1.0 <= seconds <= 86_400.0:
        raise InputError(f"--every expects 1s to 24h, such as 30s, 5m or 2h, found {text!r}")
    return seconds
