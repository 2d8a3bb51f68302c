"""The names that published tables give to the columns of figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from assay.bench.studies.robustness_columns import parse_robustness_column
from assay.core.errors import FormatError

_RECALL = re.compile(r"(?:(?:mean|avg|average)[_ -]?)?recall(?:@([1-9]\d*))?|r@([1-9]\d*)", re.IGNORECASE)
_RANK_MEASURE = re.compile(r"(map|ap|ndcg|mrr|rr)@([1-9]\d*)", re.IGNORECASE)
_TAIL = re.compile(r"tail[_-]?(9{2,3}|95|90)", re.IGNORECASE)
_RANK_NAMES = {"map": "AP", "ap": "AP", "ndcg": "nDCG", "mrr": "RR", "rr": "RR"}
_TAIL_SHARES = {"90": "10", "95": "5", "99": "1", "999": "0.1"}  # 95 % of the queries reach the value
_OTHER_NAMES = {"scenario": "dataset", "throughput": "qps"}


class PublishedColumn(NamedTuple):
    """The name by which a column is read, and the K that its own name states."""

    name: str
    k: int | None = None


def published_column(column: str, standard_names: Iterable[str] = ()) -> PublishedColumn:
    """Return the name by which a column is read; unchanged if it is not another name of a figure.

    Standard names of more than one letter are found whatever their case.

    >>> [published_column(name)[:] for name in ("recall@10", "MAP@10", "tail95", "scenario", "ef")]
    [('recall', 10), ('AP@10', 10), ('p5 of recall', None), ('dataset', None), ('ef', None)]
    """
    lower = column.strip().lower()
    if match := _RECALL.fullmatch(lower):
        k = match[1] or match[2]
        return PublishedColumn("recall", int(k) if k else None)
    if match := _RANK_MEASURE.fullmatch(lower):
        return PublishedColumn(f"{_RANK_NAMES[match[1]]}@{match[2]}", int(match[2]))
    if match := _TAIL.fullmatch(lower):
        return PublishedColumn(f"p{_TAIL_SHARES[match[1]]} of recall")
    name = _OTHER_NAMES.get(lower, lower)
    is_other_name = (name in standard_names and len(name) > 1) or lower in _OTHER_NAMES
    return PublishedColumn(name if is_other_name else column)


def is_rank_measure(column: str) -> bool:
    """Return whether a column has a measure of ranking or a percentile of recall, on any scale."""
    return bool(_RANK_MEASURE.fullmatch(column)) or column.endswith(" of recall")


def is_nan(cell: Any) -> bool:
    """Return whether a cell says that its value is not known."""
    return str(cell).strip().lower() in ("nan", "na", "n/a", "none", "null")


def refuse_repeated_figures(columns: Iterable[str], standard_names: Iterable[str], path: str) -> None:
    """Refuse two columns that state the same figure."""
    columns_by_name: dict[str, str] = {}
    for column in columns:
        name = published_column(column, standard_names).name
        if name in columns_by_name and not parse_robustness_column(column):
            raise FormatError(
                f"columns {columns_by_name[name]!r} and {column!r} state the same figure: keep one", path, 1
            )
        columns_by_name[name] = column


def rename_columns(row: Mapping[str, Any], standard_names: Iterable[str]) -> dict[str, Any]:
    """Return a row whose figures have the names by which they are read."""
    return {published_column(column, standard_names).name: cell for column, cell in row.items()}


def stated_ks(columns: Iterable[str]) -> set[int]:
    """Return every K that the names of columns state, such as 10 in recall@10."""
    return {k for k in (published_column(column).k for column in columns) if k is not None}
