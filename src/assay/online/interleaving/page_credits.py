"""The credit that rankers earn on each page, and what could not be credited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.core.arrays import Floats
from assay.core.events import Place, Problem

# kind: what is done about it
TREATMENTS = {
    "click without a query id": "not credited",
    "click of an unknown query": "not credited",
    "click on a query that is not interleaved": "not credited",
    "click on a query of another experiment": "not credited",
    "click without a document": "not credited",
    "click on a document that the list does not have": "not credited",
    "click on a document without a team": "not credited",
    "click on a query without a user": "not credited: the unit of the test is the user",
    "document clicked again": "credited once for each page",
    "repeated event": "credited once",
    "click on a shared or filled rank": "not credited: it tells nothing about the rankers",
    "credit record that cannot be read": "each click counts for the team of its document",
    "row without a user": "left out",
    "row without a number of credits": "left out",
}


class CreditProblems:
    """Counts what cannot be credited, with its places."""

    def __init__(self) -> None:
        self._places: dict[str, list[Place]] = {}

    def add(self, kind: str, place: Place) -> None:
        """Count a problem of a kind at a place."""
        self._places.setdefault(kind, []).append(place)

    def problems(self) -> tuple[Problem, ...]:
        """Return the problems, the most frequent first."""
        counted = [Problem(kind, len(rows), TREATMENTS[kind], rows) for kind, rows in self._places.items()]
        return tuple(sorted(counted, key=lambda problem: -problem.count))


@dataclass(frozen=True)
class PageCredits:
    """The pages with their users, and the credits of each ranker on each page with a credited click."""

    method: str
    rankers: tuple[str, ...]
    users: Sequence[str]  # of each page with a credit
    credits: Floats  # pages with a credit × rankers
    counts: Mapping[str, int]  # of all interleaved pages: queries, users, clicks
    problems: Sequence[Problem] = field(default_factory=tuple)

    def of_users(self) -> tuple[list[str], Floats]:
        """Return the users with a credit, and their credits as users × rankers."""
        names = list(dict.fromkeys(self.users))
        rows = {name: row for row, name in enumerate(names)}
        totals = np.zeros((len(names), len(self.rankers)))
        np.add.at(totals, np.array([rows[user] for user in self.users], dtype=np.int64), self.credits)
        return names, totals
