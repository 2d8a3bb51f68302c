"""Parquet and Arrow, by way of Polars."""

from collections.abc import Mapping
from typing import Any, BinaryIO

from assay.core.columns import renamed
from assay.core.errors import FormatError, TableError
from assay.core.tables import Documents, Keyed, Qrels, Queries, Run
from assay.datasets.formats import Format, Kind, Table, kind_of_table
from assay.datasets.rows import aliases, check_names, kind_of
from assay.datasets.sources import Source

_STREAM = b"\xff\xff\xff\xff"


def read(source: Source, kind: Kind | None, columns: Mapping[str, str], made: Format) -> Table:
    """The table of a Parquet or Arrow file."""
    frame = _frame(source, made.name)
    kind = kind or kind_of(frame.columns, columns, source.label)
    try:
        if kind == "qrels":
            return Qrels(frame, columns)
        if kind == "run":
            return Run(frame, columns, name=source.name)
        frame = frame.rename(renamed(frame.columns, aliases(kind), columns))
        return (Queries if kind == "queries" else Documents).of(frame)
    except TableError as error:
        raise FormatError(str(error), source.label) from None


def _frame(source: Source, name: str) -> Any:
    import polars as pl

    head = source.head(16)
    if not head:
        raise FormatError(f"is empty; expected {name}", source.label)
    data: Any = source.path if source.is_plain() else source.read()
    try:
        if name == "parquet":
            return pl.read_parquet(data, hive_partitioning=False)
        if head.startswith(_STREAM):
            return pl.read_ipc_stream(data)
        return pl.read_ipc(data)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise FormatError(
            f"cannot be read as {name}: {first}; fetch or write it again", source.label
        ) from None


def write(found: Table, file: BinaryIO, label: str, made: Format) -> None:
    """A table as Parquet (zstd inside) or as an Arrow file."""
    frame = _kept(found, label, made.name) if isinstance(found, Keyed) else found.frame
    if made.name == "parquet":
        frame.write_parquet(file)
    else:
        frame.write_ipc(file)


def _kept(found: Queries | Documents, label: str, name: str) -> Any:
    """The table as a frame that holds the very same values."""
    import polars as pl

    check_names(list(found.columns), kind_of_table(found), label)
    try:
        frame = found.frame
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        first = (str(error).splitlines() or [""])[0]
        problem = f"{name} needs one type for each column: {first}; write jsonl instead"
        raise FormatError(problem, label) from None
    for column, values in found.columns.items():
        if frame[column].dtype == pl.Object or not _same(frame[column].to_list(), values):
            raise FormatError(
                f"column {column!r} would not be the same in {name}: write jsonl instead", label
            )
    return frame


def _same(found: list[Any], values: list[Any]) -> bool:
    """Whether two columns are equal, where True is not 1."""
    flags = [[isinstance(value, bool) for value in column] for column in (found, values)]
    return found == values and flags[0] == flags[1]
