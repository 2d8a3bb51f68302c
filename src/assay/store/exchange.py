"""Export of experiments to other tools and import from them: CSV, SQL and JSON lines.

CSV and SQL hold the values over all queries, settings, latency and figures. JSON lines hold the whole
record. The tables of scores stay in the store; `backup` copies them, too.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.csv_rows import format_csv_row
from assay.core.errors import FormatError, InputError
from assay.core.records import Experiment, Metric
from assay.datasets.output_files import open_for_writing
from assay.store.rows import ImportTable, from_rows, parse_time, read_experiments, to_rows
from assay.store.sql import read_table, write_table
from assay.store.store import Store

_FIELDS = tuple(field.name for field in fields(Experiment))
_MAPPING_FIELDS = ("configuration", "digests", "policy", "latency", "figures", "environment", "result")
_TYPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("id", "name", "kind", "note", "at"), str),
    **dict.fromkeys(_MAPPING_FIELDS, dict),
    **dict.fromkeys(("code", "deleted_at"), (str, type(None))),
    **dict.fromkeys(("metrics", "tags"), list),
    "pinned": bool,
}
_TYPE_NAMES = {str: "a string", dict: "an object", list: "a list", bool: "true or false"}


class ImportCounts(NamedTuple):
    """How many experiments were imported."""

    added: int
    skipped: int  # already in the store
    unknown_columns: tuple[str, ...] = ()  # columns with an unknown name, imported as settings


def export_csv(store: Store, path: str | Path, where: str = "") -> int:
    """Write experiments to a CSV file and return how many."""
    head, rows = to_rows(store.list(where))
    texts = (["" if cell is None else str(cell) for cell in row] for row in (head, *rows))
    with open_for_writing(path) as file:
        file.writelines(f"{format_csv_row(row)}\n".encode() for row in texts)
    return len(rows)


def import_csv(store: Store, path: str | Path) -> ImportCounts:
    """Save the experiments of a CSV file: all of them, or none if a row is invalid."""
    with _open_text(path) as file, _cells_of_any_length():
        reader = csv.reader(file, strict=True)
        try:
            lines = _numbered_rows(reader)
            head = next(lines, (1, []))[1]
            imported = from_rows(ImportTable(str(path), [name.strip() for name in head], lines))
        except csv.Error as error:
            raise FormatError(f"not valid CSV: {error}", str(path), reader.line_num) from None
        except UnicodeDecodeError:
            raise FormatError("expected UTF-8", str(path)) from None
    return _save_new(store, imported.experiments, imported.unknown_columns)


@contextmanager
def _cells_of_any_length() -> Iterator[None]:
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _open_text(path: str | Path) -> Any:
    try:
        return open(path, encoding="utf-8-sig", newline="")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None


def _numbered_rows(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """The rows with the number of the line on which each begins; blank lines are skipped."""
    line = 1
    for row in reader:
        if row:
            yield line, row
        line = reader.line_num + 1


def export_sql(store: Store, url: str, table: str = "experiments", where: str = "") -> int:
    """Write experiments to a table of any database, replacing rows with the same experiment_id."""
    head, rows = to_rows(store.list(where))
    write_table(url, table, head, rows)
    return len(rows)


def import_sql(store: Store, url: str, table: str = "experiments") -> ImportCounts:
    """Save the experiments of a table of any database: all of them, or none if a row is invalid."""
    imported = from_rows(read_table(url, table))
    return _save_new(store, imported.experiments, imported.unknown_columns)


def export_json(store: Store, path: str | Path, where: str = "") -> int:
    """Write experiments to a file of JSON lines, each complete except for its tables."""
    experiments = store.list(where)
    with open_for_writing(path) as file:
        file.writelines(f"{json.dumps(_record_dict(e), ensure_ascii=False)}\n".encode() for e in experiments)
    return len(experiments)


def _record_dict(experiment: Experiment) -> dict[str, Any]:
    record = asdict(experiment) | {"metrics": [m._asdict() for m in experiment.metrics]}
    return {key: value.isoformat() if isinstance(value, datetime) else value for key, value in record.items()}


def import_json(store: Store, path: str | Path) -> ImportCounts:
    """Save the experiments of a file of JSON lines: all of them, or none if a line is invalid."""
    with _open_text(path) as file:
        lines = ((number, line) for number, line in enumerate(file, 1) if line.strip())
        experiments = read_experiments(lines, _parse_experiment, str(path))
    return _save_new(store, experiments)


def _parse_experiment(line: str) -> Experiment:
    """The experiment of a line of JSON."""
    record = json.loads(line)
    if not isinstance(record, dict) or not record.get("id") or not record.get("name"):
        raise ValueError("expected an object with id and name, as written by `assay experiments export`")
    for key, value in record.items():
        if key not in _TYPES:
            raise ValueError(f"there is no field {key!r}; there are {', '.join(_FIELDS)}")
        if not isinstance(value, _TYPES[key]):
            kind = _TYPES[key]
            raise ValueError(f"{key} must be {_TYPE_NAMES[kind if isinstance(kind, type) else kind[0]]}")
    times = {key: parse_time(record[key]) for key in ("at", "deleted_at") if record.get(key)}
    lists = {"metrics": tuple(map(_metric, record.get("metrics", ()))), "tags": tuple(record.get("tags", ()))}
    return Experiment(**{**record, **lists, **times})


def _metric(fields: Any) -> Metric:
    try:
        metric = Metric(**fields)
    except TypeError:
        raise ValueError(f"expected a metric with {', '.join(Metric._fields)}, found {fields!r}") from None
    numbers = (metric.value, metric.low, metric.high, metric.n)
    if not all(x is None or (isinstance(x, int | float) and not isinstance(x, bool)) for x in numbers):
        raise ValueError(f"expected numbers or null in a metric, found {fields!r}")
    if not all(isinstance(x, str) for x in metric[:3]):
        raise ValueError(f"expected the measure and the slice of a metric as strings, found {fields!r}")
    return metric


def _save_new(
    store: Store, experiments: Sequence[Experiment], unknown_columns: tuple[str, ...] = ()
) -> ImportCounts:
    """Save the experiments that are not in the store yet."""
    saved_ids = store.ids()
    new = [experiment for experiment in experiments if experiment.id not in saved_ids]
    store.put_all(new)
    return ImportCounts(len(new), len(experiments) - len(new), unknown_columns)
