"""The lists that simulated users see: of one ranker, or interleaved."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from assay.core.errors import InputError
from assay.core.tables import Qrels, Queries
from assay.online.interleaving import interleave
from assay.online.simulation.settings import INTERLEAVED, TrafficSettings
from assay.online.simulation.users import Ints

RankingsOfQueries = Mapping[str, Sequence[str]]  # query id: documents, the best first
_RELEVANT = 2


class Needs:
    """What users look for: the queries, how often each is asked, and what is asked instead of it."""

    def __init__(self, queries: Queries, qrels: Qrels) -> None:
        columns = queries.columns
        self.ids = [str(query) for query in columns["query_id"]]
        if not self.ids:
            raise InputError("expected queries to simulate, found none")
        self.texts = [str(text) for text in columns["text"]]
        frequency = columns["frequency"] if "frequency" in columns else [1] * len(self.ids)
        weights = np.sqrt(np.maximum(np.asarray(frequency, float), 1.0))  # the head of a day's log is flatter
        self.popularity = weights / weights.sum()
        labels = qrels.to_dict()
        self.grades = [{doc: int(g) for doc, g in labels.get(query, {}).items()} for query in self.ids]
        self.related = np.array([self._related(position) for position in range(len(self.ids))])

    def _related(self, position: int) -> int:
        """Return the query with the most relevant documents in common, or the query itself."""
        own = {doc for doc, grade in self.grades[position].items() if grade >= _RELEVANT}
        common = [sum(other.get(doc, 0) >= _RELEVANT for doc in own) for other in self.grades]
        common[position] = 0
        best = int(np.argmax(common))
        return best if common[best] else position

    def text(self, query: int, is_reworded: bool) -> str:
        """Return the text of a query, or other words for it."""
        words = self.texts[query].split()
        if not is_reworded:
            return self.texts[query]
        return " ".join(words[1:]) if len(words) > 2 else " ".join([*words, "help"])


class ShownLists:
    """All different lists that users see, with the grades of their documents."""

    def __init__(
        self, rankings: Mapping[str, RankingsOfQueries], needs: Needs, settings: TrafficSettings
    ) -> None:
        if len(rankings) < 2:
            raise InputError(f"expected two or more rankers, found {len(rankings)}")
        self.rankings, self.needs, self.settings = rankings, needs, settings
        self.rankers = list(rankings)
        self.documents: list[list[str]] = []
        self.attributes: list[str] = []  # JSON of what is logged with the list, without its braces
        self._grades: list[list[int]] = []
        self._interleaved: dict[tuple[int, int], int] = {}
        for ranker in self.rankers:
            for query in needs.ids:
                self._add(list(rankings[ranker].get(query, ()))[: settings.depth], len(self.documents))

    def _add(self, documents: list[str], query: int, attributes: str = "") -> int:
        grades = self.needs.grades[query % len(self.needs.ids)]
        row = [grades.get(doc, 0) for doc in documents]
        self._grades.append(row + [-1] * (self.settings.depth - len(row)))
        self.documents.append(documents)
        self.attributes.append(attributes)
        return len(self.documents) - 1

    def of_pages(self, arms: Sequence[str], users: Ints, queries: Ints) -> Ints:
        """Return the number of the list of each page."""
        lists = zip(arms, users.tolist(), queries.tolist(), strict=True)
        return np.array([self._of_page(*page) for page in lists], dtype=np.int64)

    def _of_page(self, arm: str, user: int, query: int) -> int:
        if arm != INTERLEAVED:
            return self.rankers.index(arm) * len(self.needs.ids) + query
        if (user, query) not in self._interleaved:
            name = self.needs.ids[query]
            shown = interleave(
                self.settings.method,
                {ranker: self.rankings[ranker].get(name, ()) for ranker in self.rankers},
                self.settings.depth,
                salt=f"{self.settings.experiment_id}-{self.settings.seed}",
                query=name,
                user=str(user),
            )
            attributes = json.dumps(shown.query_attributes(), separators=(",", ":"))[1:-1]
            self._interleaved[user, query] = self._add([*shown.documents], query, attributes)
        return self._interleaved[user, query]

    def grades(self, lists: Ints) -> Ints:
        """Return the grades of the documents of lists, -1 below their end."""
        return np.array([self._grades[number] for number in lists.tolist()], dtype=np.int64).reshape(
            len(lists), self.settings.depth
        )
