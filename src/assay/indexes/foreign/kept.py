"""The table of trials that a sweep keeps, read back: what `assay bench` writes as Parquet and as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from assay.indexes.trials import Spread, Trial
from assay.stats.intervals import Estimate

_FIELDS = {field.name: str(field.type) for field in fields(Trial)}
_SPREADS = ("qps", "capacity")
_LEVEL = 0.95  # the level that `assay bench` scores at; the table does not name it


def is_kept(columns: Iterable[str]) -> bool:
    """Whether a table is one that a sweep keeps."""
    return {"key", "engine", "status", "indexed", "policy"} <= set(columns)


def trial_of(row: Mapping[str, Any]) -> Trial:
    """The trial of a row as trials.to_row makes it; raises ValueError where a cell is not what it was."""
    known = {name: cell for name, cell in row.items() if cell not in (None, "")}
    inner: dict[str, dict[str, Any]] = {}
    for name, cell in known.items():
        first, _, rest = name.partition(".")
        if rest:
            inner.setdefault(first, {})[rest] = value(cell)
    made: dict[str, Any] = {name: _plain(name, known[name]) for name in _FIELDS if name in known}
    made |= {name: found for name, found in inner.items() if name in _FIELDS}
    made |= {name: _spread(inner[name]) for name in _SPREADS if name in inner}
    made["measures"] = _estimates(inner.get("measures", {}))
    return Trial(**made)


def _plain(name: str, cell: Any) -> Any:
    if _FIELDS[name] == "str":
        return str(cell)
    made = value(cell)
    if isinstance(made, str):
        raise ValueError(f"column {name!r}: expected a number, found {cell!r}")
    return made


def _spread(cells: Mapping[str, Any]) -> Spread:
    median, low, high = (float(cells[name]) for name in ("median", "low", "high"))
    return Spread(median, low, high, int(cells["repetitions"]))


def _estimates(cells: Mapping[str, Any]) -> dict[str, Estimate]:
    names = [column.removesuffix("_n") for column in cells if column.endswith("_n")]
    return {name: _estimate(cells, name) for name in names}


def _estimate(cells: Mapping[str, Any], name: str) -> Estimate:
    ends = (cells.get(column) for column in (name, f"{name}_low", f"{name}_high"))
    number, low, high = (None if end is None else float(end) for end in ends)
    return Estimate(number, low, high, _LEVEL, int(cells[f"{name}_n"]))


def value(cell: Any) -> Any:
    """A cell as a number or a truth value where it is one, else as it is.

    >>> value("16"), value("0.5"), value("true"), value("v1.0")
    (16, 0.5, True, 'v1.0')
    """
    if not isinstance(cell, str):
        return cell if isinstance(cell, (bool, int, float)) else str(cell)
    if cell.lower() in ("true", "false"):
        return cell.lower() == "true"
    for kind in (int, float):
        try:
            made = kind(cell)
        except ValueError:
            continue
        return made if abs(made) < float("inf") else cell
    return cell
