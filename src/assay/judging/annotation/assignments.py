"""What a rater is given: a pair to judge, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

CLOSED, PAUSED, FINISHED, WAITING, EXHAUSTED = "closed", "paused", "finished", "waiting", "exhausted"


@dataclass(frozen=True)
class Assignment:
    """A pair that a rater is to judge; it does not say where the pair is from, or that its grade is known."""

    pair: int  # its number in the project
    query_id: str
    doc_id: str
    query: Mapping[str, str]  # what to read of the query: text and others
    document: Mapping[str, str]  # title, text and others
    is_training: bool
    shown_at: datetime
    expires_at: datetime  # when others may be given the pair

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the assignment."""
        times = {"shown_at": self.shown_at.isoformat(), "expires_at": self.expires_at.isoformat()}
        return {**vars(self), "query": dict(self.query), "document": dict(self.document), **times}


@dataclass(frozen=True)
class QueryPair:
    """A pair among those of one query, and how the rater has judged it."""

    assignment: Assignment
    grade: float | None = None  # None: not judged, or not rateable
    is_unrateable: bool = False

    @property
    def is_judged(self) -> bool:
        """Return whether the rater has judged the pair."""
        return self.is_unrateable or self.grade is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the pair."""
        return {**self.assignment.to_dict(), "grade": self.grade, "is_unrateable": self.is_unrateable}


@dataclass(frozen=True)
class QueryAssignment:
    """The pairs of one query that a rater judges at once."""

    current: Assignment  # the one to judge next
    pairs: tuple[QueryPair, ...]


@dataclass(frozen=True)
class NoAssignment:
    """Why a rater is given no pair."""

    reason: (
        str  # closed, paused, finished, waiting (others have the last pairs) or exhausted (others must judge)
    )
    free_at: datetime | None = None  # waiting: when the first pair may be free again
    gold_judged: int = 0  # paused: how many gold questions were answered, and how many of them right
    gold_right: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the reason."""
        return {**vars(self), "free_at": self.free_at and self.free_at.isoformat()}


@dataclass(frozen=True)
class SavedLabel:
    """A label that was saved, with the right answer of a training pair."""

    pair: int
    query_id: str
    doc_id: str
    number: int  # of the label in the project
    at: datetime
    answer: float | None = None  # of a training pair
    answer_note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the label."""
        return {**vars(self), "at": self.at.isoformat()}
