"""Records: what is remembered of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

Plain = Mapping[str, Any]


class Metric(NamedTuple):
    """One measure over all queries or one slice."""

    measure: str
    column: str  # of the slice; empty: all queries
    value_of: str  # the slice's value of the column
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None


@dataclass(frozen=True)
class Experiment:
    """A system measured once: on which data, how, and what it gave."""

    name: str
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    kind: str = "eval"  # the command that measured it
    configuration: Plain = field(default_factory=dict)
    metrics: tuple[Metric, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)  # of qrels, queries, run and scores
    policy: Plain = field(default_factory=dict)  # how it was measured: ties, missing queries, formulas
    latency: Mapping[str, float] = field(default_factory=dict)  # percentiles: p95_ms
    figures: Plain = field(default_factory=dict)  # cost_per_1k_queries and others
    code: str | None = None  # the version of the code that was measured
    environment: Plain = field(default_factory=dict)
    result: Plain = field(default_factory=dict)  # what else the command found
    tags: tuple[str, ...] = ()
    note: str = ""
    pinned: bool = False
    deleted_at: datetime | None = None
    id: str = ""  # given by the store

    def metric(self, measure: str, column: str = "", value_of: str = "") -> Metric | None:
        """A measure over all queries, or over one slice."""
        wanted = (measure, column, value_of)
        return next((m for m in self.metrics if m[:3] == wanted), None)
