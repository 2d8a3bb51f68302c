"""The requests of a shadow log with their answers, joined from its UBI records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from assay.core.errors import FormatError
from assay.core.events import Events, Problem
from assay.datasets.ubi import read_events
from assay.rollout.shadow.records import CANDIDATE, COUNTS_ACTION, PRIMARY, REPEAT, ROLES, CallAnswer

_NUMBERS = ("requests", "mirrored", "logged", "log_dropped", "late")


@dataclass(frozen=True)
class LoggedExchange:
    """One request of a log with the answers that it has."""

    query: str  # its text, or a name for a request without a text
    text: str | None
    client_id: str | None
    at: datetime | None
    name: str
    answers: Mapping[str, CallAnswer]  # by role

    def hits(self, role: str) -> Sequence[str] | None:
        """Return the ids that a call returned, each once; None if they are unknown."""
        answer = self.answers.get(role)
        return answer.hits if answer else None

    @property
    def is_compared(self) -> bool:
        """Whether both systems returned documents that are known."""
        return self.hits(PRIMARY) is not None and self.hits(CANDIDATE) is not None


@dataclass(frozen=True)
class ShadowTraffic:
    """What shadow logs hold: the requests, and what their processes counted."""

    exchanges: Sequence[LoggedExchange]
    counts: Mapping[str, int] = field(default_factory=dict)  # empty: no process ended its log
    left_out: Mapping[str, int] = field(default_factory=dict)  # requests by the reason
    problems: Sequence[Problem] = ()
    incomplete: int = 0  # requests of which the answer of one system is not in the log


def read_traffic(paths: Sequence[str]) -> ShadowTraffic:
    """Return what shadow logs hold; an error if they are other logs."""
    events = read_events(*paths)
    rows = list(_shadow_rows(events))
    if not rows:
        raise FormatError(
            "expected the log of a shadow (assay shadow mirror, or assay.rollout.shadow in a service), found "
            "no query with the attribute shadow",
            ", ".join(paths),
        )
    exchanges = _join(rows)
    complete = [e for e in exchanges if PRIMARY in e.answers and CANDIDATE in e.answers]
    counts, left_out = _add_counts(events)
    problems = _own_problems(events)
    return ShadowTraffic(complete, counts, left_out, problems, len(exchanges) - len(complete))


def _shadow_rows(events: Events) -> Iterator[dict[str, Any]]:
    """Yield the queries of shadows, each with its attribute shadow."""
    names = ["user_query", "client_id", "at", "variant", "hit_ids", "latency_ms", "experiment_id"]
    for row in events.queries.select("attributes", *names).iter_rows(named=True):
        attributes = json.loads(row["attributes"] or "{}")
        shadow = attributes.get("shadow")
        if isinstance(shadow, dict) and shadow.get("of") and row["variant"] in ROLES:
            yield {**row, "shadow": shadow}


def _join(rows: Sequence[Mapping[str, Any]]) -> list[LoggedExchange]:
    """Return one exchange for each request, in the order of the log."""
    joined: dict[str, LoggedExchange] = {}
    for row in rows:
        shadow = row["shadow"]
        key, answer = str(shadow["of"]), _answer(row)
        found = joined.get(key)
        if found is None:
            text = row["user_query"] or None
            query = text or f"{shadow.get('request') or 'request'} {shadow.get('digest') or key}"
            name = row["experiment_id"] or ""
            joined[key] = LoggedExchange(
                query, text, row["client_id"], row["at"], name, {row["variant"]: answer}
            )
        else:
            joined[key] = replace(found, answers={**found.answers, row["variant"]: answer})
    return list(joined.values())


def _answer(row: Mapping[str, Any]) -> CallAnswer:
    shadow, hits = row["shadow"], row["hit_ids"]
    unique = None if hits is None else list(dict.fromkeys(hits))
    latency = row["latency_ms"]
    return CallAnswer(
        float("nan") if latency is None else latency,
        unique,
        str(shadow.get("error") or ""),
        str(shadow.get("message") or ""),
        shadow.get("status"),
        shadow.get("bytes"),
    )


def _add_counts(events: Events) -> tuple[dict[str, int], dict[str, int]]:
    """Return the sums of the last counts of every process."""
    last: dict[str, Mapping[str, Any]] = {}
    frame = events.frame
    for row in frame.filter(frame["action_name"] == COUNTS_ACTION).iter_rows(named=True):
        counts = json.loads(row["attributes"] or "{}").get("counts")
        if isinstance(counts, dict):
            last[str(row["session_id"])] = counts
    left_out: Counter[str] = Counter()
    for counts in last.values():
        left_out.update(counts.get("left_out", {}))
    sums = {name: sum(int(counts.get(name, 0)) for counts in last.values()) for name in _NUMBERS}
    return (sums if last else {}), dict(left_out.most_common())


def _own_problems(events: Events) -> list[Problem]:
    """Return the problems of a log without those that its counts and its failed calls seem to be."""
    expected = {
        "event without a query id": int((events.frame["action_name"] == COUNTS_ACTION).sum()),
        "query whose results are not logged": events.queries["hit_ids"].null_count(),
        "query without results": len(events.queries),
        "repeated event": int(events.frame["is_repeated"].sum()),
    }
    rest = [replace(p, count=p.count - expected.get(p.kind, 0)) for p in events.problems]
    return [problem for problem in rest if problem.count > 0]


__all__ = ["CANDIDATE", "PRIMARY", "REPEAT", "LoggedExchange", "ShadowTraffic", "read_traffic"]
