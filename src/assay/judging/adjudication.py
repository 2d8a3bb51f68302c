"""The pairs on which judges differ, and the decisions of one person about them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl

from assay.core.errors import InputError
from assay.core.judgments import SCHEMA, Judgments
from assay.core.tables import Documents, Queries
from assay.judging.aggregation.adjudicated import PREFIX, find_adjudicators, without_adjudicators
from assay.judging.agreement.disagreements import Disagreement, find_disagreements
from assay.judging.agreement.labels import Labels

Pair = tuple[str, str]
_WIDEST_SCALE = 30  # grades that are filled in between the lowest and the highest


def name_judge(person: str) -> str:
    """Return the name of a person as a judge whose decisions win.

    >>> name_judge("dee"), name_judge("adjudicator dee")
    ('adjudicator dee', 'adjudicator dee')
    """
    if not person.strip():
        raise InputError("expected the name of the person who decides, found none")
    return person if person.startswith(PREFIX) else f"{PREFIX}{person.strip()}"


class Disputes:
    """The pairs whose grades differ, in an order that the seed decides."""

    def __init__(
        self,
        judgments: Judgments,
        queries: Queries | None = None,
        documents: Documents | None = None,
        seed: int = 0,
        least_difference: float = 0.0,
    ) -> None:
        self.seed = seed
        self.judgments = without_adjudicators(judgments, find_adjudicators(judgments))
        if self.judgments is None:
            raise InputError("expected labels of judges, found only those of adjudicators")
        labels = Labels.from_judgments(self.judgments)
        texts = {} if queries is None else _texts(queries)
        contents = {} if documents is None else documents.texts()
        found = find_disagreements(self.judgments, labels, labels.items, texts, contents)
        self.judged_twice = found.judged_twice
        self.by_severity = [one for one in found.worst if one.spread >= least_difference]
        self.by_pair = {(one.query_id, one.doc_id): one for one in self.by_severity}
        self.scale = _fill_scale(labels.scale)

    def blind_order(self) -> list[Pair]:
        """Return the pairs shuffled by the seed; the order of the files does not matter."""
        pairs = sorted(self.by_pair)
        random.Random(f"{self.seed} adjudicate").shuffle(pairs)
        return pairs

    def __len__(self) -> int:
        return len(self.by_severity)


def _texts(queries: Queries) -> dict[str, str]:
    texts = queries.columns.get("text", [None] * len(queries))
    return {query: str(value) for query, value in zip(queries.ids, texts, strict=True) if value}


def _fill_scale(scale: Any) -> list[float]:
    """Return the grades that can be given: all whole numbers between the lowest and the highest."""
    is_whole = bool(np.all(scale == np.floor(scale)))
    if is_whole and len(scale) and scale[-1] - scale[0] < _WIDEST_SCALE:
        return [float(grade) for grade in range(int(scale[0]), int(scale[-1]) + 1)]
    return [float(grade) for grade in scale]


class Adjudication:
    """The work of one adjudicator: one pair after the other, each with a decision or left for later."""

    def __init__(self, disputes: Disputes, judge: str, decisions: Judgments | None = None) -> None:
        self.disputes, self.judge = disputes, judge
        self.rows: list[tuple[Any, ...]] = [] if decisions is None else decisions.frame.rows()
        decided = {row[:2] for row in self.rows}
        self._queue = [pair for pair in disputes.blind_order() if pair not in decided]

    @property
    def current(self) -> Disagreement | None:
        """The pair to decide; None if none is left."""
        return self.disputes.by_pair[self._queue[0]] if self._queue else None

    @property
    def remaining(self) -> int:
        """The number of pairs without a decision."""
        return len(self._queue)

    @property
    def own_decisions(self) -> int:
        """The number of decisions of this adjudicator."""
        return sum(row[2] == self.judge for row in self.rows)

    def decide(self, grade: float | None, at: datetime, note: str = "") -> None:
        """Give the current pair a grade, None if it cannot be rated."""
        query, doc = self._queue.pop(0)
        source = f"adjudicate, seed {self.disputes.seed}"
        self.rows.append((query, doc, self.judge, grade, at, source, note))

    def skip(self) -> None:
        """Leave the current pair for later."""
        self._queue.append(self._queue.pop(0))

    def undo(self) -> bool:
        """Take back the last decision of this adjudicator, which is then the current pair."""
        place = next((i for i in reversed(range(len(self.rows))) if self.rows[i][2] == self.judge), None)
        if place is None:
            return False
        query, doc, *_ = self.rows.pop(place)
        if (query, doc) in self.disputes.by_pair:
            self._queue.insert(0, (query, doc))
        return True

    def judgments(self) -> Judgments | None:
        """Return all decisions; None if there are none."""
        if not self.rows:
            return None
        return Judgments(pl.DataFrame(self.rows, schema=SCHEMA, orient="row"))


def adopt_decisions(decisions: Judgments, judgments: Judgments, judge: str) -> Judgments:
    """Return decisions made elsewhere as those of one adjudicator; each must be about a judged pair."""
    if len(decisions.judges) > 1:
        raise InputError(
            f"expected decisions of one person, found {len(decisions.judges)} judges: "
            f"{', '.join(decisions.judges[:5])}"
        )
    unknown = decisions.pairs.join(judgments.pairs, on=["query_id", "doc_id"], how="anti")
    if len(unknown):
        query, doc = unknown.row(0)
        raise InputError(
            f"the decisions have document {doc!r} of query {query!r}, which no judge labelled "
            f"({len(unknown)} of {len(decisions)} decisions): check that their ids are those of the labels"
        )
    return Judgments(decisions.frame.with_columns(judge=pl.lit(judge)))


def count_decided(disputes: Disputes, decisions: Judgments | None) -> dict[str, int]:
    """Return how many disputes there are, and how many have a decision."""
    decided: Sequence[Pair] = [] if decisions is None else [(q, d) for q, d in decisions.pairs.rows()]
    settled = sum(pair in disputes.by_pair for pair in decided)
    return {
        "judged_twice": disputes.judged_twice,
        "disputes": len(disputes),
        "decided": settled,
        "remaining": len(disputes) - settled,
    }
