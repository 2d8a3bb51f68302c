"""JSONL: one JSON object a line; also the rows of BEIR, whose `metadata` become columns."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from json.encoder import encode_basestring as _text
from typing import Any, BinaryIO

from assay.core.errors import FormatError
from assay.core.tables import Pairs
from assay.datasets.formats import Format, Kind, Table, kind_of_table
from assay.datasets.rows import Row, check_names, kind_of, table
from assay.datasets.sources import LONGEST_TEXT, Source


def read(source: Source, kind: Kind | None, columns: Mapping[str, str], made: Format) -> Table:
    """The table of a JSONL file."""
    if kind is None:
        first = next(rows(source), None)
        if first is None:
            raise FormatError("expected JSON objects, one a line, found none", source.label)
        kind = kind_of(first[1], columns, source.label)
    if kind in ("qrels", "run"):
        from assay.datasets.large import is_large, read_large

        if is_large(source) and (big := read_large(source, kind, columns, None)) is not None:
            return big
    return table(rows(source), kind, columns, source.label, source.name)


def rows(source: Source) -> Iterator[Row]:
    """The objects of the file with their lines."""
    for number, line in source.lines(longest=LONGEST_TEXT):
        if line.strip():
            yield number, _flat(parsed(line, source.label, number))


def parsed(line: bytes, label: str, number: int) -> dict[str, Any]:
    """The object that stands on a line."""
    found = decoded(line, label, number)
    if not isinstance(found, dict):
        problem = (
            f"expected a JSON object, found {type(found).__name__}: {line[:60].decode(errors='replace')}"
        )
        raise FormatError(problem, label, number)
    return found


def decoded(
    data: bytes, label: str, number: int = 1, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> Any:
    """JSON that begins on this line of a file; `pairs` makes its objects."""
    try:
        found = json.loads(data.decode(), object_pairs_hook=pairs)
        if b"\\ud" in data or b"\\uD" in data:
            json.dumps(found, ensure_ascii=False).encode()  # half of a surrogate pair is no text
    except UnicodeDecodeError as error:
        line = number + data[: error.start].count(b"\n")
        raise FormatError(
            "expected UTF-8 text, found other bytes; save the file as UTF-8", label, line
        ) from None
    except json.JSONDecodeError as error:
        problem = f"is no JSON at column {error.colno}: {error.msg}"
        raise FormatError(problem, label, number + error.lineno - 1) from None
    except UnicodeEncodeError:
        raise FormatError("holds half of a surrogate pair, which is no text", label, number) from None
    except (RecursionError, ValueError) as error:
        raise FormatError(f"is no JSON that can be read: {error}", label, number) from None
    return found


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row of BEIR with its metadata as columns.

    >>> _flat({"_id": "q1", "text": "how", "metadata": {"category": "faq", "text": "x"}})
    {'_id': 'q1', 'text': 'how', 'category': 'faq', 'metadata.text': 'x'}
    """
    metadata = row.get("metadata") or {}
    if "_id" not in row or "metadata" not in row or not isinstance(metadata, dict):
        return row
    made = {name: value for name, value in row.items() if name != "metadata"}
    taken = {*made, "query_id", "doc_id", "text", "title"}
    for name, value in metadata.items():
        made[f"metadata.{name}" if name in taken else name] = value
    return made


def write(found: Table, file: BinaryIO, label: str, made: Format) -> None:
    """A table as one JSON object a line."""
    if not isinstance(found, Pairs):
        check_names(list(found.columns), kind_of_table(found), label)
        names = list(found.columns)
        for row in zip(*found.columns.values(), strict=True):
            file.write(line_of(dict(zip(names, row, strict=True)), label))
        return
    for part in found.groups.parts:
        counts = zip(map(_text, part.query_ids), part.lengths.tolist(), strict=True)
        queries = (query for query, count in counts for _ in range(count))
        values = map(_shown_as(found.value_column), part.values.tolist())
        rows = zip(queries, map(_text, part.ids.tolist()), values, strict=True)
        column = _text(found.value_column)
        lines = (f'{{"query_id": {q}, "doc_id": {d}, {column}: {value}}}\n' for q, d, value in rows)
        file.write("".join(lines).encode())


def _shown_as(column: str) -> Callable[[float], str]:
    """How a grade or a score is written; JSON has no infinity, so that is written as text."""
    if column == "grade":
        return lambda value: str(int(value))
    return lambda value: repr(value) if math.isfinite(value) else f'"{value}"'


def line_of(row: dict[str, Any], label: str) -> bytes:
    """An object as a line; a value that JSON would not give back is refused."""
    try:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False)
        if json.loads(text) == row:
            return text.encode() + b"\n"
        problem = "would not be the same when read"
    except (TypeError, ValueError) as error:
        problem = str(error)
    shown = {name: value for name, value in row.items() if not isinstance(value, str | None)}
    raise FormatError(f"JSON cannot hold {shown!r} ({problem}): write parquet, or make it text", label)
