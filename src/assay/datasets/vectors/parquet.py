"""Parquet files: vectors as a column of lists of numbers, neighbours as lists of positions and distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from assay.core.errors import FormatError, first_line
from assay.core.vector_faults import row_blocks
from assay.core.vectors import TYPES, Matrix, Neighbors, Vectors
from assay.datasets.output_files import open_for_writing
from assay.datasets.vectors.formats import FilePart, VectorFormat
from assay.datasets.vectors.headers import NEIGHBORS_HINT, file_size
from assay.datasets.vectors.windowed import WindowedVectors

COLUMN = "vector"
_ROW_GROUP_BYTES = 8 << 20  # so much is decompressed to read one row
_POSITION_NAMES = ("positions", "neighbors", "neighbors_id", "neighbours", "ids")
_QUERY_NAMES = ("query", "query_id", "id")


class ParquetVectors(WindowedVectors):
    """The rows of a column; each list must exist and have the same length."""

    def read_window(self, start: int, stop: int) -> Matrix:
        """Return the rows from start up to stop, from the file."""
        with _translate_errors(self.path):
            frame = pl.scan_parquet(self.path, hive_partitioning=False).select(self.part)
            column = frame.slice(start, stop - start).collect().to_series()
        return _to_matrix(column, self.d, start, self.path).astype(self.dtype, copy=False)


def read(file: FilePart, file_format: VectorFormat, role: str) -> Vectors:
    """Return the vectors of a column, read by windows."""
    file_size(file.path)
    with _translate_errors(file.path):
        frame = pl.scan_parquet(file.path, hive_partitioning=False)
        schema = frame.collect_schema()
        n = frame.select(pl.len()).collect().item()
        is_shuffled = _is_shuffled(frame, schema, n)
    if is_shuffled:
        raise FormatError(
            "its column 'id' has the numbers from 0 on in another order than the rows, so positions by id "
            "and by row would differ: sort the rows by 'id', or remove that column",
            file.path,
        )
    name = _choose_column(schema, file)
    dtype = np.dtype(_number_type(schema[name]))
    return ParquetVectors(file.path, name, (n, _dimensions(file.path, name, schema[name], n)), dtype)


def _is_shuffled(frame: Any, schema: Any, n: int) -> bool:
    """Return whether the ids are 0 to n − 1, but not in this order."""
    if not n or "id" not in schema or not schema["id"].is_integer():
        return False
    ids = frame.select(pl.col("id").cast(pl.Int64, strict=False)).collect().to_series()
    numbers = ids.to_numpy()
    if ids.null_count() or np.array_equal(numbers, np.arange(n)):
        return False
    return bool(numbers.min() == 0 and numbers.max() == n - 1 and ids.n_unique() == n)


def _number_type(kind: Any) -> str:
    """Return the type of the numbers in a column of lists, empty if it is not such a column."""
    if not isinstance(kind, pl.Array | pl.List):
        return ""
    name = str(kind.inner).lower()
    return name if name in TYPES else ""


def _choose_column(schema: Any, file: FilePart) -> str:
    """Return the name of the requested column, or of the only one with vectors."""
    if file.part is not None and file.part not in schema:
        raise FormatError(f"has no column {file.part!r}; there are {', '.join(schema)}", file.path)
    candidates = [name for name, kind in schema.items() if _number_type(kind)]
    if file.part is None and candidates == ["distances"] and any(name in schema for name in _POSITION_NAMES):
        raise FormatError(f"holds neighbours, but vectors are expected; {NEIGHBORS_HINT}", file.path)
    listing = ", ".join(candidates or [f"{name} ({kind})" for name, kind in schema.items()]) or "no column"
    if file.part is not None and file.part not in candidates:
        raise FormatError(
            f"column {file.part!r} is not a column of lists of {', '.join(TYPES)}; found {listing}",
            file.path,
        )
    if file.part is None and len(candidates) != 1:
        hint = f": give one, as in {file.path}:{candidates[0]}" if candidates else ""
        raise FormatError(
            f"expected one column of lists of {', '.join(TYPES)}, found {listing}{hint}",
            file.path,
        )
    return file.part if file.part is not None else candidates[0]


def _dimensions(path: str, name: str, kind: Any, n: int) -> int:
    """Return the number of dimensions: that of the column, or that of its first row."""
    if isinstance(kind, pl.Array):
        return int(kind.size)
    with _translate_errors(path):
        first = pl.scan_parquet(path, hive_partitioning=False).select(name).head(1).collect().to_series()
    if not n or first[0] is None:
        raise FormatError(f"column {name!r} has no first row, so its number of dimensions is unknown", path)
    return len(first[0])


def _to_matrix(column: Any, d: int, start: int, path: str) -> Matrix:
    """Return a column as a matrix; raise FormatError if a row has another length."""
    lists = column.arr if isinstance(column.dtype, pl.Array) else column.list
    lengths = lists.len().fill_null(-1).to_numpy()
    bad_rows = np.flatnonzero(lengths != d)
    if len(bad_rows):
        content = f"{lengths[bad_rows[0]]:,} numbers" if lengths[bad_rows[0]] >= 0 else "nothing"
        raise FormatError(
            f"row {start + bad_rows[0]:,} of column {column.name!r} has {content}; expected {d:,}", path
        )
    numbers = lists.explode() if d and len(column) else pl.Series(dtype=column.dtype.inner)
    if numbers.null_count():
        at = int(numbers.is_null().arg_true()[0])
        raise FormatError(
            f"row {start + at // d:,} of column {column.name!r} lacks number {at % d:,}; expected {d:,}", path
        )
    return numbers.to_numpy().reshape(-1, d)


@contextmanager
def _translate_errors(path: str) -> Iterator[None]:
    """Translate the errors of Polars."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise FormatError(
            f"cannot be read as parquet: {first_line(error)}; download or write it again", path
        ) from None


