"""How the labels of each judge relate to the grades that a rule gave the pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.core.arrays import Floats
from assay.core.judgments import Judgments
from assay.judging.aggregation.dawid_skene import DawidSkene
from assay.judging.agreement.labels import Labels
from assay.stats import Estimate
from assay.stats.intervals import estimate_share


@dataclass(frozen=True)
class JudgeTable:
    """The labels of one judge by the grades of the result: a row for each grade, a column for each label."""

    name: str
    labels: int
    unrated: int
    agreement: Estimate  # the share of labels that are the result, which rests on these labels, too
    grades: Sequence[float]  # the rows
    scale: Sequence[float]  # the columns
    confusion: Sequence[Sequence[float | None]]  # the share of each label; None: no pair has this grade

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data."""
        return {
            "judge": self.name,
            "labels": self.labels,
            "unrated": self.unrated,
            "agreement": self.agreement.to_dict(),
            "grades": list(self.grades),
            "scale": list(self.scale),
            "confusion": [list(row) for row in self.confusion],
        }


def judge_tables(
    judgments: Judgments, labels: Labels, grades: Floats, model: DawidSkene | None
) -> list[JudgeTable]:
    """Return the table of each judge; that of the model of Dawid and Skene if there is one."""
    results = np.unique(grades[~np.isnan(grades)]) if model is None else labels.scale
    counts = _count_cells(labels, grades, results)
    unrated = np.bincount(judgments.judge_codes[np.isnan(judgments.grades)], minlength=len(labels.raters))
    given = np.bincount(labels.rater, minlength=len(labels.raters))
    compared = ~np.isnan(grades[labels.item])
    same = np.bincount(
        labels.rater, weights=labels.values == grades[labels.item], minlength=len(labels.raters)
    )
    totals = np.bincount(labels.rater[compared], minlength=len(labels.raters))
    return [
        JudgeTable(
            name,
            int(given[judge]),
            int(unrated[judge]),
            estimate_share(float(same[judge]), int(totals[judge])),
            results.tolist(),
            labels.scale.tolist(),
            _shares(counts[judge]) if model is None else model.confusion[judge].tolist(),
        )
        for judge, name in enumerate(labels.raters)
    ]


def _count_cells(labels: Labels, grades: Floats, results: Floats) -> Floats:
    """Return how often each judge gave each label to pairs of each grade."""
    shape = (len(labels.raters), len(results), len(labels.scale))
    rows = np.flatnonzero(~np.isnan(grades[labels.item]))
    row = np.searchsorted(results, grades[labels.item[rows]])
    cell = (labels.rater[rows] * shape[1] + row) * shape[2] + labels.code[rows]
    return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape).astype(float)


def _shares(counts: Floats) -> list[list[float | None]]:
    return [[cell / total if total else None for cell in row.tolist()] for row, total in _rows(counts)]


def _rows(counts: Floats) -> list[tuple[Floats, float]]:
    return list(zip(counts, counts.sum(axis=1).tolist(), strict=True))
