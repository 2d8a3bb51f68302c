"""The answers of a primary and a candidate to one request, as UBI queries."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from assay.remote.redaction import redact

PRIMARY, CANDIDATE, REPEAT = "primary", "candidate", "repeat"
ROLES = (PRIMARY, CANDIDATE, REPEAT)
COUNTS_ACTION = "shadow_counts"  # the action of the events with the counts of a process
MAX_HITS = 1000  # ids of one answer that are kept
_MAX_TEXT = 2000  # characters of a query, of a path or of a message
_MAX_ID = 512  # characters of the id of a document


@dataclass(frozen=True)
class CallAnswer:
    """What one call returned, or how it failed."""

    latency_ms: float
    hits: Sequence[str] | None = None  # in rank order; None: unknown
    error: str = ""  # the class of the failure: a kind of RemoteError; empty: none
    message: str = ""
    status: int | None = None
    size: int | None = None  # bytes of the body


NOT_CALLED = CallAnswer(0.0, None, "not called", "the shadow was closed before")


@dataclass(frozen=True)
class Exchange:
    """One request and its answers."""

    query: str | None
    primary: CallAnswer
    candidate: CallAnswer
    repeat: CallAnswer | None = None  # of a second call of the primary
    name: str = ""  # of the shadow: the experiment_id of its records
    client_id: str | None = None
    request: str | None = None  # the method and path, or the name of the function
    digest: str | None = None  # of the request: it stands for a query without a text
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one UBI query for each answer; the variant is its role."""
        answers = zip(ROLES, (self.primary, self.candidate, self.repeat), strict=True)
        return [self._record(role, answer) for role, answer in answers if answer is not None]

    def _record(self, role: str, answer: CallAnswer) -> dict[str, Any]:
        hits = None if answer.hits is None else [_clean(hit)[:_MAX_ID] for hit in answer.hits[:MAX_HITS]]
        return {
            "application": "assay-shadow",
            "query_id": self.id if role == PRIMARY else f"{self.id}-{role}",
            "client_id": self.client_id,
            "user_query": _shorten(self.query),
            "timestamp": self.at.isoformat(),
            "query_response_hit_ids": hits,
            "query_attributes": {
                "experiment_id": self.name or None,
                "variant": role,
                "latency_ms": round(answer.latency_ms, 3),
                "shadow": {
                    "of": self.id,
                    "error": answer.error or None,
                    "message": _shorten(answer.message) or None,
                    "status": answer.status,
                    "bytes": answer.size,
                    "request": _shorten(self.request),
                    "digest": self.digest,
                },
            },
        }


def counts_record(run: str, counts: Mapping[str, Any], at: datetime | None = None) -> dict[str, Any]:
    """Return the counts of a process as a UBI event; the last one of a process counts."""
    return {
        "application": "assay-shadow",
        "action_name": COUNTS_ACTION,
        "session_id": run,
        "timestamp": (at or datetime.now(UTC)).isoformat(),
        "event_attributes": {"counts": dict(counts)},
    }


def _shorten(text: str | None) -> str | None:
    """Return a text without secrets and not too long; it is cut only afterwards."""
    return text and _clean(redact(text)[:_MAX_TEXT])


def _clean(text: str) -> str:
    """Return a text that UTF-8 can write: a half of a character becomes a question mark."""
    return text.encode("utf-8", "replace").decode()
