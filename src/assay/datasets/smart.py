"""SMART collections such as Cranfield: records of `.I .T .A .B .W`, judgments in three fields.

A marker counts once in a record, so a line of text that looks like one is text (`.A` may follow
itself, once for each author). Queries are numbered by their order, as the judgments number them, and
keep what stood beside `.I` as `number`. Judgments say 1 for the best document and 4 for the least, so
the grade is 5 less that; 5 and -1 (of no interest) are grade 0.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from assay.core.errors import FormatError
from assay.core.tables import Documents, Qrels, Queries
from assay.datasets.beir import as_collection
from assay.datasets.formats import Collection, Format, Kind, Table
from assay.datasets.sinks import folder, writing
from assay.datasets.sources import Source

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
_BY_COLUMN = {name: marker for marker, name in MARKERS.items()}
RECORD = re.compile(r"\.I\s+(\S+)\s*")
_END = re.compile(r"\.I\s*")
_FILES = {"documents": "documents.all", "queries": "queries.qry", "qrels": "qrels.rel"}
_QRELS_LINE = re.compile(rb"\s*\d+\s+\d+\s+-?\d+\s*")
Record = tuple[int, str, dict[str, list[str]]]


def read(source: Source, kind: Kind | None, columns: Mapping[str, str], made: Format) -> Collection | Table:
    """The tables of a folder, or the table of a file."""
    path = Path(source.path)
    if source.path != "-" and path.is_dir():
        return _folder(path, source.label).only(kind, source.label)
    kind = kind or kind_of_file(source) or "qrels"
    if kind == "qrels":
        return Qrels(_judgments(source))
    return _documents(source) if kind == "documents" else _queries(source)


def kind_of_file(source: Source) -> Kind | None:
    """What a file of a SMART collection holds, None where it is no such file."""
    lines = [line for line in source.head().split(b"\n") if line.strip()][:400]
    if not lines:
        return None
    if not RECORD.fullmatch(lines[0].decode(errors="replace")):
        return "qrels" if all(_QRELS_LINE.fullmatch(line) for line in lines[:-1] or lines) else None
    name = Path(source.path).name.lower()
    if any(word in name for word in ("qry", "quer", "topic")):
        return "queries"
    markers = {line.rstrip().decode(errors="replace") for line in lines} & set(MARKERS)
    called = any(word in name for word in (".all", "doc", "corpus"))
    return "documents" if called or markers - {".W"} else "queries"


def is_smart(path: Path) -> bool:
    """Whether a folder holds a file of records."""
    return any(kind in ("documents", "queries") for kind in _kinds(path))


def _kinds(path: Path) -> dict[Kind, Source]:
    made: dict[Kind, Source] = {}
    for place in sorted(path.iterdir()):
        if place.is_file() and not place.name.startswith("."):
            source = Source(place)
            if kind := kind_of_file(source):
                made.setdefault(kind, source)
    return made


def _folder(path: Path, label: str) -> Collection:
    found = _kinds(path)
    if not found:
        raise FormatError("expected files of a SMART collection (.I .T .A .B .W), found none", label)
    return Collection(
        _queries(found["queries"]) if "queries" in found else None,
        Qrels(_judgments(found["qrels"])) if "qrels" in found else None,
        _documents(found["documents"]) if "documents" in found else None,
    )


def _documents(source: Source) -> Documents:
    return Documents(_columns("doc_id", _records(source), source.label))


def _queries(source: Source) -> Queries:
    columns = _columns("number", _records(source), source.label)
    numbers = _numbers(columns.pop("number"))
    order = [str(place + 1) for place in range(len(numbers))]
    return Queries({"query_id": order, "number": numbers} | columns)


def _numbers(texts: list[str]) -> list[Any]:
    """What stands beside `.I`, as whole numbers where it is."""
    whole = all(text.isascii() and text.isdecimal() for text in texts)
    return [int(text) for text in texts] if whole else list(texts)


def _columns(key: str, records: Iterable[Record], label: str) -> dict[str, list[Any]]:
    rows, seen = [], dict[str, int]()
    for line, name, fields in records:
        first = seen.setdefault(name, line)
        if first != line and key == "doc_id":
            problem = f"record {name!r} stands twice (first on line {first}); keep one of the two"
            raise FormatError(problem, label, line)
        rows.append({key: name} | {MARKERS[m]: "\n".join(lines) for m, lines in fields.items()})
    if not rows:
        raise FormatError("expected records that begin with .I and a number, found none", label)
    there = [name for name in MARKERS.values() if any(name in row for row in rows)]
    return {name: [row.get(name) for row in rows] for name in (key, *there)}


def _records(source: Source) -> Iterator[Record]:
    """The records: the line and the name of each, and the lines of its fields."""
    begun: Record | None = None
    current: list[str] | None = None
    for number, line in _lines(source):
        if record := RECORD.fullmatch(line):
            if begun:
                yield begun
            begun, current = (number, record.group(1), {}), None
        elif begun and _begins(line.rstrip(), begun[2]):
            current = begun[2].setdefault(line.rstrip(), [])
        elif current is not None:
            current.append(line)
        elif line.strip():
            wanted = " ".join(MARKERS) if begun else ".I and a number"
            raise FormatError(f"expected {wanted}, found {line[:60]!r}", source.label, number)
    if begun:
        yield begun


def _begins(line: str, fields: dict[str, list[str]]) -> bool:
    """Whether a line begins a field, or an author more."""
    again = line == ".A" and next(reversed(fields), "") == ".A"
    return line in MARKERS and (line not in fields or again)


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    """The lines as text; a bare `.I` at the very end of a file only closes it."""
    held: list[tuple[int, str]] = []
    for number, line in source.lines():
        try:
            text = line.decode().removesuffix("\r")
        except UnicodeDecodeError:
            problem = "expected UTF-8 text, found other bytes; save the file as UTF-8"
            raise FormatError(problem, source.label, number) from None
        if _END.fullmatch(text):
            held.append((number, text))
            continue
        yield from held
        held.clear()
        yield number, text


def _judgments(source: Source) -> dict[str, dict[str, float]]:
    made: dict[str, dict[str, float]] = {}
    for number, line in source.lines():
        fields = line.decode(errors="replace").split()
        if not fields:
            continue
        if len(fields) != 3 or not _QRELS_LINE.fullmatch(line):
            problem = f"expected 3 whole numbers (query document code), found {' '.join(fields)[:60]!r}"
            raise FormatError(problem, source.label, number)
        query, doc, code = fields
        docs = made.setdefault(query, {})
        if doc in docs:
            problem = f"document {doc!r} stands twice in query {query!r}; keep one of the two rows"
            raise FormatError(problem, source.label, number)
        docs[doc] = _grade(int(code), source.label, number)
    if not made:
        raise FormatError("expected judgments in 3 fields, found none", source.label)
    return made


def _grade(code: int, label: str, line: int) -> float:
    if code == -1 or 1 <= code <= 5:
        return 0.0 if code == -1 else 5.0 - code
    raise FormatError(
        f"SMART judgments say 1 (best) to 4 (least), -1 or 5 (not relevant), found {code}: if these are "
        "plain grades, add a line 'query_id doc_id grade' with tabs and name it with --from tsv",
        label,
        line,
    )


def write(found: Collection | Table, path: str, made: Format) -> None:
    """A collection as a folder, a table as a file."""
    if not isinstance(found, Collection):
        with writing(path) as file:
            _write(found, file, path)
        return
    target = folder(path)
    with ExitStack() as stack:
        for kind, part in found._asdict().items():
            if part is not None:
                place = target / _FILES[kind]
                _write(part, stack.enter_context(writing(place)), str(place))


def _write(found: Any, file: BinaryIO, label: str) -> None:
    part = as_collection(found)
    if part.qrels:
        file.writelines(_judged(part.qrels, label))
    elif part.documents:
        file.writelines(_written(part.documents.ids, part.documents.columns, ("doc_id",), label))
    elif part.queries:
        file.writelines(_written(*_numbered(part.queries, label), label))


def _judged(qrels: Qrels, label: str) -> Iterator[bytes]:
    for query, docs in qrels.to_dict().items():
        for doc, grade in docs.items():
            line = f"{query} {doc} {5 - int(grade)}\n".encode()
            if not 0 <= grade <= 4 or not _QRELS_LINE.fullmatch(line) or len(line.split()) != 3:
                problem = (
                    f"SMART holds whole numbers as ids and grades 0 to 4, found {query} {doc} {int(grade)}"
                )
                raise FormatError(f"{problem}: write trec instead", label)
            yield line


def _numbered(queries: Queries, label: str) -> tuple[list[str], Mapping[str, list[Any]], tuple[str, ...]]:
    """The numbers beside `.I` and the columns of queries, in the order of their ids."""
    count = len(queries)
    places = [queries.row.get(str(place + 1)) for place in range(count)]
    rows = [row for row in places if row is not None]
    if len(rows) != count:
        raise FormatError("SMART numbers queries 1, 2, … by their order, and these have other ids", label)
    columns = {name: [values[row] for row in rows] for name, values in queries.columns.items()}
    numbers = columns.get("number", _numbers(columns["query_id"]))
    texts = [f"{number:03}" if isinstance(number, int) else str(number) for number in numbers]
    if _numbers(texts) != numbers:
        raise FormatError(f"SMART would not give back the column number, {numbers[0]!r} and on", label)
    return texts, columns, ("query_id", "number")


def _written(
    names: list[str], columns: Mapping[str, list[Any]], keys: tuple[str, ...], label: str
) -> Iterator[bytes]:
    strange = [name for name in columns if name not in _BY_COLUMN and name not in keys]
    if strange:
        problem = f"SMART has no place for {', '.join(strange)}: write beir or jsonl, or leave them out"
        raise FormatError(problem, label)
    for row, name in enumerate(names):
        if not RECORD.fullmatch(f".I {name}"):
            raise FormatError(f"SMART ids have no blanks, found {name!r}", label)
        yield f".I {name}\n".encode()
        there = {marker: columns[c][row] for c, marker in _BY_COLUMN.items() if c in columns}
        fields = {marker: text for marker, text in there.items() if text is not None}
        yield from (_field(marker, text, fields, label) for marker, text in fields.items())


def _field(marker: str, text: Any, fields: Mapping[str, Any], label: str) -> bytes:
    """A field under its marker; a line that would be taken for a marker is refused."""
    if not isinstance(text, str):
        raise FormatError(f"SMART holds text, found {text!r} as {MARKERS[marker]}: write jsonl", label)
    lines = text.split("\n") if text else []
    for line in lines:
        bad = RECORD.fullmatch(line) or _END.fullmatch(line) or line.endswith("\r")
        if bad or (line.rstrip() in MARKERS and (marker != ".W" or line.rstrip() not in fields)):
            raise FormatError(f"SMART would take the line {line!r} for a marker: write beir or jsonl", label)
    return "".join(f"{line}\n" for line in (marker, *lines)).encode()
