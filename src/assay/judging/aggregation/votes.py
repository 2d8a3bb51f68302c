"""Rules that look at the labels of one pair at a time: majority, unanimity, mean and median."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.core.arrays import Bools, Floats
from assay.judging.aggregation.ties import choose_tied, round_halves
from assay.judging.agreement.labels import Labels


class PairGrades(NamedTuple):
    """The grade of each pair, NaN for none, with what the rule computed."""

    grades: Floats
    values: Floats  # before rounding: the mean, the median; NaN if the rule has none
    confidence: Floats
    is_tied: Bools


def count_votes(labels: Labels) -> Floats:
    """Return how often each grade of the scale was given to each pair."""
    grades = len(labels.scale)
    cells = np.bincount(labels.item * grades + labels.code, minlength=labels.items * grades)
    return cells.reshape(labels.items, grades).astype(float)


def majority(labels: Labels, ties: str, draws: Floats) -> PairGrades:
    """Return the grade that most judges gave.

    >>> labels = Labels.from_matrix(np.array([[0, 2, 2], [0, 1, np.nan]]))
    >>> [majority(labels, ties, np.zeros(2)).grades.tolist() for ties in ("lower", "none")]
    [[2.0, 0.0], [2.0, nan]]
    """
    votes = count_votes(labels)
    most = votes.max(axis=1, keepdims=True)
    tied = (votes == most) & (most > 0)
    grades = choose_tied(tied, labels.scale, ties, draws)
    return PairGrades(
        grades, np.full(len(grades), np.nan), support(labels, grades), np.asarray(tied.sum(axis=1) > 1)
    )


def unanimous(labels: Labels, ties: str, draws: Floats) -> PairGrades:
    """Return the grade that all judges gave; no grade where they differ.

    >>> unanimous(Labels.from_matrix(np.array([[2, 2], [0, 1]])), "", np.zeros(2)).grades.tolist()
    [2.0, nan]
    """
    votes = count_votes(labels)
    given = votes > 0
    grades = choose_tied(given, labels.scale, "none", draws)
    is_tied = np.asarray(given.sum(axis=1) > 1)
    return PairGrades(grades, np.full(len(grades), np.nan), support(labels, grades), is_tied)


def mean(labels: Labels, ties: str, draws: Floats) -> PairGrades:
    """Return the mean grade, rounded to a whole number.

    >>> labels = Labels.from_matrix(np.array([[0, 2, 2], [0, 1, np.nan]]))
    >>> [mean(labels, ties, np.zeros(2)).grades.tolist() for ties in ("lower", "higher")]
    [[1.0, 0.0], [1.0, 1.0]]
    """
    sums = np.bincount(labels.item, weights=labels.values, minlength=labels.items)
    sizes = labels.sizes
    with np.errstate(invalid="ignore"):
        values = sums / sizes
        is_half = 2 * (sums - np.floor(values) * sizes) == sizes
    return _round(labels, values, np.asarray(is_half & (sizes > 0)), ties, draws)


def median(labels: Labels, ties: str, draws: Floats) -> PairGrades:
    """Return the median grade, rounded to a whole number; of two middle grades, their mean.

    >>> labels = Labels.from_matrix(np.array([[0, 2, 2], [0, 1, np.nan]]))
    >>> median(labels, "lower", np.zeros(2)).grades.tolist()
    [2.0, 0.0]
    """
    order = np.lexsort((labels.code, labels.item))
    ordered = labels.values[order]
    sizes = labels.sizes
    starts = np.cumsum(sizes) - sizes
    values = np.full(labels.items, np.nan)
    has_labels = sizes > 0
    low = starts[has_labels] + (sizes[has_labels] - 1) // 2
    high = starts[has_labels] + sizes[has_labels] // 2
    values[has_labels] = (ordered[low] + ordered[high]) / 2
    return _round(labels, values, np.asarray(values - np.floor(values) == 0.5), ties, draws)


def _round(labels: Labels, values: Floats, is_half: Bools, ties: str, draws: Floats) -> PairGrades:
    grades = round_halves(values, is_half, ties, draws)
    return PairGrades(grades, values, support(labels, grades), is_half)


def support(labels: Labels, grades: Floats) -> Floats:
    """Return the share of the labels of each pair that are its grade; NaN without a grade."""
    same = np.bincount(labels.item, weights=labels.values == grades[labels.item], minlength=labels.items)
    return np.where(np.isnan(grades), np.nan, same / np.maximum(labels.sizes, 1))
