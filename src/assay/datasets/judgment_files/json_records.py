"""Judgments as JSON: rows as objects, and the exports of annotation tools, told apart by their keys."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from assay.core.errors import FormatError
from assay.core.judgments import Judgments
from assay.datasets.input_files import LONGEST_TEXT, InputFile
from assay.datasets.jsonl import decode_json, parse_object
from assay.datasets.judgment_files.cells import Cells
from assay.datasets.judgment_files.plain_rows import plain_rows

LARGEST_FILE = 1 << 30
Records = Sequence[tuple[int, Any]]  # each with its line or number


class JsonContent:
    """The objects of a JSON or JSONL file, with their places."""

    def __init__(self, source: InputFile, name: str) -> None:
        self.label = source.label
        self.whole: Any = None  # the value of a JSON file
        if name == "jsonl" or (name != "json" and _is_jsonl(source)):
            self.unit = "line"
            self.records: Records = [
                (number, parse_object(line, source.label, number))
                for number, line in source.lines(longest=LONGEST_TEXT)
                if line.strip()
            ]
        else:
            self.unit = "record"
            self.whole = decode_json(source.read(LARGEST_FILE), source.label)
            self.records = list(enumerate(self.whole, 1)) if isinstance(self.whole, list) else []

    def first_with(self, key: str) -> bool:
        """Return whether one of the first objects has a key that is not empty."""
        return any(isinstance(record, dict) and record.get(key) for _, record in self.records[:100])

    def objects(self) -> list[tuple[int, dict[str, Any]]]:
        """Return the objects with their places; raise FormatError for anything else."""
        for place, record in self.records:
            if not isinstance(record, dict):
                raise self.error(place, f"expected an object, found {record!r:.60}")
        return list(self.records)

    def error(self, place: int, problem: str) -> FormatError:
        """Return the error for a problem of a record."""
        if self.unit == "line":
            return FormatError(problem, self.label, place)
        return FormatError(f"{self.unit} {place}: {problem}", self.label)

    def cells(self, rows: Sequence[tuple[int, Mapping[str, Any]]]) -> Cells:
        """Return rows as columns; a value that a row lacks is None."""
        names = dict.fromkeys(name for _, row in rows for name in row)
        columns = {name: [row.get(name) for _, row in rows] for name in names}
        return Cells(columns, [place for place, _ in rows], self.label, self.unit)


def _is_jsonl(source: InputFile) -> bool:
    """Return whether the first line is a JSON object of its own."""
    first, _, rest = source.head().lstrip().partition(b"\n")
    try:
        value = json.loads(first)
    except ValueError:
        return False
    is_flat = isinstance(value, dict) and not any(isinstance(part, list | dict) for part in value.values())
    return is_flat or (isinstance(value, dict) and bool(rest.strip()))


def write_jsonl(judgments: Judgments, file: BinaryIO) -> None:
    """Write one object for each judgment, one on each line."""
    names, rows = plain_rows(judgments)
    for row in rows:
        line = json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False)
        file.write(f"{line}\n".encode())


def write_json(records: Any, file: BinaryIO) -> None:
    """Write a JSON value."""
    file.write(f"{json.dumps(records, indent=1, ensure_ascii=False)}\n".encode())


def json_rows(judgments: Judgments) -> list[dict[str, Any]]:
    """Return one object for each judgment."""
    names, rows = plain_rows(judgments)
    return [dict(zip(names, row, strict=True)) for row in rows]
