"""What each rater does: the grades, the bias against the others and the time that a judgment takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assay.core.arrays import Floats
from assay.core.judgments import Judgments
from assay.judging.agreement.labels import Labels
from assay.stats import Estimate
from assay.stats.intervals import estimate_mean, order_statistic

_SECOND = 1_000_000  # microseconds


class GradeShare(NamedTuple):
    """How often a grade was given."""

    grade: float
    n: int
    share: float

    def to_dict(self) -> dict[str, Any]:
        """Return the share as plain data."""
        return self._asdict()


class RaterSummary(NamedTuple):
    """The judgments of one rater."""

    name: str
    labels: int
    unrated: int  # pairs that the rater could not rate
    shared: int  # items that another rater labelled, too
    bias: Estimate  # the mean difference from the mean of the other raters of the same item
    seconds: Estimate  # the median time between consecutive judgments
    prevalence: Sequence[GradeShare]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        return {
            **self._asdict(),
            "bias": self.bias.to_dict(),
            "seconds": self.seconds.to_dict(),
            "prevalence": [share.to_dict() for share in self.prevalence],
        }


def prevalence(labels: Labels) -> list[GradeShare]:
    """Return how often each grade was given.

    >>> prevalence(Labels.from_matrix(np.array([[0, 1], [0, 0]])))
    [GradeShare(grade=0.0, n=3, share=0.75), GradeShare(grade=1.0, n=1, share=0.25)]
    """
    return _shares(np.bincount(labels.code, minlength=len(labels.scale)), labels.scale)


def _shares(counts: Any, scale: Floats) -> list[GradeShare]:
    total = max(1, int(counts.sum()))
    pairs = zip(scale.tolist(), counts.tolist(), strict=True)
    return [GradeShare(grade, count, count / total) for grade, count in pairs]


def summarize_raters(judgments: Judgments, labels: Labels, level: float = 0.95) -> list[RaterSummary]:
    """Return the summary of each rater."""
    grades = len(labels.scale)
    counts = np.bincount(labels.rater * grades + labels.code, minlength=len(labels.raters) * grades)
    tables = counts.reshape(len(labels.raters), grades)
    differences = _differences_from_others(labels)
    unrated = np.bincount(judgments.judge_codes[np.isnan(judgments.grades)], minlength=len(labels.raters))
    gaps = _seconds_between(judgments)
    return [
        RaterSummary(
            name,
            int(tables[rater].sum()),
            int(unrated[rater]),
            len(differences[rater]),
            _mean(differences[rater], level),
            _median(gaps.get(name, []), level),
            _shares(tables[rater], labels.scale),
        )
        for rater, name in enumerate(labels.raters)
    ]


def _differences_from_others(labels: Labels) -> list[Floats]:
    """Return for each rater the differences from the mean of the other raters of an item."""
    sums = np.bincount(labels.item, labels.values, labels.items)[labels.item]
    others = labels.sizes[labels.item] - 1
    rows = np.flatnonzero(others > 0)
    values, raters = labels.values[rows], labels.rater[rows]
    differences = values - (sums[rows] - values) / others[rows]
    order = np.argsort(raters, kind="stable")
    ends = np.cumsum(np.bincount(raters, minlength=len(labels.raters)))
    return np.split(differences[order], ends[:-1])


def _mean(values: Floats, level: float) -> Estimate:
    return estimate_mean(values, level) if len(values) else Estimate(None, None, None, level, 0)


def _seconds_between(judgments: Judgments) -> dict[str, list[float]]:
    """Return for each rater with times the seconds between consecutive judgments."""
    times = judgments.frame.select("judge", pl.col("at").dt.timestamp("us")).drop_nulls()
    if times.is_empty():
        return {}
    gaps = times.sort("judge", "at").group_by("judge").agg(pl.col("at").diff().drop_nulls())
    return {name: [gap / _SECOND for gap in values] for name, values in gaps.iter_rows()}


def _median(gaps: Sequence[float], level: float) -> Estimate:
    if not gaps:
        return Estimate(None, None, None, level, 0)
    return order_statistic(np.array(gaps), 0.5, level)
