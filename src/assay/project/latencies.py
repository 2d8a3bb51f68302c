"""How long requests took, from a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.core.errors import FormatError
from assay.core.texts import Floats
from assay.datasets.sniff import is_number

if TYPE_CHECKING:
    import polars as pl

COLUMN = "latency_ms"
_BARE = "a number a line"


def read_latencies(path: str) -> Floats:
    """The column latency_ms of a CSV, JSON lines, Parquet or Arrow file, or a number a line."""
    import polars as pl

    try:
        frame = _READERS.get(Path(path).suffix, _delimited)(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise FormatError(f"expected latencies: {str(error).splitlines()[0][:200]}", path) from None
    bare = frame.width == 1 and frame.columns[0] == _BARE
    name = COLUMN if COLUMN in frame.columns else _BARE if bare else None
    if name is None:
        raise FormatError(f"expected a column {COLUMN}, found {', '.join(frame.columns)}", path)
    return _checked(frame[name], path)


def percentiles(latencies: Floats) -> dict[str, float]:
    """Percentiles by name, those that so many latencies can tell: p99 takes a thousand.

    >>> percentiles(np.arange(1.0, 101.0))
    {'p50_ms': 50.0, 'p90_ms': 90.0, 'p95_ms': 95.0}
    """
    ordered, n = np.sort(latencies), len(latencies)
    told = {50: 2, 90: 20, 95: 40, 99: 1000}
    return {
        f"p{p}_ms": float(ordered[max(0, -(-p * n // 100) - 1)]) for p, least in told.items() if n >= least
    }


def _checked(column: pl.Series, path: str) -> Floats:
    """The latencies, unless one of them cannot be one."""
    import polars as pl

    values: Floats = column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad) or not len(values):
        found = f"{column[int(bad[0])]!r} in row {int(bad[0]) + 1}" if len(bad) else "none"
        raise FormatError(f"expected latencies of 0 ms or more, found {found}", path)
    return values


def _delimited(path: str) -> pl.DataFrame:
    import polars as pl

    with open(path, encoding="utf-8") as file:
        first = file.readline()
    separator = "\t" if "\t" in first else ","
    named = not is_number(first)
    names = None if named else [_BARE]
    return pl.read_csv(path, separator=separator, has_header=named, new_columns=names, infer_schema=False)


def _lines(path: str) -> pl.DataFrame:
    import polars as pl

    return pl.read_ndjson(path)


def _parquet(path: str) -> pl.DataFrame:
    import polars as pl

    return pl.read_parquet(path)


def _arrow(path: str) -> pl.DataFrame:
    import polars as pl

    return pl.read_ipc(path)


def _json(path: str) -> pl.DataFrame:
    """A list of numbers, or of rows."""
    import json

    import polars as pl

    with open(path, encoding="utf-8") as file:
        try:
            given = json.load(file)
        except json.JSONDecodeError as error:
            raise FormatError(f"expected a list of latencies in JSON: {error}", path) from None
    rows = given if isinstance(given, list) else []
    if rows and all(isinstance(row, dict) for row in rows):
        return pl.DataFrame(rows, infer_schema_length=None)
    return pl.DataFrame({_BARE: [row if isinstance(row, int | float) else None for row in rows]})


_READERS: dict[str, Callable[[str], pl.DataFrame]] = {
    ".json": _json,
    ".jsonl": _lines,
    ".ndjson": _lines,
    ".parquet": _parquet,
    ".arrow": _arrow,
}
