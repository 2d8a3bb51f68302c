"""CSV and TSV files: a header, then one row on each line; large files of pairs are read with Polars.

CSV is quoted according to RFC 4180. TSV is never quoted, as in BEIR and MS MARCO. Ids, `text` and `title`
are text; any other column whose values can all be read as numbers is numeric, and an empty value is None.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NoReturn

from assay.core.csv_rows import quote_cell
from assay.core.errors import FormatError
from assay.core.tables import Documents, PairTable, Queries
from assay.datasets.formats import Format, Kind, Table, kind_of_table
from assay.datasets.input_files import LONGEST_TEXT, InputFile
from assay.datasets.rows import (
    TEXT_COLUMNS,
    Row,
    build_table,
    check_column_names,
    check_columns,
    column_aliases,
    infer_kind,
    is_header,
)

_INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})", re.ASCII)
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LEADING_ZERO = re.compile(r"[+-]?0\d", re.ASCII)
_DEFAULT_NAMES: dict[int, tuple[str, ...]] = {2: ("id", "text"), 3: ("query_id", "doc_id", "grade")}


def read(source: InputFile, kind: Kind | None, columns: Mapping[str, str], file_format: Format) -> Table:
    """Return the table of a CSV or TSV file."""
    rows = DelimitedRows(source, file_format.name, columns)
    rows.require_names(kind)
    kind = kind or rows.kind()
    check_columns(rows.names, kind, columns, source.label)
    if kind in ("qrels", "run") and not rows.has_spaces and source.is_large():
        from assay.datasets.large_files import read_large  # loads Polars

        if (large_table := read_large(source, kind, columns, rows.polars_options())) is not None:
            return large_table
    result = build_table(rows, kind, columns, source.label, source.name)
    return _infer_types(result) if isinstance(result, Queries | Documents) else result


class DelimitedRows:
    """The rows of a file under the names of its header."""

    def __init__(self, source: InputFile, name: str, columns: Mapping[str, str]) -> None:
        self.source, self.columns = source, columns
        first = next((line for _, line in source.text_lines(LONGEST_TEXT) if line.strip()), "")
        self.separator = "\t" if name == "tsv" else _guess_separator(first)
        self.has_spaces = (
            '"' not in first and f"{self.separator} " in first
        )  # "a, b": the blank is not part of b
        self._first = next(iter(self._split([(1, first)])), (1, [""]))[1]
        self.has_header = is_header(self._first, columns)
        self.names = self._first if self.has_header else self._guess_names(columns)
        duplicate = next((name for name in self.names if self.names.count(name) > 1), None)
        if duplicate is not None:
            raise FormatError(f"two columns have the name {duplicate!r}; rename one", source.label, 1)

    def require_names(self, kind: Kind | None) -> None:
        """Raise FormatError if the first line is no known header but looks like data."""
        looks_like_data = any(mark.isdigit() or mark.isspace() for mark in "".join(self._first))
        if self.has_header or self.names is not self._first or not looks_like_data:
            return
        noun = kind or "run"
        targets = list(column_aliases(noun))[:3]
        options = " ".join(f"--columns {noun}:{name}={place}" for place, name in enumerate(targets, 1))
        raise FormatError(
            f"expected a header with names such as {', '.join(targets)}, found {_list_fields(self._first)}: "
            f"add one; or number the columns of a file without a header ({options}; columns= in Python), "
            f"or name those of this header (--columns {noun}:{targets[0]}=NAME)",
            self.source.label,
            1,
        )

    def kind(self) -> Kind:
        """Return the kind of table, inferred from its columns."""
        if not self.has_header and self.names == _DEFAULT_NAMES[2]:
            return "queries"
        return infer_kind(self.names, self.columns, self.source.label)

    def polars_options(self) -> dict[str, Any]:
        """Return the options with which Polars reads the same file."""
        return {
            "separator": self.separator,
            "quote_char": None if self.separator == "\t" else '"',
            "has_header": self.has_header,
            "new_columns": None if self.has_header else list(self.names),
        }

    def __iter__(self) -> Iterator[Row]:
        rows = self._split(self.source.text_lines(LONGEST_TEXT))
        if self.has_header:
            next(rows, None)
        for line, fields in rows:
            if len(fields) != len(self.names):
                self._refuse(f"expected {len(self.names)} fields ({_list_fields(self.names)})", fields, line)
            yield line, dict(zip(self.names, fields, strict=True))

    def _guess_names(self, columns: Mapping[str, str]) -> Sequence[str]:
        count = len(self._first)
        if columns:
            return [str(place + 1) for place in range(count)]
        if count == 3 and _INTEGER.fullmatch(self._first[2]):
            return _DEFAULT_NAMES[3]
        return _DEFAULT_NAMES[2] if count == 2 and self.separator == "\t" else self._first

    def _split(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
        """Yield the fields of each row with the number of its first line, without blank lines."""
        if self.separator == "\t":
            pairs = ((number, line.rstrip("\r")) for number, line in lines)
            return ((number, line.split("\t")) for number, line in pairs if line.strip())
        return self._parse_csv(lines)

    def _parse_csv(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_TEXT))
        texts = (f"{line}\n" for _, line in lines)
        reader = csv.reader(texts, delimiter=self.separator, strict=True, skipinitialspace=self.has_spaces)
        start = 1
        try:
            for fields in reader:
                if fields:
                    yield start, fields
                start = reader.line_num + 1
        except csv.Error as error:
            raise FormatError(
                f"is not valid CSV from this line on: {error}", self.source.label, start
            ) from None

    def _refuse(self, expected: str, fields: Sequence[str], line: int) -> NoReturn:
        raise FormatError(f"{expected}, found {len(fields)}: {_list_fields(fields)}", self.source.label, line)


def _list_fields(fields: Sequence[str]) -> str:
    words = [field if len(field) <= 40 else f"{field[:40]}…" for field in fields[:8]]
    return ", ".join(words) + (", …" if len(fields) > 8 else "")


def _guess_separator(line: str) -> str:
    return ";" if ";" in line and "," not in line else ","


def _infer_types(table: Queries | Documents) -> Queries | Documents:
    text_columns = (table.key, *TEXT_COLUMNS)
    columns = {name: v if name in text_columns else parse_numbers(v) for name, v in table.columns.items()}
    return type(table)(columns)


def parse_numbers(values: Sequence[str]) -> list[Any]:
    """Return a column of texts as numbers if all of them are numbers; None for an empty text.

    >>> parse_numbers(["3", "", "0.5"]), parse_numbers(["3", "007"])
    ([3, None, 0.5], ['3', '007'])
    """
    if all(not value or _is_number(value) for value in values):
        return [_parse_number(value) if value else None for value in values]
    return [value or None for value in values]


def _is_number(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text)) or (
        bool(_FLOAT.fullmatch(text))
        and not _LEADING_ZERO.match(text)
        and abs(float(text)) != float("inf")
        and not text.lstrip("+-").isdigit()
    )


def _parse_number(text: str) -> int | float:
    return int(text) if _INTEGER.fullmatch(text) and text != "-0" else float(text)


def write(table: Table, file: BinaryIO, label: str, file_format: Format) -> None:
    """Write a table as CSV or TSV; raise FormatError if a value would change when read again."""
    separator = "\t" if file_format.name == "tsv" else ","
    if isinstance(table, PairTable):
        write_pairs(table, ("query_id", "doc_id", table.value_column), file, separator, label)
        return
    columns = _text_columns(table, label, file_format.name)
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    file.write("".join(_format_line(row, separator, label) for row in rows).encode())


def write_pairs(table: PairTable, names: Sequence[str], file: BinaryIO, separator: str, label: str) -> None:
    """Write qrels or a run with these names in the header."""
    file.write(_format_line(names, separator, label).encode())
    format_value = (lambda value: str(int(value))) if table.value_column == "grade" else repr
    for part in table.groups.parts:
        ids, values = part.ids.tolist(), map(format_value, part.values.tolist())
        counts = zip(part.query_ids, part.lengths.tolist(), strict=True)
        queries = [query for query, count in counts for _ in range(count)]
        rows = zip(queries, ids, values, strict=True)
        if _are_plain(part.query_ids) and _are_plain(ids):
            lines = (f"{query}{separator}{doc}{separator}{value}\n" for query, doc, value in rows)
        else:
            lines = (_format_line(row, separator, label) for row in rows)
        file.write("".join(lines).encode())


def _are_plain(ids: Sequence[str]) -> bool:
    """Return whether none of the ids needs quotes or a check."""
    text = "".join(ids)
    return "" not in ids and not any(mark in text for mark in ' ,;"\t\r\n\ufeff')


def _text_columns(table: Queries | Documents, label: str, name: str) -> dict[str, list[str]]:
    check_column_names(list(table.columns), kind_of_table(table), label)
    return {
        column: _column_texts(column, values, table.key, label, name)
        for column, values in table.columns.items()
    }


def _column_texts(column: str, values: Sequence[Any], key: str, label: str, name: str) -> list[str]:
    """Return a column as texts; raise FormatError if they would be read as other values."""
    texts = ["" if v is None else v if isinstance(v, str) else repr(v) for v in values]
    read_values: Sequence[Any] = texts if column in (key, *TEXT_COLUMNS) else parse_numbers(texts)
    for value, read_value in zip(values, read_values, strict=True):
        if value != read_value or type(value) is not type(read_value):
            raise FormatError(
                f"column {column!r} holds {value!r}, which would be read from {name} as {read_value!r}: "
                "write jsonl or parquet instead",
                label,
            )
    return texts


def _format_line(fields: Sequence[str], separator: str, label: str) -> str:
    if separator != "\t":
        return ",".join(map(_quote_field, fields)) + "\n"
    line = "\t".join(fields)
    is_bad = "\n" in line or "\r" in line or line.count("\t") != len(fields) - 1 or not line.strip()
    if is_bad or not fields[0]:
        raise FormatError(
            f"{_list_fields(fields)!r} cannot be a line of TSV: write csv or jsonl instead", label
        )
    return line + "\n"


def _quote_field(field: str) -> str:
    """Return a field of CSV, in quotes if necessary.

    >>> _quote_field('say "hi", please')
    '"say ""hi"", please"'
    """
    is_plain = field and field[0] not in " \ufeff" and not any(mark in field for mark in ',";\r\n')
    return field if is_plain else quote_cell(field)
