"""Records of what was measured online: A/B tests, interleaving, online metrics and shadow reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

AB_TEST, INTERLEAVING, ONLINE_METRICS = "ab_test", "interleaving", "online_metrics"
SHADOW = "shadow"
BASELINE, CANDIDATE, DATASET = "baseline", "candidate", "dataset"  # roles of links
CLICKS = "clicks"  # the role of the table of what users searched for
DOCUMENT_CLICKS = "document_clicks"  # the role of the table of impressions and clicks by query and document


@dataclass(frozen=True)
class OnlineRecord:
    """The result of one command over events, and the offline evidence that it belongs to."""

    name: str
    kind: str  # AB_TEST, INTERLEAVING, ONLINE_METRICS or SHADOW
    body: Mapping[str, Any]  # the JSON of the command
    links: Mapping[str, str] = field(default_factory=dict)
    """The ids of the offline experiments, the digest of the dataset version and of tables, by role."""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    tags: tuple[str, ...] = ()
    note: str = ""
    pinned: bool = False
    deleted_at: datetime | None = None
    id: str = ""  # assigned by the store

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data."""
        times = {"at": self.at.isoformat(), "deleted_at": self.deleted_at and self.deleted_at.isoformat()}
        return {"id": self.id, **vars(self), **times}
