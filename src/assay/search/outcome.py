"""What came of asking a system all queries: runs, failures, latency, cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.errors import UndecidableError
from assay.core.tables import Run
from assay.search.journal import Failure, Finished, Sitting
from assay.search.searcher import Answer
from assay.stats.histograms import Histogram
from assay.stats.intervals import Estimate


@dataclass(frozen=True)
class Outcome:
    """What each query came to, in the order of the queries; a failed one is not an empty list."""

    name: str
    finished: Mapping[str, Finished]
    sittings: Sequence[Sitting]  # more than one where the run was resumed
    resumed: int = 0  # queries that were finished in an earlier sitting
    journal: Path | None = None
    remarks: Sequence[str] = ()  # of who ran it

    @property
    def answers(self) -> dict[str, Answer]:
        """The answers of the queries that have one."""
        return {key: done.answer for key, done in self.finished.items() if done.answer}

    @property
    def empty(self) -> list[str]:
        """The queries that were answered with nothing."""
        return [key for key, answer in self.answers.items() if not answer.documents]

    @property
    def failed(self) -> dict[str, Failure]:
        """The queries that have no answer, and why."""
        return {key: done.failure for key, done in self.finished.items() if done.failure}

    @property
    def errors(self) -> Counter[str]:
        """How many queries failed in which way."""
        return Counter(failure.kind for failure in self.failed.values())

    def run(self) -> Run:
        """The documents of the queries that were answered."""
        rows = {key: dict(answer.documents) for key, answer in self.answers.items() if answer.documents}
        if rows:
            return Run(rows, name=self.name)
        kinds = "".join(f", {count} failed ({kind})" for kind, count in self.errors.most_common())
        raise UndecidableError(
            f"{self.name} returned no document for any of {len(self.finished)} queries: "
            f"{len(self.empty)} were answered with none{kinds}"
        )

    @property
    def latencies(self) -> dict[str, int]:
        """The nanoseconds of each query that was answered, of the attempt that was."""
        found = ((key, done.latency_ns) for key, done in self.finished.items())
        return {key: taken for key, taken in found if taken is not None}

    @property
    def latency(self) -> Histogram:
        """The latencies of the queries that were answered."""
        return Histogram.of(self.latencies.values())

    def stage_latency(self) -> dict[str, Histogram]:
        """The latencies of each stage of a pipeline, by its name."""
        made: dict[str, list[int]] = {}
        for answer in self.answers.values():
            for stage in answer.stages:
                made.setdefault(stage.name, []).append(stage.nanoseconds)
        return {name: Histogram.of(taken) for name, taken in made.items()}

    def slo(self, ms: float) -> Estimate:
        """The share of all queries that were answered within so many milliseconds."""
        return self.latency.share_within(ms, unanswered=len(self.failed))

    @property
    def seconds(self) -> float:
        """How long it took, without what passed between two sittings."""
        return sum(sitting.seconds for sitting in self.sittings)

    @property
    def qps(self) -> float | None:
        """Answered queries per second; None where nothing was asked."""
        return len(self.answers) / self.seconds if self.seconds else None

    @property
    def attempts(self) -> int:
        """How often something was asked, repetitions included."""
        return sum(done.attempts for done in self.finished.values())

    @property
    def tokens(self) -> int:
        """The tokens that somebody is paid for."""
        return sum(answer.tokens for answer in self.answers.values())

    @property
    def cost(self) -> float | None:
        """What all answers cost, without what failed or was asked again; None where nothing has a price."""
        return sum(answer.cost for answer in self.answers.values()) or None

    @property
    def cost_per_1k(self) -> float | None:
        """What 1,000 answers cost; None where nothing has a price."""
        return self.cost and 1000 * self.cost / len(self.answers)

    @property
    def notes(self) -> list[str]:
        """What must be known to read the numbers."""
        made = list(self.remarks)
        ways = {(one.concurrency, one.rate) for one in self.sittings}
        if len(ways) > 1:
            told = ", ".join(
                f"{n} at a time{f', {r:g}/s at most' if r else ''}" for n, r in sorted(ways, key=str)
            )
            made.append(f"latency and QPS are of sittings that asked in different ways ({told})")
        if self.cost and self.attempts > len(self.answers):
            made.append("the cost is that of the answers: what failed or was asked again is not in it")
        return made

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain data, without the documents."""
        return {
            "name": self.name,
            "queries": len(self.finished),
            "answered": len(self.answers),
            "empty": self.empty,
            "failed": {key: failure._asdict() for key, failure in self.failed.items()},
            "errors": dict(self.errors),
            "attempts": self.attempts,
            "resumed": self.resumed,
            "seconds": self.seconds,
            "qps": self.qps,
            "latency": self.latency.percentiles(),
            "histogram_ns": self.latency.to_dict(),
            "stages": {name: taken.percentiles() for name, taken in self.stage_latency().items()},
            "tokens": self.tokens,
            "cost": self.cost,
            "cost_per_1k": self.cost_per_1k,
            "sittings": [sitting._asdict() for sitting in self.sittings],
        }
