"""The items on which raters differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Ints
from assay.core.judgments import Judgments
from assay.judging.agreement.labels import Labels


class Disagreement(NamedTuple):
    """The grades of an item that its raters do not agree on."""

    query_id: str
    doc_id: str
    grades: Mapping[str, float]  # by rater
    notes: Mapping[str, str]  # by rater
    query: str | None = None  # the text
    document: str | None = None

    @property
    def spread(self) -> float:
        """The highest grade minus the lowest."""
        return max(self.grades.values()) - min(self.grades.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the disagreement as plain data."""
        return {**self._asdict(), "spread": self.spread}


class Disagreements(NamedTuple):
    """How many items have different grades, and those with the most severe difference."""

    differing: int
    judged_twice: int  # items with two labels or more
    worst: Sequence[Disagreement]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and the items as plain data."""
        return {**self._asdict(), "worst": [item.to_dict() for item in self.worst]}


def find_disagreements(
    judgments: Judgments,
    labels: Labels,
    limit: int,
    queries: Mapping[str, str] | None = None,
    documents: Mapping[str, str] | None = None,
) -> Disagreements:
    """Return the items whose grades differ, those with the widest spread first, with their texts.

    >>> rows = [("q", "a", "ann", 2), ("q", "a", "bob", 0), ("q", "b", "ann", 1), ("q", "b", "bob", 1)]
    >>> judgments = Judgments.from_rows(rows)
    >>> find_disagreements(judgments, Labels.from_judgments(judgments), 5).worst[0].grades
    {'ann': 2.0, 'bob': 0.0}
    """
    differing = _sort_by_severity(labels)
    entries = _describe_items(judgments, differing[: max(0, limit)].tolist())
    worst = [
        entry._replace(
            query=(queries or {}).get(entry.query_id), document=(documents or {}).get(entry.doc_id)
        )
        for entry in entries
    ]
    return Disagreements(len(differing), int((labels.sizes > 1).sum()), worst)


def _sort_by_severity(labels: Labels) -> Ints:
    """Return the items whose grades differ: by spread, then by variance, then by the number of labels."""
    items = np.flatnonzero(labels.sizes > 1)
    starts = (np.cumsum(labels.sizes) - labels.sizes)[labels.sizes > 0]
    low, high = np.zeros(labels.items), np.zeros(labels.items)
    if len(starts):
        low[labels.sizes > 0] = np.minimum.reduceat(labels.values, starts)
        high[labels.sizes > 0] = np.maximum.reduceat(labels.values, starts)
    squares = np.bincount(labels.item, labels.values**2, labels.items)
    sums, sizes = np.bincount(labels.item, labels.values, labels.items), np.maximum(labels.sizes, 1)
    variance = squares / sizes - (sums / sizes) ** 2
    spread = high - low
    differing = items[spread[items] > 0]
    order = np.lexsort((-labels.sizes[differing], -variance[differing].round(9), -spread[differing]))
    return differing[order]


def _describe_items(judgments: Judgments, items: Sequence[int]) -> list[Disagreement]:
    places = {item: place for place, item in enumerate(items)}
    rows = np.flatnonzero(np.isin(judgments.pair_codes, items))
    entries: list[tuple[str, str, dict[str, float], dict[str, str]]] = [("", "", {}, {})] * len(items)
    frame = judgments.frame[rows].select("query_id", "doc_id", "judge", "grade", "note")
    for item, (query, doc, judge, grade, note) in zip(
        judgments.pair_codes[rows].tolist(), frame.iter_rows(), strict=True
    ):
        place = places[item]
        if not entries[place][0]:
            entries[place] = (query, doc, {}, {})
        if grade is not None:
            entries[place][2][judge] = grade
        if note:
            entries[place][3][judge] = note
    return [
        Disagreement(query, doc, dict(sorted(grades.items())), notes) for query, doc, grades, notes in entries
    ]
