"""Experiments as rows of a table with conventional column names, and back.

A column has the name that guides to retrieval evaluation use (recall_at_10, top_k) if there is one, and
otherwise the measure, params.KEY, latency_KEY or figures.KEY. The cell of a setting is its text, or JSON
if the text alone would be read as another value.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple, TypeVar

from assay.core.digests import digest_of
from assay.core.errors import FormatError, MeasureError
from assay.core.records import Experiment, Metric
from assay.core.suggestions import did_you_mean
from assay.evaluation.configuration import flatten_settings
from assay.measures import parse

GUIDE_COLUMNS = (
    "experiment_id",
    "embedding_model",
    "index_type",
    "top_k",
    "recall_at_10",
    "ndcg_at_10",
    "latency_p95_ms",
    "cost_per_1k_queries",
)
RECORD_COLUMNS = ("name", "at", "code", "tags", "note")
_RECORD_FIELDS = {
    **{key: key for key in RECORD_COLUMNS},
    "experiment_id": "id",
    "created_at": "at",
    "timestamp": "at",
}
_SETTINGS = ("embedding_model", "index_type", "top_k")
_COST_COLUMN = "cost_per_1k_queries"
_SHORT_NAMES = {"R": "recall", "nDCG": "ndcg", "RR": "mrr", "P": "precision", "AP": "map"}
_MAX_ID_CHARACTERS = 16  # of an id in the store
_SIMPLE_TAG = re.compile(r"[^\s,\[](?:[^,]*[^\s,])?")
Rows = list[list[Any]]
Row = TypeVar("Row")


class Column(NamedTuple):
    """The contents of a column: the key of a space, or a field of the record."""

    space: str  # metrics, params, latency, figures or record
    key: str


class ImportTable(NamedTuple):
    """A table to import: its rows, each with its line or number."""

    path: str
    head: Sequence[str]
    rows: Iterable[tuple[int, Sequence[Any]]]


class ImportedRows(NamedTuple):
    """The experiments of a table, and the columns with an unknown name, which are read as settings."""

    experiments: list[Experiment]
    unknown_columns: tuple[str, ...]


def to_rows(experiments: Sequence[Experiment]) -> tuple[list[str], Rows]:
    """The column names and rows of experiments, the columns of the guides first.

    >>> from assay.core.records import Experiment
    >>> head, rows = to_rows([Experiment("bm25", configuration={"top_k": 10}, id="k7")])
    >>> dict(zip(head, rows[0]))["top_k"]
    10
    """
    cells_of_rows = [_cells(experiment) for experiment in experiments]
    first = [column_of(name) for name in GUIDE_COLUMNS]
    rest = {column for cells in cells_of_rows for column, value in cells.items() if value is not None} - {
        *first
    }
    spaces = [sorted(c for c in rest if c.space == s) for s in ("metrics", "params", "latency", "figures")]
    columns = [
        *first,
        *(c for space in spaces for c in space),
        *(Column("record", key) for key in RECORD_COLUMNS),
    ]
    return [column_name(c) for c in columns if c], [
        [cells.get(c) for c in columns if c] for cells in cells_of_rows
    ]


def _cells(e: Experiment) -> dict[Column, Any]:
    spaces: Mapping[str, Mapping[str, Any]] = {
        "metrics": {m.measure: m.value for m in e.metrics if not m.column},
        "params": {key: format_cell(value) for key, value in flatten_settings(e.configuration).items()},
        "latency": e.latency,
        "figures": {key: format_cell(value) for key, value in flatten_settings(e.figures).items()},
        "record": {
            "id": e.result.get("experiment_id", e.id) if e.kind == "import" else e.id,
            "name": e.name,
            "at": e.at.isoformat(),
            "code": e.code,
            "tags": _join_tags(e.tags),
            "note": e.note or None,
        },
    }
    return {Column(space, key): value for space, values in spaces.items() for key, value in values.items()}


def format_cell(value: Any) -> str | int | float:
    """A setting as a cell that is read back as the same value.

    >>> format_cell("hnsw"), format_cell(16), format_cell("16"), format_cell(True)
    ('hnsw', 16, '"16"', 'true')
    """
    if isinstance(value, str):
        return value if value and _parse_cell(value) is value else json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return json.dumps(value, ensure_ascii=False)


def _parse_cell(text: str) -> Any:
    """The value of a cell's text: parsed JSON, or the text itself."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text


