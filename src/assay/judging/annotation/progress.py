"""How far a project is: labels, raters, their speed, and their answers to gold questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import polars as pl

from assay.judging.annotation.project import COUNTED, GOLD, TRAINING, AnnotationProject
from assay.stats.intervals import Estimate, estimate_mean, estimate_share


class LabelRow(NamedTuple):
    """The valid label of a rater for a pair."""

    pair: int
    query_id: str
    doc_id: str
    role: str
    gold_grade: float | None
    rater: str
    grade: float | None  # None: the rater could not rate the pair
    note: str
    source: str
    shown_at: datetime | None
    at: datetime


@dataclass(frozen=True)
class RaterProgress:
    """What one rater has done in a project."""

    rater: str
    labels: int  # counted ones, with those of pairs that could not be rated
    cannot_rate: int
    skipped: int
    later: int
    training: int
    seconds: float | None  # the median time of a label, from the moment the pair was shown
    gold: Estimate  # the share of right answers to gold questions
    is_paused: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the rater."""
        return {**vars(self), "gold": self.gold.to_dict()}


@dataclass(frozen=True)
class ProjectCounts:
    """How many labels a project has, and how many it wants."""

    project: AnnotationProject
    closed_at: datetime | None
    full_pairs: int  # with all their judgments
    labels: int  # counted ones

    @property
    def pairs(self) -> int:
        """The number of pairs to judge, without gold questions and training pairs."""
        return int(self.project.counts.get(COUNTED, 0))

    @property
    def wanted(self) -> int:
        """The number of labels that all pairs have together in the end."""
        return self.pairs * self.project.per_pair

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return {
            "name": self.project.name,
            "state": "open" if self.closed_at is None else "closed",
            "closed_at": self.closed_at and self.closed_at.isoformat(),
            "pairs": self.pairs,
            "full_pairs": self.full_pairs,
            "per_pair": self.project.per_pair,
            "gold": int(self.project.counts.get(GOLD, 0)),
            "training": int(self.project.counts.get(TRAINING, 0)),
            "labels": self.labels,
            "wanted": self.wanted,
        }


@dataclass(frozen=True)
class ProjectOverview(ProjectCounts):
    """How far a project is, as far as it can be told without reading all labels."""

    raters: Sequence[str]
    agreement: Estimate  # over the first pairs, which are in a shuffled order; n says how many

    def to_dict(self) -> dict[str, Any]:
        """Return the overview as plain data."""
        return {**super().to_dict(), "agreement": self.agreement.to_dict(), "raters": list(self.raters)}


@dataclass(frozen=True)
class ProjectProgress(ProjectCounts):
    """How far a project is."""

    raters: Sequence[RaterProgress]
    agreement: Estimate  # the mean share of agreeing raters over the pairs with at least two grades

    def to_dict(self) -> dict[str, Any]:
        """Return the progress as plain data, as `assay judge status --format json` prints it."""
        raters = [rater.to_dict() for rater in self.raters]
        return {**super().to_dict(), "agreement": self.agreement.to_dict(), "raters": raters}


class RaterCounts(NamedTuple):
    """What is known of a rater besides the labels."""

    skipped: int = 0
    later: int = 0
    is_paused: bool = False


def summarise_raters(
    labels: pl.DataFrame, counts: Mapping[str, RaterCounts], tolerance: float
) -> list[RaterProgress]:
    """Return the progress of each rater, by name."""
    rows = {row["rater"]: row for row in labels.group_by("rater").agg(_rater_columns(tolerance)).to_dicts()}
    return [
        _summarise_rater(rater, rows.get(rater, {}), counts.get(rater, RaterCounts()))
        for rater in sorted({*rows, *counts})
    ]


def _rater_columns(tolerance: float) -> list[pl.Expr]:
    """Return what is known of the labels of one rater."""
    is_counted, is_gold = pl.col("role") == COUNTED, pl.col("role") == GOLD
    seconds = (pl.col("at") - pl.col("shown_at")).dt.total_microseconds() / 1e6
    is_right = (pl.col("grade") - pl.col("gold_grade")).abs() <= tolerance
    return [
        is_counted.sum().alias("labels"),
        (is_counted & pl.col("grade").is_null()).sum().alias("cannot_rate"),
        (pl.col("role") == TRAINING).sum().alias("training"),
        seconds.filter(is_counted).drop_nulls().median().alias("seconds"),
        is_right.filter(is_gold).fill_null(False).sum().alias("right"),
        is_gold.sum().alias("gold"),
    ]


def _summarise_rater(rater: str, row: Mapping[str, Any], counts: RaterCounts) -> RaterProgress:
    return RaterProgress(
        rater=rater,
        labels=row.get("labels", 0),
        cannot_rate=row.get("cannot_rate", 0),
        skipped=counts.skipped,
        later=counts.later,
        training=row.get("training", 0),
        seconds=row.get("seconds"),
        gold=estimate_share(row.get("right", 0), row.get("gold", 0)),
        is_paused=counts.is_paused,
    )


def is_right_answer(grade: float | None, gold_grade: float | None, tolerance: float) -> bool:
    """Return whether an answer to a gold question is right.

    >>> is_right_answer(2.0, 2.0, 0), is_right_answer(1.0, 2.0, 0), is_right_answer(None, 2.0, 1)
    (True, False, False)
    """
    return grade is not None and gold_grade is not None and abs(grade - gold_grade) <= tolerance


def estimate_agreement(labels: pl.DataFrame) -> Estimate:
    """Return the mean over pairs of the share of their pairs of raters that gave the same grade."""
    rated = labels.lazy().filter((pl.col("role") == COUNTED) & pl.col("grade").is_not_null())
    same = pl.col("len") * (pl.col("len") - 1)
    size = pl.col("len").sum()
    shares = (
        rated.group_by("pair", "grade")
        .len()
        .with_columns(pl.col("len").cast(pl.Int64))
        .group_by("pair")
        .agg(share=same.sum() / (size * (size - 1)), size=size)
        .filter(pl.col("size") > 1)
        .sort("pair")
        .select("share")
        .collect()["share"]
    )
    if shares.is_empty():
        return Estimate(None, None, None, 0.95, 0)
    return estimate_mean(shares.to_numpy(), bounds=(0.0, 1.0))
