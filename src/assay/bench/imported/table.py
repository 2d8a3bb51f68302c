"""Trials in a plain table (CSV, TSV, Parquet): reported figures, every other column a parameter."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from assay.bench.imported.published_columns import (
    is_nan,
    is_rank_measure,
    published_column,
    refuse_repeated_figures,
    rename_columns,
    stated_ks,
)
from assay.bench.imported.result import ImportedResult, make_record, parse_metric
from assay.bench.imported.trial_rows import parse_value
from assay.bench.studies.robustness_columns import (
    DEFAULT_K,
    curve_rounding,
    find_k,
    parse_robustness_column,
    refuse_robustness_columns,
    refuse_robustness_curve,
    robustness_figures,
)
from assay.bench.sweeps.cases import REQUEST_MODES
from assay.core.errors import FormatError
from assay.core.vectors import METRICS
from assay.datasets.table_rows import read_table_rows
from assay.stats.percentiles import PERCENTILES

SOURCE = "table"
REPORTED_NOTE = "as reported; no neighbours to score"  # notes are part of the key of a trial: keep their text
ENGINE_COLUMNS = ("engine", "algorithm", "name", "index")  # the first of these in a table names the engine
Row = Mapping[str, Any]


def read(path: str, k: int | None = None) -> Iterator[ImportedResult]:
    """Yield the trials of a table; `k` is the K of the rows that state none."""
    for line, row in read_rows(path):
        yield _parse_row(row, path, line, k)


def read_rows(path: str) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a table with their line numbers; there is at least one."""
    return read_table_rows(path, _check_header)


def _check_header(names: list[str], path: str) -> None:
    refuse_repeated_figures(names, _KNOWN_COLUMNS, path)
    names = [published_column(name, _KNOWN_COLUMNS).name for name in names]
    has_figures = FIGURE_COLUMNS.keys() & set(names) or any(map(parse_robustness_column, names))
    if not has_figures or not set(ENGINE_COLUMNS) & set(names):
        raise FormatError(
            f"expected a column 'engine' (or {', '.join(ENGINE_COLUMNS[1:])}) and at least one of "
            f"{', '.join(FIGURE_COLUMNS)}, cdf_0.3, Robustness-0.3@10 …; "
            f"found {', '.join(map(repr, names)) or 'nothing'}{_spelling_hint(names)}",
            path,
            1,
        )
    for column, other_column in _MEGABYTE_COLUMNS.items():
        if {column, other_column} <= set(names):
            raise FormatError(
                f"columns {column!r} and {other_column!r} state the same figure: keep one", path, 1
            )
    refuse_robustness_columns(names, path)
    if hint := _spelling_hint(set(names) - _KNOWN_COLUMNS):
        advice = "rename it, to build.NAME or search.NAME if it is a parameter"
        raise FormatError(f"has a column that is nearly a figure{hint} {advice}", path, 1)


def _spelling_hint(names: Iterable[str]) -> str:
    """Return a hint at figures with names similar to these columns.

    >>> _spelling_hint(["recal", "config"])
    "; did you mean 'recall' instead of 'recal'?"
    """
    matches = [(name, get_close_matches(name.lower(), FIGURE_COLUMNS, 1, 0.8)) for name in sorted(names)]
    hints = [f"{match[0]!r} instead of {name!r}" for name, match in matches if match and match[0] != name]
    return f"; did you mean {' and '.join(hints)}?" if hints else ""


def _parse_row(row: Row, path: str, line: int, given_k: int | None) -> ImportedResult:
    renamed = rename_columns(row, _KNOWN_COLUMNS)
    cells = {name: cell for name, cell in renamed.items() if cell not in (None, "")}
    engine_column = next(name for name in ENGINE_COLUMNS if name in renamed)
    if engine_column not in cells:
        raise FormatError(
            f"column {engine_column!r}: expected the name of an engine, found nothing", path, line
        )
    figures = _parse_columns({**FIGURE_COLUMNS, **_QUERY_COLUMNS}, cells, path, line)
    facts = _parse_columns(_FACT_COLUMNS, cells, path, line)
    figures = {_MEGABYTE_COLUMNS.get(name, name): figure for name, figure in figures.items()}
    columns = [name for name in cells if parse_robustness_column(name)]
    stated_k = find_k(columns, facts.get("k"), path, line, stated_ks(row)) or given_k
    if stated_k is not None:
        facts["k"] = stated_k
    note = REPORTED_NOTE
    if "mode" not in facts:
        note += "; how queries were sent is not stated, and taken to be one at a time"
    if stated_k is None:
        note += f"; K is not stated, and taken to be {DEFAULT_K}"
    if columns:
        shares = _parse_columns(dict.fromkeys(columns, _SHARE_COLUMN), cells, path, line)
        k = facts.setdefault("k", DEFAULT_K)
        refuse_robustness_curve(cells, k, path, line)
        figures |= robustness_figures(shares, k) | curve_rounding(cells, k)
    cells = {name: cell for name, cell in cells.items() if not (is_rank_measure(name) and is_nan(cell))}
    rank_columns = dict.fromkeys(filter(is_rank_measure, cells), _AMOUNT_COLUMN)
    figures |= _parse_columns(rank_columns, cells, path, line)
    parameter_columns = cells.keys() - {engine_column, *columns, *rank_columns} - _KNOWN_COLUMNS
    if not figures.keys() - _QUERY_COLUMNS.keys():
        expected = f"{', '.join(FIGURE_COLUMNS)}, cdf_0.3 …"
        raise FormatError(f"contains no figure: expected one of {expected}", path, line)
    build, search = _parameters({name: cell for name, cell in cells.items() if name in parameter_columns})
    record = make_record(
        SOURCE, str(cells[engine_column]), build=build, search=search, reported=figures, note=note, **facts
    )
    return ImportedResult(record, record)


