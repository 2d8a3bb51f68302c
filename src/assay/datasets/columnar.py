"""Parquet and Arrow files, read and written with Polars."""

from collections.abc import Mapping
from typing import Any, BinaryIO

import polars as pl

from assay.core.columns import match_columns
from assay.core.errors import FormatError, TableError, first_line
from assay.core.tables import Documents, KeyedTable, Qrels, Queries, Run
from assay.datasets.formats import Format, Kind, Table, kind_of_table
from assay.datasets.input_files import InputFile
from assay.datasets.rows import check_column_names, column_aliases, infer_kind

_STREAM_MAGIC = b"\xff\xff\xff\xff"


def read(source: InputFile, kind: Kind | None, columns: Mapping[str, str], file_format: Format) -> Table:
    """Return the table of a Parquet or Arrow file."""
    frame = read_frame(source, file_format.name)
    kind = kind or infer_kind(frame.columns, columns, source.label)
    try:
        if kind == "qrels":
            return Qrels(frame, columns)
        if kind == "run":
            return Run(frame, columns, name=source.name)
        frame = frame.rename(match_columns(frame.columns, column_aliases(kind), columns))
        return (Queries if kind == "queries" else Documents).from_data(frame)
    except TableError as error:
        raise FormatError(str(error), source.label) from None


def read_frame(source: InputFile, name: str) -> Any:
    """Return the rows of a Parquet or Arrow file as a Polars frame."""
    head = source.head(16)
    if not head:
        raise FormatError(f"is empty; expected {name}", source.label)
    data: Any = source.path if source.is_plain() else source.read()
    try:
        if name == "parquet":
            return pl.read_parquet(data, hive_partitioning=False)
        if head.startswith(_STREAM_MAGIC):
            return pl.read_ipc_stream(data)
        return pl.read_ipc(data)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise FormatError(
            f"cannot be read as {name}: {first_line(error)}; download or write it again", source.label
        ) from None


def write(table: Table, file: BinaryIO, label: str, file_format: Format) -> None:
    """Write a table as Parquet (compressed with zstd) or as an Arrow file."""
    frame = _lossless_frame(table, label, file_format.name) if isinstance(table, KeyedTable) else table.frame
    if file_format.name == "parquet":
        frame.write_parquet(file)
    else:
        frame.write_ipc(file)


def _lossless_frame(table: Queries | Documents, label: str, name: str) -> Any:
    """Return the table as a frame; raise FormatError if a value would change."""
    check_column_names(list(table.columns), kind_of_table(table), label)
    try:
        frame = table.frame
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        problem = f"{name} needs one type for each column: {first_line(error)}; write jsonl instead"
        raise FormatError(problem, label) from None
    for column, values in table.columns.items():
        if frame[column].dtype == pl.Object or not _same_values(frame[column].to_list(), values):
            raise FormatError(f"column {column!r} would change in {name}: write jsonl instead", label)
    return frame


def _same_values(read_values: list[Any], values: list[Any]) -> bool:
    """Return whether two columns are equal, with True different from 1."""
    flags = [[isinstance(value, bool) for value in column] for column in (read_values, values)]
    return read_values == values and flags[0] == flags[1]
