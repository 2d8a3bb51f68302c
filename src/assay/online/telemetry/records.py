"""The records of UBI 1.3: one for each query and one for each event, as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple


class Record(NamedTuple):
    """A query or an event as a line of JSON."""

    is_query: bool
    line: bytes  # without its end


def query_record(
    user_query: str,
    query_id: str,
    *,
    hit_ids: Sequence[str] | None = None,
    at: datetime | None = None,
    attributes: Mapping[str, Any] | None = None,
    **ids: str | None,
) -> Record:
    """Return the record of a query; without `hit_ids` its results are unknown, not none.

    >>> at = datetime(2026, 1, 31, tzinfo=UTC)
    >>> query_record("vpn", "q1", hit_ids=["a"], client_id="c", at=at).line.decode()
    '{"query_id":"q1","client_id":"c","user_query":"vpn","timestamp":"2026-01-31T00:00:00.000000Z",\
"query_response_hit_ids":["a"]}'
    """
    fields = {"query_id": query_id, **ids, "user_query": user_query, "timestamp": _time(at)}
    hits = None if hit_ids is None else [str(doc) for doc in hit_ids]
    own = _present(attributes or {})
    return _record(True, {**fields, "query_response_hit_ids": hits, "query_attributes": own or None})


def event_record(
    action: str,
    *,
    object_id: str | None = None,
    rank: int | None = None,
    at: datetime | None = None,
    attributes: Mapping[str, Any] | None = None,
    **fields: str | None,
) -> Record:
    """Return the record of an event; `rank` counts from 1."""
    inner = _present(attributes or {})
    if object_id is not None:
        inner["object"] = {**inner.get("object", {}), "object_id": str(object_id)}
    if rank is not None:
        inner["position"] = {**inner.get("position", {}), "ordinal": rank}
    shared = {"action_name": action, **fields, "timestamp": _time(at)}
    return _record(False, {**shared, "event_attributes": inner or None})


def _record(is_query: bool, fields: Mapping[str, Any]) -> Record:
    text = json.dumps(_present(fields), separators=(",", ":"), ensure_ascii=False, default=str)
    return Record(is_query, text.encode("utf-8", "replace"))


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _time(at: datetime | None) -> str:
    """Return a time in UTC; one without a zone is local."""
    time = datetime.now(UTC) if at is None else at.astimezone(UTC)
    return f"{time:%Y-%m-%dT%H:%M:%S.%f}Z"
