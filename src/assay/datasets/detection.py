"""Detection of the format of a file from its first lines; its name decides only if they do not."""

import json
import os
import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import FormatError
from assay.core.unsupported_files import unsupported_problem
from assay.datasets.formats import Kind, format_by_extension
from assay.datasets.input_files import InputFile
from assay.datasets.rows import is_header

_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_LINES = 50
_NESTED = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*[{\[]')
_JUDGMENT_LIST = re.compile(
    r'\s*\{(.*"judgmentRatings"\s*:\s*\[|\s*"queries"\s*:\s*\[\s*\{\s*"query"\s*:.*"ratings"\s*:)'
)
IR_DATASETS_PREFIX = "ir_datasets:"  # before the id of a collection, in place of a path
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)


class FileHead(NamedTuple):
    """The first lines of a file, the expected kind of table, and the format of its extension."""

    lines: list[str]
    kind: Kind | None
    columns: Mapping[str, str]
    extension_format: str

    def holds_for_most(self, fits: Callable[[str], bool]) -> bool:
        """Return whether the test holds for more than half of the lines."""
        return 2 * sum(map(fits, self.lines)) > len(self.lines)

    @property
    def may_hold_pairs(self) -> bool:
        """Whether the file may be qrels or a run."""
        return self.kind in (None, "qrels", "run")


def detect_format(source: InputFile, kind: Kind | None, columns: Mapping[str, str]) -> str:
    """Return the name of the format of a file or a folder."""
    if source.path.startswith(IR_DATASETS_PREFIX):
        return "ir_datasets"
    if os.path.isdir(source.path):
        return _format_of_folder(source.path)
    head = source.head()
    magic = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    if magic:
        return magic
    file_head = FileHead(_head_lines(head, source, kind), kind, columns, _extension_format(source.path))
    file_format = next((name for name, fits in _TESTS if fits(file_head)), None)
    if file_format is None:
        raise _unknown_format_error(file_head.lines[0], source, kind)
    if (
        file_format == "smart"
        and _is_smart_judgment(file_head.lines[0])
        and "cran" not in source.name.lower()
    ):
        raise FormatError(
            "three numbers on each line are SMART judgments (1 best … 4 least) or plain grades (higher is "
            "better): read the first with --from smart (format=), "
            "write the second as query, 0, document, grade",
            source.label,
            1,
        )
    return file_format


def _format_of_folder(folder: str) -> str:
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
        f"found {', '.join(names) or 'an empty folder'}: give one of its files",
        folder,
    )


def _extension_format(path: str) -> str:
    """Return the name of the format of the file's extension; empty for `.txt`."""
    file_format = format_by_extension(path)
    return "" if file_format is None or ".txt" in path.lower() else file_format.name


def _head_lines(head: bytes, source: InputFile, kind: Kind | None) -> list[str]:
    """Return the first lines as text, without blank lines and comments."""
    if not head.strip():
        raise FormatError(f"the file is empty; expected {_expected_tables(kind)}", source.label)
    unsupported = unsupported_problem(source.path, head)
    if unsupported or b"\0" in head or head.startswith(_UTF16):
        what, advice = (
            ("UTF-16 text", "; save it as UTF-8")
            if head.startswith(_UTF16)
            else ("binary data", unsupported and f"; it {unsupported}")
        )
        problem = f"expected text, Parquet or Arrow, found {what} that begins with {head[:16]!r}{advice}"
        raise FormatError(problem, source.label)
    try:
        text = getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError as error:
        line = 1 + head[: error.start].count(b"\n")
        problem = f"expected UTF-8 text, found other bytes: {head[error.start : error.start + 8]!r}"
        raise FormatError(f"{problem}; save the file as UTF-8", source.label, line) from None
    lines = text.rstrip("\r\n").split("\n")[: _LINES + 1]
    content_lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return content_lines[:_LINES] or lines[:1]


def _expected_tables(kind: Kind | None) -> str:
    return {None: "qrels, a run, queries or documents", "run": "a run"}.get(kind, str(kind))


def _unknown_format_error(line: str, source: InputFile, kind: Kind | None) -> FormatError:
    beginning = line if len(line) <= 80 else f"{line[:80]}…"
    return FormatError(
        f"the format is unknown: expected {_expected_tables(kind)} as TREC, CSV, TSV, JSONL, JSON, SMART, "
        f"SGML, Parquet or Arrow, found a file that begins with {beginning!r}: "
        "give its format with --from (format=)",
        source.label,
        1,
    )


