"""Records of experiments and of versions of evaluation sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from assay.core.digests import digest_of

JsonObject = Mapping[str, Any]


class Metric(NamedTuple):
    """The value of one measure over all queries or over one slice."""

    measure: str
    column: str  # the column of the slice; empty: all queries
    value_of: str  # the slice's value of the column
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the metric; the column and the slice are None if it is over all queries."""
        part = {"measure": self.measure, "column": self.column or None, "slice": self.value_of or None}
        return {**part, "value": self.value, "low": self.low, "high": self.high, "n": self.n}


@dataclass(frozen=True)
class Experiment:
    """One measurement of a system: its configuration, data, method and results."""

    name: str
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    kind: str = "eval"  # the command that measured it
    configuration: JsonObject = field(default_factory=dict)
    metrics: tuple[Metric, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)  # of the qrels, queries, run and scores
    policy: JsonObject = field(default_factory=dict)  # how it was measured: ties, missing queries, formulas
    latency: Mapping[str, float] = field(default_factory=dict)  # percentiles: p95_ms
    figures: JsonObject = field(default_factory=dict)  # cost_per_1k_queries and others
    code: str | None = None  # the version of the code that was measured
    environment: JsonObject = field(default_factory=dict)
    result: JsonObject = field(default_factory=dict)  # other results of the command
    tags: tuple[str, ...] = ()
    note: str = ""
    pinned: bool = False
    deleted_at: datetime | None = None
    id: str = ""  # assigned by the store

    def metric(self, measure: str, column: str = "", value_of: str = "") -> Metric | None:
        """Return the metric of a measure over all queries or over one slice, None if there is none."""
        key = (measure, column, value_of)
        return next((m for m in self.metrics if m[:3] == key), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the experiment, as printed by `assay experiments show --format json`."""
        fields = {name: value for name, value in vars(self).items() if name != "metrics"}
        times = {"at": self.at.isoformat(), "deleted_at": self.deleted_at and self.deleted_at.isoformat()}
        return {"id": self.id, **fields, **times, "metrics": [m.to_dict() for m in self.metrics]}


@dataclass(frozen=True)
class DatasetVersion:
    """One version of an evaluation set: its tables by digest, how it was built, and the version before.

    A version never changes: its `digest` follows from those of its tables.
    """

    name: str
    digests: Mapping[str, str]  # of the tables: queries, qrels, documents, judgments
    counts: Mapping[str, int] = field(default_factory=dict)  # of queries, labels, documents, judgments
    parent: str | None = None  # the digest of the version before, if there is one
    recipe: JsonObject = field(default_factory=dict)  # how queries, pairs and labels were chosen
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    tags: tuple[str, ...] = ()
    note: str = ""
    pinned: bool = False
    deleted_at: datetime | None = None
    id: str = ""  # assigned by the store

    @property
    def digest(self) -> str:
        """The digest of the digests of all tables."""
        return digest_of(repr(sorted(self.digests.items())).encode())

    @property
    def label(self) -> str:
        """The name with the beginning of the digest, which names exactly this version."""
        return f"{self.name}@{self.digest[:8]}"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the version."""
        times = {"at": self.at.isoformat(), "deleted_at": self.deleted_at and self.deleted_at.isoformat()}
        return {"id": self.id, **vars(self), "digest": self.digest, "label": self.label, **times}
