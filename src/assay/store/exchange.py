"""Experiments out to other tools and in from them: CSV, SQL and JSON lines.

CSV and SQL hold what a table can hold: the values over all queries, settings, latency and figures. JSON
lines hold the whole record. The tables of scores stay in the store; `moving` takes them along.
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

from assay.core.errors import FormatError, InputError
from assay.core.quoting import csv_line
from assay.core.records import Experiment, Metric
from assay.datasets.sinks import writing
from assay.store.rows import Table, from_rows, moment, tell, to_rows
from assay.store.sql import read_table, write_table
from assay.store.store import Store

_FIELDS = tuple(field.name for field in fields(Experiment))
_MAPPINGS = ("configuration", "digests", "policy", "latency", "figures", "environment", "result")
_TYPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("id", "name", "kind", "note", "at"), str),
    **dict.fromkeys(_MAPPINGS, dict),
    **dict.fromkeys(("code", "deleted_at"), (str, type(None))),
    **dict.fromkeys(("metrics", "tags"), list),
    "pinned": bool,
}
_WORDS = {str: "a text", dict: "an object", list: "a list", bool: "true or false"}


class Imported(NamedTuple):
    """What came in."""

    added: int
    skipped: int  # were there already
    others: tuple[str, ...] = ()  # columns that nothing is known of, taken for settings


def export_csv(store: Store, path: str | Path, where: str = "") -> int:
    """Write experiments to a CSV file; how many there were."""
    head, rows = to_rows(store.list(where))
    texts = (["" if cell is None else str(cell) for cell in row] for row in (head, *rows))
    with writing(path) as file:
        file.writelines(f"{csv_line(row)}\n".encode() for row in texts)
    return len(rows)


def import_csv(store: Store, path: str | Path) -> Imported:
    """Keep the experiments of a CSV file: all of them, or none where a row is wrong."""
    with _opened(path) as file, _cells_of_any_length():
        reader = csv.reader(file, strict=True)
        try:
            lines = _records(reader)
            head = next(lines, (1, []))[1]
            found = from_rows(Table(str(path), [name.strip() for name in head], lines))
        except csv.Error as error:
            raise FormatError(f"this is not CSV: {error}", str(path), reader.line_num) from None
        except UnicodeDecodeError:
            raise FormatError("expected UTF-8", str(path)) from None
    return _keep(store, found.experiments, found.others)


@contextmanager
def _cells_of_any_length() -> Iterator[None]:
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _opened(path: str | Path) -> Any:
    try:
        return open(path, encoding="utf-8-sig", newline="")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None


def _records(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """The rows with the line on which each begins; blank lines are left out."""
    line = 1
    for row in reader:
        if row:
            yield line, row
        line = reader.line_num + 1


def export_sql(store: Store, url: str, table: str = "experiments", where: str = "") -> int:
    """Write experiments to a table of any database, in place of those with the same experiment_id."""
    head, rows = to_rows(store.list(where))
    write_table(url, table, head, rows)
    return len(rows)


def import_sql(store: Store, url: str, table: str = "experiments") -> Imported:
    """Keep the experiments of a table of any database: all of them, or none where a row is wrong."""
    found = from_rows(read_table(url, table))
    return _keep(store, found.experiments, found.others)


def export_json(store: Store, path: str | Path, where: str = "") -> int:
    """Write experiments to a file of JSON lines, each with everything but its tables."""
    found = store.list(where)
    with writing(path) as file:
        file.writelines(f"{json.dumps(_plain(e), ensure_ascii=False)}\n".encode() for e in found)
    return len(found)


def _plain(experiment: Experiment) -> dict[str, Any]:
    made = asdict(experiment) | {"metrics": [m._asdict() for m in experiment.metrics]}
    return {key: value.isoformat() if isinstance(value, datetime) else value for key, value in made.items()}


def import_json(store: Store, path: str | Path) -> Imported:
    """Keep the experiments of a file of JSON lines: all of them, or none where a line is wrong."""
    made, problems, seen = list[Experiment](), list[FormatError](), dict[str, int]()
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                experiment = _experiment(json.loads(line))
                if experiment.id in seen:
                    raise ValueError(f"the same experiment as in line {seen[experiment.id]}")
                seen[experiment.id] = number
                made.append(experiment)
            except ValueError as error:
                problems.append(FormatError(str(error), str(path), number))
    tell(problems, str(path))
    return _keep(store, made)


def _experiment(record: Any) -> Experiment:
    """The experiment that a line says."""
    if not isinstance(record, dict) or not record.get("id") or not record.get("name"):
        raise ValueError("expected an object with id and name, as `assay experiments export` writes it")
    for key, value in record.items():
        if key not in _TYPES:
            raise ValueError(f"there is no field {key!r}; there are {', '.join(_FIELDS)}")
        if not isinstance(value, _TYPES[key]):
            kind = _TYPES[key]
            raise ValueError(f"{key} must be {_WORDS[kind if isinstance(kind, type) else kind[0]]}")
    times = {key: moment(record[key]) for key in ("at", "deleted_at") if record.get(key)}
    lists = {"metrics": tuple(map(_metric, record.get("metrics", ()))), "tags": tuple(record.get("tags", ()))}
    return Experiment(**{**record, **lists, **times})


def _metric(given: Any) -> Metric:
    try:
        made = Metric(**given)
    except TypeError:
        raise ValueError(f"a metric has {', '.join(Metric._fields)}, found {given!r}") from None
    numbers = (made.value, made.low, made.high, made.n)
    if not all(x is None or (isinstance(x, int | float) and not isinstance(x, bool)) for x in numbers):
        raise ValueError(f"the numbers of a metric are numbers or null, found {given!r}")
    if not all(isinstance(x, str) for x in made[:3]):
        raise ValueError(f"the measure and the slice of a metric are texts, found {given!r}")
    return made


def _keep(store: Store, found: Sequence[Experiment], others: tuple[str, ...] = ()) -> Imported:
    """Keep what is not there yet."""
    there = store.ids()
    new = [experiment for experiment in found if experiment.id not in there]
    store.put_all(new)
    return Imported(len(new), len(found) - len(new), others)
