"""Rows of a plain table in a file (CSV, TSV, Parquet, JSON), each with its line number."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl

from assay.core.errors import FormatError, InputError

TableRow = Mapping[str, Any]
HeaderCheck = Callable[[list[str], str], None]  # the names of the columns and the path; may refuse them


def read_table_rows(path: str, check_header: HeaderCheck | None = None) -> Iterator[tuple[int, TableRow]]:
    """Yield the rows of a table with their line numbers; there is at least one."""
    rows = _rows(path, check_header or _accept)
    first = next(rows, None)
    if first is None:
        raise FormatError("has no rows", path)
    yield first
    yield from rows


def _accept(names: list[str], path: str) -> None:
    """Refuse only what no table may have: two columns of one name."""
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates:
        raise FormatError(f"has more than one column {', '.join(map(repr, duplicates))}", path, 1)


def _rows(path: str, check_header: HeaderCheck) -> Iterator[tuple[int, TableRow]]:
    try:
        with open(path, "rb") as file:
            head = file.read(4)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if head == b"PAR1":
        return _read_parquet(path, check_header)
    text = _read_text(path)
    if text.lstrip()[:1] in ("{", "["):
        return _read_json(text, path, check_header)
    return _read_delimited(text, path, check_header)


def _read_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"is not UTF-8 text: {error}; write it as UTF-8", path) from None


def _read_delimited(text: str, path: str, check_header: HeaderCheck) -> Iterator[tuple[int, TableRow]]:
    head = text.partition("\n")[0]
    delimiter = max("\t,;", key=head.count)
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        yield from _read_lines(reader, path, check_header)
    except csv.Error as error:
        raise FormatError(f"is not a table: {error}", path, reader.line_num) from None


def _read_lines(reader: Any, path: str, check_header: HeaderCheck) -> Iterator[tuple[int, TableRow]]:
    header = [name.strip() for name in next(reader, [])]
    _accept(header, path)
    check_header(header, path)
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


def _read_json(text: str, path: str, check_header: HeaderCheck) -> Iterator[tuple[int, TableRow]]:
    """Yield the objects of a JSON list with their numbers, or of JSON lines with their line numbers."""
    for line, row in _json_objects(text, path):
        if not isinstance(row, dict):
            raise FormatError(f"expected an object with the columns of a row, found {row!r}", path, line)
        check_header(list(row), path)
        yield line, row


def _json_objects(text: str, path: str) -> Iterator[tuple[int, Any]]:
    try:
        if text.lstrip()[0] == "[":
            yield from enumerate(json.loads(text), 1)
            return
    except json.JSONDecodeError as error:
        raise FormatError(f"is not JSON: {error.msg}", path, error.lineno) from None
    for line, content in enumerate(text.splitlines(), 1):
        if content.strip():
            try:
                yield line, json.loads(content)
            except json.JSONDecodeError as error:
                raise FormatError(f"expected one JSON object per line: {error.msg}", path, line) from None


def _read_parquet(path: str, check_header: HeaderCheck) -> Iterator[tuple[int, TableRow]]:
    """Yield the rows of a Parquet file with their numbers."""
    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FormatError(f"cannot be read as Parquet: {error}; download or write it again", path) from None
    check_header(frame.columns, path)
    yield from enumerate(frame.iter_rows(named=True), 1)
