"""The Judge protocol: a pair of a query and a document becomes a grade, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

PROBLEMS = ("unreadable", "refused")


class JudgedText(NamedTuple):
    """The texts that a judge reads of a pair."""

    query: str
    document: str


class Rating(NamedTuple):
    """What a judge says about a pair; without a grade, `problem` is one of PROBLEMS and `reason` says why."""

    grade: int | None
    problem: str = ""
    reason: str = ""


class Judge(Protocol):
    """A model or a person that rates pairs."""

    name: str

    def configuration(self) -> Mapping[str, Any]:
        """Return what defines the judge: model, prompt, scale and parameters, without secrets."""

    def rate(self, pair: JudgedText) -> Rating:
        """Return the rating of a pair."""
