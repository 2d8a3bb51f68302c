"""Coefficients of the agreement of any number of raters, with missing labels.

Each is 1 - observed / expected disagreement of grades. With distances of grades, a coefficient needs only
the sums of the grades of each item and of their squares, so that the work grows with the labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.judging.agreement.intervals import Disagreement, coefficient_intervals, unanimous_weight
from assay.judging.agreement.labels import GradeCounts, Labels, sum_by
from assay.stats import Estimate
from assay.stats.intervals import estimate_mean

WEIGHTS = ("none", "linear", "quadratic")
METRICS = ("nominal", "ordinal", "interval")


class Agreement(NamedTuple):
    """How far the raters of a table agree."""

    agreement: Estimate  # the share of agreeing pairs of labels of an item, averaged over items
    fleiss: Estimate
    alpha: Mapping[str, Estimate]  # Krippendorff's, by metric
    ac1: Estimate
    ac2: Mapping[str, Estimate]  # by weights

    def to_dict(self) -> dict[str, object]:
        """Return the coefficients as plain data."""
        return {
            "agreement": self.agreement.to_dict(),
            "fleiss": self.fleiss.to_dict(),
            "alpha": {metric: estimate.to_dict() for metric, estimate in self.alpha.items()},
            "ac1": self.ac1.to_dict(),
            "ac2": {weights: estimate.to_dict() for weights, estimate in self.ac2.items()},
        }


def measure_agreement(labels: Labels, level: float = 0.95) -> Agreement:
    """Return every coefficient of the agreement of all raters.

    >>> labels = Labels.from_matrix(np.array([[1, 1], [0, 0], [1, 0], [0, 0]]))
    >>> agreement = measure_agreement(labels)
    >>> agreement.agreement.value, round(agreement.fleiss.value, 4)
    (0.75, 0.4667)
    """
    return Agreement(
        raw_agreement(labels, level),
        fleiss_kappa(labels, level),
        {metric: krippendorff_alpha(labels, metric, level) for metric in METRICS},
        gwet_coefficient(labels, "none", level),
        {weights: gwet_coefficient(labels, weights, level) for weights in WEIGHTS[1:]},
    )


def raw_agreement(labels: Labels, level: float = 0.95) -> Estimate:
    """Return the share of pairs of labels of an item that are equal, averaged over items with two labels."""
    counts = labels.counts
    values = 1 - _nominal_disagreement(counts)[counts.size > 1]
    return estimate_mean(values, level, (0.0, 1.0)) if len(values) else _undefined(level)


def fleiss_kappa(labels: Labels, level: float = 0.95) -> Estimate:
    """Return the κ of Fleiss (1971); with missing labels as in Gwet (2014, section 2.5).

    Expected agreement is that of two labels drawn by the mean share of each grade of an item.
    """
    counts = labels.counts
    shares = _mean_shares(counts, len(labels.scale))
    expected = 1 - float((shares**2).sum())
    slopes = -2 * shares
    return _chance_corrected(counts, _nominal_disagreement(counts), expected, slopes, shares, level)


def gwet_coefficient(labels: Labels, weights: str = "none", level: float = 0.95) -> Estimate:
    """Return AC1 (no weights) or AC2 of Gwet (2008; 2014, chapters 4 and 5).

    Undefined if all labels of the table are equal.
    """
    counts, scale = labels.counts, labels.scale
    shares = _mean_shares(counts, len(scale))
    if len(scale) < 2 or shares.max() > 1 - 1e-12:
        return _undefined(level, int((counts.size > 1).sum()))
    factor = gwet_factor(scale, weights)
    expected = 1 - factor * float((shares * (1 - shares)).sum())
    slopes = -factor * (1 - 2 * shares)
    disagreement = _weighted_disagreement(counts, scale, weights)
    return _chance_corrected(counts, disagreement, expected, slopes, shares, level)


def gwet_factor(scale: Floats, weights: str) -> float:
    """Return the sum of the weights of all pairs of grades, divided by the Q (Q - 1) pairs that differ."""
    grades = len(scale)
    if weights == "none":
        return 1 / (grades - 1)
    total = grades**2 - float(distances(scale[:, None], scale[None], scale, weights).sum())
    return total / (grades * (grades - 1))


def distances(first: Floats, second: Floats, scale: Floats, weights: str) -> Floats:
    """Return the disagreement of grades from 0 to 1: whether they differ, or how far by their values."""
    if weights == "none":
        return np.not_equal(first, second).astype(np.float64)
    steps: Floats = np.abs(first - second) / (scale[-1] - scale[0])
    return steps if weights == "linear" else steps * steps


def _chance_corrected(
    counts: GradeCounts,
    disagreement: Floats,
    expected: float,
    slopes: Floats,
    shares: Floats,
    level: float,
) -> Estimate:
    """Return 1 - observed / expected; `slopes` are those of the expected disagreement by mean shares."""
    is_paired = counts.size > 1
    n, items = int(is_paired.sum()), len(counts.size)
    if not n or expected <= 0:
        return _undefined(level, n)
    observed = float(disagreement[is_paired].mean())
    own = sum_by(counts.item, counts.count * slopes[counts.code], items) / counts.size
    influence = -(own - float(slopes @ shares)) / expected
    unanimous = -(slopes[shares > 0] - float(slopes @ shares)) / expected
    if observed > 0:
        influence += np.where(is_paired, disagreement / observed - 1, 0.0) * (items / n)
        unanimous -= items / n
    return _estimate(observed, expected, (influence, unanimous), n, _unseen(counts, expected), level)


def krippendorff_alpha(labels: Labels, metric: str = "nominal", level: float = 0.95) -> Estimate:
    """Return the α of Krippendorff (2011), over items with two labels or more.

    The ordinal distance is his: the labels between two grades, with half of those of the two grades. So
    it is the interval metric of the mid-ranks of the grades.
    """
    counts = _paired(labels.counts)
    if not len(counts.size):
        return _undefined(level)
    totals = sum_by(counts.code, counts.count, max(1, len(labels.scale)))
    n = totals.sum()
    if metric == "nominal":
        parts = _nominal_parts(counts, totals)
    elif metric == "interval":
        parts = _score_parts(counts, totals, labels.scale - labels.scale[:1])
    else:
        ranks = np.cumsum(totals) - totals / 2
        parts = _score_parts(counts, totals, ranks, is_rank=True)
    if parts.expected <= 0:
        return _undefined(level, len(counts.size))
    observed, items = float(parts.observed.sum()), len(counts.size)
    pulls = 1 / (n - 1) - parts.slopes / parts.expected + parts.shifts / (observed or 1.0)
    influence = sum_by(counts.item, counts.count * pulls[counts.code], items)
    influence += parts.observed / (observed or 1.0)
    unanimous = (n / items) * pulls[totals > 0]
    chance = (n**2 - float((totals**2).sum())) / (n * (n - 1))
    expected = parts.expected / (n * (n - 1))
    influences = (items * influence, items * unanimous)
    return _estimate(observed / n, expected, influences, items, _unseen(counts, chance), level)


class _AlphaParts(NamedTuple):
    """The sums of distances within items and in the whole table, and how a label of each grade moves them."""

    observed: Floats  # of each item
    shifts: Floats  # of the distances within all items, by grade
    expected: float
    slopes: Floats  # of the distances in the whole table, by grade


def _nominal_parts(counts: GradeCounts, totals: Floats) -> _AlphaParts:
    n = float(totals.sum())
    observed = _nominal_disagreement(counts) * counts.size
    return _AlphaParts(observed, np.zeros(len(totals)), n**2 - float((totals**2).sum()), 2 * (n - totals))


def _score_parts(counts: GradeCounts, totals: Floats, scores: Floats, is_rank: bool = False) -> _AlphaParts:
    """Return the sums of squared differences of scores; scores that are ranks move with the labels."""
    item, code, count, size = counts.item, counts.code, counts.count, counts.size
    items, n = len(size), float(totals.sum())
    own = scores[code]
    sums, squares = (sum_by(item, count * power, items) for power in (own, own**2))
    first, second = float(totals @ scores), float(totals @ scores**2)
    slopes, shifts = 2 * (second + n * scores**2 - 2 * first * scores), np.zeros(len(scores))
    if is_rank:
        pulls = sum_by(code, count * (sums / (size - 1))[item], len(scores))
        weights = sum_by(code, count * (size / (size - 1))[item], len(scores))
        shifts = -4 * _sum_later(pulls - weights * scores)
        slopes -= 4 * _sum_later(totals * (first - n * scores))
    observed = 2 * np.maximum(size * squares - sums**2, 0) / (size - 1)
    return _AlphaParts(observed, shifts, 2 * (n * second - first**2), slopes)


def _sum_later(values: Floats) -> Floats:
    """Return for each grade the sum over the higher grades and half of its own.

    One more label of a grade raises the mid-ranks of the higher grades by 1 and its own by 1/2.
    """
    later: Floats = np.cumsum(values[::-1])[::-1] - values / 2
    return later


def _paired(counts: GradeCounts) -> GradeCounts:
    """Return the counts of items with two labels or more, numbered anew."""
    is_paired = counts.size > 1
    if is_paired.all():
        return counts
    rows = is_paired[counts.item]
    item = (np.cumsum(is_paired) - 1)[counts.item[rows]]
    return GradeCounts(item, counts.code[rows], counts.count[rows], counts.size[is_paired])


def _nominal_disagreement(counts: GradeCounts) -> Floats:
    """Return the share of pairs of labels of each item that differ; 0 with a single label."""
    size = counts.size
    equal = sum_by(counts.item, counts.count**2, len(size))
    return (size**2 - equal) / np.maximum(size * (size - 1), 1)


def _weighted_disagreement(counts: GradeCounts, scale: Floats, weights: str) -> Floats:
    """Return the mean distance of the pairs of labels of each item, from 0 to 1; 0 with a single label."""
    if weights == "none":
        return _nominal_disagreement(counts)
    item, code, count, size = counts.item, counts.code, counts.count, counts.size
    values = ((scale - scale[0]) / (scale[-1] - scale[0]))[code]
    sums = sum_by(item, count * values, len(size))
    if weights == "quadratic":
        half = size * sum_by(item, count * values**2, len(size)) - sums**2
    else:
        half = sum_by(item, count * _distance_to_lower(item, count, values), len(size))
    return 2 * np.maximum(half, 0) / np.maximum(size * (size - 1), 1)


def _distance_to_lower(item: Ints, count: Floats, values: Floats) -> Floats:
    """Return for each grade of an item the sum of its distances from the lower labels of the item."""
    starts = np.searchsorted(item, item)  # the rows are sorted by item and grade
    labels, sums = (np.cumsum(part) - part for part in (count, count * values))
    distance: Floats = values * (labels - labels[starts]) - (sums - sums[starts])
    return distance


def _mean_shares(counts: GradeCounts, grades: int) -> Floats:
    """Return the share of each grade among the labels of an item, averaged over items."""
    weights = counts.count / counts.size[counts.item]
    return sum_by(counts.code, weights, grades) / max(1, len(counts.size))


def _estimate(
    observed: float,
    expected: float,
    influences: tuple[Floats, Floats],
    n: int,
    unseen: float,
    level: float,
) -> Estimate:
    """Return 1 - observed / expected; `influences` are those of each item on the logarithm of the ratio.

    The second are those of an item on which all raters give a grade, for each grade.
    """
    own, unanimous = influences
    items, centre = len(own), own.mean()
    squares = float(((own - centre) ** 2).sum())
    squares += unanimous_weight(len(unanimous)) * float(((unanimous - centre) ** 2).sum())
    variance = squares / max(1, items * (items - 1))
    columns = (np.array([float(number)]) for number in (observed, expected, variance, n, unseen))
    return coefficient_intervals(Disagreement(*columns), level).estimate(0)


def _unseen(counts: GradeCounts, expected: float) -> float:
    """Return the disagreement of items with one dissenting label, relative to that expected."""
    sizes = counts.size[counts.size > 1]
    return 2 / float(sizes.mean()) / expected


def _undefined(level: float, n: int = 0) -> Estimate:
    return Estimate(None, None, None, level, n)
