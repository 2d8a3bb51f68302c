"""The table of pairs of a click model: relevance with its interval, impressions, clicks and grade."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assay.core.errors import UndecidableError
from assay.judging.clicks.grading import GradeRule
from assay.judging.clicks.model import FittedModel


class PairTable(NamedTuple):
    """Pairs with enough impressions, and how many had too few."""

    frame: pl.DataFrame  # query_id, doc_id, grade, relevance, low, high, impressions, clicks, judge
    rule: GradeRule
    thresholds: list[float]
    minimum_impressions: int
    left_out: int

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and the rule as plain data, without the rows."""
        counts = self.frame["grade"].value_counts(sort=False).sort("grade")
        return {
            "count": len(self.frame),
            "left_out": self.left_out,
            "minimum_impressions": self.minimum_impressions,
            "grade_rule": str(self.rule),
            "thresholds": self.thresholds,
            "grades": {str(grade): count for grade, count in counts.rows()},
        }


def tabulate_pairs(model: FittedModel, rule: GradeRule, minimum_impressions: int) -> PairTable:
    """Return the pairs of a model with enough impressions, graded by a rule."""
    if not model.has_relevance:
        raise UndecidableError(
            f"{model.name} has a chance for each rank and none for a document: choose another --model"
        )
    relevance = model.relevance()
    impressions = model.pairs.impressions
    is_used = impressions >= minimum_impressions
    frame = model.pairs.ids().with_columns(
        grade=rule.grades(relevance.value, is_used),
        relevance=relevance.value,
        low=relevance.low,
        high=relevance.high,
        impressions=impressions,
        clicks=model.pairs.clicks,
        judge=pl.lit(f"clicks:{model.name}"),
    )
    thresholds = rule.thresholds(relevance.value[is_used])
    return PairTable(
        frame.filter(pl.Series(is_used)),
        rule,
        [float(t) for t in thresholds],
        minimum_impressions,
        int(np.count_nonzero(~is_used)),
    )
