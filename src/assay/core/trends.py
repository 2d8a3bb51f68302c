"""Trends: one measure of a system over time, where it broke and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple


class Reason(NamedTuple):
    """Why two results are not comparable, or not known to be."""

    what: str
    first: str | None
    second: str | None
    text: str
    kind: str = "differs"  # or `unknown`: one of them does not say; or `note`: good to know

    @property
    def blocks(self) -> bool:
        """Whether the two must not be compared; what neither of them says is only a doubt."""
        one_sided = (self.first is None) != (self.second is None)
        return self.kind == "differs" or (self.kind == "unknown" and one_sided)


class Against(NamedTuple):
    """A point less what it is held against."""

    what: str  # `regime`, `best` or `previous`
    other: str  # the id of that experiment; of a regime, of its first
    difference: float
    low: float | None
    high: float | None
    p: float | None
    corrected: float | None
    n: int | None
    how: str  # `paired t` on the queries, or `intervals` of the two values
    error: float | None
    df: float
    questions: int  # what p is corrected for


@dataclass(frozen=True)
class Point:
    """One experiment of a trend."""

    id: str
    name: str
    at: datetime
    value: float | None
    low: float | None
    high: float | None
    n: int | None
    code: str | None = None
    configuration: Mapping[str, Any] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()  # why it cannot be compared with the point before
    doubts: tuple[Reason, ...] = ()  # what is not known of the two, or good to know
    regime: Against | None = None  # against the points since the last change
    mark: str = ""  # `break`, `better` or `worse`
    differs: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)  # from the point before


class Skipped(NamedTuple):
    """An experiment that did not measure what is followed."""

    id: str
    name: str
    at: datetime
    text: str


@dataclass(frozen=True)
class Trend:
    """One measure over time, the oldest first."""

    measure: str
    column: str  # of the slice; empty: all queries
    value_of: str
    lower_is_better: bool
    level: float
    points: tuple[Point, ...]
    skipped: tuple[Skipped, ...] = ()
    best: Against | None = None  # the last point against the best comparable one before
    previous: Against | None = None  # against the comparable point before

    @property
    def breaks(self) -> list[Point]:
        """The points that cannot be compared with those before."""
        return [point for point in self.points if point.mark == "break"]

    @property
    def changes(self) -> list[Point]:
        """The points at which the measure moved beyond noise."""
        return [point for point in self.points if point.mark in ("better", "worse")]


class Status(NamedTuple):
    """What a nightly job is told."""

    state: str  # `fine`, `regression` or `cannot tell`
    text: str

    @property
    def exit_code(self) -> int:
        """0 fine, 1 regression, 3 cannot tell."""
        return {"fine": 0, "regression": 1}.get(self.state, 3)
