"""Logs of shadows, written by the logs' own writer."""

from collections.abc import Sequence
from pathlib import Path

from assay.rollout.shadow.counts import ShadowCounts
from assay.rollout.shadow.log import ShadowLog
from assay.rollout.shadow.records import CallAnswer, Exchange
from assay.rollout.shadow.report.exchanges import read_traffic
from assay.rollout.shadow.report.report import ReportSettings, ShadowReport, build_report

Ids = Sequence[str]


def found(ids: Ids, latency_ms: float = 1.0) -> CallAnswer:
    return CallAnswer(latency_ms, list(ids))


def failed(kind: str) -> CallAnswer:
    return CallAnswer(5.0, None, kind, f"it was {kind}")


def exchange(
    query: str | None,
    primary: Ids | CallAnswer,
    candidate: Ids | CallAnswer,
    repeat: Ids | CallAnswer | None = None,
    client_id: str | None = None,
) -> Exchange:
    """A request whose answers are ids, or failures."""
    first, second = (a if isinstance(a, CallAnswer) else found(a) for a in (primary, candidate))
    third = repeat if isinstance(repeat, CallAnswer | None) else found(repeat)
    return Exchange(query, first, second, third, client_id=client_id, request="GET /search", digest="d1")


def write_log(path: Path, exchanges: Sequence[Exchange], dropped: int = 0) -> str:
    """Write a log as a mirror does; so many more requests had no room."""
    counts = ShadowCounts()
    log = ShadowLog(path, counts)
    for entry in exchanges:
        counts.add_request()
        counts.add_mirrored()
        log.put(entry)
    for _ in range(dropped):
        counts.add_request()
        counts.leave_out("queue full")
    log.close()
    return str(path)


def report_of(path: Path, exchanges: Sequence[Exchange], k: int = 10) -> ShadowReport:
    """The report of these requests."""
    return build_report(read_traffic([write_log(path, exchanges)]), ReportSettings(k=k))
