"""The table Events: what people searched for and what they did with the results, in the shape of UBI 1.3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

_TIME = pl.Datetime("us", "UTC")
_IDS = dict.fromkeys(("application", "query_id", "session_id", "client_id", "user_id"), pl.String())
EVENT_SCHEMA: dict[str, Any] = {
    **_IDS,
    "at": _TIME,
    "action": pl.String(),  # click, impression, view, add_to_cart, purchase, … or the log's own name
    "action_name": pl.String(),  # as the log has it
    "object_id": pl.String(),
    "object_id_field": pl.String(),
    "rank": pl.Int64(),  # from 1
    "x": pl.Float64(),
    "y": pl.Float64(),
    "user_query": pl.String(),
    "message_type": pl.String(),
    "message": pl.String(),
    "attributes": pl.String(),  # JSON of the other attributes
    "user_agent": pl.String(),
    "is_repeated": pl.Boolean(),  # equal to an earlier event in everything, time included
    "source": pl.String(),  # the file
    "line": pl.Int64(),  # or the number of the record, in a file without lines
}
QUERY_SCHEMA: dict[str, Any] = {
    **_IDS,
    "at": _TIME,
    "user_query": pl.String(),
    "object_id_field": pl.String(),
    "response_id": pl.String(),
    "hit_ids": pl.List(pl.String()),  # in rank order; null: the log does not say
    "result_count": pl.Int64(),  # null: the log does not say
    "hit_teams": pl.List(pl.String()),  # of an interleaved list, one for each hit
    "experiment_id": pl.String(),
    "variant": pl.String(),
    "config_version": pl.String(),
    "latency_ms": pl.Float64(),
    "cost": pl.Float64(),
    "user_agent": pl.String(),
    "attributes": pl.String(),  # JSON of the other attributes
    "source": pl.String(),
    "line": pl.Int64(),
}


class Place(NamedTuple):
    """Where something is in a log."""

    source: str
    line: int | None
    detail: str = ""

    def __str__(self) -> str:
        location = f"{self.source}:{self.line}" if self.line else self.source
        return f"{location}: {self.detail}" if self.detail else location


@dataclass(frozen=True)
class Problem:
    """One kind of irregularity of a log: how often, what was done about it, and where it is."""

    kind: str
    count: int
    treatment: str
    places: Sequence[Place]

    @property
    def example(self) -> str:
        """The first place."""
        return str(self.places[0]) if self.places else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as plain data."""
        return {
            "kind": self.kind,
            "count": self.count,
            "example": self.example,
            "treatment": self.treatment,
        }


@dataclass(frozen=True)
class Events:
    """Interaction events and the queries that they belong to, normalised, with the problems of the log.

    >>> Events.empty()
    Events(0 queries, 0 events, 0 clients, 0 problems)
    """

    frame: pl.DataFrame  # EVENT_SCHEMA, in the order of the log
    queries: pl.DataFrame  # QUERY_SCHEMA, one row for each query_id
    problems: tuple[Problem, ...] = ()

    @classmethod
    def empty(cls) -> Events:
        """Return no events."""
        return cls(pl.DataFrame(schema=EVENT_SCHEMA), pl.DataFrame(schema=QUERY_SCHEMA))

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def counts(self) -> dict[str, int]:
        """How many queries, events, clients and sessions there are."""
        return {
            "queries": len(self.queries),
            "events": len(self.frame),
            "clients": self._count_ids("client_id"),
            "sessions": self._count_ids("session_id"),
        }

    def _count_ids(self, name: str) -> int:
        return pl.concat([self.frame[name], self.queries[name]]).drop_nulls().n_unique()

    def problem_count(self, kind: str) -> int:
        """Return how often a kind of problem occurs."""
        return sum(problem.count for problem in self.problems if problem.kind == kind)

    def __repr__(self) -> str:
        counts = self.counts
        return (
            f"Events({counts['queries']:,} queries, {counts['events']:,} events, "
            f"{counts['clients']:,} clients, {sum(problem.count for problem in self.problems):,} problems)"
        )
