"""How far a project is: labels, raters, their speed, and their answers to gold questions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from math import comb
from statistics import median
from typing import Any, NamedTuple

import numpy as np

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
    labels: Iterable[LabelRow], counts: Mapping[str, RaterCounts], tolerance: float
) -> list[RaterProgress]:
    """Return the progress of each rater, by name."""
    by_rater: dict[str, list[LabelRow]] = {rater: [] for rater in counts}
    for label in labels:
        by_rater.setdefault(label.rater, []).append(label)
    return [
        _summarise_rater(rater, by_rater[rater], counts.get(rater, RaterCounts()), tolerance)
        for rater in sorted(by_rater)
    ]


def _summarise_rater(
    rater: str, labels: Sequence[LabelRow], counts: RaterCounts, tolerance: float
) -> RaterProgress:
    counted = [label for label in labels if label.role == COUNTED]
    seconds = [(x.at - x.shown_at).total_seconds() for x in counted if x.shown_at is not None]
    gold = [label for label in labels if label.role == GOLD]
    return RaterProgress(
        rater=rater,
        labels=len(counted),
        cannot_rate=sum(label.grade is None for label in counted),
        skipped=counts.skipped,
        later=counts.later,
        training=sum(label.role == TRAINING for label in labels),
        seconds=median(seconds) if seconds else None,
        gold=estimate_share(sum(_is_right(label, tolerance) for label in gold), len(gold)),
        is_paused=counts.is_paused,
    )


def _is_right(label: LabelRow, tolerance: float) -> bool:
    return is_right_answer(label.grade, label.gold_grade, tolerance)


def is_right_answer(grade: float | None, gold_grade: float | None, tolerance: float) -> bool:
    """Return whether an answer to a gold question is right.

    >>> is_right_answer(2.0, 2.0, 0), is_right_answer(1.0, 2.0, 0), is_right_answer(None, 2.0, 1)
    (True, False, False)
    """
    return grade is not None and gold_grade is not None and abs(grade - gold_grade) <= tolerance


def estimate_agreement(labels: Iterable[LabelRow]) -> Estimate:
    """Return the mean over pairs of the share of their pairs of raters that gave the same grade."""
    grades: dict[int, list[float]] = defaultdict(list)
    for label in labels:
        if label.role == COUNTED and label.grade is not None:
            grades[label.pair].append(label.grade)
    shares = [
        sum(first == second for first, second in combinations(given, 2)) / comb(len(given), 2)
        for given in grades.values()
        if len(given) > 1
    ]
    if not shares:
        return Estimate(None, None, None, 0.95, 0)
    return estimate_mean(np.array(shares), bounds=(0.0, 1.0))
