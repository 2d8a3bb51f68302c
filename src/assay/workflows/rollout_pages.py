"""What the pages of rollouts show: where they are, what is known, and what they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.core.errors import AssayError
from assay.rollout.evidence import OnlineEvidence
from assay.rollout.machine import LIVE
from assay.rollout.status import RolloutHistory, RolloutStatus, assess
from assay.store.rollouts import Rollouts
from assay.workflows.rollout_evidence import check_shadow, read_online
from assay.workflows.rollouts import RolloutList, RolloutRequest, list_rollouts, read_links
from assay.workflows.store_location import store_url
from assay.workflows.stores import open_existing_store


@dataclass(frozen=True)
class RolloutDetail:
    """A rollout with its history; what is known online is read apart, as that may take long or fail."""

    status: RolloutStatus
    history: RolloutHistory

    def to_dict(self) -> dict[str, Any]:
        """Return the status and the history as plain data."""
        return {**self.status.to_dict(), "history": self.history.to_dict()}


@dataclass(frozen=True)
class RolloutEvidence:
    """What is known at the step of a rollout now, or why it could not be read."""

    status: RolloutStatus
    problem: str = ""
    sources: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the status as plain data, as `assay rollout status --format json` prints it."""
        return {**self.status.to_dict(), "problem": self.problem or None}


def list_stored_rollouts(store: str | None) -> RolloutList:
    """Return every rollout; none if there is no store yet."""
    location = store_url(store)
    if "://" not in location and not (Path(location) / "assay.db").is_file():
        return RolloutList([])
    return list_rollouts(location)


def read_detail(request: RolloutRequest) -> RolloutDetail:
    """Return a rollout without reading its events."""
    with open_existing_store(request.store) as store:
        rollout = Rollouts(store.database).get(request.name)
        status = assess(rollout, datetime.now(UTC), None, check_shadow(store, rollout))
        return RolloutDetail(status, RolloutHistory(rollout, read_links(store, rollout)))


def read_evidence(request: RolloutRequest) -> RolloutEvidence:
    """Return what is known of a rollout now; events that cannot be read are a problem, not an error."""
    with open_existing_store(request.store) as store:
        rollout, now = Rollouts(store.database).get(request.name), datetime.now(UTC)
        evidence: OnlineEvidence | None = None
        problem = ""
        try:
            evidence = read_online(rollout, (), now) if rollout.position.state in LIVE else None
        except AssayError as error:
            problem = str(error)
        status = assess(rollout, now, evidence, check_shadow(store, rollout))
        return RolloutEvidence(status, problem, rollout.policy["events"])