def _parse_columns(columns: Mapping[str, ColumnParser], cells: Row, path: str, line: int) -> dict[str, Any]:
    values = {}
    for name in columns.keys() & cells.keys():
        expected, parse = columns[name]
        try:
            values[name] = parse(cells[name])
        except (ValueError, TypeError, OverflowError):
            raise FormatError(
                f"column {name!r}: expected {expected}, found {cells[name]!r}", path, line
            ) from None
    return {name: values[name] for name in columns if name in values}


def _parameters(cells: Row) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the build and the search parameters; those without a prefix are search parameters."""
    build: dict[str, Any] = {}
    search: dict[str, Any] = {}
    for column, cell in cells.items():
        prefix, _, name = column.partition(".")
        into = {"build": build, "search": search}.get(prefix) if name else None
        if into is None:
            search[column] = parse_value(cell)
        else:
            into[name] = parse_value(cell)
    return build, search


def _number_parser(low: float, high: float = math.inf) -> Callable[[Any], float]:
    def parse(cell: Any) -> float:
        number = float(cell)
        if not low <= number <= high or math.isinf(number) or isinstance(cell, bool):
            raise ValueError(cell)
        return number

    return parse


def _parse_megabytes(cell: Any) -> float:
    return _number_parser(0)(cell) * 2**20


def _parse_count(cell: Any) -> int:
    number = float(cell)
    if number < 1 or number != int(number) or isinstance(cell, bool):
        raise ValueError(cell)
    return int(number)


def _word_parser(words: tuple[str, ...], normalize: Callable[[str], str]) -> Callable[[Any], str]:
    def parse(cell: Any) -> str:
        word = normalize(str(cell))
        if word not in words:
            raise ValueError(cell)
        return word

    return parse


ColumnParser = tuple[str, Callable[[Any], Any]]  # the expected content, and the function that parses it
_SHARE_COLUMN: ColumnParser = ("a number from 0 to 1", _number_parser(0, 1))
_AMOUNT_COLUMN: ColumnParser = ("a number of 0 or more", _number_parser(0))
_COUNT_COLUMN: ColumnParser = ("a whole number of 1 or more", _parse_count)
FIGURE_COLUMNS: Mapping[str, ColumnParser] = {
    "recall": _SHARE_COLUMN,
    "qps": _AMOUNT_COLUMN,
    **dict.fromkeys((f"p{p:g}_ms" for p in PERCENTILES), _AMOUNT_COLUMN),
    "build_seconds": _AMOUNT_COLUMN,
    "memory_bytes": _AMOUNT_COLUMN,
    "disk_bytes": _AMOUNT_COLUMN,
    "memory_mb": (_AMOUNT_COLUMN[0], _parse_megabytes),
    "disk_mb": (_AMOUNT_COLUMN[0], _parse_megabytes),
}
_MEGABYTE_COLUMNS = {"memory_mb": "memory_bytes", "disk_mb": "disk_bytes"}  # the stored name
_FACT_COLUMNS: Mapping[str, ColumnParser] = {
    "k": _COUNT_COLUMN,
    "n": _COUNT_COLUMN,
    "d": _COUNT_COLUMN,
    "threads": _COUNT_COLUMN,
    "metric": (f"one of {', '.join(METRICS)}", _word_parser(METRICS, parse_metric)),
    "mode": (f"one of {', '.join(REQUEST_MODES)}", _word_parser(REQUEST_MODES, str.lower)),
    "dataset": ("the name of a dataset", str),
}
_QUERY_COLUMNS: Mapping[str, ColumnParser] = {"queries": _COUNT_COLUMN}  # the number of queries of a share
_KNOWN_COLUMNS = {*FIGURE_COLUMNS, *_QUERY_COLUMNS, *_FACT_COLUMNS}
