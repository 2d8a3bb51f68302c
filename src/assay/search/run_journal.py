"""The journal of a run: the finished queries of one system, so that a run that was stopped can continue.

Threads, rate and timeout do not change an answer, so they are not in the header that names the file;
they are recorded for each session instead.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from assay.remote.journal import JournalFile
from assay.search.searcher import Answer, RankedDocuments, Stage


class QueryFailure(NamedTuple):
    """Why a query has no answer: the kind of the RemoteError, and its reason."""

    kind: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return the failure as plain data."""
        return {"kind": self.kind, "said": self.reason}


class FinishedQuery(NamedTuple):
    """A query that was answered, or failed after all attempts."""

    query_id: str
    started_at: float  # seconds since 1970, at the first attempt
    attempts: int
    waited_ns: int  # time before the attempt that counts: failed attempts, and pauses between them
    latency_ns: int | None  # of the attempt that was answered
    answer: Answer | None
    failure: QueryFailure | None = None

    @property
    def ended_at(self) -> float:
        """Seconds since 1970."""
        return self.started_at + (self.waited_ns + (self.latency_ns or 0)) / 1e9


class RunSession(NamedTuple):
    """How queries were asked, from one start of the run to the next."""

    started_at: float  # seconds since 1970
    concurrency: int
    rate: float | None
    timeout: float
    seconds: float = 0.0  # until the last query was finished

    def to_dict(self) -> dict[str, Any]:
        """Return the session as plain data."""
        return {
            "began": self.started_at,
            "concurrency": self.concurrency,
            "rate": self.rate,
            "timeout": self.timeout,
            "seconds": self.seconds,
        }


class RunJournal(JournalFile):
    """The finished queries of one system, k and set of queries, in a file of its own."""

    def __init__(self, folder: str | os.PathLike[str], name: str, header: Mapping[str, Any]) -> None:
        super().__init__(folder, name, header)
        self._clear()

    def start_session(self, session: RunSession) -> None:
        """Record how queries are asked from now on."""
        row = session.to_dict()
        del row["seconds"]  # computed from the queries that follow
        self.append({"sitting": row})

    def put(self, *queries: FinishedQuery) -> None:
        """Record finished queries."""
        self.append(*map(_to_row, queries))

    def _clear(self) -> None:
        self.finished: dict[str, FinishedQuery] = {}  # the last result of each query
        self.sessions: list[RunSession] = []

    def _restore(self, row: dict[str, Any]) -> None:
        if "sitting" in row:
            self.sessions.append(_session(**row["sitting"]))
            return
        query = self.finished[row["query_id"]] = _from_row(row)
        session = self.sessions[-1]
        seconds = max(session.seconds, query.ended_at - session.started_at)
        self.sessions[-1] = session._replace(seconds=seconds)


def _session(began: float, concurrency: int, rate: float | None, timeout: float) -> RunSession:
    return RunSession(began, concurrency, rate, timeout)


def _to_row(query: FinishedQuery) -> dict[str, Any]:
    row: dict[str, Any] = {
        "query_id": query.query_id,
        "started": query.started_at,
        "attempts": query.attempts,
        "waited_ns": query.waited_ns,
    }
    if query.failure:
        return row | query.failure.to_dict()
    assert query.answer
    return row | {"latency_ns": query.latency_ns} | query.answer._asdict()


def _from_row(row: dict[str, Any]) -> FinishedQuery:
    head = row["query_id"], row["started"], row["attempts"], row["waited_ns"]
    if "kind" in row:
        return FinishedQuery(*head, None, None, QueryFailure(row["kind"], row["said"]))
    stages = tuple(Stage(name, _ranking(documents), ns) for name, documents, ns in row["stages"])
    answer = Answer(_ranking(row["documents"]), stages, row["tokens"], row["cost"], row.get("repeated", 0))
    return FinishedQuery(*head, row["latency_ns"], answer)


def _ranking(documents: list[list[Any]]) -> RankedDocuments:
    return [(document, score) for document, score in documents]
