"""Interleaved lists of two or more rankers, for the serving side; this module needs no library.

Each method says what a click on each shown document is worth to each ranker, such that a user whose clicks
depend on the rank alone prefers no ranker: at each rank, the mean of the credit over the random choices is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from assay.online.interleaving.draws import RequestDraws

TAU = 3.0  # how fast the chance of a rank falls (Hofmann, Whiteson and de Rijke 2011)

Rankings = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class InterleavedList:
    """The documents to show, who contributed each, and what a click on each is worth to each ranker.

    >>> shown = team_draft({"old": ["a", "b"], "new": ["c", "d"]}, 4, salt="exp-1", query="vpn", user="u1")
    >>> shown.documents, shown.teams
    (('a', 'c', 'd', 'b'), ('old', 'new', 'new', 'old'))
    """

    method: str
    rankers: tuple[str, ...]
    documents: tuple[str, ...]
    teams: tuple[str, ...]  # the ranker that contributed the document
    credits: tuple[tuple[float, ...], ...]  # of each document, for each ranker; all 0: a click tells nothing

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def team_by_doc(self) -> dict[str, str]:
        """The team of each shown document."""
        return dict(zip(self.documents, self.teams, strict=True))

    @property
    def credit_by_doc(self) -> dict[str, dict[str, float]]:
        """What a click on each document is worth to each ranker; empty: nothing."""
        named = (dict(zip(self.rankers, row, strict=True)) for row in self.credits)
        rows = ({ranker: credit for ranker, credit in row.items() if credit} for row in named)
        return dict(zip(self.documents, rows, strict=True))

    def query_attributes(self) -> dict[str, Any]:
        """Return what to log with the query, in the `query_attributes` of UBI."""
        attributes: dict[str, Any] = {"interleaving": self.method, "team_by_doc": self.team_by_doc}
        if self.method != "team-draft":
            return {**attributes, "credit_by_doc": self.credit_by_doc}
        uncredited = [doc for doc, row in self.credit_by_doc.items() if not row]
        return {**attributes, "uncredited_docs": uncredited} if uncredited else attributes

    def to_dict(self) -> dict[str, Any]:
        """Return the list as plain data."""
        rows = zip(self.documents, self.teams, self.credit_by_doc.values(), strict=True)
        documents = [{"doc_id": doc, "team": team, "credit": credit} for doc, team, credit in rows]
        attributes = self.query_attributes()
        return {
            "method": self.method,
            "rankers": [*self.rankers],
            "documents": documents,
            "query_attributes": attributes,
        }


def team_draft(
    rankings: Rankings, length: int = 10, *, salt: str = "", query: str = "", user: str = ""
) -> InterleavedList:
    """Interleave by team draft: in each round each ranker contributes its best document, in random order.

    A click counts 1 for the team of the document (Radlinski, Kurup and Joachims 2008). If a list runs out,
    the others fill the remaining ranks; a document at a turn where a ranker may have none left, or that all
    rankers place on the same rank at the top, has a team but no credit.
    """
    draft = _Draft(rankings, length)
    draws = RequestDraws(salt, query, user)
    shared = count_shared(draft.rankings)
    for number in count():
        if not draft.is_open():
            break
        credited = draft.count_credited_turns(number)
        for turn, ranker in enumerate(draws.shuffle(range(len(draft.rankings)))):
            doc = draft.next_document(ranker)
            if doc is not None and draft.is_open():
                has_credit = turn < credited and len(draft.documents) >= shared
                draft.add(doc, ranker, _unit_credit(len(draft.rankings), ranker) if has_credit else None)
    return draft.result("team-draft")


def probabilistic(
    rankings: Rankings,
    length: int = 10,
    *,
    salt: str = "",
    query: str = "",
    user: str = "",
    tau: float = TAU,
) -> InterleavedList:
    """Interleave by chance: at each rank a random ranker draws a document, with a weight of rank^-tau.

    A click is credited to each ranker by the chance that it contributed the document, given the list: the
    marginalised credit of Hofmann, Whiteson and de Rijke 2011. A rank below the end of the shortest list has
    no credit.
    """
    draft = _Draft(rankings, length)
    draws = RequestDraws(salt, query, user)
    credited = min(map(len, draft.rankings))
    while draft.is_open():
        rows = [draft.weights(ranker, tau) for ranker in range(len(draft.rankings))]
        open_rankers = [ranker for ranker, row in enumerate(rows) if row]
        ranker = open_rankers[draws.position(len(open_rankers))]
        docs = list(rows[ranker])
        doc = docs[draws.choose([rows[ranker][name] for name in docs])]
        chances = [row.get(doc, 0.0) / sum(row.values()) if row else 0.0 for row in rows]
        has_credit = len(draft.documents) < credited
        draft.add(doc, ranker, tuple(chance / sum(chances) for chance in chances) if has_credit else None)
    return draft.result("probabilistic")


def balanced(
    rankings: Rankings, length: int = 10, *, salt: str = "", query: str = "", user: str = ""
) -> InterleavedList:
    """Interleave two rankers in turns, after one throw of a coin (Joachims 2002), with debiased credit.

    The ranker that places a clicked document higher is credited. Without a correction, users who click at
    random prefer one of the rankers; so the mean credit of the two lists, one for each side of the coin, is
    subtracted at each rank.
    """
    if len(rankings) != 2:
        raise ValueError(f"balanced interleaving needs two rankers, found {len(rankings)}; use team_draft")
    drafts = [_merge(rankings, length, first) for first in (0, 1)]
    side = RequestDraws(salt, query, user).position(2)
    shown, other = drafts[side], drafts[1 - side]
    for rank, doc in enumerate(shown.documents):
        shown.credits[rank] = _signed_credit(
            shown.preference(doc) / 2 - shown.preference(other.documents[rank]) / 2
        )
    return shown.result("balanced")


METHODS: dict[str, Callable[..., InterleavedList]] = {
    "team-draft": team_draft,
    "probabilistic": probabilistic,
    "balanced": balanced,
}


def interleave(method: str, rankings: Rankings, length: int = 10, **request: str) -> InterleavedList:
    """Return the list of one of the methods by its name."""
    if method not in METHODS:
        raise ValueError(f"expected a method of {', '.join(METHODS)}, found {method!r}")
    return METHODS[method](rankings, length, **request)


def count_shared(rankings: Sequence[Sequence[str]]) -> int:
    """Return how many documents at the top are the same, in the same order, in all rankings.

    >>> count_shared([["a", "b", "c"], ["a", "c", "b"]])
    1
    """
    shared = 0
    for docs in zip(*rankings, strict=False):
        if len(set(docs)) > 1:
            break
        shared += 1
    return shared


class _Draft:
    """A list that is being built from rankings without repeated documents."""

    def __init__(self, rankings: Rankings, length: int) -> None:
        if len(rankings) < 2:
            raise ValueError(f"interleaving needs two or more rankers, found {len(rankings)}")
        if length < 0:
            raise ValueError(f"expected a length of 0 or more, found {length}")
        self.names = tuple(rankings)
        self.rankings = [list(dict.fromkeys(docs)) for docs in rankings.values()]
        self.ranks = [{doc: rank for rank, doc in enumerate(docs, 1)} for docs in self.rankings]
        self.length = min(length, len({doc for docs in self.rankings for doc in docs}))
        self.positions = [0] * len(self.rankings)
        self.documents: list[str] = []
        self.teams: list[int] = []
        self.credits: list[tuple[float, ...]] = []
        self._shown: set[str] = set()

    def is_open(self) -> bool:
        """Whether the list is to have more documents."""
        return len(self.documents) < self.length

    def add(self, doc: str, ranker: int, credit: tuple[float, ...] | None = None) -> None:
        """Show a document of a ranker on the next rank; a credit of None is none for any ranker."""
        self._shown.add(doc)
        self.documents.append(doc)
        self.teams.append(ranker)
        self.credits.append(credit or (0.0,) * len(self.rankings))

    def next_document(self, ranker: int) -> str | None:
        """Return the best document of a ranker that is not shown yet, None if its list has run out."""
        docs = self.rankings[ranker]
        while self.positions[ranker] < len(docs) and docs[self.positions[ranker]] in self._shown:
            self.positions[ranker] += 1
        return docs[self.positions[ranker]] if self.positions[ranker] < len(docs) else None

    def has_document_in_round(self, ranker: int, number: int, turn: int) -> bool:
        """Whether a ranker has a document at this turn of a round, whatever the draws before it were.

        Until then it has picked one document in each round, and others at most those that they have, too.
        """
        docs, others = self.rankings[ranker], len(self.rankings) - 1
        taken_by_others = min(number * others + turn, self._count_common(ranker))
        return len(docs) > number + taken_by_others

    def _count_common(self, ranker: int) -> int:
        ranks = [ranks for other, ranks in enumerate(self.ranks) if other != ranker]
        return sum(any(doc in own for own in ranks) for doc in self.rankings[ranker])

    def count_credited_turns(self, number: int) -> int:
        """Return how many turns of a round every ranker is as likely as any other to have, in all drafts.

        It depends on the rankings alone, not on the draws: else users whose draws leave more credited ranks
        would count for less.
        """
        n = len(self.rankings)
        has_all = (all(self.has_document_in_round(r, number, turn) for r in range(n)) for turn in range(n))
        return next((turn for turn, is_credited in enumerate(has_all) if not is_credited), n)

    def weights(self, ranker: int, tau: float) -> dict[str, float]:
        """Return the weights of the documents of a ranker that are not shown yet."""
        return {doc: rank**-tau for doc, rank in self.ranks[ranker].items() if doc not in self._shown}

    def preference(self, doc: str) -> float:
        """Return 1 if the second of two rankers places a document higher, -1 if the first does, else 0."""
        first, second = (ranks.get(doc, math.inf) for ranks in self.ranks)
        return float((first > second) - (first < second))

    def result(self, method: str) -> InterleavedList:
        """Return the list."""
        teams = tuple(self.names[team] for team in self.teams)
        return InterleavedList(method, self.names, tuple(self.documents), teams, tuple(self.credits))


def _merge(rankings: Rankings, length: int, first: int) -> _Draft:
    """Return the balanced list in which this ranker goes first."""
    draft = _Draft(rankings, length)
    taken = [0, 0]
    while draft.is_open():
        ranker = first if taken[first] <= taken[1 - first] else 1 - first
        if taken[ranker] >= len(draft.rankings[ranker]):
            ranker = 1 - ranker
        doc = draft.rankings[ranker][taken[ranker]]
        taken[ranker] += 1
        if doc not in draft.documents:
            draft.add(doc, ranker)
    return draft


def _unit_credit(n: int, ranker: int) -> tuple[float, ...]:
    return tuple(float(position == ranker) for position in range(n))


def _signed_credit(preference: float) -> tuple[float, ...]:
    return max(-preference, 0.0) + 0.0, max(preference, 0.0)  # never a negative zero
