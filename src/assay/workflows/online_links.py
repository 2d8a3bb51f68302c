"""The online evidence that belongs to offline experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.online_records import BASELINE, CANDIDATE, OnlineRecord
from assay.rollout.machine import Rollout
from assay.store.online_records import linked_to
from assay.store.store import Store


@dataclass(frozen=True)
class OnlineLink:
    """One A/B test or interleaving, and which side of it an experiment is."""

    record: OnlineRecord
    role: str  # BASELINE or CANDIDATE

    def to_dict(self) -> dict[str, Any]:
        """Return the link as plain data."""
        body = self.record.body
        return {
            "kind": self.record.kind,
            "id": self.record.id,
            "name": self.record.name,
            "at": self.record.at.isoformat(),
            "role": self.role,
            "status": body.get("status"),
            "winner": body.get("winner"),
        }


def find_online_links(store: Store, experiment: str) -> Sequence[OnlineLink]:
    """Return the A/B tests and the interleaving of an experiment; of each name the newest."""
    links: dict[tuple[str, str], OnlineLink] = {}
    is_linked = linked_to(experiment)
    for record in (*store.ab_tests(is_linked), *store.interleavings(is_linked)):
        for role in (BASELINE, CANDIDATE):
            if record.links.get(role) == experiment:
                links.setdefault((record.kind, record.name), OnlineLink(record, role))
    return list(links.values())


def link_rollout(rollout: Rollout, experiment: str) -> dict[str, Any]:
    """Return where a rollout is, and which side of it an experiment is."""
    return {
        "name": rollout.name,
        "role": CANDIDATE if rollout.experiment == experiment else BASELINE,
        "state": rollout.position.state,
        "step": rollout.step.label,
        "at": rollout.transitions[-1].at.isoformat(),
        "reason": rollout.transitions[-1].reason,
    }