def _refuse_constant(constant: str) -> None:
    raise ValueError(constant)


def _join_tags(tags: Sequence[str]) -> str | None:
    if all(_SIMPLE_TAG.fullmatch(tag) for tag in tags):
        return ", ".join(tags) or None
    return json.dumps(list(tags), ensure_ascii=False)


def column_name(column: Column) -> str:
    """The shortest name of a column that is read back as the same column.

    >>> column_name(Column("metrics", "RR@10")), column_name(Column("metrics", "Success@5"))
    ('mrr_at_10', 'Success@5')
    """
    space, key = column
    if column == Column("record", "id"):
        return "experiment_id"
    full_name = f"latency_{key}" if space == "latency" else f"{space}.{key}"
    return next((name for name in (_short_name(key), key) if column_of(name) == column), full_name)


def _short_name(measure: str) -> str:
    name, _, cutoff = measure.partition("@")
    return (
        f"{_SHORT_NAMES[name]}_at_{cutoff}"
        if cutoff and name in _SHORT_NAMES
        else _SHORT_NAMES.get(name, measure)
    )


def column_of(name: str) -> Column | None:
    """The column with this name, or None if the name is unknown.

    >>> column_of("recall_at_10"), column_of("params.m"), column_of("colour")
    (Column(space='metrics', key='R@10'), Column(space='params', key='m'), None)
    """
    if name in _RECORD_FIELDS:
        return Column("record", _RECORD_FIELDS[name])
    if name in _SETTINGS or name == _COST_COLUMN:
        return Column("figures" if name == _COST_COLUMN else "params", name)
    if name.startswith("latency_"):
        return Column("latency", name.removeprefix("latency_"))
    space, _, key = name.partition(".")
    if space in ("params", "figures") and key:
        return Column(space, key)
    measure = _measure(key if space == "metrics" and key else name)
    if measure is None and space == "metrics" and key:
        measure = key  # a measure of the user's own that is not defined in this process
    return None if measure is None else Column("metrics", measure)


def _measure(text: str) -> str | None:
    """The measure that a column is named after: recall_at_10 is R@10."""
    match = re.fullmatch(r"([A-Za-z_]\w*?)_at_(\d+)", text)
    try:
        return str(parse(f"{match[1].replace('_', '')}@{match[2]}" if match else text))
    except MeasureError:
        return None


def from_rows(table: ImportTable) -> ImportedRows:
    """The experiments of a table; FormatError lists all problems of its rows."""
    columns = _columns(table)
    read_row = partial(_read_row, columns, table.head)
    experiments = read_experiments(table.rows, read_row, table.path)
    return ImportedRows(experiments, tuple(name for name in table.head if column_of(name) is None))


def read_experiments(
    rows: Iterable[tuple[int, Row]], read_row: Callable[[Row], Experiment], path: str
) -> list[Experiment]:
    """The experiments of the numbered rows of a file; FormatError lists all problems of the rows.

    A problem of a row is a ValueError of `read_row`, or the id of an earlier row.
    """
    experiments, problems, first_lines = list[Experiment](), list[FormatError](), dict[str, int]()
    for line, row in rows:
        try:
            experiment = read_row(row)
            if experiment.id in first_lines:
                raise ValueError(f"the same experiment as on line {first_lines[experiment.id]}")
            first_lines[experiment.id] = line
            experiments.append(experiment)
        except ValueError as error:
            problems.append(FormatError(str(error), path, line))
    if len(problems) == 1:
        raise problems[0]
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise FormatError(f"{len(problems)} rows cannot be read; nothing was imported\n{lines}", path)
    return experiments


def _refuse_misspelt(table: ImportTable) -> None:
    """Raise FormatError if an unknown column has nearly the name of a known one."""
    for name in table.head:
        if column_of(name) is None and (hint := did_you_mean(name, (*GUIDE_COLUMNS, *_RECORD_FIELDS), 0.8)):
            advice = f"rename it, to params.{name} if it is a setting"
            raise FormatError(f"there is no column {name!r}; {hint} {advice}", table.path)