def write(vectors: Vectors, target: FilePart, file_format: VectorFormat) -> None:
    """Write vectors as a column of lists of one length, block by block."""
    name, kind = target.part or COLUMN, pl.Array(_polars_type(vectors.dtype.name), vectors.d)
    group = max(1, _ROW_GROUP_BYTES // (vectors.d * vectors.dtype.itemsize))
    source = register_io_source(_frame_source(vectors, name, kind), schema={name: kind})
    with open_for_writing(target.path) as file:
        source.sink_parquet(file, row_group_size=group, compression="lz4", maintain_order=True)


def _polars_type(name: str) -> Any:
    return {"float16": pl.Float16, "float32": pl.Float32, "float64": pl.Float64, "uint8": pl.UInt8}.get(
        name, pl.Int8
    )


def _frame_source(vectors: Vectors, name: str, kind: Any) -> Callable[..., Iterator[Any]]:
    """Return the function from which Polars requests the rows."""

    def generate_frames(*options: object) -> Iterator[Any]:
        for _, block in row_blocks(vectors, _ROW_GROUP_BYTES):
            numbers = pl.Series(name, np.ascontiguousarray(block).reshape(-1), dtype=kind.inner)
            yield pl.DataFrame([numbers.reshape((len(block), vectors.d))])

    return generate_frames


def read_neighbors(file: FilePart, file_format: VectorFormat) -> Neighbors:
    """Return the neighbours of a table: a row for each query, with lists of positions and maybe distances."""
    file_size(file.path)
    with _translate_errors(file.path):
        frame = pl.read_parquet(file.path, hive_partitioning=False)
    name = file.part or _first_name(frame.columns, _POSITION_NAMES)
    if name not in frame.columns:
        raise FormatError(
            f"expected a column {' or '.join(_POSITION_NAMES)} with lists of positions, found "
            f"{', '.join(frame.columns)}",
            file.path,
        )
    frame = _sort_by_query(frame, file.path)
    positions = _pad_lists(frame[name], np.int64, -1, file.path)
    if not frame[name].dtype.inner.is_integer():
        raise FormatError(
            f"column {name!r} holds {frame[name].dtype.inner}; positions of neighbours are whole numbers",
            file.path,
        )
    if "distances" not in frame.columns:
        return Neighbors(positions)
    distances = _pad_lists(frame["distances"], np.float64, np.nan, file.path)
    is_different = _list_lengths(frame[name]) != _list_lengths(frame["distances"])
    if is_different.any():
        raise FormatError(
            f"row {int(is_different.argmax()):,} has lists of different lengths in {name!r} and 'distances'",
            file.path,
        )
    return Neighbors(positions, distances)


def _first_name(columns: list[str], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in columns), None)


def _sort_by_query(frame: Any, path: str) -> Any:
    """Return the rows in the order of their queries."""
    name = _first_name(frame.columns, _QUERY_NAMES)
    if name is None:
        return frame
    if not frame[name].dtype.is_integer() or not (frame[name].sort() == range(len(frame))).all():
        raise FormatError(f"column {name!r} must hold each position from 0 to {len(frame) - 1:,} once", path)
    return frame.sort(name)


def _pad_lists(lists: Any, dtype: Any, missing: float, path: str) -> NDArray[Any]:
    """Return lists of any length as one table."""
    if isinstance(lists.dtype, pl.Array):
        lists = lists.arr.to_list()
    if not isinstance(lists.dtype, pl.List) or not lists.dtype.inner.is_numeric():
        raise FormatError(f"column {lists.name!r} is {lists.dtype}; expected lists of numbers", path)
    counts = _list_lengths(lists)
    is_filled = np.arange(counts.max(initial=0)) < counts[:, None]
    table = np.full(is_filled.shape, missing, dtype)
    table[is_filled] = lists.filter(lists.list.len() > 0).list.explode().fill_null(missing).to_numpy()
    return table


def _list_lengths(lists: Any) -> NDArray[np.int64]:
    """Return the number of elements of each list."""
    values = lists.arr if isinstance(lists.dtype, pl.Array) else lists.list
    lengths: NDArray[np.int64] = values.len().fill_null(0).to_numpy().astype(np.int64)
    return lengths


def write_neighbors(neighbors: Neighbors, target: FilePart, file_format: VectorFormat) -> None:
    """Write a row for each query: query, positions and, if known, distances."""
    queries = np.arange(len(neighbors.positions))
    columns = {"query": pl.Series(queries), "positions": _to_lists(neighbors.positions, pl.Int64)}
    if neighbors.distances is not None:
        columns["distances"] = _to_lists(neighbors.distances, pl.Float64)
    with open_for_writing(target.path) as file:
        pl.DataFrame(columns).write_parquet(file)


def _to_lists(table: NDArray[Any], inner: Any) -> Any:
    n, k = table.shape
    numbers = pl.Series(np.ascontiguousarray(table).reshape(-1), dtype=inner)
    if not k:
        return pl.Series([[]] * n, dtype=pl.List(inner))
    return numbers.reshape((n, k)).arr.to_list()
