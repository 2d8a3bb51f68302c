"""Which format a file has, told by how it begins; its name only decides where the content cannot."""

import os
import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping
from typing import NamedTuple

from assay.core.errors import FormatError
from assay.datasets.formats import Kind, by_extension
from assay.datasets.rows import is_header
from assay.datasets.sources import Source

_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_LINES = 50
_NESTED = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*[{\[]')
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)


class Beginning(NamedTuple):
    """The first lines of a file, and what else is known about it."""

    lines: list[str]
    kind: Kind | None
    columns: Mapping[str, str]
    hint: str

    def most(self, fits: Callable[[str], bool]) -> bool:
        """Whether more than half of the lines are so."""
        return 2 * sum(map(fits, self.lines)) > len(self.lines)

    @property
    def paired(self) -> bool:
        """Whether the file may hold qrels or a run."""
        return self.kind in (None, "qrels", "run")


def format_of(source: Source, kind: Kind | None, columns: Mapping[str, str]) -> str:
    """The name of the file's format, or of the folder's."""
    if os.path.isdir(source.path):
        return _format_of_folder(source.path)
    head = source.head()
    magic = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    if magic:
        return magic
    begin = Beginning(_lines(head, source, kind), kind, columns, _hint(source.path))
    found = next((name for name, fits in _TESTS if fits(begin)), None)
    if found is None:
        raise _unknown(begin.lines[0], source, kind)
    if found == "smart" and _is_smart_judgment(begin.lines[0]) and "cran" not in source.name.lower():
        raise FormatError(
            "three numbers a line are SMART judgments (1 best … 4 least) or plain grades (more is better): "
            "name the first with --from smart (format=), write the second as query, 0, document, grade",
            source.label,
            1,
        )
    return found


def _format_of_folder(folder: str) -> str:
    from pathlib import Path

    from assay.datasets.beir import is_beir
    from assay.datasets.smart import is_smart

    path = Path(folder)
    if is_beir(path):
        return "beir"
    if is_smart(path):
        return "smart"
    names = sorted(entry.name for entry in path.iterdir())[:8]
    raise FormatError(
        "expected a BEIR folder (corpus.jsonl, queries.jsonl, qrels/test.tsv) or a SMART collection, "
        f"found {', '.join(names) or 'an empty folder'}: name one of its files",
        folder,
    )


def _hint(path: str) -> str:
    """What the file's name says; `.txt` says nothing."""
    found = by_extension(path)
    return "" if found is None or ".txt" in path.lower() else found.name


def _lines(head: bytes, source: Source, kind: Kind | None) -> list[str]:
    """The first lines that say something, as text."""
    if not head.strip():
        raise FormatError(f"the file is empty; expected {_wanted(kind)}", source.label)
    if b"\0" in head or head.startswith(_UTF16):
        what, advice = (
            ("UTF-16 text", "; save it as UTF-8") if head.startswith(_UTF16) else ("binary data", "")
        )
        problem = f"expected text, Parquet or Arrow, found {what} that begins with {head[:16]!r}{advice}"
        raise FormatError(problem, source.label)
    try:
        text = getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError as error:
        line = 1 + head[: error.start].count(b"\n")
        problem = f"expected UTF-8 text, found other bytes: {head[error.start : error.start + 8]!r}"
        raise FormatError(f"{problem}; save the file as UTF-8", source.label, line) from None
    cut = text.rstrip("\r\n").split("\n")[: _LINES + 1]
    told = [line for line in cut if line.strip() and not line.lstrip().startswith("#")]
    return told[:_LINES] or cut[:1]


def _wanted(kind: Kind | None) -> str:
    return {None: "qrels, a run, queries or documents", "run": "a run"}.get(kind, str(kind))


def _unknown(line: str, source: Source, kind: Kind | None) -> FormatError:
    shown = line if len(line) <= 80 else f"{line[:80]}…"
    return FormatError(
        f"cannot tell what this is: expected {_wanted(kind)} as TREC, CSV, TSV, JSONL, JSON, SMART, "
        f"Parquet or Arrow, found a file that begins with {shown!r}: name its format with --from (format=)",
        source.label,
        1,
    )


def is_number(text: str) -> bool:
    """Whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_trec(line: str) -> bool:
    fields = line.split()
    if len(fields) == 6:
        return is_number(fields[4])
    return len(fields) == 4 and bool(_WHOLE.fullmatch(fields[3]))


def _is_record(begin: Beginning) -> bool:
    """Whether the file begins as a SMART record does."""
    if not begin.lines[0].startswith(".I"):
        return False
    from assay.datasets.smart import RECORD

    return bool(RECORD.fullmatch(begin.lines[0]))


def _is_smart_judgment(line: str) -> bool:
    fields = line.split()
    return len(fields) == 3 and "\t" not in line and all(map(_WHOLE.fullmatch, fields))


def _is_list(begin: Beginning) -> bool:
    text = "".join(begin.lines).lstrip()
    return text.startswith("[") and text[1:].lstrip()[:1] in ("{", "]", "[", '"', "")


def _is_nested(begin: Beginning) -> bool:
    """Whether the file is one JSON object of objects or lists, not one object a line."""
    first = begin.lines[0].strip()
    if first == "{":
        return True
    if not first.startswith("{"):
        return False
    import json

    try:
        found = json.loads(first)
    except (RecursionError, ValueError):  # goes on after this line, or after what was read
        return begin.hint != "jsonl" and bool(_NESTED.match("".join(begin.lines)))
    if not isinstance(found, dict) or len(begin.lines) > 1:
        return False
    nested = [isinstance(value, dict | list) for value in found.values()]
    return all(nested) or (nested[0] and not is_header(list(found), begin.columns))


def _has_header(begin: Beginning, separators: str) -> bool:
    first = begin.lines[0].strip("\r")
    if begin.paired and _is_trec(first):
        return False
    fields = ([field.strip('" ') for field in first.split(mark)] for mark in separators)
    return any(is_header(names, begin.columns) for names in fields if len(names) > 1 or first.isidentifier())


def _is_even(begin: Beginning, separator: str) -> bool:
    """Whether the lines have equally many of a separator, and have it."""
    counts = [line.count(separator) for line in begin.lines]
    return counts[0] > 0 and begin.most(lambda line: line.count(separator) == counts[0])


_TESTS: tuple[tuple[str, Callable[[Beginning], bool]], ...] = (
    ("guide", _is_list),
    ("json", _is_nested),
    ("jsonl", lambda begin: begin.lines[0].lstrip().startswith("{")),
    ("smart", _is_record),
    ("tsv", lambda begin: _has_header(begin, "\t")),
    ("csv", lambda begin: _has_header(begin, ",;")),
    ("trec", lambda begin: begin.paired and begin.most(_is_trec)),
    ("smart", lambda begin: begin.kind in (None, "qrels") and begin.most(_is_smart_judgment)),
    ("tsv", lambda begin: _is_even(begin, "\t") and (not begin.paired or begin.hint != "trec")),
    ("csv", lambda begin: begin.hint == "csv"),
    ("tsv", lambda begin: begin.hint == "tsv"),
    ("csv", lambda begin: _is_even(begin, ",") and begin.hint != "trec"),
    ("trec", lambda begin: begin.kind in ("qrels", "run") and len(begin.lines[0].split()) > 2),
    ("trec", lambda begin: begin.paired and begin.hint == "trec"),
)
