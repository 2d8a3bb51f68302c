"""SMART collections such as Cranfield: records of `.I .T .A .B .W`, judgments in three fields.

A marker counts once in a record, so a later line that looks like one is text (`.A` may be repeated
directly, once for each author). Queries are numbered by their order, as in the judgments, and keep the
text after `.I` as `number`. In the judgments 1 is the best document and 4 the least relevant, so the
grade is 5 minus that; 5 and -1 (of no interest) are grade 0.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from assay.core.errors import FormatError
from assay.core.tables import Documents, Qrels, Queries, duplicate_problem
from assay.core.unsupported_files import unsupported_problem
from assay.datasets.formats import Collection, Format, Kind, Table, as_collection
from assay.datasets.input_files import InputFile
from assay.datasets.output_files import make_folder, open_for_writing

MARKERS = {
    ".T": "title",
    ".A": "author",
    ".B": "source",
    ".K": "keywords",
    ".C": "categories",
    ".N": "note",
    ".X": "references",
    ".W": "text",
}
_MARKER_BY_COLUMN = {name: marker for marker, name in MARKERS.items()}
RECORD_START = re.compile(r"\.I\s+(\S+)\s*")
_BARE_RECORD_START = re.compile(r"\.I\s*")
_FILES = {"documents": "documents.all", "queries": "queries.qry", "qrels": "qrels.rel"}
_QRELS_LINE = re.compile(rb"\s*\d+\s+\d+\s+-?\d+\s*")
Record = tuple[int, str, dict[str, list[str]]]


def read(
    source: InputFile, kind: Kind | None, columns: Mapping[str, str], file_format: Format
) -> Collection | Table:
    """Return the tables of a folder, or the table of a file."""
    path = Path(source.path)
    if source.path != "-" and path.is_dir():
        return _read_folder(path, source.label).select(kind, source.label)
    kind = kind or kind_of_file(source) or "qrels"
    if kind == "qrels":
        return Qrels(_read_judgments(source))
    return _read_documents(source) if kind == "documents" else _read_queries(source)


def kind_of_file(source: InputFile) -> Kind | None:
    """Return the kind of table in a file of a SMART collection, None if it is not such a file."""
    lines = [line for line in source.head().split(b"\n") if line.strip()][:400]
    if not lines:
        return None
    if not RECORD_START.fullmatch(lines[0].decode(errors="replace")):
        return "qrels" if all(_QRELS_LINE.fullmatch(line) for line in lines[:-1] or lines) else None
    name = Path(source.path).name.lower()
    if any(word in name for word in ("qry", "quer", "topic")):
        return "queries"
    markers = {line.rstrip().decode(errors="replace") for line in lines} & set(MARKERS)
    named_as_documents = any(word in name for word in (".all", "doc", "corpus"))
    return "documents" if named_as_documents or markers - {".W"} else "queries"


def is_smart(path: Path) -> bool:
    """Return whether a folder contains a file of records."""
    return any(kind in ("documents", "queries") for kind in _sources_by_kind(path))


def _sources_by_kind(path: Path) -> dict[Kind, InputFile]:
    sources: dict[Kind, InputFile] = {}
    for file in sorted(path.iterdir()):
        if file.is_file() and not file.name.startswith(".") and not unsupported_problem(file.name):
            source = InputFile(file)
            if kind := kind_of_file(source):
                sources.setdefault(kind, source)
    return sources


def _read_folder(path: Path, label: str) -> Collection:
    sources = _sources_by_kind(path)
    if not sources:
        raise FormatError("expected files of a SMART collection (.I .T .A .B .W), found none", label)
    return Collection(
        _read_queries(sources["queries"]) if "queries" in sources else None,
        Qrels(_read_judgments(sources["qrels"])) if "qrels" in sources else None,
        _read_documents(sources["documents"]) if "documents" in sources else None,
    )


def _read_documents(source: InputFile) -> Documents:
    return Documents(_build_columns("doc_id", _read_records(source), source.label))


def _read_queries(source: InputFile) -> Queries:
    columns = _build_columns("number", _read_records(source), source.label)
    numbers = _parse_numbers(columns.pop("number"))
    order = [str(place + 1) for place in range(len(numbers))]
    queries = Queries({"query_id": order, "number": numbers} | columns)
    queries.has_derived_ids = True
    return queries


def _parse_numbers(texts: list[str]) -> list[Any]:
    """Return the texts after `.I`, as whole numbers if all of them are."""
    all_integers = all(text.isascii() and text.isdecimal() for text in texts)
    return [int(text) for text in texts] if all_integers else list(texts)


def _build_columns(key: str, records: Iterable[Record], label: str) -> dict[str, list[Any]]:
    rows, first_lines = [], dict[str, int]()
    for line, name, fields in records:
        first = first_lines.setdefault(name, line)
        if first != line and key == "doc_id":
            problem = f"record {name!r} appears twice (first on line {first}); keep one of the two"
            raise FormatError(problem, label, line)
        rows.append({key: name} | {MARKERS[m]: "\n".join(lines) for m, lines in fields.items()})
    if not rows:
        raise FormatError("expected records that begin with .I and a number, found none", label)
    present = [name for name in MARKERS.values() if any(name in row for row in rows)]
    return {name: [row.get(name) for row in rows] for name in (key, *present)}


def _read_records(source: InputFile) -> Iterator[Record]:
    """Yield the records: the line and the name of each, and the lines of its fields."""
    record: Record | None = None
    current: list[str] | None = None
    for number, line in _text_lines(source):
        if match := RECORD_START.fullmatch(line):
            if record:
                yield record
            record, current = (number, match.group(1), {}), None
        elif record and _begins_field(line.rstrip(), record[2]):
            current = record[2].setdefault(line.rstrip(), [])
        elif current is not None:
            current.append(line)
        elif line.strip():
            expected = " ".join(MARKERS) if record else ".I and a number"
            raise FormatError(f"expected {expected}, found {line[:60]!r}", source.label, number)
    if record:
        yield record


def _begins_field(line: str, fields: dict[str, list[str]]) -> bool:
    """Return whether a line begins a field or another author."""
    another_author = line == ".A" and next(reversed(fields), "") == ".A"
    return line in MARKERS and (line not in fields or another_author)


def _text_lines(source: InputFile) -> Iterator[tuple[int, str]]:
    """Yield the lines as text, without a bare `.I` at the very end of the file."""
    pending: list[tuple[int, str]] = []
    for number, line in source.text_lines():
        text = line.removesuffix("\r")
        if _BARE_RECORD_START.fullmatch(text):
            pending.append((number, text))
            continue
        yield from pending
        pending.clear()
        yield number, text


def _read_judgments(source: InputFile) -> dict[str, dict[str, float]]:
    grades: dict[str, dict[str, float]] = {}
    for number, line in source.lines():
        fields = line.decode(errors="replace").split()
        if not fields:
            continue
        if len(fields) != 3 or not _QRELS_LINE.fullmatch(line):
            problem = f"expected 3 whole numbers (query document code), found {' '.join(fields)[:60]!r}"
            raise FormatError(problem, source.label, number)
        query, doc, code = fields
        docs = grades.setdefault(query, {})
        if doc in docs:
            raise FormatError(duplicate_problem(query, doc), source.label, number)
        docs[doc] = _grade_of_code(int(code), source.label, number)
    if not grades:
        raise FormatError("expected judgments in 3 fields, found none", source.label)
    return grades


def _grade_of_code(code: int, label: str, line: int) -> float:
    if code == -1 or 1 <= code <= 5:
        return 0.0 if code == -1 else 5.0 - code
    raise FormatError(
        f"SMART judgments are 1 (best) to 4 (least), -1 or 5 (not relevant), found {code}: if these are "
        "plain grades, add a header 'query_id doc_id grade' with tabs and read it with --from tsv",
        label,
        line,
    )


def write(table: Collection | Table, path: str, file_format: Format) -> None:
    """Write a collection as a folder, a table as a file."""
    if not isinstance(table, Collection):
        with open_for_writing(path) as file:
            _write_table(table, file, path)
        return
    target = make_folder(path)
    with ExitStack() as stack:
        for kind, part in table._asdict().items():
            if part is not None:
                place = target / _FILES[kind]
                _write_table(part, stack.enter_context(open_for_writing(place)), str(place))


def _write_table(table: Any, file: BinaryIO, label: str) -> None:
    part = as_collection(table)
    if part.qrels:
        file.writelines(_judgment_lines(part.qrels, label))
    elif part.documents:
        file.writelines(_record_lines(part.documents.ids, part.documents.columns, ("doc_id",), label))
    elif part.queries:
        file.writelines(_record_lines(*_number_queries(part.queries, label), label))


def _judgment_lines(qrels: Qrels, label: str) -> Iterator[bytes]:
    for query, docs in qrels.to_dict().items():
        for doc, grade in docs.items():
            line = f"{query} {doc} {5 - int(grade)}\n".encode()
            if not 0 <= grade <= 4 or not _QRELS_LINE.fullmatch(line) or len(line.split()) != 3:
                problem = (
                    f"SMART needs whole numbers as ids and grades 0 to 4, found {query} {doc} {int(grade)}"
                )
                raise FormatError(f"{problem}: write trec instead", label)
            yield line


def _number_queries(
    queries: Queries, label: str
) -> tuple[list[str], Mapping[str, list[Any]], tuple[str, ...]]:
    """Return the numbers after `.I` and the columns of queries, in the order of their ids."""
    count = len(queries)
    places = [queries.row_by_id.get(str(place + 1)) for place in range(count)]
    rows = [row for row in places if row is not None]
    if len(rows) != count:
        raise FormatError("SMART needs queries with the ids 1, 2, …, and these have other ids", label)
    columns = {name: [values[row] for row in rows] for name, values in queries.columns.items()}
    numbers = columns.get("number", _parse_numbers(columns["query_id"]))
    texts = [f"{number:03}" if isinstance(number, int) else str(number) for number in numbers]
    if _parse_numbers(texts) != numbers:
        raise FormatError(f"SMART cannot hold the column number, {numbers[0]!r} and following", label)
    return texts, columns, ("query_id", "number")


def _record_lines(
    names: list[str], columns: Mapping[str, list[Any]], keys: tuple[str, ...], label: str
) -> Iterator[bytes]:
    unsupported = [name for name in columns if name not in _MARKER_BY_COLUMN and name not in keys]
    if unsupported:
        problem = f"SMART cannot hold {', '.join(unsupported)}: write beir or jsonl, or leave them out"
        raise FormatError(problem, label)
    for row, name in enumerate(names):
        if not RECORD_START.fullmatch(f".I {name}"):
            raise FormatError(f"SMART ids cannot have blanks, found {name!r}", label)
        yield f".I {name}\n".encode()
        values = {marker: columns[c][row] for c, marker in _MARKER_BY_COLUMN.items() if c in columns}
        fields = {marker: text for marker, text in values.items() if text is not None}
        yield from (_format_field(marker, text, fields, label) for marker, text in fields.items())


def _format_field(marker: str, text: Any, fields: Mapping[str, Any], label: str) -> bytes:
    """Return a field with its marker; raise FormatError if a line would be read as a marker."""
    if not isinstance(text, str):
        raise FormatError(f"SMART needs text, found {text!r} as {MARKERS[marker]}: write jsonl", label)
    lines = text.split("\n") if text else []
    for line in lines:
        is_marker = RECORD_START.fullmatch(line) or _BARE_RECORD_START.fullmatch(line) or line.endswith("\r")
        if is_marker or (line.rstrip() in MARKERS and (marker != ".W" or line.rstrip() not in fields)):
            raise FormatError(f"SMART would read the line {line!r} as a marker: write beir or jsonl", label)
    return "".join(f"{line}\n" for line in (marker, *lines)).encode()
