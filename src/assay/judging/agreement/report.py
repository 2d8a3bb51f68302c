"""Everything that is known about the agreement of raters, in one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assay.core.errors import InputError
from assay.core.groups import RunBlocks
from assay.core.judgments import Judgments
from assay.core.tables import Documents, Qrels, Queries
from assay.evaluation.slices import make_slices
from assay.judging.agreement.coefficients import Agreement, measure_agreement
from assay.judging.agreement.copies import SuspiciousPair, find_suspicious_pairs
from assay.judging.agreement.disagreements import Disagreements, find_disagreements
from assay.judging.agreement.labels import Labels
from assay.judging.agreement.pairs import PairAgreements, compare_raters
from assay.judging.agreement.raters import GradeShare, RaterSummary, prevalence, summarize_raters
from assay.judging.agreement.system_order import SystemOrder, compare_orders
from assay.measures import parse

MOST_RATERS_BY_SLICE = 20  # of more raters, a slice has only the coefficients of all together


class SliceAgreement(NamedTuple):
    """The agreement on the queries of one slice."""

    column: str
    value: str
    queries: int
    agreement: Agreement
    pairs: PairAgreements | None  # None: too many raters
    prevalence: Sequence[GradeShare]

    def to_dict(self) -> dict[str, Any]:
        """Return the agreement of the slice as plain data."""
        data = {"column": self.column, "value": self.value, "queries": self.queries}
        return {
            **data,
            **self.agreement.to_dict(),
            "prevalence": [share.to_dict() for share in self.prevalence],
            "pairs": [] if self.pairs is None else self.pairs.to_dicts(),
        }


@dataclass(frozen=True)
class AgreementReport:
    """How far raters agree: in all, each two, by slice; what each rater does; where they differ."""

    raters: Sequence[str]
    counts: Mapping[str, int]
    agreement: Agreement
    pairs: PairAgreements
    prevalence: Sequence[GradeShare]
    rater_summaries: Sequence[RaterSummary]
    suspicious: Sequence[SuspiciousPair]
    disagreements: Disagreements
    slices: Sequence[SliceAgreement] = ()
    system_order: SystemOrder | None = None
    level: float = field(default=0.95)

    @property
    def has_overlap(self) -> bool:
        """Whether any two raters labelled the same pair."""
        return len(self.pairs) > 0

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, as `assay judge agreement --format json` prints it."""
        return {
            "raters": list(self.raters),
            "counts": dict(self.counts),
            "level": self.level,
            "pairs": self.pairs.to_dicts(),
            **self.agreement.to_dict(),
            "prevalence": [share.to_dict() for share in self.prevalence],
            "rater_summaries": [summary.to_dict() for summary in self.rater_summaries],
            "suspicious": [[pair.first, pair.second] for pair in self.suspicious],
            "suspicious_details": [pair.to_dict() for pair in self.suspicious],
            "disagreements": self.disagreements.to_dict(),
            "slices": [part.to_dict() for part in self.slices],
            "system_order": None if self.system_order is None else self.system_order.to_dict(),
        }


def compute_agreement(
    judgments: Judgments,
    queries: Queries | None = None,
    documents: Documents | None = None,
    by: Sequence[str] = (),
    runs: Sequence[RunBlocks] = (),
    measure: str = "nDCG@10",
    disagreements: int = 5,
    level: float = 0.95,
    seed: int = 0,
) -> AgreementReport:
    """Return how far the raters of judgments agree; `runs` are scored by each rater's labels.

    >>> rows = [("q", "a", "ann", 1), ("q", "a", "bob", 1), ("q", "b", "ann", 0), ("q", "b", "bob", 1)]
    >>> compute_agreement(Judgments.from_rows(rows)).agreement.agreement.value
    0.5
    """
    if not 0 < level < 1:
        raise InputError(f"the level of an interval must lie between 0 and 1, found {level}")
    if len(judgments.judges) < 2:
        raise InputError(
            f"agreement needs two raters or more, found only {judgments.judges[0]!r}: give the file of a "
            "second rater, or a table with a column judge (or with one column for each rater)"
        )
    labels = Labels.from_judgments(judgments)
    pairs = compare_raters(labels, level)
    return AgreementReport(
        judgments.judges,
        _count(judgments, labels, pairs),
        measure_agreement(labels, level),
        pairs,
        prevalence(labels),
        summarize_raters(judgments, labels, level),
        find_suspicious_pairs(pairs),
        find_disagreements(judgments, labels, disagreements, _texts_of(queries), _texts_of(documents)),
        _measure_slices(judgments, labels, queries, documents, by, level) if by else (),
        compare_orders(judgments, runs, parse(measure), level, seed) if runs else None,
        level,
    )


def _texts_of(table: Queries | Documents | None) -> dict[str, str]:
    """Return the text of each row that has one."""
    if table is None or "text" not in table.columns:
        return {}
    if isinstance(table, Documents):
        return table.texts()
    return {query: str(text) for query, text in zip(table.ids, table.columns["text"], strict=True) if text}


def _count(judgments: Judgments, labels: Labels, pairs: PairAgreements) -> dict[str, int]:
    raters = len(labels.raters)
    return {
        "queries": judgments.frame["query_id"].n_unique(),
        "pairs": labels.items,
        "labels": len(labels.item),
        "could_not_rate": len(judgments) - len(labels.item),
        "judged_twice": int((labels.sizes > 1).sum()),
        "rater_pairs": raters * (raters - 1) // 2,
        "rater_pairs_that_share": len(pairs),
    }


def _measure_slices(
    judgments: Judgments,
    labels: Labels,
    queries: Queries | None,
    documents: Documents | None,
    by: Sequence[str],
    level: float,
) -> list[SliceAgreement]:
    query_of_item = judgments.pairs["query_id"]
    query_ids = query_of_item.unique(maintain_order=True).to_list()
    if queries is not None and queries.row_by_id.keys().isdisjoint(query_ids):
        raise InputError(
            f"the query table has none of the judged queries: expected ids such as {query_ids[0]!r}, "
            f"found {queries.ids[0]!r}; check that both use the same query ids"
        )
    slices = make_slices(
        dict.fromkeys(by), query_ids, queries, _highest_grades(judgments), _texts_of(documents) or None
    )
    place = query_of_item.cast(pl.Enum(query_ids)).to_physical().to_numpy()
    parts = []
    for part in slices:
        is_in_slice = np.zeros(len(query_ids), bool)
        is_in_slice[part.rows] = True
        own = labels.take_items(is_in_slice[place])
        pairs = compare_raters(own, level) if len(labels.raters) <= MOST_RATERS_BY_SLICE else None
        agreement = measure_agreement(own, level)
        parts.append(
            SliceAgreement(part.column, part.value, len(part.rows), agreement, pairs, prevalence(own))
        )
    return parts


def _highest_grades(judgments: Judgments) -> Qrels:
    """Return the highest grade of each pair, by which a document counts as relevant for slices."""
    highest = judgments.frame.group_by("query_id", "doc_id", maintain_order=True).agg(
        pl.col("grade").max().fill_null(0).floor()
    )
    return Qrels(highest)
