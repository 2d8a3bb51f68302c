"""Where the data of an A/B test come from: events, a table of units or a table of sums."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from assay.core.errors import FormatError, InputError, first_line
from assay.datasets.delimited import DelimitedRows
from assay.datasets.input_files import InputFile
from assay.online.ab.cells import TestSums
from assay.online.ab.sums_file import parse_sums
from assay.online.ab.unit_columns import UnitColumns
from assay.online.ab.unit_sums import sum_units
from assay.online.event_tables import connect_duckdb
from assay.workflows.event_inputs import EventSource, open_database, open_database_table

if TYPE_CHECKING:
    from ibis.expr.types import Table

KINDS = ("auto", "events", "units", "sums")
_SUM_KEYS = ("variants", "days", "strata")
_QUERY_NAMES = {"query_id", "action", "action_name", "user_query"}
_EVENT_NAMES = _QUERY_NAMES | {"client_id", "session_id", "timestamp", "at", "user_id"}
_LARGEST_SUMS = 200_000_000  # bytes of a table of sums


@dataclass(frozen=True, kw_only=True)
class ABSource:
    """Files of events, of units or of sums, or tables of a database."""

    events: EventSource = field(default_factory=EventSource)  # its paths are of any kind
    table: str | None = None  # the table of units in the database
    kind: str = "auto"

    @property
    def name(self) -> str:
        """The first file or the table, for messages."""
        return self.events.paths[0] if self.events.paths else self.table or ""


def open_sums(source: ABSource) -> TestSums | None:
    """Return the sums of a file of sums; None if the source is something else."""
    paths = source.events.paths
    if source.kind not in ("auto", "sums") or len(paths) != 1 or not _may_be_sums(source, paths[0]):
        if source.kind == "sums":
            raise InputError("expected one table of sums (JSON)")
        return None
    text = _read_text(paths[0])
    if source.kind == "sums" or _has_sums(text):
        return parse_sums(text, paths[0])
    return None


def _may_be_sums(source: ABSource, path: str) -> bool:
    if source.kind == "sums":
        return True
    return path.endswith(".json") and Path(path).is_file() and Path(path).stat().st_size < _LARGEST_SUMS


def _read_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise FormatError("expected a table of sums in JSON, found no text", path) from None


def _has_sums(text: str) -> bool:
    """Whether a text is a table of sums, or begins as one and is broken."""
    try:
        body = json.loads(text)
    except json.JSONDecodeError:
        return text.lstrip()[:1] == "{" and '"variants"' in text[:1000]
    return isinstance(body, Mapping) and any(key in body for key in _SUM_KEYS)


@contextmanager
def open_units(source: ABSource, columns: UnitColumns) -> Iterator[Table | None]:
    """Open the table of units of a source; None if it has events."""
    if source.events.url is None:
        yield _scan_units(source, columns) if source.kind in ("auto", "units") else None
    elif source.kind == "events" or source.table is None:
        yield None
    else:
        with open_database(source.events.url) as connection:
            yield open_database_table(connection, source.table)


def _scan_units(source: ABSource, columns: UnitColumns) -> Table | None:
    files = [file for path in source.events.paths for file in _files(path)]
    if source.kind == "units":
        return _scan(files, source.name)
    names = _first_names(files[0]) if files else set()
    if names & {columns.unit, columns.variant} and not names & _QUERY_NAMES:
        return _scan(files, source.name)
    if (
        _reader(source.name) == "read_csv"
        and names
        and not names & _EVENT_NAMES
        and not source.events.columns
    ):
        raise InputError(
            f"{source.name}: expected a table of units ({columns.unit}, {columns.variant}, METRIC…) or a log "
            f"of events (query_id, action_name, …), found the columns {', '.join(sorted(names))}: name the "
            "first two with --unit and --variant, or those of a log with --column"
        )
    return None


def _first_names(path: str) -> set[str]:
    """Return the names of the columns of a file, or of the fields of its first record."""
    if path.endswith(".parquet"):
        try:
            return set(pl.read_parquet_schema(path))
        except (pl.exceptions.PolarsError, OSError):
            return set()
    if _reader(path) is None:
        return set()
    lines = (line.strip() for line in InputFile(path).head().decode("utf-8", "replace").splitlines())
    first = next((line for line in lines if line and line not in "[{"), "")  # JSON may be one long line
    if first[:1] not in "[{":
        return {name.strip("\"' ") for name in re.split(r"[,;\t]", first)}
    return set(re.findall(r'"([^"]+)"\s*:', first[:10_000]))


def _scan(files: Sequence[str], name: str) -> Table:
    """Return files as one table."""
    readers = {_reader(file) for file in files}
    if len(readers) != 1 or None in readers:
        raise InputError(f"{name}: expected tables of units of one format: CSV, Parquet or JSON")
    reader = str(next(iter(readers)))
    connection = connect_duckdb()
    options: dict[str, Any] = {"union_by_name": True} if len(files) > 1 else {}
    if reader == "read_csv":
        options["nullstr"] = ["", "NA", "null", "NULL"]
    try:
        table: Table = getattr(connection, reader)(list(files), **options)
    except Exception as error:  # DuckDB's own errors
        if reader == "read_csv":
            _refuse_broken_rows(files)
        raise FormatError(f"expected a table: {first_line(error)}", files[0]) from None
    if reader == "read_csv" and len(table.columns) == 1:  # as DuckDB reads rows of different lengths
        _refuse_broken_rows(files)
    return table


def _refuse_broken_rows(files: Sequence[str]) -> None:
    """Raise FormatError at the first row that is no UTF-8 or has not as many fields as the header."""
    for file in files:
        for _ in DelimitedRows(InputFile(file), "tsv" if ".tsv" in Path(file).suffixes else "csv", {}):
            pass


def _files(path: str) -> list[str]:
    """Return a file, or the Parquet files of a folder."""
    folder = Path(path)
    if not folder.exists():
        raise InputError(f"{path}: there is no such file")
    return [str(file) for file in sorted(folder.glob("**/*.parquet"))] if folder.is_dir() else [path]


def _reader(path: str) -> str | None:
    name = path.removesuffix(".gz").removesuffix(".zst")
    if name.endswith((".csv", ".tsv", ".txt")):
        return "read_csv"
    if name.endswith((".json", ".jsonl", ".ndjson")):
        return "read_json"
    return "read_parquet" if name.endswith(".parquet") else None


def copy_standard_input() -> str:
    """Return the path of a file with what standard input has, named by its content."""
    content = sys.stdin.buffer.read()
    suffix = ".json" if content.lstrip()[:1] in (b"{", b"[") else ".csv"
    with tempfile.NamedTemporaryFile(suffix=suffix, delete=False) as file:
        file.write(content)
    return file.name


def read_units(table: Table, columns: UnitColumns, name: str, level: float = 0.95) -> TestSums:
    """Return the sums of a table of units; `level` is that of the quantiles."""
    return sum_units(table, columns, name, level)
