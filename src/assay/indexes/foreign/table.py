"""Trials as a plain table (CSV, TSV, Parquet): figures as reported, every other column a parameter."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from assay.core.errors import FormatError
from assay.core.vectors import METRICS
from assay.indexes.foreign.found import Found, metric_of, told
from assay.indexes.plan import MODES

SOURCE = "table"
NOTE = "as reported; no neighbours to score"
Row = Mapping[str, Any]


def read(path: str) -> Iterator[Found]:
    """The trials of a table."""
    rows = _parquet(path) if _begins(path, b"PAR1") else _delimited(path)
    found = 0
    for line, row in rows:
        found += 1
        yield _found(row, path, line)
    if not found:
        raise FormatError("has no rows: there is nothing to import", path)


def _begins(path: str, magic: bytes) -> bool:
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic


def _delimited(path: str) -> Iterator[tuple[int, Row]]:
    """The rows of a text file, each with its line."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"is not UTF-8 text: {error}; write it as UTF-8", path) from None
    head = text.partition("\n")[0]
    delimiter = max("\t,;", key=head.count)
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        yield from _rows(reader, path)
    except csv.Error as error:
        raise FormatError(f"is no table: {error}", path, reader.line_num) from None


def _rows(reader: Any, path: str) -> Iterator[tuple[int, Row]]:
    header = _header([name.strip() for name in next(reader, [])], path)
    for cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            raise FormatError(
                f"expected {len(header)} cells, as in the first line, found {len(cells)}",
                path,
                reader.line_num,
            )
        yield reader.line_num, dict(zip(header, map(str.strip, cells), strict=True))


def _parquet(path: str) -> Iterator[tuple[int, Row]]:
    """The rows of a Parquet file, each with its number."""
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FormatError(f"cannot be read as Parquet: {error}; fetch or write it again", path) from None
    _header(frame.columns, path)
    yield from enumerate(frame.iter_rows(named=True), 1)


def _header(names: list[str], path: str) -> list[str]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FormatError(f"has more than one column {', '.join(map(repr, twice))}", path, 1)
    if "engine" not in names or not FIGURES.keys() & set(names):
        raise FormatError(
            f"expected a column 'engine' and at least one of {', '.join(FIGURES)}; "
            f"found {', '.join(map(repr, names)) or 'nothing'}",
            path,
            1,
        )
    return names


def _found(row: Row, path: str, line: int) -> Found:
    known = {name: value for name, value in row.items() if value not in (None, "")}
    if "engine" not in known:
        raise FormatError("column 'engine': expected the name of an engine, found nothing", path, line)
    reported = _read(FIGURES, known, path, line)
    facts = _read(_FACTS, known, path, line)
    build, search = _parameters({name: value for name, value in known.items() if name not in _COLUMNS})
    made = told(
        SOURCE, str(known["engine"]), build=build, search=search, reported=reported, note=NOTE, **facts
    )
    return Found(made, made)


def _read(columns: Mapping[str, Column], known: Row, path: str, line: int) -> dict[str, Any]:
    made = {}
    for name in columns.keys() & known.keys():
        expected, take = columns[name]
        try:
            made[name] = take(known[name])
        except (ValueError, TypeError, OverflowError):
            raise FormatError(
                f"column {name!r}: expected {expected}, found {known[name]!r}", path, line
            ) from None
    return {name: made[name] for name in columns if name in made}


def _parameters(cells: Row) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of building and those of searching; without a prefix they are of searching."""
    build: dict[str, Any] = {}
    search: dict[str, Any] = {}
    for column, value in cells.items():
        prefix, _, name = column.partition(".")
        into = {"build": build, "search": search}.get(prefix) if name else None
        if into is None:
            search[column] = _value(value)
        else:
            into[name] = _value(value)
    return build, search


def _value(cell: Any) -> Any:
    """A cell as a number or a truth value where it is one, else as it is."""
    if not isinstance(cell, str):
        return cell if isinstance(cell, (bool, int, float)) else str(cell)
    if cell.lower() in ("true", "false"):
        return cell.lower() == "true"
    for kind in (int, float):
        try:
            made = kind(cell)
        except ValueError:
            continue
        return made if math.isfinite(made) else cell
    return cell


def _at_least(low: float, high: float = math.inf) -> Callable[[Any], float]:
    def take(cell: Any) -> float:
        made = float(cell)
        if not low <= made <= high or math.isinf(made) or isinstance(cell, bool):
            raise ValueError(cell)
        return made

    return take


def _count(cell: Any) -> int:
    made = float(cell)
    if made < 1 or made != int(made) or isinstance(cell, bool):
        raise ValueError(cell)
    return int(made)


def _one_of(words: tuple[str, ...], spelled: Callable[[str], str]) -> Callable[[Any], str]:
    def take(cell: Any) -> str:
        made = spelled(str(cell))
        if made not in words:
            raise ValueError(cell)
        return made

    return take


Column = tuple[str, Callable[[Any], Any]]  # what is expected, and how it is read
_SHARE: Column = ("a number from 0 to 1", _at_least(0, 1))
_AMOUNT: Column = ("a number of 0 or more", _at_least(0))
_WHOLE: Column = ("a whole number of 1 or more", _count)
FIGURES: Mapping[str, Column] = {
    "recall": _SHARE,
    "qps": _AMOUNT,
    "p50_ms": _AMOUNT,
    "p95_ms": _AMOUNT,
    "p99_ms": _AMOUNT,
    "build_seconds": _AMOUNT,
    "memory_bytes": _AMOUNT,
    "disk_bytes": _AMOUNT,
}
_FACTS: Mapping[str, Column] = {
    "k": _WHOLE,
    "n": _WHOLE,
    "d": _WHOLE,
    "threads": _WHOLE,
    "metric": (f"one of {', '.join(METRICS)}", _one_of(METRICS, metric_of)),
    "mode": (f"one of {', '.join(MODES)}", _one_of(MODES, str.lower)),
}
_COLUMNS = {"engine", *FIGURES, *_FACTS}
