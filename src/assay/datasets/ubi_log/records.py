"""The records of log files: JSON lines, JSON, Parquet, CSV, plain or in gzip, zstd or ZIP."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, NamedTuple, cast

import polars as pl

from assay.core.errors import FormatError, first_line
from assay.datasets.input_files import LONGEST_TEXT, InputFile
from assay.datasets.ubi_log.problem_log import ProblemLog

_SLICE_ROWS = 1 << 16
_PARQUET, _ZIP = b"PAR1", b"PK\x03\x04"
_DECODER = json.JSONDecoder()
_RECORD_LINE = re.compile(r"\n(?=[^\s]|[ \t]*\{)")


class Record(NamedTuple):
    """A record of a log and its place."""

    source: str
    line: int | None
    value: Mapping[str, Any]


def as_input_file(source: str | PathLike[str] | InputFile) -> InputFile:
    """Return the file of a path; an open stream can be read only as one and the same file."""
    return source if isinstance(source, InputFile) else InputFile(source)


def read_records(source: str | PathLike[str] | InputFile, problems: ProblemLog) -> Iterator[Record]:
    """Yield the records of a file; what is not a record is counted."""
    source = as_input_file(source)
    head = source.head(1 << 16)
    if not head.strip():
        raise FormatError("is empty; expected queries and events", source.label)
    if head.startswith(_ZIP):
        yield from _zip_records(source, problems)
    elif head.startswith(_PARQUET):
        yield from _frame_records(source, problems)
    elif _is_csv(head):
        with io.BufferedReader(cast(io.RawIOBase, source.open()), 1 << 20) as raw:
            text = io.TextIOWrapper(raw, "utf-8-sig", errors="replace", newline="")
            yield from _csv_records(text, source.label, problems)
    else:
        lines = source.lines(longest=LONGEST_TEXT)
        yield from _json_records(lines, source.label, problems)


def _is_csv(head: bytes) -> bool:
    first = head.split(b"\n", 1)[0]
    return (
        not first.lstrip().startswith((b"{", b"["))
        and b"{" not in first
        and (b"," in first or b"\t" in first)
    )


def _zip_records(source: InputFile, problems: ProblemLog) -> Iterator[Record]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.read()))
    except zipfile.BadZipFile as error:
        raise FormatError(f"cannot be read as ZIP: {error}; download it again", source.label) from None
    for member in archive.infolist():
        label = f"{source.label}/{member.filename}"
        if member.is_dir() or member.filename.startswith("__MACOSX"):
            continue
        try:
            data = archive.read(member)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            problems.add("file that cannot be read", label, None, first_line(error))
            continue
        if _is_csv(data):
            yield from _csv_records(io.StringIO(data.decode("utf-8", "replace"), newline=""), label, problems)
        else:
            yield from _json_records(enumerate(data.split(b"\n"), 1), label, problems)


def _frame_records(source: InputFile, problems: ProblemLog) -> Iterator[Record]:
    try:
        lazy = pl.scan_parquet(source.path if source.is_plain() else io.BytesIO(source.read()))
        count = lazy.select(pl.len()).collect().item()
        for begin in range(0, count, _SLICE_ROWS):
            rows = lazy.slice(begin, _SLICE_ROWS).collect().iter_rows(named=True)
            for number, row in enumerate(rows, begin + 1):
                yield from _unwrap(Record(source.label, number, _nest(row)), problems)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise FormatError(f"cannot be read as Parquet: {first_line(error)}", source.label) from None


def _csv_records(text: Iterable[str], label: str, problems: ProblemLog) -> Iterator[Record]:
    csv.field_size_limit(LONGEST_TEXT)
    lines = iter(text)
    header = next(lines, "")
    separator = "\t" if "\t" in header else ","
    names = next(csv.reader([header], delimiter=separator), [])
    reader, line = csv.reader(lines, delimiter=separator), 1
    for row in reader:
        first, line = line + 1, reader.line_num + 1
        if len(row) == len(names):
            yield from _unwrap(Record(label, line, _nest(dict(zip(names, row, strict=True)))), problems)
            continue
        for number in range(first, line + 1) if row else ():
            problems.add("not a record", label, number, f"{len(row)} fields under {len(names)} names")


def _nest(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a flat row with dotted names as nested objects, JSON texts as values, and without empty cells.

    >>> _nest({"a.b": "1", "c": '["x"]', "d": ""})
    {'a': {'b': '1'}, 'c': ['x']}
    """
    record: dict[str, Any] = {}
    for name, value in row.items():
        parsed = _parse_cell(value)
        if parsed is None or parsed == "":
            continue
        *parents, leaf = name.split(".")
        target = record
        for parent in parents:
            inner = target.setdefault(parent, {})
            target = inner if isinstance(inner, dict) else {}
        if isinstance(target.get(leaf), dict) and isinstance(parsed, Mapping):
            target[leaf] = {**parsed, **target[leaf]}
        else:
            target[leaf] = parsed
    return record


