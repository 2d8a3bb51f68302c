"""JSONL files: one JSON object on each line; in rows of BEIR the fields of `metadata` become columns."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from json.encoder import encode_basestring as _quote
from typing import Any, BinaryIO

from assay.core.errors import FormatError
from assay.core.tables import PairTable
from assay.datasets.formats import Format, Kind, Table, kind_of_table
from assay.datasets.input_files import LONGEST_TEXT, NOT_UTF8, InputFile
from assay.datasets.rows import Row, build_table, check_column_names, infer_kind


def read(source: InputFile, kind: Kind | None, columns: Mapping[str, str], file_format: Format) -> Table:
    """Return the table of a JSONL file."""
    if kind is None:
        first = next(read_rows(source), None)
        if first is None:
            raise FormatError("expected JSON objects, one on each line, found none", source.label)
        kind = infer_kind(first[1], columns, source.label)
    if kind in ("qrels", "run") and source.is_large():
        from assay.datasets.large_files import read_large  # loads Polars

        if (large_table := read_large(source, kind, columns, None)) is not None:
            return large_table
    return build_table(read_rows(source), kind, columns, source.label, source.name)


def read_rows(source: InputFile) -> Iterator[Row]:
    """Yield the objects of the file with their line numbers."""
    for number, line in source.lines(longest=LONGEST_TEXT):
        if line.strip():
            yield number, _flatten_metadata(parse_object(line, source.label, number))


def parse_object(line: bytes, label: str, number: int) -> dict[str, Any]:
    """Return the object on a line."""
    value = decode_json(line, label, number)
    if not isinstance(value, dict):
        problem = (
            f"expected a JSON object, found {type(value).__name__}: {line[:60].decode(errors='replace')}"
        )
        raise FormatError(problem, label, number)
    return value


def decode_json(
    data: bytes, label: str, number: int = 1, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> Any:
    """Return the value of JSON that begins on this line of a file; `pairs` builds its objects."""
    try:
        value = json.loads(data.decode(), object_pairs_hook=pairs)
        if b"\\ud" in data or b"\\uD" in data:
            json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is not valid text
    except UnicodeDecodeError as error:
        line = number + data[: error.start].count(b"\n")
        raise FormatError(NOT_UTF8, label, line) from None
    except json.JSONDecodeError as error:
        problem = f"is not valid JSON at column {error.colno}: {error.msg}"
        raise FormatError(problem, label, number + error.lineno - 1) from None
    except UnicodeEncodeError:
        raise FormatError("holds half of a surrogate pair, which is not valid text", label, number) from None
    except (RecursionError, ValueError) as error:
        raise FormatError(f"cannot be read as JSON: {error}", label, number) from None
    return value


def _flatten_metadata(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of BEIR with its metadata as columns.

    >>> _flatten_metadata({"_id": "q1", "text": "how", "metadata": {"category": "faq", "text": "x"}})
    {'_id': 'q1', 'text': 'how', 'category': 'faq', 'metadata.text': 'x'}
    """
    metadata = row.get("metadata") or {}
    if "_id" not in row or "metadata" not in row or not isinstance(metadata, dict):
        return row
    columns = {name: value for name, value in row.items() if name != "metadata"}
    reserved = {*columns, "query_id", "doc_id", "text", "title"}
    for name, value in metadata.items():
        columns[f"metadata.{name}" if name in reserved else name] = value
    return columns


def write(table: Table, file: BinaryIO, label: str, file_format: Format) -> None:
    """Write a table as one JSON object on each line."""
    if not isinstance(table, PairTable):
        check_column_names(list(table.columns), kind_of_table(table), label)
        names = list(table.columns)
        for row in zip(*table.columns.values(), strict=True):
            file.write(format_line(dict(zip(names, row, strict=True)), label))
        return
    for part in table.groups.parts:
        counts = zip(map(_quote, part.query_ids), part.lengths.tolist(), strict=True)
        queries = (query for query, count in counts for _ in range(count))
        values = map(_value_formatter(table.value_column), part.values.tolist())
        rows = zip(queries, map(_quote, part.ids.tolist()), values, strict=True)
        column = _quote(table.value_column)
        lines = (f'{{"query_id": {q}, "doc_id": {d}, {column}: {value}}}\n' for q, d, value in rows)
        file.write("".join(lines).encode())


def _value_formatter(column: str) -> Callable[[float], str]:
    """Return the function that formats a grade or a score; JSON has no infinity, so that becomes text."""
    if column == "grade":
        return lambda value: str(int(value))
    return lambda value: repr(value) if math.isfinite(value) else f'"{value}"'


def format_line(row: dict[str, Any], label: str) -> bytes:
    """Return an object as a line; raise FormatError if a value would change in JSON."""
    try:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False)
        if json.loads(text) == row:
            return text.encode() + b"\n"
        problem = "the values would change"
    except (TypeError, ValueError) as error:
        problem = str(error)
    values = {name: value for name, value in row.items() if not isinstance(value, str | None)}
    raise FormatError(f"JSON cannot hold {values!r} ({problem}): write parquet, or convert it to text", label)
