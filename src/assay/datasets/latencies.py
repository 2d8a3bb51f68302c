"""Latencies of requests, read from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.core.arrays import Floats
from assay.core.errors import FormatError, first_line
from assay.datasets.detection import is_number_text

if TYPE_CHECKING:
    import polars as pl

COLUMN = "latency_ms"
_UNNAMED = "a number on each line"


def read_latencies(path: str) -> Floats:
    """Return the column latency_ms of a CSV, JSONL, Parquet or Arrow file, or one number on each line."""
    frame = _read_frame(path)
    is_unnamed = frame.columns == [_UNNAMED]
    if COLUMN not in frame.columns and not is_unnamed:
        raise FormatError(f"expected a column {COLUMN}, found {', '.join(frame.columns)}", path)
    return _check_latencies(frame[_UNNAMED if is_unnamed else COLUMN], path)


def percentiles(latencies: Floats) -> dict[str, float]:
    """Return percentiles by name, as far as there are enough latencies: p99 needs a thousand.

    >>> percentiles(np.arange(1.0, 101.0))
    {'p50_ms': 50.0, 'p90_ms': 90.0, 'p95_ms': 95.0}
    """
    sorted_latencies, n = np.sort(latencies), len(latencies)
    minimum_counts = {50: 2, 90: 20, 95: 40, 99: 1000}
    return {
        f"p{p}_ms": float(sorted_latencies[max(0, -(-p * n // 100) - 1)])
        for p, least in minimum_counts.items()
        if n >= least
    }


def _check_latencies(column: pl.Series, path: str) -> Floats:
    """Return the latencies; raise FormatError if one is negative or not a number."""
    values: Floats = column.cast(float, strict=False).fill_null(np.nan).to_numpy()
    bad_rows = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad_rows) or not len(values):
        problem = f"{column[int(bad_rows[0])]!r} in row {int(bad_rows[0]) + 1}" if len(bad_rows) else "none"
        raise FormatError(f"expected latencies of 0 ms or more, found {problem}", path)
    return values


def _read_frame(path: str) -> pl.DataFrame:
    """Return the rows of a file; a number without a name is in the column `_UNNAMED`."""
    import polars as pl

    suffix = Path(path).suffix
    try:
        if suffix == ".json":
            return pl.DataFrame(_read_json(path), infer_schema_length=None)
        if suffix in (".jsonl", ".ndjson"):
            return pl.read_ndjson(path)
        if suffix == ".parquet":
            return pl.read_parquet(path)
        if suffix == ".arrow":
            return pl.read_ipc(path)
        return pl.read_csv(path, infer_schema=False, **_csv_options(path))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise FormatError(f"expected latencies: {first_line(error)[:200]}", path) from None


def _csv_options(path: str) -> dict[str, Any]:
    """Return the options with which Polars reads a CSV or TSV file, with or without a header."""
    with open(path, encoding="utf-8") as file:
        first = file.readline()
    separator = "\t" if "\t" in first else ","
    if is_number_text(first):
        return {"separator": separator, "has_header": False, "new_columns": [_UNNAMED]}
    return {"separator": separator, "has_header": True}


def _read_json(path: str) -> list[dict[str, Any]] | dict[str, list[Any]]:
    """Return the rows of a JSON list of objects, or the column of a JSON list of numbers."""
    with open(path, encoding="utf-8") as file:
        try:
            value = json.load(file)
        except json.JSONDecodeError as error:
            raise FormatError(f"expected a list of latencies in JSON: {error}", path) from None
    rows = value if isinstance(value, list) else []
    if rows and all(isinstance(row, dict) for row in rows):
        return rows
    return {_UNNAMED: [row if isinstance(row, int | float) else None for row in rows]}
