"""Small logs of interleaved lists, and simulated rankers."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core.tables import Qrels, Queries

BOTH = {"a": "old", "b": "new", "c": "old", "d": "new"}


def query(query_id: str, user: str | None = "u1", teams: Any = BOTH, **attributes: Any) -> dict[str, Any]:
    """Return a query record of UBI with an interleaved list."""
    record = {
        "query_id": query_id,
        "client_id": user,
        "user_query": "vpn",
        "timestamp": "2026-01-05T10:00:00Z",
        "query_response_hit_ids": [*teams] if teams else ["a", "b"],
        "query_attributes": {"team_by_doc": teams, **attributes} if teams else attributes,
    }
    return {name: value for name, value in record.items() if value is not None}


def click(query_id: str | None, doc: str | None = None, second: int = 1, **attributes: Any) -> dict[str, Any]:
    """Return a click record of UBI."""
    shown = {"object": {"object_id": doc}} if doc else {}
    record = {
        "action_name": "click",
        "query_id": query_id,
        "client_id": "u1",
        "timestamp": f"2026-01-05T10:00:{second:02}Z",
        "event_attributes": {**shown, **attributes},
    }
    return {name: value for name, value in record.items() if value is not None}


def write_log(path: Path, records: Iterable[Mapping[str, Any]]) -> str:
    """Write records as JSON lines and return the path."""
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return str(path)


def collection(queries: int = 30, documents: int = 12) -> tuple[Queries, Qrels]:
    """Return queries whose documents d0, d1, … are the less relevant the higher their number."""
    ids = [f"q{number}" for number in range(queries)]
    grades = {f"d{number}": max(3 - number // 2, 0) for number in range(documents)}
    return (
        Queries({"query_id": ids, "text": [f"words of {name}" for name in ids]}),
        Qrels(dict.fromkeys(ids, grades)),
    )


def same_list(documents: Sequence[str], queries: int = 30) -> dict[str, list[str]]:
    """Return a ranker that returns the same documents for all queries."""
    return {f"q{number}": [*documents] for number in range(queries)}
