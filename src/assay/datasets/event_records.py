"""The records of logs of any kind: UBI, sessions in XML, other logs with their columns named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path

from assay.core.errors import FormatError
from assay.datasets.event_columns import ColumnReader
from assay.datasets.input_files import InputFile
from assay.datasets.session_xml import is_session_xml, session_records
from assay.datasets.ubi_log.problem_log import ProblemLog
from assay.datasets.ubi_log.records import Record, as_input_file, read_records

_ENDINGS = (".json", ".ndjson", ".jsonl", ".csv", ".tsv", ".parquet", ".xml", ".zip", ".gz", ".zst")


def event_records(
    sources: Iterable[str | PathLike[str] | InputFile],
    problems: ProblemLog,
    columns: Mapping[str, str] | None = None,
) -> Iterator[Record]:
    """Yield the records of files and folders; what is not a record is counted.

    `columns` has the columns of a log that is not UBI by our names.
    """
    reader = ColumnReader(columns, problems) if columns else None
    for file in (file for source in sources for file in event_files(source)):
        if is_session_xml(file.head()):
            yield from session_records(file, problems)
        elif reader is None:
            yield from read_records(file, problems)
        else:
            for record in read_records(file, problems):
                yield from reader.records(record)
    if reader is not None:
        reader.check_found()


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
