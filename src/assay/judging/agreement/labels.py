"""Labels as arrays of numbers, from which every coefficient of agreement is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.core.arrays import Bools, Floats, Ints
from assay.core.judgments import Judgments

_MOST_CELLS = 1 << 26  # of a table that is filled, not sorted
_WIDEST_SCALE = 1 << 12  # from the lowest to the highest whole grade


@dataclass(frozen=True)
class GradeCounts:
    """How often each grade was given to each item: a row for each grade that an item has."""

    item: Ints
    code: Ints
    count: Floats
    size: Floats  # the labels of each item


@dataclass(frozen=True)
class Labels:
    """Who gave which item which grade, one row for each label, by item and within an item by rater.

    An item is a pair of a query and a document. A code is the position of a grade in the scale.

    >>> labels = Labels.from_matrix(np.array([[0, 2], [2, np.nan]]), ["ann", "bob"])
    >>> labels.item.tolist(), labels.rater.tolist(), labels.code.tolist(), labels.scale.tolist()
    ([0, 0, 1], [0, 1, 0], [0, 1, 1], [0.0, 2.0])
    """

    item: Ints
    rater: Ints
    code: Ints
    scale: Floats  # the distinct grades, ascending
    raters: Sequence[str]
    items: int

    @classmethod
    def from_matrix(cls, grades: Floats, raters: Sequence[str] = ()) -> Labels:
        """Return the labels of a table with a row for each item and a column for each rater; NaN: none."""
        item, rater = np.nonzero(~np.isnan(grades))
        code, scale = _encode(grades[item, rater])
        names = list(raters) or [str(number + 1) for number in range(grades.shape[1])]
        return cls(item, rater, code, scale, names, len(grades))

    @classmethod
    def from_judgments(cls, judgments: Judgments) -> Labels:
        """Return the labels of judgments, without those of pairs that a judge could not rate."""
        items, raters = len(judgments.pairs), len(judgments.judges)
        if items * raters <= _MOST_CELLS:
            return cls.from_matrix(judgments.matrix(), judgments.judges)
        rows = np.flatnonzero(~np.isnan(judgments.grades))
        order = rows[np.argsort(judgments.pair_codes[rows] * raters + judgments.judge_codes[rows])]
        code, scale = _encode(judgments.grades[order])
        item, rater = judgments.pair_codes[order], judgments.judge_codes[order]
        return cls(item, rater, code, scale, judgments.judges, items)

    @cached_property
    def values(self) -> Floats:
        """The grade of each label."""
        return self.scale[self.code]

    @cached_property
    def sizes(self) -> Ints:
        """The number of labels of each item."""
        return np.bincount(self.item, minlength=self.items)

    @cached_property
    def counts(self) -> GradeCounts:
        """How often each grade was given to each item with a label; the items are numbered anew."""
        return _count_grades(self)

    def take_items(self, is_taken: Bools) -> Labels:
        """Return the labels of some items, on the same scale; the other items have no labels."""
        rows = is_taken[self.item]
        return replace(self, item=self.item[rows], rater=self.rater[rows], code=self.code[rows])


def sum_by(groups: Ints, values: Floats, length: int) -> Floats:
    """Return the sum of the values of each group.

    >>> sum_by(np.array([0, 0, 1]), np.array([1.0, 2.0, 4.0]), 3).tolist()
    [3.0, 4.0, 0.0]
    """
    return np.bincount(groups, values, length).astype(np.float64, copy=False)


def _encode(grades: Floats) -> tuple[Ints, Floats]:
    """Return the position of each grade among the distinct grades, and these."""
    if not len(grades):
        return np.zeros(0, np.int64), np.zeros(0)
    lowest = grades.min()
    if grades.max() - lowest < _WIDEST_SCALE and (grades == np.floor(grades)).all():
        steps = (grades - lowest).astype(np.int64)
        is_used = np.bincount(steps) > 0
        scale: Floats = np.flatnonzero(is_used).astype(np.float64) + lowest
        return (np.cumsum(is_used) - 1)[steps], scale
    distinct, codes = np.unique(grades, return_inverse=True)
    return codes, distinct


def _count_grades(labels: Labels) -> GradeCounts:
    is_labelled = labels.sizes > 0
    item = (np.cumsum(is_labelled) - 1)[labels.item]
    items, grades = int(is_labelled.sum()), max(1, len(labels.scale))
    keys = item * grades + labels.code
    if items * grades <= _MOST_CELLS:
        table = np.bincount(keys, minlength=items * grades)
        cells = np.flatnonzero(table)
        count = table[cells]
    else:
        cells, count = np.unique(keys, return_counts=True)
    size = labels.sizes[is_labelled].astype(np.float64)
    return GradeCounts(cells // grades, cells % grades, count.astype(np.float64), size)
