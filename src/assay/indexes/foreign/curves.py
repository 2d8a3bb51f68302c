"""Robustness as others publish it: a column for each δ, held against the recall that stands beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from assay.core.errors import FormatError
from assay.indexes.study.observed import Distribution
from assay.indexes.trials import Trial, robustness_name

USUAL_K = 10  # where none is stated
_NUMBER = r"(\d*\.?\d+)"
_COLUMN = re.compile(
    rf"(?:(?:cdf|robustness)[_-]{_NUMBER}|robustness\(delta={_NUMBER}\))(?:@([1-9]\d*))?", re.IGNORECASE
)


class Place(NamedTuple):
    """Where on a curve a column stands."""

    delta: float
    k: int | None  # None: the column does not say


def place(column: str) -> Place | None:
    """The δ and K of a column of robustness; None for any other column.

    >>> place("cdf_0.3"), place("Robustness(delta=0.3)@10"), place("recall")
    (Place(delta=0.3, k=None), Place(delta=0.3, k=10), None)
    """
    found = _COLUMN.fullmatch(column)
    return Place(float(found[1] or found[2]), int(found[3]) if found[3] else None) if found else None


def refuse_columns(names: list[str], path: str) -> None:
    """Refuse columns of a δ that there is not, and two columns of one."""
    seen: dict[Place, str] = {}
    for name in names:
        at = place(name)
        if at is None:
            continue
        if at.delta > 1:
            raise FormatError(f"column {name!r}: expected a δ from 0 to 1, found {at.delta:g}", path, 1)
        if at in seen:
            raise FormatError(f"columns {seen[at]!r} and {name!r} are of the same δ: keep one", path, 1)
        seen[at] = name


def k_of(columns: list[str], stated: int | None, path: str, line: int) -> int | None:
    """The K of a row: what it states, or its columns of robustness; None where neither says."""
    found = {at.k for at in map(place, columns) if at and at.k}
    if stated is None and len(found) > 1:
        several = " and ".join(map(str, sorted(found)))
        raise FormatError(f"has robustness at K = {several}: say by a column 'k' which is meant", path, line)
    return stated or next(iter(found), None)


def reported(shares: Mapping[str, float], k: int) -> dict[str, float]:
    """The robustness of a row under the names it has everywhere; that of δ = 0 says nothing.

    >>> reported({"cdf_0.0": 1.0, "cdf_0.3": 0.98}, 10)
    {'Robustness(delta=0.3)@10': 0.98}
    """
    places = {column: place(column) for column in shares}
    return {
        robustness_name(at.delta, at.k or k): shares[column]
        for column, at in places.items()
        if at is not None and at.delta > 0
    }


def refuse_curve(cells: Mapping[str, Any], k: int, path: str, line: int) -> None:
    """Refuse a curve that no recall of queries can have, or that is not of the recall beside it."""
    curve = _curve(cells, k)
    problem = _shape(curve, cells) or _mean(curve, cells, k) or _whole(curve, cells)
    if problem:
        raise FormatError(problem, path, line)


def _curve(cells: Mapping[str, Any], k: int) -> dict[float, str]:
    """The columns of the curve at K by their δ, in its order."""
    places = [(at.delta, column) for column in cells if (at := place(column)) and (at.k or k) == k]
    return dict(sorted(places))


def _shape(curve: Mapping[float, str], cells: Mapping[str, Any]) -> str:
    first = curve.get(0.0)
    if first and float(cells[first]) != 1:
        return f"column {first!r}: expected 1, since every query reaches 0; found {cells[first]}"
    for before, after in pairwise(curve.values()):
        if float(cells[after]) > float(cells[before]):
            return (
                f"columns {before!r} and {after!r}: expected no more queries to reach the higher δ; "
                f"found {cells[before]} and {cells[after]}"
            )
    return ""


def _mean(curve: Mapping[float, str], cells: Mapping[str, Any], k: int) -> str:
    """What is wrong where recall is not the mean of the whole curve at 1/K … 1."""
    whole = _steps(k)
    if "recall" not in cells or not whole <= curve.keys():
        return ""
    mean = sum(float(cells[curve[delta]]) for delta in whole) / k
    rounding = _half(cells["recall"]) + min(_half(cells[curve[delta]]) for delta in whole)
    if abs(mean - float(cells["recall"])) <= rounding + 1e-9:
        return ""
    return (
        f"column 'recall': the mean of robustness at 1/{k} … {k}/{k} is {mean:.6f}, and recall is "
        f"{cells['recall']}; the two are the same but for rounding, if both are of one run at K = {k}"
    )


def _whole(curve: Mapping[float, str], cells: Mapping[str, Any]) -> str:
    """What is wrong where a share is not one of so many queries."""
    n = int(float(cells.get("queries", 0)))
    for column in curve.values():
        count = float(cells[column]) * n
        if abs(count - round(count)) > n * min(_half(cells[one]) for one in curve.values()) + 1e-6:
            return f"column {column!r}: {cells[column]} of {n:,} queries is {count:g}, no whole number"
    return ""


def _steps(k: int) -> set[float]:
    return {float(f"{j / k:g}") for j in range(1, k + 1)}  # as robustness_name writes them


def _half(cell: Any) -> float:
    """How far a number that was rounded may be from what it was: half of its last digit.

    >>> _half("0.900"), _half(0.25)
    (0.0005, 0.005)
    """
    written = cell if isinstance(cell, str) else f"{cell:.7g}"
    return float(Decimal((0, (5,), int(Decimal(written).as_tuple().exponent) - 1)))


def rounding(cells: Mapping[str, Any], k: int) -> dict[str, float]:
    """How far a curve may be rounded, where its digits say it and its numbers do not: 0.990 is not 0.99.

    >>> rounding({"queries": "100", "cdf_1": "0.990"}, 1), rounding({"queries": "100", "cdf_1": "0.99"}, 1)
    ({'rounding': 0.0005}, {})
    """
    shares = [cells[column] for delta, column in _curve(cells, k).items() if delta]
    if "queries" not in cells or not shares:
        return {}
    printed = min(map(_half, shares))
    return {"rounding": printed} if printed < min(_half(float(share)) for share in shares) else {}


def published(trial: Trial) -> Distribution | None:
    """How many queries have which recall, from a whole curve and the number of queries.

    None where either lacks, or where the curve is rounded too much to tell single queries.
    """
    names = [robustness_name(delta, trial.k) for delta in sorted(_steps(trial.k))]
    n = int(trial.reported.get("queries", 0))
    curve = [trial.reported[name] for name in names if name in trial.reported]
    if not n or len(curve) < trial.k:
        return None
    if n * trial.reported.get("rounding", min(map(_half, curve))) > 0.5 + 1e-9:
        return None
    reached = [n, *(round(share * n) for share in curve), 0]
    return Distribution(-np.diff(reached))
