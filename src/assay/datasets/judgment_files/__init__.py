"""Files of judgments: tables, qrels and the exports of annotation tools, told apart by their content.

>>> import tempfile, pathlib
>>> path = pathlib.Path(tempfile.mkdtemp()) / "labels.csv"
>>> _ = path.write_text("query_id,doc_id,ann,bob\\nq1,d1,2,1\\nq1,d2,0,\\n")
>>> read_judgments(path)
Judgments(2 pairs, 2 judges, 3 judgments)
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, BinaryIO

from assay.core.errors import FormatError, InputError, TableError
from assay.core.judgments import Judgments
from assay.core.suggestions import did_you_mean
from assay.datasets.columnar import read_frame
from assay.datasets.formats import FORMATS
from assay.datasets.input_files import InputFile
from assay.datasets.judgment_files.argilla import is_argilla, read_argilla, records_of
from assay.datasets.judgment_files.cells import Cells, build_judgments
from assay.datasets.judgment_files.json_records import JsonContent, json_rows, write_json, write_jsonl
from assay.datasets.judgment_files.label_studio import is_label_studio, read_label_studio, tasks_of
from assay.datasets.judgment_files.layout import NAMES, read_cells
from assay.datasets.judgment_files.qrels_files import qrels_of, read_qrels_file
from assay.datasets.judgment_files.quepid import book_of, is_quepid, read_quepid
from assay.datasets.judgment_files.text_tables import (
    choose_separator,
    is_trec,
    read_text_table,
    write_text_table,
)
from assay.datasets.output_files import open_for_writing
from assay.datasets.trec import write as write_trec

__all__ = ["JUDGMENT_FORMATS", "check_judgments_name", "read_judgments", "write_judgments"]

JUDGMENT_FORMATS = {
    "csv": "comma-separated values: a row for each judgment, or a column for each judge",
    "tsv": "the same, separated by tabs and never quoted",
    "txt": "the same, separated by blanks",
    "jsonl": "one JSON object on each line",
    "json": "a JSON list of objects",
    "parquet": "a Parquet file",
    "arrow": "an Arrow file",
    "trec": "TREC qrels; the judge is the name of the file",
    "quepid": "a book of Quepid as JSON",
    "argilla": "records of Argilla as JSON",
    "label-studio": "tasks of Label Studio as JSON",
}
_EXTENSIONS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".trec": "trec",
    ".qrels": "trec",
    ".txt": "txt",
}
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
_JSON = ("json", "jsonl", "quepid", "argilla", "label-studio")
_Path = str | os.PathLike[str]


def read_judgments(
    path: _Path,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, float] | None = None,
) -> Judgments:
    """Return the judgments of a file.

    `columns` is {our name: name in the file}; `judges` lists the columns of a wide table, separated by
    commas. `labels` is the grade of each text that stands for one.
    """
    source = InputFile(path)
    if os.path.isdir(source.path):
        raise FormatError("expected a file of judgments, found a folder", source.label)
    name = _check_format(format) if format else _guess_format(source)
    try:
        return _read(source, name, bool(format), columns or {}, labels or {})
    except TableError as error:
        raise FormatError(str(error), source.label) from None


def _read(
    source: InputFile, name: str, is_chosen: bool, columns: Mapping[str, str], labels: Mapping[str, float]
) -> Judgments:
    if name in _JSON:
        return _read_json(source, name, is_chosen, columns, labels)
    if name in ("parquet", "arrow"):
        frame = read_frame(source, name)
        values = {column: frame[column].to_list() for column in frame.columns}
        return read_cells(
            Cells(values, range(1, len(frame) + 1), source.label, "row"), source.name, columns, labels
        )
    if name == "trec":
        return read_qrels_file(source, "trec")
    separator = None if is_chosen and name == "txt" else choose_separator(source, name)
    if not is_chosen and not columns and is_trec(source, separator, name):
        return read_qrels_file(source, "trec")
    return read_cells(read_text_table(source, separator, columns), source.name, columns, labels)


def _read_json(
    source: InputFile, name: str, is_chosen: bool, columns: Mapping[str, str], labels: Mapping[str, float]
) -> Judgments:
    content = JsonContent(source, name if is_chosen or name == "jsonl" else "")
    tests = {"quepid": is_quepid, "argilla": is_argilla, "label-studio": is_label_studio}
    tool = name if name in tests else next((tool for tool, fits in tests.items() if fits(content)), "")
    if name in tests and not tests[name](content):
        raise FormatError(f"expected {JUDGMENT_FORMATS[name]}, found other JSON", source.label)
    if tool == "quepid":
        return build_judgments(read_quepid(content), labels)
    if tool:
        read_tool = read_argilla if tool == "argilla" else read_label_studio
        return build_judgments(read_tool(content, columns), labels)
    if content.whole == []:
        raise FormatError("expected rows of judgments, found none", source.label)
    if not content.records or not _has_rows(content):
        return read_qrels_file(source)
    return read_cells(content.cells(content.objects()), source.name, columns, labels)


def _has_rows(content: JsonContent) -> bool:
    """Return whether the objects are rows, not the entries of a list of queries with their documents."""
    first = content.objects()[0][1]
    return bool(first.keys() & {"judge", *NAMES["judge"]}) or not any(
        isinstance(value, list | dict) for value in first.values()
    )


def _check_format(name: str) -> str:
    if name not in JUDGMENT_FORMATS:
        hint = did_you_mean(name, JUDGMENT_FORMATS)
        raise InputError(
            f"expected one of {', '.join(JUDGMENT_FORMATS)} as the format of judgments, found {name!r}"
            + (f"; {hint}" if hint else "")
        )
    return name


def _guess_format(source: InputFile) -> str:
    """Return the format of a file by its first bytes, or by its name."""
    head = source.head()
    magic = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    if magic:
        return magic
    if not head.strip():
        raise FormatError("the file is empty; expected judgments", source.label)
    named = _format_by_name(source.path)
    if head.lstrip()[:1] in (b"{", b"["):
        return "jsonl" if named == "jsonl" else "json"
    if named in ("csv", "tsv"):
        return named
    return "txt"


def _format_by_name(path: str) -> str:
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    return next((known for ending, known in _EXTENSIONS.items() if name.endswith(ending)), "")


def check_judgments_name(path: str) -> str:
    """Return the format in which a file of this name is written; a name that tells none is refused."""
    name = _format_by_name(path)
    if not name:
        endings = ", ".join(_EXTENSIONS)
        raise InputError(f"{path}: the format cannot be told from the name ({endings}): give format=")
    return name


def write_judgments(
    judgments: Judgments,
    path: _Path,
    format: str | None = None,  # noqa: A002
    query_texts: Mapping[str, str] | None = None,
) -> None:
    """Write judgments to a file, completely or not at all; the name tells the format if it is not given.

    `query_texts` are for a book of Quepid, which names queries by their texts.
    """
    label = os.fspath(path)
    name = _check_format(format) if format else check_judgments_name(label)
    if name == "txt":
        name = "trec"
    qrels = qrels_of(judgments, label) if name == "trec" else None
    with open_for_writing(path) as file:
        if qrels is not None:
            write_trec(qrels, file, label, FORMATS["trec"])
        else:
            _write(judgments, file, label, name, query_texts or {})


def _write(
    judgments: Judgments, file: BinaryIO, label: str, name: str, query_texts: Mapping[str, str]
) -> None:
    if name in ("csv", "tsv"):
        write_text_table(judgments, file, label, "\t" if name == "tsv" else ",")
    elif name == "jsonl":
        write_jsonl(judgments, file)
    elif name == "parquet":
        judgments.frame.write_parquet(file)
    elif name == "arrow":
        judgments.frame.write_ipc(file)
    else:
        write_json(_json_content(judgments, label, name, query_texts), file)


def _json_content(judgments: Judgments, label: str, name: str, query_texts: Mapping[str, str]) -> Any:
    if name == "quepid":
        return book_of(judgments, os.path.basename(label).partition(".")[0], query_texts)
    if name == "argilla":
        return records_of(judgments)
    return tasks_of(judgments) if name == "label-studio" else json_rows(judgments)
