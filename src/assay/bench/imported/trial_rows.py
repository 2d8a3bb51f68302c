"""Rows of the table of trials that `assay bench` writes as Parquet and as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from assay.bench.trials import KEYS, PassSpread, Trial
from assay.stats.intervals import Estimate

_FIELDS = {field.name: str(field.type) for field in fields(Trial)}
_FIELD_NAMES = {key: name for name, key in KEYS.items()}
_SPREADS = ("qps", "capacity")
_LEVEL = 0.95  # the confidence level of `assay bench`, which the table does not state


def is_trial_table(columns: Iterable[str]) -> bool:
    """Return whether a table was written by a sweep."""
    return {"key", "engine", "status", "indexed", "policy"} <= set(columns)


def parse_trial_row(row: Mapping[str, Any]) -> Trial:
    """Return the trial of a row written by trials.to_row; raises ValueError if a cell is invalid."""
    cells = {name: cell for name, cell in row.items() if cell not in (None, "")}
    nested_cells: dict[str, dict[str, Any]] = {}
    for name, cell in cells.items():
        prefix, _, suffix = name.partition(".")
        if suffix:
            nested_cells.setdefault(_FIELD_NAMES.get(prefix, prefix), {})[suffix] = parse_value(cell)
    fields: dict[str, Any] = {name: _parse_cell(name, cells[name]) for name in _FIELDS if name in cells}
    fields |= {name: inner_values for name, inner_values in nested_cells.items() if name in _FIELDS}
    fields |= {name: _parse_spread(nested_cells[name]) for name in _SPREADS if name in nested_cells}
    fields["measures"] = _parse_estimates(nested_cells.get("measures", {}))
    return Trial(**fields)


def _parse_cell(name: str, cell: Any) -> Any:
    if _FIELDS[name] == "str":
        return str(cell)
    content = parse_value(cell)
    if isinstance(content, str):
        raise ValueError(f"column {name!r}: expected a number, found {cell!r}")
    return content


def _parse_spread(cells: Mapping[str, Any]) -> PassSpread:
    median, low, high = (float(cells[name]) for name in ("median", "low", "high"))
    return PassSpread(median, low, high, int(cells["repetitions"]))


def _parse_estimates(cells: Mapping[str, Any]) -> dict[str, Estimate]:
    names = [column.removesuffix("_n") for column in cells if column.endswith("_n")]
    return {name: _parse_estimate(cells, name) for name in names}


def _parse_estimate(cells: Mapping[str, Any], name: str) -> Estimate:
    ends = (cells.get(column) for column in (name, f"{name}_low", f"{name}_high"))
    number, low, high = (None if end is None else float(end) for end in ends)
    return Estimate(number, low, high, _LEVEL, int(cells[f"{name}_n"]))


def parse_value(cell: Any) -> Any:
    """Return a cell as a number or a truth value if it is one, else unchanged.

    >>> parse_value("16"), parse_value("0.5"), parse_value("true"), parse_value("v1.0")
    (16, 0.5, True, 'v1.0')
    """
    if not isinstance(cell, str):
        return cell if isinstance(cell, (bool, int, float)) else str(cell)
    if cell.lower() in ("true", "false"):
        return cell.lower() == "true"
    for kind in (int, float):
        try:
            number = kind(cell)
        except ValueError:
            continue
        return number if abs(number) < float("inf") else cell
    return cell
