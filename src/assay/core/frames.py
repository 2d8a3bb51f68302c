"""Tables from and to Polars frames; imported only where a frame is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.core.columns import renamed, require
from assay.core.errors import TableError
from assay.core.gather import Piece
from assay.core.groups import Groups
from assay.core.texts import Floats, Texts

if TYPE_CHECKING:
    from assay.core.tables import Pairs

_SLICE_ROWS = 1 << 20


def frame_of(data: Any) -> pl.DataFrame:
    """A Polars frame of anything that is a table: Arrow streams, pandas, DuckDB, rows."""
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    if hasattr(data, "__arrow_c_stream__"):
        return _streamed(data)
    if isinstance(data, Mapping):
        return _of_columns(data)
    if callable(getattr(data, "pl", None)):  # a DuckDB relation or result
        return frame_of(data.pl())
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _of_rows(data)
    hint = "; assay.read(path) gives the table of a file" if isinstance(data, str | PathLike) else ""
    raise TableError(
        "expected a table (Polars, pandas, PyArrow, DuckDB, rows) or {query: {document: number}}, "
        f"found {type(data).__name__}{hint}"
    )


def _of_columns(data: Mapping[str, Any]) -> pl.DataFrame:
    """A frame of columns by their names."""
    try:
        return pl.DataFrame(dict(data), strict=False)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise TableError(f"expected columns of the same length, found something else: {error}") from None


def _streamed(data: Any) -> pl.DataFrame:
    """A frame of an Arrow stream; of a pandas frame also where PyArrow is not installed."""
    try:
        return pl.DataFrame(data)
    except ImportError:
        columns = {str(name): data[name].astype(object) for name in data.columns}
        plain = {name: column.where(column.notna(), None).tolist() for name, column in columns.items()}
        return pl.DataFrame(plain, infer_schema_length=None)


def _of_rows(rows: Sequence[Any]) -> pl.DataFrame:
    try:
        return pl.DataFrame(rows, infer_schema_length=None)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise TableError(f"expected rows that are all alike: {error}") from None


def pairs_from(data: Any, kind: type[Pairs], columns: Mapping[str, str]) -> Iterator[Piece]:
    """The rows of a table of qrels or of a run."""
    frame = _named(frame_of(data), kind, columns)
    if frame.is_empty():
        raise TableError(f"expected rows of {kind.__name__.lower()}, found none")
    nulls = {name: frame[name].null_count() for name in frame.columns}
    for name, count in nulls.items():
        if count:
            row = int(frame[name].is_null().arg_max() or 0)
            raise TableError(f"column {name} has {count} empty values, the first in row {row + 1}")
    frame = frame.with_columns(_ids(frame, "query_id"), _ids(frame, "doc_id"))
    for part in frame.iter_slices(_SLICE_ROWS):
        queries = _texts(part["query_id"])
        starts = np.flatnonzero(~queries.repeats())
        yield Piece(queries.take(starts), starts, _texts(part["doc_id"]), part[frame.columns[2]].to_numpy())


def _named(frame: pl.DataFrame, kind: type[Pairs], columns: Mapping[str, str]) -> pl.DataFrame:
    """The three columns of the table under their own names."""
    found = {to: name for name, to in renamed(frame.columns, kind.aliases, columns).items()}
    value, sign = kind.value_column, 1
    if value not in found and "rank" in found:
        value, sign = "rank", -1
    require(("query_id", "doc_id", value), found, frame.columns)
    values = sign * _numbers(frame, found[value])
    return frame.select(query_id=found["query_id"], doc_id=found["doc_id"], **{kind.value_column: values})


def _numbers(frame: pl.DataFrame, name: str) -> pl.Series:
    column = frame[name]
    numbers = column.cast(pl.Float64, strict=False)
    bad = (numbers.is_null() & column.is_not_null()).arg_true()
    if len(bad):
        raise TableError(f"column {name} must be numbers, found {column[int(bad[0])]!r} in row {bad[0] + 1}")
    return numbers


def _ids(frame: pl.DataFrame, name: str) -> pl.Series:
    column = frame[name]
    if column.dtype.is_float():
        raise TableError(f"column {name} holds fractions ({column.dtype}); ids must be text or whole numbers")
    if column.dtype == pl.Boolean:
        raise TableError(f"column {name} holds true and false; ids must be text or whole numbers")
    return column.cast(pl.String)


def _texts(column: pl.Series) -> Texts:
    joined = column.str.join("\0").item() if len(column) else ""
    try:
        return Texts.joined(joined.encode(), len(column))
    except ValueError as error:
        raise TableError(f"column {column.name}: {error}") from None


def pairs_frame(groups: Groups, value_column: str) -> pl.DataFrame:
    """Grouped rows as a frame."""
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
    """Scores as a frame with one row for a query and a measure."""
    schema = {"query_id": pl.String, "measure": pl.String, "value": pl.Float64}
    parts = [
        pl.DataFrame(
            {"query_id": list(query_ids), "measure": [name] * len(column), "value": column}, schema=schema
        ).with_columns(pl.col("value").fill_nan(None))
        for name, column in values.items()
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)