def is_number_text(text: str) -> bool:
    """Return whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_trec_line(line: str) -> bool:
    fields = line.split()
    if len(fields) == 6:
        return is_number_text(fields[4])
    return len(fields) == 4 and bool(_WHOLE.fullmatch(fields[3]))


def _is_record(file_head: FileHead) -> bool:
    """Return whether the file begins with a SMART record."""
    if not file_head.lines[0].startswith(".I"):
        return False
    from assay.datasets.smart import RECORD_START

    return bool(RECORD_START.fullmatch(file_head.lines[0]))


def _is_smart_judgment(line: str) -> bool:
    fields = line.split()
    return len(fields) == 3 and "\t" not in line and all(map(_WHOLE.fullmatch, fields))


def _is_json_list(file_head: FileHead) -> bool:
    text = "".join(file_head.lines).lstrip()
    return text.startswith("[") and text[1:].lstrip()[:1] in ("{", "]", "[", '"', "")


def _is_nested_json(file_head: FileHead) -> bool:
    """Return whether the file is one JSON object of objects or lists, not one object on each line."""
    first = file_head.lines[0].strip()
    if first == "{":
        return True
    if not first.startswith("{"):
        return False
    try:
        row = json.loads(first)
    except (RecursionError, ValueError):  # the object continues after this line
        return file_head.extension_format != "jsonl" and bool(_NESTED.match("".join(file_head.lines)))
    if not isinstance(row, dict) or len(file_head.lines) > 1:
        return False
    is_container = [isinstance(value, dict | list) for value in row.values()]
    return all(is_container) or (is_container[0] and not is_header(list(row), file_head.columns))


def _has_header(file_head: FileHead, separators: str) -> bool:
    first = file_head.lines[0].strip("\r")
    if file_head.may_hold_pairs and _is_trec_line(first):
        return False
    fields = ([field.strip('" ') for field in first.split(mark)] for mark in separators)
    return any(
        is_header(names, file_head.columns) for names in fields if len(names) > 1 or first.isidentifier()
    )


def _has_even_columns(file_head: FileHead, separator: str) -> bool:
    """Return whether most lines have the same number of separators, at least one."""
    counts = [line.count(separator) for line in file_head.lines]
    return counts[0] > 0 and file_head.holds_for_most(lambda line: line.count(separator) == counts[0])


def _is_judgment_list(file_head: FileHead) -> bool:
    """Return whether the file is a judgment list of OpenSearch or Quepid, as JSON or CSV."""
    if file_head.columns or file_head.kind not in (None, "qrels", "queries"):
        return False
    header = [name.strip('" ') for name in file_head.lines[0].strip().lower().split(",")]
    return header == ["query", "docid", "rating"] or bool(_JUDGMENT_LIST.match("".join(file_head.lines)))


def _is_sgml(file_head: FileHead) -> bool:
    return file_head.lines[0].lstrip()[:5].lower() in ("<doc>", "<top>")


_TESTS: tuple[tuple[str, Callable[[FileHead], bool]], ...] = (
    ("judgments", _is_judgment_list),
    ("sgml", _is_sgml),
    ("guide", _is_json_list),
    ("json", _is_nested_json),
    ("jsonl", lambda begin: begin.lines[0].lstrip().startswith("{")),
    ("smart", _is_record),
    ("tsv", lambda begin: _has_header(begin, "\t")),
    ("csv", lambda begin: _has_header(begin, ",;")),
    ("trec", lambda begin: begin.may_hold_pairs and begin.holds_for_most(_is_trec_line)),
    ("smart", lambda begin: begin.kind in (None, "qrels") and begin.holds_for_most(_is_smart_judgment)),
    (
        "tsv",
        lambda begin: (
            _has_even_columns(begin, "\t") and (not begin.may_hold_pairs or begin.extension_format != "trec")
        ),
    ),
    ("csv", lambda begin: begin.extension_format == "csv"),
    ("tsv", lambda begin: begin.extension_format == "tsv"),
    ("csv", lambda begin: _has_even_columns(begin, ",") and begin.extension_format != "trec"),
    ("trec", lambda begin: begin.kind in ("qrels", "run") and len(begin.lines[0].split()) > 2),
    ("trec", lambda begin: begin.may_hold_pairs and begin.extension_format == "trec"),
)
