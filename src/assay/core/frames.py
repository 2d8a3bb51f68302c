"""Conversion of tables from and to Polars frames; imported only if a frame is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from assay.core.arrays import Floats
from assay.core.columns import match_pair_columns
from assay.core.errors import TableError
from assay.core.group_rows import RowBatch
from assay.core.groups import Groups
from assay.core.strings import StringColumn

_SLICE_ROWS = 1 << 20


def to_frame(data: Any) -> pl.DataFrame:
    """Return a Polars frame of any kind of table: Arrow streams, pandas, DuckDB, rows."""
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    if hasattr(data, "__arrow_c_stream__"):
        return _frame_of_stream(data)
    if isinstance(data, Mapping):
        return _frame_of_columns(data)
    if callable(getattr(data, "pl", None)):  # a DuckDB relation or result
        return to_frame(data.pl())
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _frame_of_rows(data)
    hint = "; assay.read(path) reads the table of a file" if isinstance(data, str | PathLike) else ""
    raise TableError(
        "expected a table (Polars, pandas, PyArrow, DuckDB, rows) or {query: {document: number}}, "
        f"found {type(data).__name__}{hint}"
    )


def _frame_of_columns(data: Mapping[str, Any]) -> pl.DataFrame:
    """Return a frame of columns by their names."""
    try:
        return pl.DataFrame(dict(data), strict=False)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise TableError(f"expected columns of the same length, found something else: {error}") from None


def _frame_of_stream(data: Any) -> pl.DataFrame:
    """Return a frame of an Arrow stream, or of a pandas frame if PyArrow is not installed."""
    try:
        return pl.DataFrame(data)
    except ImportError:
        columns = {str(name): data[name].astype(object) for name in data.columns}
        values = {name: column.where(column.notna(), None).tolist() for name, column in columns.items()}
        return pl.DataFrame(values, infer_schema_length=None)


def _frame_of_rows(rows: Sequence[Any]) -> pl.DataFrame:
    try:
        return pl.DataFrame(rows, infer_schema_length=None)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise TableError(f"expected rows of one shape: {error}") from None


def row_batches(
    data: Any,
    noun: str,
    aliases: Mapping[str, tuple[str, ...]],
    value_column: str,
    columns: Mapping[str, str],
) -> Iterator[RowBatch]:
    """Yield the rows of a table of qrels or of a run, which `noun` names in messages."""
    frame = _select_columns(to_frame(data), aliases, value_column, columns)
    if frame.is_empty():
        raise TableError(f"expected rows of {noun}, found none")
    for name in frame.columns:
        if count := frame[name].null_count():
            row = int(frame[name].is_null().arg_max() or 0)
            raise TableError(f"column {name} has {count} empty values, the first in row {row + 1}")
    frame = frame.with_columns(_id_column(frame, "query_id"), _id_column(frame, "doc_id"))
    for part in frame.iter_slices(_SLICE_ROWS):
        queries = _string_column(part["query_id"])
        starts = np.flatnonzero(~queries.equals_previous())
        ids, values = _string_column(part["doc_id"]), part[value_column].to_numpy()
        yield RowBatch(queries.take(starts), starts, ids, values)


def _select_columns(
    frame: pl.DataFrame, aliases: Mapping[str, tuple[str, ...]], value_column: str, columns: Mapping[str, str]
) -> pl.DataFrame:
    """Return the three columns of the table under their own names."""
    names = match_pair_columns(frame.columns, aliases, value_column, columns)
    values = names.sign * _number_column(frame, names.value)
    return frame.select(query_id=names.query_id, doc_id=names.doc_id, **{value_column: values})


def _number_column(frame: pl.DataFrame, name: str) -> pl.Series:
    column = frame[name]
    numbers = column.cast(pl.Float64, strict=False)
    bad_rows = (numbers.is_null() & column.is_not_null()).arg_true()
    if len(bad_rows):
        raise TableError(
            f"column {name} must be numbers, found {column[int(bad_rows[0])]!r} in row {bad_rows[0] + 1}"
        )
    return numbers


def _id_column(frame: pl.DataFrame, name: str) -> pl.Series:
    column = frame[name]
    if column.dtype.is_float():
        raise TableError(f"column {name} holds fractions ({column.dtype}); ids must be text or whole numbers")
    if column.dtype == pl.Boolean:
        raise TableError(f"column {name} holds true and false; ids must be text or whole numbers")
    return column.cast(pl.String)


def _string_column(column: pl.Series) -> StringColumn:
    text = column.str.join("\0").item() if len(column) else ""
    try:
        return StringColumn.from_joined(text.encode(), len(column))
    except ValueError as error:
        raise TableError(f"column {column.name}: {error}") from None


def pairs_frame(groups: Groups, value_column: str) -> pl.DataFrame:
    """Return grouped rows as a frame."""
    codes = np.repeat(np.arange(len(groups.query_ids)), groups.lengths)
    values = pl.Series(groups.values)
    return pl.DataFrame(
        {
            "query_id": pl.Series(list(groups.query_ids), dtype=pl.String).gather(codes),
            "doc_id": pl.Series(groups.ids.tolist(), dtype=pl.String),
            value_column: values.cast(pl.Int64) if value_column == "grade" else values,
        }
    )


def scores_frame(query_ids: Sequence[str], values: Mapping[str, Floats]) -> pl.DataFrame:
    """Return scores as a frame with one row for each query and measure."""
    schema = {"query_id": pl.String, "measure": pl.String, "value": pl.Float64}
    parts = [
        pl.DataFrame(
            {"query_id": list(query_ids), "measure": [name] * len(column), "value": column}, schema=schema
        ).with_columns(pl.col("value").fill_nan(None))
        for name, column in values.items()
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)