def _parse_cell(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _json_records(lines: Iterable[tuple[int, bytes]], label: str, problems: ProblemLog) -> Iterator[Record]:
    """Yield the records of JSON lines; a file whose first line only opens a value is read as one JSON value.

    A word before the object, such as the name of an index, is skipped.
    """
    numbered, is_first = iter(lines), True
    for number, line in numbered:
        text = line.strip().removeprefix(b"\xef\xbb\xbf")
        if not text:
            continue
        opens = text in (b"[", b"{") or (text[:1] == b"[" and not text.endswith(b"]"))
        if is_first and opens:
            yield from _whole_json(number, [line, *(rest for _, rest in numbered)], label, problems)
            return
        is_first = False
        value = _parse(text)
        if value is None:
            problems.add("not JSON", label, number, text[:80].decode("utf-8", "replace"))
            continue
        for item in value if isinstance(value, list) else [value]:
            yield from _unwrap(Record(label, number, item), problems)


def _parse(text: bytes) -> Any:
    """Return the JSON value of a line, None if it has none."""
    begin = text.find(b"{")
    for candidate in (text, text[begin:] if 0 < begin <= 80 else b""):
        try:
            return _DECODER.decode(candidate.decode()) if candidate else None
        except ValueError:
            continue
    return None


def _whole_json(number: int, lines: list[bytes], label: str, problems: ProblemLog) -> Iterator[Record]:
    """Yield the records of one JSON value, or of several one after the other, on many lines."""
    text = b"\n".join(line.rstrip(b"\r\n") for line in lines).decode("utf-8", "replace")
    text = text.removeprefix("\ufeff")
    decoder, position, counted = json.JSONDecoder(), 0, 0
    if text.lstrip().startswith("["):
        position = text.index("[") + 1
    while (position := _skip(text, position)) < len(text):
        number += text.count("\n", counted, position)
        counted = position
        try:
            value, position = decoder.raw_decode(text, position)
        except ValueError as error:
            problems.add("not JSON", label, number, first_line(error))
            position = _next_record(text, position)
            continue
        for item in value if isinstance(value, list) else [value]:
            yield from _unwrap(Record(label, number, item), problems)


def _skip(text: str, position: int) -> int:
    """Return the position of the next value: after spaces, commas and ends of lists."""
    while position < len(text) and text[position] in " \t\r\n,]":
        position += 1
    return position


def _next_record(text: str, position: int) -> int:
    """Return the position of the next line after a broken record that is not indented or opens an object."""
    found = _RECORD_LINE.search(text, position)
    return found.end() if found else len(text)


def _unwrap(record: Record, problems: ProblemLog) -> Iterator[Record]:
    """Yield the record inside of a search hit, of a search response or of a query request.

    Lines that only say where the next one is to be stored (bulk requests) are skipped.
    """
    value = record.value
    if not isinstance(value, dict):
        problems.add("not a record", record.source, record.line, json.dumps(value)[:80])
        return
    hits = value.get("hits")
    inner = hits.get("hits") if isinstance(hits, dict) else None
    if isinstance(inner, list):
        for hit in inner:
            yield from _unwrap(Record(record.source, record.line, hit), problems)
    elif isinstance(value.get("_source"), dict):
        yield record._replace(value=value["_source"])
    elif len(value) == 1 and next(iter(value)) in ("index", "create"):
        return
    else:
        yield record._replace(value=_request_part(value))


def _request_part(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the UBI part of a request to a search engine, or the value itself."""
    extension = value.get("ext")
    if isinstance(extension, dict) and isinstance(extension.get("ubi"), dict):
        return dict(extension["ubi"])
    parameters = value.get("params")
    if isinstance(parameters, Mapping) and "ubi" in parameters:
        return dict(parameters)
    return value
