"""The records of logs of any kind: UBI, sessions in XML, other logs with their columns named."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from assay.core.errors import FormatError
from assay.datasets.input_files import InputFile
from assay.datasets.session_xml import is_session_xml, session_records
from assay.datasets.ubi_log.problem_log import ProblemLog
from assay.datasets.ubi_log.records import Record, as_input_file, read_records

_ENDINGS = (".json", ".ndjson", ".jsonl", ".csv", ".tsv", ".parquet", ".xml", ".zip", ".gz", ".zst")


def event_records(source: str | PathLike[str] | InputFile, problems: ProblemLog) -> Iterator[Record]:
    """Yield the records of a file, or of the files of a folder; what is not a record is counted."""
    for file in event_files(source):
        read = session_records if is_session_xml(file.head()) else read_records
        yield from read(file, problems)


def event_files(source: str | PathLike[str] | InputFile) -> list[InputFile]:
    """Return a file, or the files of a folder that may be logs."""
    file = as_input_file(source)
    folder = Path(file.path)
    if file.path == "-" or not folder.is_dir():
        return [file]
    files = sorted(inner for inner in folder.rglob("*") if inner.name.endswith(_ENDINGS))
    if not files:
        raise FormatError(f"expected log files ({', '.join(_ENDINGS)}), found none", file.path)
    return [InputFile(inner) for inner in files]
