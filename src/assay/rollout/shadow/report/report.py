"""The report of a shadow: differences beyond the noise floor, latency, failures, judged measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.evaluation.compare import Comparisons
from assay.rollout.shadow.counts import drop_count
from assay.rollout.shadow.records import CANDIDATE, PRIMARY, REPEAT
from assay.rollout.shadow.report.calls import (
    ErrorClass,
    RoleLatency,
    failed_alone,
    find_errors,
    latency_unit,
    measure_latency,
)
from assay.rollout.shadow.report.differences import Differences, find_differences
from assay.rollout.shadow.report.exchanges import ShadowTraffic
from assay.rollout.shadow.report.judged import Judged, PairToJudge, choose_pairs, compare_judged

MEASURES = ("nDCG@10", "R@10", "RR@10", "Judged@10")


@dataclass(frozen=True, kw_only=True)
class ReportSettings:
    """How a shadow log is read."""

    k: int = 10
    level: float = 0.95
    top: int = 10  # queries that differ most
    judge: int = 20  # pairs to judge next
    measures: Sequence[str] = MEASURES


@dataclass(frozen=True)
class ShadowReport:
    """What a shadow log says of a candidate."""

    traffic: ShadowTraffic
    settings: ReportSettings
    differences: Differences
    latency: Sequence[RoleLatency]
    errors: Sequence[ErrorClass]
    judged: Comparisons | None
    judge_next: Sequence[PairToJudge]
    has_qrels: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """How many requests there are, and of how many the answers could be compared."""
        exchanges = self.traffic.exchanges
        compared = [exchange for exchange in exchanges if exchange.is_compared]
        return {
            "logged": len(exchanges),
            "compared": len(compared),
            "repeated": sum(REPEAT in exchange.answers for exchange in exchanges),
            "queries": len({exchange.query for exchange in compared}),
            "incomplete": self.traffic.incomplete,
        }

    @property
    def dropped(self) -> int | None:
        """How many requests were lost against the settings; None: no process has written its counts."""
        counts = self.traffic.counts
        if not counts:
            return None
        return drop_count(self.traffic.left_out) + counts["log_dropped"]

    @property
    def latency_unit(self) -> str:
        """What the intervals of latencies are over: client or query."""
        return latency_unit(self.traffic.exchanges)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, as `assay shadow report --format json` prints it."""
        exchanges = self.traffic.exchanges
        times = [exchange.at for exchange in exchanges if exchange.at is not None]
        return {
            "names": sorted({exchange.name for exchange in exchanges if exchange.name}),
            "begin": min(times).isoformat() if times else None,
            "end": max(times).isoformat() if times else None,
            "counts": self.counts,
            "mirror": {
                **self.traffic.counts,
                "left_out": dict(self.traffic.left_out),
                "dropped": self.dropped,
            },
            "level": self.settings.level,
            **self.differences.to_dict(self.settings.top),
            "latency": {"unit": self.latency_unit, "roles": [entry.to_dict() for entry in self.latency]},
            "errors": [entry.to_dict() for entry in self.errors],
            "failed_alone": failed_alone(exchanges),
            "measures": self._measures(),
            "judge_next": [pair.to_dict() for pair in self.judge_next],
            "problems": [problem.to_dict() for problem in self.traffic.problems],
        }

    def _measures(self) -> list[dict[str, Any]] | None:
        """Return the measures of judged queries; None if there are no judgments of them."""
        if self.judged is None:
            return None
        return [
            {
                "measure": row.measure,
                PRIMARY: row.baseline,
                CANDIDATE: row.candidate,
                "difference": row.difference.to_dict(),
                "p": row.p,
                "corrected_p": row.corrected_p,
            }
            for row in self.judged.rows
        ]


def build_report(
    traffic: ShadowTraffic, settings: ReportSettings, judged: Judged | None = None
) -> ShadowReport:
    """Return the report of what shadow logs hold."""
    exchanges, level = traffic.exchanges, settings.level
    differences = find_differences(exchanges, settings.k, level)
    comparisons = compare_judged(exchanges, judged, settings.measures, level) if judged else None
    return ShadowReport(
        traffic,
        settings,
        differences,
        measure_latency(exchanges, level),
        find_errors(exchanges, level),
        comparisons,
        choose_pairs(differences.queries, judged, settings.judge),
        judged is not None,
    )
