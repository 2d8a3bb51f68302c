"""Grades in the cells of a file: numbers, empty cells and texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.core.arrays import Floats

EMPTY = ("", "na", "n/a", "nan", "null", "none", ".")  # a cell without a grade


@dataclass(frozen=True)
class GradeColumn:
    """The numbers of a column, NaN for an empty cell, and the rows that hold something else."""

    values: Floats
    texts: Sequence[int]


def parse_grades(cells: Sequence[Any]) -> GradeColumn:
    """Return the numbers of a column.

    >>> parse_grades(["2", "", "0.5", "high"])
    GradeColumn(values=array([2. , nan, 0.5, nan]), texts=[3])
    """
    try:
        known = {cell: _parse_grade(cell) for cell in set(cells)}
        numbers = [known[cell] for cell in cells]
    except TypeError:  # a cell is a list or an object
        numbers = [_parse_grade(cell) for cell in cells]
    texts = [row for row, number in enumerate(numbers) if number is None]
    return GradeColumn(np.array([math.nan if n is None else n for n in numbers], float), texts)


def is_empty(cell: Any) -> bool:
    """Return whether a cell has no grade.

    >>> is_empty("NA"), is_empty(0), is_empty(None)
    (True, False, True)
    """
    if isinstance(cell, str):
        return cell.strip().lower() in EMPTY
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _parse_grade(cell: Any) -> float | None:
    """Return the number of a cell, NaN if it is empty, None if it is something else."""
    if is_empty(cell):
        return math.nan
    if not isinstance(cell, str | int | float) or (isinstance(cell, str) and "_" in cell):
        return None
    try:
        number = float(cell)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
