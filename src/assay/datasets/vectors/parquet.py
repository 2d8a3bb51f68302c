"""Parquet: vectors as a column of lists of numbers; neighbours as lists of positions and distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import FormatError
from assay.core.vectors import TYPES, Matrix, Neighbors, Vectors
from assay.core.vectors_check import pieces
from assay.datasets.sinks import writing
from assay.datasets.vectors.formats import Place, VectorFormat
from assay.datasets.vectors.headers import TRUTH, size_of
from assay.datasets.vectors.windows import Windowed

COLUMN = "vector"
_GROUP = 8 << 20  # bytes of a row group: what is unpacked to reach one row
_POSITIONS = ("positions", "neighbors", "neighbors_id", "neighbours", "ids")
_QUERY = ("query", "query_id", "id")


class Column(Windowed):
    """The rows of a column; each list is checked to be there and to have the same length."""

    def stretch(self, start: int, stop: int) -> Matrix:
        """The rows from start up to stop, from the file."""
        import polars as pl

        with _reading(self.path):
            frame = pl.scan_parquet(self.path, hive_partitioning=False).select(self.part)
            found = frame.slice(start, stop - start).collect().to_series()
        return _matrix(found, self.d, start, self.path).astype(self.dtype, copy=False)


def read(where: Place, made: VectorFormat, role: str) -> Vectors:
    """The vectors of a column, read by stretches."""
    import polars as pl

    size_of(where.path)
    with _reading(where.path):
        frame = pl.scan_parquet(where.path, hive_partitioning=False)
        schema = frame.collect_schema()
        n = frame.select(pl.len()).collect().item()
        shuffled = _shuffled(frame, schema, n)
    if shuffled:
        raise FormatError(
            "its column 'id' has the numbers from 0 on in another order than the rows, so that a truth by id "
            "and one by row would differ: sort the rows by 'id', or leave that column out",
            where.path,
        )
    name = _chosen(schema, where)
    dtype = np.dtype(_type(schema[name]))
    return Column(where.path, name, (n, _width(where.path, name, schema[name], n)), dtype)


def _shuffled(frame: Any, schema: Any, n: int) -> bool:
    """Whether rows are numbered from 0 to n − 1, but not in their order."""
    import polars as pl

    if not n or "id" not in schema or not schema["id"].is_integer():
        return False
    ids = frame.select(pl.col("id").cast(pl.Int64, strict=False)).collect().to_series()
    found = ids.to_numpy()
    if ids.null_count() or np.array_equal(found, np.arange(n)):
        return False
    return bool(found.min() == 0 and found.max() == n - 1 and ids.n_unique() == n)


def _type(kind: Any) -> str:
    """The type of the numbers in a column of lists; empty where it is none."""
    import polars as pl

    if not isinstance(kind, pl.Array | pl.List):
        return ""
    found = str(kind.inner).lower()
    return found if found in TYPES else ""


def _chosen(schema: Any, where: Place) -> str:
    """The column that is meant, or the only one that can be."""
    if where.part is not None and where.part not in schema:
        raise FormatError(f"has no column {where.part!r}; there are {', '.join(schema)}", where.path)
    fitting = [name for name, kind in schema.items() if _type(kind)]
    if where.part is None and fitting == ["distances"] and any(name in schema for name in _POSITIONS):
        raise FormatError(f"holds neighbours, and vectors are expected; {TRUTH}", where.path)
    there = ", ".join(fitting or [f"{name} ({kind})" for name, kind in schema.items()]) or "no column"
    if where.part is not None and where.part not in fitting:
        raise FormatError(
            f"column {where.part!r} is no column of lists of {', '.join(TYPES)}; there is {there}",
            where.path,
        )
    if where.part is None and len(fitting) != 1:
        hint = f": name one, as in {where.path}:{fitting[0]}" if fitting else ""
        raise FormatError(
            f"expected one column of lists of {', '.join(TYPES)}, found {there}{hint}",
            where.path,
        )
    return where.part if where.part is not None else fitting[0]


def _width(path: str, name: str, kind: Any, n: int) -> int:
    """The number of dimensions: that of the column, or that of its first row."""
    import polars as pl

    if isinstance(kind, pl.Array):
        return int(kind.size)
    with _reading(path):
        first = pl.scan_parquet(path, hive_partitioning=False).select(name).head(1).collect().to_series()
    if not n or first[0] is None:
        raise FormatError(f"column {name!r} has no first row, so its dimensions are not known", path)
    return len(first[0])


def _matrix(found: Any, d: int, start: int, path: str) -> Matrix:
    """A column as a table, each row checked."""
    import polars as pl

    inside = found.arr if isinstance(found.dtype, pl.Array) else found.list
    lengths = inside.len().fill_null(-1).to_numpy()
    wrong = np.flatnonzero(lengths != d)
    if len(wrong):
        had = f"{lengths[wrong[0]]:,} numbers" if lengths[wrong[0]] >= 0 else "nothing"
        raise FormatError(
            f"row {start + wrong[0]:,} of column {found.name!r} has {had}; expected {d:,}", path
        )
    numbers = inside.explode() if d and len(found) else pl.Series(dtype=found.dtype.inner)
    if numbers.null_count():
        at = int(numbers.is_null().arg_true()[0])
        raise FormatError(
            f"row {start + at // d:,} of column {found.name!r} lacks number {at % d:,}; expected {d:,}", path
        )
    return numbers.to_numpy().reshape(-1, d)


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Say plainly what Polars found wrong with a file."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise FormatError(f"cannot be read as parquet: {first}; fetch or write it again", path) from None


def write(vectors: Vectors, where: Place, made: VectorFormat) -> None:
    """Write vectors as a column of lists of one length, some rows at a time."""
    import polars as pl
    from polars.io.plugins import register_io_source

    name, kind = where.part or COLUMN, pl.Array(_inner(vectors.dtype.name), vectors.d)
    group = max(1, _GROUP // (vectors.d * vectors.dtype.itemsize))
    source = register_io_source(_blocks(vectors, name, kind), schema={name: kind})
    with writing(where.path) as file:
        source.sink_parquet(file.name, row_group_size=group, compression="lz4", maintain_order=True)


def _inner(name: str) -> Any:
    import polars as pl

    return {"float16": pl.Float16, "float32": pl.Float32, "float64": pl.Float64, "uint8": pl.UInt8}.get(
        name, pl.Int8
    )


def _blocks(vectors: Vectors, name: str, kind: Any) -> Callable[..., Iterator[Any]]:
    """What Polars asks for the rows."""
    import polars as pl

    def made(*asked: object) -> Iterator[Any]:
        for _, block in pieces(vectors, _GROUP):
            numbers = pl.Series(name, np.ascontiguousarray(block).reshape(-1), dtype=kind.inner)
            yield pl.DataFrame([numbers.reshape((len(block), vectors.d))])

    return made


def read_neighbors(where: Place, made: VectorFormat) -> Neighbors:
    """The neighbours of a table: a row for each query, with lists of positions and, if there, distances."""
    import polars as pl

    size_of(where.path)
    with _reading(where.path):
        frame = pl.read_parquet(where.path, hive_partitioning=False)
    name = where.part or _first(frame.columns, _POSITIONS)
    if name not in frame.columns:
        raise FormatError(
            f"expected a column {' or '.join(_POSITIONS)} with lists of positions, found "
            f"{', '.join(frame.columns)}",
            where.path,
        )
    frame = _ordered(frame, where.path)
    positions = _padded(frame[name], np.int64, -1, where.path)
    if not frame[name].dtype.inner.is_integer():
        raise FormatError(
            f"column {name!r} holds {frame[name].dtype.inner}; positions of neighbours are whole numbers",
            where.path,
        )
    if "distances" not in frame.columns:
        return Neighbors(positions)
    distances = _padded(frame["distances"], np.float64, np.nan, where.path)
    differ = _lengths(frame[name]) != _lengths(frame["distances"])
    if differ.any():
        raise FormatError(
            f"row {int(differ.argmax()):,} has lists of different lengths in {name!r} and 'distances'",
            where.path,
        )
    return Neighbors(positions, distances)


def _first(columns: list[str], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in columns), None)


def _ordered(frame: Any, path: str) -> Any:
    """The rows in the order of the queries they name."""
    name = _first(frame.columns, _QUERY)
    if name is None:
        return frame
    if not frame[name].dtype.is_integer() or not (frame[name].sort() == range(len(frame))).all():
        raise FormatError(f"column {name!r} must hold each position from 0 to {len(frame) - 1:,} once", path)
    return frame.sort(name)


def _padded(lists: Any, dtype: Any, missing: float, path: str) -> NDArray[Any]:
    """Lists of any length as one table."""
    import polars as pl

    if isinstance(lists.dtype, pl.Array):
        lists = lists.arr.to_list()
    if not isinstance(lists.dtype, pl.List) or not lists.dtype.inner.is_numeric():
        raise FormatError(f"column {lists.name!r} is {lists.dtype}; expected lists of numbers", path)
    counts = _lengths(lists)
    filled = np.arange(counts.max(initial=0)) < counts[:, None]
    made = np.full(filled.shape, missing, dtype)
    made[filled] = lists.filter(lists.list.len() > 0).list.explode().fill_null(missing).to_numpy()
    return made


def _lengths(lists: Any) -> NDArray[np.int64]:
    """How many numbers each list has."""
    import polars as pl

    inside = lists.arr if isinstance(lists.dtype, pl.Array) else lists.list
    made: NDArray[np.int64] = inside.len().fill_null(0).to_numpy().astype(np.int64)
    return made


def write_neighbors(neighbors: Neighbors, where: Place, made: VectorFormat) -> None:
    """Write a row for each query: query, positions and, if there are any, distances."""
    import polars as pl

    queries = np.arange(len(neighbors.positions))
    columns = {"query": pl.Series(queries), "positions": _lists(neighbors.positions, pl.Int64)}
    if neighbors.distances is not None:
        columns["distances"] = _lists(neighbors.distances, pl.Float64)
    with writing(where.path) as file:
        pl.DataFrame(columns).write_parquet(file)


def _lists(table: NDArray[Any], inner: Any) -> Any:
    import polars as pl

    n, k = table.shape
    numbers = pl.Series(np.ascontiguousarray(table).reshape(-1), dtype=inner)
    if not k:
        return pl.Series([[]] * n, dtype=pl.List(inner))
    return numbers.reshape((n, k)).arr.to_list()
