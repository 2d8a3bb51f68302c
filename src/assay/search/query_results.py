"""The results of all queries of one system: run, failures, latency, cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.errors import UndecidableError
from assay.core.tables import Run
from assay.search.run_journal import FinishedQuery, QueryFailure, RunSession
from assay.search.searcher import Answer, build_run
from assay.stats.histograms import Histogram
from assay.stats.intervals import Estimate


@dataclass(frozen=True)
class QueryResults:
    """The result of each query, in the order of the queries; a failed query differs from an empty answer."""

    name: str
    queries: Mapping[str, FinishedQuery]
    sessions: Sequence[RunSession]  # more than one if the run was resumed
    resumed_count: int = 0  # queries that were finished in an earlier session
    journal: Path | None = None
    remarks: Sequence[str] = ()  # notes of the caller
    price_per_query: float = 0.0  # besides the costs in the answers

    @property
    def answers(self) -> dict[str, Answer]:
        """The answers of the queries that have one."""
        return {key: query.answer for key, query in self.queries.items() if query.answer}

    @property
    def empty_queries(self) -> list[str]:
        """The queries that were answered with no document."""
        return [key for key, answer in self.answers.items() if not answer.documents]

    @property
    def repeated_count(self) -> int:
        """The number of documents that were returned again for the same query, which count once."""
        return sum(answer.repeated for answer in self.answers.values())

    @property
    def failures(self) -> dict[str, QueryFailure]:
        """The queries that have no answer, and why."""
        return {key: query.failure for key, query in self.queries.items() if query.failure}

    @property
    def errors(self) -> Counter[str]:
        """The number of failed queries of each kind of error."""
        return Counter(failure.kind for failure in self.failures.values())

    def run(self) -> Run:
        """Return the documents of the queries that were answered, in the order of the answers."""
        rankings = {key: answer.documents for key, answer in self.answers.items()}
        if any(rankings.values()):
            return build_run(self.name, rankings)
        kinds = "".join(f", {count} failed ({kind})" for kind, count in self.errors.most_common())
        raise UndecidableError(
            f"{self.name} returned no document for any of {len(self.queries)} queries: "
            f"{len(self.empty_queries)} were answered with none{kinds}"
        )

    @property
    def latencies(self) -> dict[str, int]:
        """The nanoseconds of the successful attempt of each answered query."""
        latencies = ((key, query.latency_ns) for key, query in self.queries.items())
        return {key: latency for key, latency in latencies if latency is not None}

    @property
    def latency(self) -> Histogram:
        """The latencies of the queries that were answered."""
        return Histogram.of(self.latencies.values())

    def stage_latency(self) -> dict[str, Histogram]:
        """Return the latencies of each stage of a pipeline, by name."""
        latencies: dict[str, list[int]] = {}
        for answer in self.answers.values():
            for stage in answer.stages:
                latencies.setdefault(stage.name, []).append(stage.nanoseconds)
        return {name: Histogram.of(stage_latencies) for name, stage_latencies in latencies.items()}

    def slo(self, ms: float) -> Estimate:
        """Return the share of all queries that were answered within so many milliseconds."""
        return self.latency.share_within(ms, unanswered=len(self.failures))

    @property
    def seconds(self) -> float:
        """The duration of all sessions, without the time between them."""
        return sum(session.seconds for session in self.sessions)

    @property
    def qps(self) -> float | None:
        """Answered queries per second; None if no query was asked."""
        return len(self.answers) / self.seconds if self.seconds else None

    @property
    def attempts(self) -> int:
        """The number of attempts, including retries."""
        return sum(query.attempts for query in self.queries.values())

    @property
    def tokens(self) -> int:
        """The billed tokens."""
        return sum(answer.tokens for answer in self.answers.values())

    @property
    def cost(self) -> float | None:
        """The cost of all answers, without failed attempts; None if nothing has a price."""
        prices = self.price_per_query * len(self.answers)
        return sum(answer.cost for answer in self.answers.values()) + prices or None

    @property
    def cost_per_1k(self) -> float | None:
        """The cost of 1,000 answers; None if nothing has a price."""
        return self.cost and 1000 * self.cost / len(self.answers)

    @property
    def has_uncounted_cost(self) -> bool:
        """Whether there were failed attempts, whose cost is not in `cost`."""
        return bool(self.cost) and self.attempts > len(self.answers)

    @property
    def session_settings(self) -> list[tuple[int, float | None]]:
        """The distinct concurrencies and rates of the sessions."""
        return sorted({(session.concurrency, session.rate) for session in self.sessions}, key=str)

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain data, without the documents."""
        return {
            "name": self.name,
            "queries": len(self.queries),
            "answered": len(self.answers),
            "empty": self.empty_queries,
            "repeated": self.repeated_count,
            "failed": {key: failure.to_dict() for key, failure in self.failures.items()},
            "errors": dict(self.errors),
            "attempts": self.attempts,
            "resumed": self.resumed_count,
            "seconds": self.seconds,
            "qps": self.qps,
            "latency": self.latency.percentiles(),
            "histogram_ns": self.latency.to_dict(),
            "stages": {name: latency.percentiles() for name, latency in self.stage_latency().items()},
            "tokens": self.tokens,
            "cost": self.cost,
            "cost_per_1k": self.cost_per_1k,
            "sittings": [session.to_dict() for session in self.sessions],
        }
