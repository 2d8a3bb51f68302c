"""CSV and TSV: a header, then one row a line; a large file of pairs goes through Polars.

CSV is quoted as RFC 4180 says. TSV is never quoted, as in BEIR and MS MARCO. Ids, `text` and `title`
are text; any other column whose values all read as numbers holds numbers, and an empty value is None.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NoReturn

from assay.core.errors import FormatError
from assay.core.tables import Documents, Pairs, Queries
from assay.datasets.formats import Format, Kind, Table, kind_of_table
from assay.datasets.rows import WORDS, Row, check_columns, check_names, is_header, kind_of, table
from assay.datasets.sources import LONGEST_TEXT, Source

_INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})", re.ASCII)
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LEADING_ZERO = re.compile(r"[+-]?0\d", re.ASCII)
_HEADERLESS: dict[int, tuple[str, ...]] = {2: ("id", "text"), 3: ("query_id", "doc_id", "grade")}


def read(source: Source, kind: Kind | None, columns: Mapping[str, str], made: Format) -> Table:
    """The table of a CSV or TSV file."""
    rows = Delimited(source, made.name, columns)
    kind = kind or rows.kind()
    check_columns(rows.names, kind, columns, source.label)
    if kind in ("qrels", "run") and not rows.loose:
        from assay.datasets.large import is_large, read_large

        if is_large(source) and (big := read_large(source, kind, columns, rows.scan())) is not None:
            return big
    found = table(rows, kind, columns, source.label, source.name)
    return _typed(found) if isinstance(found, Queries | Documents) else found


class Delimited:
    """The rows of a file under the names of its header."""

    def __init__(self, source: Source, name: str, columns: Mapping[str, str]) -> None:
        self.source, self.columns = source, columns
        first = next((line for _, line in self._lines() if line.strip()), "")
        self.separator = "\t" if name == "tsv" else _separator(first)
        self.loose = '"' not in first and f"{self.separator} " in first  # "a, b": the blank is no part of b
        self._first = next(iter(self._split([(1, first)])), (1, [""]))[1]
        self.header = is_header(self._first, columns)
        self.names = self._first if self.header else self._guessed(columns)
        twice = next((name for name in self.names if self.names.count(name) > 1), None)
        if twice is not None:
            raise FormatError(f"two columns have the name {twice!r}; rename one", source.label, 1)

    def kind(self) -> Kind:
        """The kind of table, by its columns."""
        if not self.header and self.names == _HEADERLESS[2]:
            return "queries"
        return kind_of(self.names, self.columns, self.source.label)

    def scan(self) -> dict[str, Any]:
        """How Polars reads the same file."""
        return {
            "separator": self.separator,
            "quote_char": None if self.separator == "\t" else '"',
            "has_header": self.header,
            "new_columns": None if self.header else list(self.names),
        }

    def __iter__(self) -> Iterator[Row]:
        rows = self._split(self._lines())
        if self.header:
            next(rows, None)
        for line, fields in rows:
            if len(fields) != len(self.names):
                self._refuse(f"expected {len(self.names)} fields ({_listed(self.names)})", fields, line)
            yield line, dict(zip(self.names, fields, strict=True))

    def _guessed(self, columns: Mapping[str, str]) -> Sequence[str]:
        count = len(self._first)
        if columns:
            return [str(place + 1) for place in range(count)]
        if count == 3 and _INTEGER.fullmatch(self._first[2]):
            return _HEADERLESS[3]
        return _HEADERLESS[2] if count == 2 and self.separator == "\t" else self._first

    def _lines(self) -> Iterator[tuple[int, str]]:
        for number, line in self.source.lines(longest=LONGEST_TEXT):
            try:
                yield number, line.decode() + "\n"
            except UnicodeDecodeError:
                problem = "expected UTF-8 text, found other bytes; save the file as UTF-8"
                raise FormatError(problem, self.source.label, number) from None

    def _split(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
        """The fields of each row with the number of its first line, blank lines left out."""
        if self.separator == "\t":
            pairs = ((number, line.rstrip("\r\n")) for number, line in lines)
            return ((number, line.split("\t")) for number, line in pairs if line.strip())
        return self._parsed(lines)

    def _parsed(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_TEXT))
        texts = (line for _, line in lines)
        reader = csv.reader(texts, delimiter=self.separator, strict=True, skipinitialspace=self.loose)
        start = 1
        try:
            for fields in reader:
                if fields:
                    yield start, fields
                start = reader.line_num + 1
        except csv.Error as error:
            raise FormatError(f"is no CSV from here on: {error}", self.source.label, start) from None

    def _refuse(self, wanted: str, fields: Sequence[str], line: int) -> NoReturn:
        raise FormatError(f"{wanted}, found {len(fields)}: {_listed(fields)}", self.source.label, line)


def _listed(fields: Sequence[str]) -> str:
    words = [field if len(field) <= 40 else f"{field[:40]}…" for field in fields[:8]]
    return ", ".join(words) + (", …" if len(fields) > 8 else "")


def _separator(line: str) -> str:
    return ";" if ";" in line and "," not in line else ","


def _typed(found: Queries | Documents) -> Queries | Documents:
    kept = (found.key, *WORDS)
    made = {name: v if name in kept else typed(v) for name, v in found.columns.items()}
    return type(found)(made)


def typed(values: Sequence[str]) -> list[Any]:
    """A column of texts as numbers where all of them are numbers; None where there is no text.

    >>> typed(["3", "", "0.5"]), typed(["3", "007"])
    ([3, None, 0.5], ['3', '007'])
    """
    if all(not value or _is_number(value) for value in values):
        return [_number(value) if value else None for value in values]
    return [value or None for value in values]


def _is_number(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text)) or (
        bool(_FLOAT.fullmatch(text))
        and not _LEADING_ZERO.match(text)
        and abs(float(text)) != float("inf")
        and not text.lstrip("+-").isdigit()
    )


def _number(text: str) -> int | float:
    return int(text) if _INTEGER.fullmatch(text) and text != "-0" else float(text)


def write(found: Table, file: BinaryIO, label: str, made: Format) -> None:
    """A table as CSV or TSV; what would not read back as it is is refused."""
    separator = "\t" if made.name == "tsv" else ","
    if isinstance(found, Pairs):
        write_pairs(found, ("query_id", "doc_id", found.value_column), file, separator, label)
        return
    columns = _keyed_columns(found, label, made.name)
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    file.write("".join(_line(row, separator, label) for row in rows).encode())


def write_pairs(found: Pairs, names: Sequence[str], file: BinaryIO, separator: str, label: str) -> None:
    """Qrels or a run with a header of these names."""
    file.write(_line(names, separator, label).encode())
    shown = (lambda value: str(int(value))) if found.value_column == "grade" else repr
    for part in found.groups.parts:
        ids, values = part.ids.tolist(), map(shown, part.values.tolist())
        counts = zip(part.query_ids, part.lengths.tolist(), strict=True)
        queries = [query for query, count in counts for _ in range(count)]
        rows = zip(queries, ids, values, strict=True)
        if _are_plain(part.query_ids) and _are_plain(ids):
            lines = (f"{query}{separator}{doc}{separator}{value}\n" for query, doc, value in rows)
        else:
            lines = (_line(row, separator, label) for row in rows)
        file.write("".join(lines).encode())


def _are_plain(ids: Sequence[str]) -> bool:
    """Whether none of the ids needs a second look."""
    joined = "".join(ids)
    return "" not in ids and not any(mark in joined for mark in ' ,;"\t\r\n\ufeff')


def _keyed_columns(found: Queries | Documents, label: str, name: str) -> dict[str, list[str]]:
    check_names(list(found.columns), kind_of_table(found), label)
    return {
        column: _texts(column, values, found.key, label, name) for column, values in found.columns.items()
    }


def _texts(column: str, values: Sequence[Any], key: str, label: str, name: str) -> list[str]:
    """A column as texts that will be read as the same values."""
    texts = ["" if v is None else v if isinstance(v, str) else repr(v) for v in values]
    back: Sequence[Any] = texts if column in (key, *WORDS) else typed(texts)
    for value, again in zip(values, back, strict=True):
        if value != again or type(value) is not type(again):
            raise FormatError(
                f"column {column!r} holds {value!r}, which {name} would give back as {again!r}: "
                "write jsonl or parquet instead",
                label,
            )
    return texts


def _line(fields: Sequence[str], separator: str, label: str) -> str:
    if separator != "\t":
        return ",".join(map(_quoted, fields)) + "\n"
    line = "\t".join(fields)
    bad = "\n" in line or "\r" in line or line.count("\t") != len(fields) - 1 or not line.strip()
    if bad or not fields[0]:
        raise FormatError(
            f"{_listed(fields)!r} does not fit a line of TSV: write csv or jsonl instead", label
        )
    return line + "\n"


def _quoted(field: str) -> str:
    """A field as CSV writes it.

    >>> _quoted('say "hi", please')
    '"say ""hi"", please"'
    """
    plain = field and field[0] not in " \ufeff" and not any(mark in field for mark in ',";\r\n')
    return field if plain else '"' + field.replace('"', '""') + '"'