def _columns(table: ImportTable) -> list[Column]:
    """The contents of each column."""
    columns_or_none = [column_of(name) for name in table.head]
    if not any(columns_or_none):
        raise FormatError(
            f"expected columns such as {', '.join(GUIDE_COLUMNS)}, found {', '.join(table.head) or 'none'}",
            table.path,
        )
    _refuse_misspelt(table)
    columns = [
        match or Column("params", name) for name, match in zip(table.head, columns_or_none, strict=True)
    ]
    for place, column in enumerate(columns):
        if column in columns[:place]:
            first = table.head[columns.index(column)]
            raise FormatError(f"the columns {first!r} and {table.head[place]!r} mean the same", table.path)
    return columns


def _read_row(columns: Sequence[Column], head: Sequence[str], cells: Sequence[Any]) -> Experiment:
    if len(cells) != len(columns):
        raise ValueError(f"expected {len(columns)} cells as in the header, found {len(cells)}")
    spaces: dict[str, dict[str, Any]] = {
        space: {} for space in ("metrics", "params", "latency", "figures", "record")
    }
    problems = []
    for column, name, value in zip(columns, head, cells, strict=True):
        if value is None or value == "":
            continue
        try:
            spaces[column.space][column.key] = _read_cell(column, value)
        except ValueError as error:
            problems.append(f"{name} {error}, found {value!r}")
    if problems:
        raise ValueError("; ".join(problems))
    return _build_experiment(spaces, cells)


def _build_experiment(spaces: Mapping[str, Mapping[str, Any]], cells: Sequence[Any]) -> Experiment:
    record = dict(spaces["record"])
    requested_id = record.pop("id", "")
    record_id = (
        requested_id
        if 0 < len(requested_id) <= _MAX_ID_CHARACTERS
        else _derive_id(requested_id or repr([str(c or "") for c in cells]))
    )
    return Experiment(
        name=record.pop("name", requested_id or record_id),
        kind="import",
        configuration=spaces["params"],
        metrics=tuple(
            Metric(m, "", "", value) for m, value in spaces["metrics"].items() if value is not None
        ),
        latency={name: value for name, value in spaces["latency"].items() if value is not None},
        figures=spaces["figures"],
        result={"experiment_id": requested_id} if requested_id and requested_id != record_id else {},
        id=record_id,
        **record,
    )


def _derive_id(text: str) -> str:
    """An id derived from a text, for rows without an id or with a longer one."""
    return digest_of(text.encode("utf-8", "surrogatepass"))[:_MAX_ID_CHARACTERS]


def _read_cell(column: Column, value: Any) -> Any:
    """The value of a cell."""
    space, key = column
    if space == "metrics":
        return _parse_measure_value(key, value)
    if space == "latency" or key == _COST_COLUMN:
        return _parse_number(value, lowest=0)
    if space in ("params", "figures"):
        return _parse_setting(value)
    if key == "at":
        return parse_time(value)
    return _parse_tags(str(value)) if key == "tags" else str(value)


def _parse_measure_value(measure: str, value: Any) -> float | None:
    try:
        bounded = parse(measure).is_bounded
    except MeasureError:
        bounded = False
    return _parse_number(value, 0, 1) if bounded else _parse_number(value)


def _parse_number(value: Any, lowest: float = -math.inf, highest: float = math.inf) -> float | None:
    """A number within bounds, or None for NaN."""
    try:
        number = value if type(value) in (int, float) else float(value)
    except (TypeError, ValueError):
        raise ValueError("must be a number") from None
    if math.isnan(number):
        return None
    if math.isinf(number) or not lowest <= number <= highest:
        upper_bound = f" and at most {highest:g}" if highest < math.inf else ""
        raise ValueError(
            "must be finite" if math.isinf(number) else f"must be at least {lowest:g}{upper_bound}"
        )
    return float(number) if highest == 1 else number


def _parse_setting(value: Any) -> Any:
    if isinstance(value, str):
        return _parse_cell(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value if isinstance(value, int | float) else str(value)


def parse_time(value: Any) -> datetime:
    """A time; UTC if it has no time zone."""
    try:
        at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
    except ValueError:
        raise ValueError("must be a time such as 2026-01-31T12:00:00+00:00") from None
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _parse_tags(text: str) -> tuple[str, ...]:
    parsed_json = _parse_cell(text)
    tags = parsed_json if isinstance(parsed_json, list) else text.split(",")
    return tuple(
        dict.fromkeys(str(tag).strip() if tags is not parsed_json else str(tag) for tag in tags if tag)
    )
