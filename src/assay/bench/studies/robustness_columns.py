"""Robustness as published in tables: one column per δ, checked against the recall of the same row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from assay.bench.studies.distribution import RecallDistribution
from assay.bench.trials import Trial, robustness_name
from assay.core.errors import FormatError

DEFAULT_K = 10  # if no K is stated
_NUMBER = r"(\d*\.?\d+)"
_COLUMN = re.compile(
    rf"(?:(?:cdf|robustness|rob)[_@-]{_NUMBER}|robustness\(delta={_NUMBER}\))(?:@([1-9]\d*))?", re.IGNORECASE
)


class RobustnessColumn(NamedTuple):
    """The δ and K of a column of robustness."""

    delta: float
    k: int | None  # None: the column does not state it


def parse_robustness_column(column: str) -> RobustnessColumn | None:
    """Return the δ and K of a column of robustness; None for any other column.

    >>> [parse_robustness_column(name) for name in ("cdf_0.3", "Robustness(delta=0.3)@10", "recall")]
    [RobustnessColumn(delta=0.3, k=None), RobustnessColumn(delta=0.3, k=10), None]
    """
    match = _COLUMN.fullmatch(column)
    return (
        RobustnessColumn(float(match[1] or match[2]), int(match[3]) if match[3] else None) if match else None
    )


def refuse_robustness_columns(names: list[str], path: str) -> None:
    """Refuse columns with a δ above 1 and two columns of the same δ."""
    names_by_column: dict[RobustnessColumn, str] = {}
    for name in names:
        parsed_column = parse_robustness_column(name)
        if parsed_column is None:
            continue
        if parsed_column.delta > 1:
            raise FormatError(
                f"column {name!r}: expected a δ from 0 to 1, found {parsed_column.delta:g}", path, 1
            )
        if parsed_column in names_by_column:
            raise FormatError(
                f"columns {names_by_column[parsed_column]!r} and {name!r} have the same δ: keep one", path, 1
            )
        names_by_column[parsed_column] = name


def find_k(
    columns: list[str], stated_k: int | None, path: str, line: int, other_ks: Set[int] = frozenset()
) -> int | None:
    """Return the K of a row, as stated or as in the names of its columns; None if neither states it."""
    ks = {column.k for column in map(parse_robustness_column, columns) if column and column.k} | other_ks
    if stated_k is None and len(ks) > 1:
        values = " and ".join(map(str, sorted(ks)))
        raise FormatError(f"has figures at K = {values}: state the K of the row in a column 'k'", path, line)
    if stated_k is not None and other_ks - {stated_k}:
        raise FormatError(f"has a recall at K = {min(other_ks)}, but its K is {stated_k}", path, line)
    return stated_k or next(iter(ks), None)


def robustness_figures(shares: Mapping[str, float], k: int) -> dict[str, float]:
    """Return the robustness of a row by canonical measure name, without δ = 0, which is always 1.

    >>> robustness_figures({"cdf_0.0": 1.0, "cdf_0.3": 0.98}, 10)
    {'Robustness(delta=0.3)@10': 0.98}
    """
    parsed_columns = {column: parse_robustness_column(column) for column in shares}
    return {
        robustness_name(parsed_column.delta, parsed_column.k or k): shares[column]
        for column, parsed_column in parsed_columns.items()
        if parsed_column is not None and parsed_column.delta > 0
    }


def refuse_robustness_curve(cells: Mapping[str, Any], k: int, path: str, line: int) -> None:
    """Refuse a curve that is impossible or that contradicts the recall of its row."""
    curve = _curve(cells, k)
    problem = _shape_problem(curve, cells) or _mean_problem(curve, cells, k) or _count_problem(curve, cells)
    if problem:
        raise FormatError(problem, path, line)


def _curve(cells: Mapping[str, Any], k: int) -> dict[float, str]:
    """Return the columns of the curve at K by ascending δ."""
    pairs = [
        (parsed_column.delta, column)
        for column in cells
        if (parsed_column := parse_robustness_column(column)) and (parsed_column.k or k) == k
    ]
    return dict(sorted(pairs))


def _shape_problem(curve: Mapping[float, str], cells: Mapping[str, Any]) -> str:
    first = curve.get(0.0)
    if first and float(cells[first]) != 1:
        return f"column {first!r}: expected 1, because every query reaches 0; found {cells[first]}"
    for lower, higher in pairwise(curve.values()):
        if float(cells[higher]) > float(cells[lower]):
            return (
                f"columns {lower!r} and {higher!r}: expected no more queries to reach the higher δ; "
                f"found {cells[lower]} and {cells[higher]}"
            )
    return ""


def _mean_problem(curve: Mapping[float, str], cells: Mapping[str, Any], k: int) -> str:
    """Return the problem if recall is not the mean of the whole curve at 1/K … 1."""
    deltas = _curve_deltas(k)
    if "recall" not in cells or not deltas <= curve.keys():
        return ""
    mean = sum(float(cells[curve[delta]]) for delta in deltas) / k
    rounding = _rounding_error(cells["recall"]) + min(
        _rounding_error(cells[curve[delta]]) for delta in deltas
    )
    if abs(mean - float(cells["recall"])) <= rounding + 1e-9:
        return ""
    return (
        f"column 'recall': the mean of robustness at 1/{k} … {k}/{k} is {mean:.6f}, but recall is "
        f"{cells['recall']}; both must be equal up to rounding if they come from one run at K = {k}"
    )


def _count_problem(curve: Mapping[float, str], cells: Mapping[str, Any]) -> str:
    """Return the problem if a share is not a whole number of queries."""
    n = int(float(cells.get("queries", 0)))
    rounding = min((_rounding_error(cells[column]) for column in curve.values()), default=0.0)
    for column in curve.values():
        count = float(cells[column]) * n
        if abs(count - round(count)) > n * rounding + 1e-6:
            product = f"{cells[column]} of {n:,} queries is {count:g}"
            return f"column {column!r}: {product}, which is not a whole number"
    return ""


def _curve_deltas(k: int) -> set[float]:
    return {float(f"{j / k:g}") for j in range(1, k + 1)}  # rounded as in robustness_name


def _rounding_error(cell: Any) -> float:
    """Return the largest rounding error of a printed number: half a unit of its last digit.

    >>> _rounding_error("0.900"), _rounding_error(0.25)
    (0.0005, 0.005)
    """
    written = cell if isinstance(cell, str) else f"{cell:.7g}"
    return float(Decimal((0, (5,), int(Decimal(written).as_tuple().exponent) - 1)))


def curve_rounding(cells: Mapping[str, Any], k: int) -> dict[str, float]:
    """Return the rounding error of a curve if the printed digits show a smaller one than the numbers (0.990).

    >>> [curve_rounding({"queries": "100", "cdf_1": share}, 1) for share in ("0.990", "0.99")]
    [{'rounding': 0.0005}, {}]
    """
    shares = [cells[column] for delta, column in _curve(cells, k).items() if delta]
    if "queries" not in cells or not shares:
        return {}
    printed_error = min(map(_rounding_error, shares))
    number_error = min(_rounding_error(float(share)) for share in shares)
    return {"rounding": printed_error} if printed_error < number_error else {}


def published_distribution(trial: Trial) -> RecallDistribution | None:
    """Return the distribution of recall from a whole curve and the number of queries.

    Returns None if either is missing or if the curve is rounded too much to count single queries.
    """
    names = [robustness_name(delta, trial.k) for delta in sorted(_curve_deltas(trial.k))]
    n = int(trial.reported.get("queries", 0))
    curve = [trial.reported[name] for name in names if name in trial.reported]
    if not n or len(curve) < trial.k:
        return None
    if n * trial.reported.get("rounding", min(map(_rounding_error, curve))) > 0.5 + 1e-9:
        return None
    counts = [n, *(round(share * n) for share in curve), 0]
    return RecallDistribution(-np.diff(counts))
