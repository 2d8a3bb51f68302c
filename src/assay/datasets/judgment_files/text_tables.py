"""Tables of judgments as text: fields separated by commas, semicolons, tabs or blanks."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from assay.core.csv_rows import quote_cell
from assay.core.errors import FormatError
from assay.core.judgments import Judgments
from assay.datasets.input_files import LONGEST_TEXT, InputFile
from assay.datasets.judgment_files.cells import Cells
from assay.datasets.judgment_files.grades import is_empty, parse_grades
from assay.datasets.judgment_files.layout import is_known_name
from assay.datasets.judgment_files.plain_rows import plain_rows

_HEAD_LINES = 200
_Rows = Iterator[tuple[int, list[str]]]


def choose_separator(source: InputFile, name: str) -> str | None:
    """Return what separates the fields of a file; None: blanks."""
    if name in ("csv", "tsv"):
        return "\t" if name == "tsv" else _comma(_first_line(source))
    first = _first_line(source)
    if "\t" in first:
        return "\t"
    return _comma(first) if "," in first or ";" in first else None


def _first_line(source: InputFile) -> str:
    return next((line for _, line in source.text_lines(LONGEST_TEXT) if line.strip()), "")


def _comma(line: str) -> str:
    return ";" if ";" in line and "," not in line else ","


def is_trec(source: InputFile, separator: str | None, name: str) -> bool:
    """Return whether a file is qrels of TREC: query, iteration, document and a whole number."""
    if name not in ("", "txt") or separator not in (None, "\t"):
        return False
    rows = [fields for _, fields in _head(source, None)]
    is_regular = bool(rows) and all(len(row) == 4 and _is_whole(row[3]) for row in rows)
    if source.path.lower().endswith((".tsv", ".tab")):
        return is_regular and len({row[1] for row in rows}) == 1
    return is_regular


def _head(source: InputFile, separator: str | None) -> list[tuple[int, list[str]]]:
    rows = _split(source, separator)
    return [row for row, _ in zip(rows, range(_HEAD_LINES), strict=False)]


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def read_text_table(source: InputFile, separator: str | None, columns: Mapping[str, str]) -> Cells:
    """Return the columns of a file by the names in its header, or by their numbers if it has none."""
    rows = _split(source, separator)
    line, first = next(rows, (1, []))
    if not first:
        raise FormatError("the file is empty; expected judgments", source.label)
    if separator is None and len(first) == 6 and not columns and not parse_grades([first[4]]).texts:
        raise FormatError("expected judgments, found a run (6 fields with a score)", source.label, line)
    has_header = _is_header(first, columns)
    names = [name.strip() for name in first] if has_header else [str(i + 1) for i in range(len(first))]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise FormatError(f"two columns have the name {repeated!r}; rename one", source.label, line)
    lines, table = ([] if has_header else [line]), ([] if has_header else [first])
    for line, fields in rows:
        if len(fields) != len(names):
            raise FormatError(
                f"expected {len(names)} fields ({', '.join(names)}), found {len(fields)}: "
                f"{', '.join(fields)[:80]}",
                source.label,
                line,
            )
        lines.append(line)
        table.append(fields)
    values = list(zip(*table, strict=True)) if table else [()] * len(names)
    cells = Cells(dict(zip(names, values, strict=True)), lines, source.label)
    return cells if has_header else _name_columns(cells, columns)


def _is_header(first: Sequence[str], columns: Mapping[str, str]) -> bool:
    if columns and all(name.isdecimal() for name in columns.values()):
        return False
    is_known = any(is_known_name(field, columns) for field in first)
    return is_known or is_empty(first[-1]) or bool(parse_grades([first[-1]]).texts)


def _name_columns(cells: Cells, columns: Mapping[str, str]) -> Cells:
    """Return a table without a header under the names that its columns must have."""
    values = list(cells.columns.values())
    if columns:
        return cells
    if len(values) == 4:
        names: tuple[str, ...] = ("query_id", "doc_id", "judge", "grade")
    elif len(values) == 3 and len(set(values[1])) < len(set(values[0])):
        names = ("item", "judge", "grade")
    else:
        raise FormatError(
            "expected a header with names such as query_id, doc_id, judge, grade, found "
            f"{', '.join(column[0] for column in values)[:80]}: add one, or number the columns "
            "(--columns doc_id=1 --columns judge=2 --columns grade=3; columns= in Python)",
            cells.label,
            1,
        )
    return Cells(dict(zip(names, values, strict=True)), cells.places, cells.label)


def _split(source: InputFile, separator: str | None) -> _Rows:
    lines = source.text_lines(LONGEST_TEXT)
    if separator is None:
        return ((n, line.split()) for n, line in lines if line.strip() and line[0] != "#")
    if separator == "\t":
        return ((n, line.rstrip("\r").split("\t")) for n, line in lines if line.strip())
    return _split_csv(source, separator)


def _split_csv(source: InputFile, separator: str) -> _Rows:
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_TEXT))
    texts = (f"{line}\n" for _, line in source.text_lines(LONGEST_TEXT))
    first = _first_line(source)
    has_spaces = '"' not in first and f"{separator} " in first
    reader = csv.reader(texts, delimiter=separator, strict=True, skipinitialspace=has_spaces)
    start = 1
    try:
        for fields in reader:
            if fields:
                yield start, fields
            start = reader.line_num + 1
    except csv.Error as error:
        raise FormatError(f"is not valid CSV from this line on: {error}", source.label, start) from None


def write_text_table(judgments: Judgments, file: BinaryIO, label: str, separator: str) -> None:
    """Write one line for each judgment, under a header."""
    names, rows = plain_rows(judgments)
    for fields in [names, *rows]:
        texts = ["" if field is None else str(field) for field in fields]
        line = separator.join(map(_quote, texts) if separator == "," else texts)
        if separator == "\t" and (line.count("\t") != len(texts) - 1 or "\n" in line or "\r" in line):
            raise FormatError(f"{texts!r:.80} cannot be a line of TSV: write csv or jsonl instead", label)
        file.write(f"{line}\n".encode())


def _quote(text: str) -> str:
    is_plain = not text or (text[0] not in " \ufeff" and not any(mark in text for mark in ',;"\t\r\n'))
    return text if is_plain else quote_cell(text)
