"""Experiments as rows of a table, under the column names that guides use, and back.

A column is named as guides name it where they do (recall_at_10, top_k), else by what it holds: the
measure's text, params.KEY, latency_KEY, figures.KEY. A setting's cell is its text, or JSON where the text
alone would be read as something else.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from assay.core.digests import digest_of
from assay.core.errors import FormatError, MeasureError
from assay.core.records import Experiment, Metric
from assay.evaluation.configuration import flat
from assay.measures import parse

GUIDE = (
    "experiment_id",
    "embedding_model",
    "index_type",
    "top_k",
    "recall_at_10",
    "ndcg_at_10",
    "latency_p95_ms",
    "cost_per_1k_queries",
)
RECORD = ("name", "at", "code", "tags", "note")
_NAMES = {**{key: key for key in RECORD}, "experiment_id": "id", "created_at": "at", "timestamp": "at"}
_SETTINGS = ("embedding_model", "index_type", "top_k")
_COST = "cost_per_1k_queries"
_SHORT = {"R": "recall", "nDCG": "ndcg", "RR": "mrr", "P": "precision", "AP": "map"}
_LONGEST = 16  # characters of an id in the store
_SIMPLE_TAG = re.compile(r"[^\s,\[](?:[^,]*[^\s,])?")
Rows = list[list[Any]]


class Column(NamedTuple):
    """What a column holds: the key of a space, or a field of the record."""

    space: str  # metrics, params, latency, figures or record
    key: str


class Table(NamedTuple):
    """Rows that were read, each with its line or number."""

    path: str
    head: Sequence[str]
    rows: Iterable[tuple[int, Sequence[Any]]]


class Found(NamedTuple):
    """The experiments of a table, and which columns were taken for settings because nothing else fits."""

    experiments: list[Experiment]
    others: tuple[str, ...]


def to_rows(experiments: Sequence[Experiment]) -> tuple[list[str], Rows]:
    """The columns and rows of experiments: those of the guides first.

    >>> from assay.core.records import Experiment
    >>> head, rows = to_rows([Experiment("bm25", configuration={"top_k": 10}, id="k7")])
    >>> dict(zip(head, rows[0]))["top_k"]
    10
    """
    held = [_cells(experiment) for experiment in experiments]
    first = [meaning(name) for name in GUIDE]
    rest = {column for cells in held for column, value in cells.items() if value is not None} - {*first}
    spaces = [sorted(c for c in rest if c.space == s) for s in ("metrics", "params", "latency", "figures")]
    columns = [*first, *(c for space in spaces for c in space), *(Column("record", key) for key in RECORD)]
    return [name_of(c) for c in columns if c], [[cells.get(c) for c in columns if c] for cells in held]


def _cells(e: Experiment) -> dict[Column, Any]:
    spaces: Mapping[str, Mapping[str, Any]] = {
        "metrics": {m.measure: m.value for m in e.metrics if not m.column},
        "params": {key: cell(value) for key, value in flat(e.configuration).items()},
        "latency": e.latency,
        "figures": {key: cell(value) for key, value in flat(e.figures).items()},
        "record": {
            "id": e.result.get("experiment_id", e.id) if e.kind == "import" else e.id,
            "name": e.name,
            "at": e.at.isoformat(),
            "code": e.code,
            "tags": _joined(e.tags),
            "note": e.note or None,
        },
    }
    return {Column(space, key): value for space, found in spaces.items() for key, value in found.items()}


def cell(value: Any) -> str | int | float:
    """A setting as a cell that is read back as it is.

    >>> cell("hnsw"), cell(16), cell("16"), cell(True)
    ('hnsw', 16, '"16"', 'true')
    """
    if isinstance(value, str):
        return value if value and _loaded(value) is value else json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return json.dumps(value, ensure_ascii=False)


def _loaded(text: str) -> Any:
    """What a cell's text says: JSON, or the text itself."""
    try:
        return json.loads(text, parse_constant=_not_json)
    except (ValueError, RecursionError):
        return text


def _not_json(constant: str) -> None:
    raise ValueError(constant)


def _joined(tags: Sequence[str]) -> str | None:
    if all(_SIMPLE_TAG.fullmatch(tag) for tag in tags):
        return ", ".join(tags) or None
    return json.dumps(list(tags), ensure_ascii=False)


def name_of(column: Column) -> str:
    """The name of a column: the shortest that is read back as the same.

    >>> name_of(Column("metrics", "RR@10")), name_of(Column("metrics", "Success@5"))
    ('mrr_at_10', 'Success@5')
    """
    space, key = column
    if column == Column("record", "id"):
        return "experiment_id"
    whole = f"latency_{key}" if space == "latency" else f"{space}.{key}"
    return next((name for name in (_short(key), key) if meaning(name) == column), whole)


def _short(measure: str) -> str:
    name, _, cutoff = measure.partition("@")
    return f"{_SHORT[name]}_at_{cutoff}" if cutoff and name in _SHORT else _SHORT.get(name, measure)


def meaning(name: str) -> Column | None:
    """What a column of this name holds, None where nothing is known of it.

    >>> meaning("recall_at_10"), meaning("params.m"), meaning("colour")
    (Column(space='metrics', key='R@10'), Column(space='params', key='m'), None)
    """
    if name in _NAMES:
        return Column("record", _NAMES[name])
    if name in _SETTINGS or name == _COST:
        return Column("figures" if name == _COST else "params", name)
    if name.startswith("latency_"):
        return Column("latency", name.removeprefix("latency_"))
    space, _, key = name.partition(".")
    if space in ("params", "figures") and key:
        return Column(space, key)
    measure = _measure(key if space == "metrics" and key else name)
    if measure is None and space == "metrics" and key:
        measure = key  # of the user's own, and not defined here
    return None if measure is None else Column("metrics", measure)


def _measure(text: str) -> str | None:
    """The measure that a column is named for: recall_at_10 is R@10."""
    said = re.fullmatch(r"([A-Za-z_]\w*?)_at_(\d+)", text)
    try:
        return str(parse(f"{said[1].replace('_', '')}@{said[2]}" if said else text))
    except MeasureError:
        return None


def from_rows(table: Table) -> Found:
    """The experiments of a table; everything that is wrong with it is told at once."""
    columns = _columns(table)
    made, problems, seen = list[Experiment](), list[FormatError](), dict[str, int]()
    for line, cells in table.rows:
        try:
            experiment = _experiment(columns, table.head, cells)
            if experiment.id in seen:
                raise ValueError(f"the same experiment as in line {seen[experiment.id]}")
            seen[experiment.id] = line
            made.append(experiment)
        except ValueError as error:
            problems.append(FormatError(str(error), table.path, line))
    tell(problems, table.path)
    return Found(made, tuple(name for name in table.head if meaning(name) is None))


def tell(problems: Sequence[FormatError], path: str) -> None:
    """Raise what is wrong with the rows of a file, if anything."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        listed = "\n".join(f"  {problem}" for problem in problems)
        raise FormatError(f"{len(problems)} rows cannot be read; nothing was imported\n{listed}", path)


def _columns(table: Table) -> list[Column]:
    """What each column holds."""
    known = [meaning(name) for name in table.head]
    if not any(known):
        raise FormatError(
            f"expected columns such as {', '.join(GUIDE)}, found {', '.join(table.head) or 'none'}",
            table.path,
        )
    columns = [found or Column("params", name) for name, found in zip(table.head, known, strict=True)]
    for place, column in enumerate(columns):
        if column in columns[:place]:
            first = table.head[columns.index(column)]
            raise FormatError(f"the columns {first!r} and {table.head[place]!r} say the same", table.path)
    return columns


def _experiment(columns: Sequence[Column], head: Sequence[str], cells: Sequence[Any]) -> Experiment:
    if len(cells) != len(columns):
        raise ValueError(f"expected {len(columns)} cells as in the head, found {len(cells)}")
    spaces: dict[str, dict[str, Any]] = {
        space: {} for space in ("metrics", "params", "latency", "figures", "record")
    }
    wrong = []
    for column, name, value in zip(columns, head, cells, strict=True):
        if value is None or value == "":
            continue
        try:
            spaces[column.space][column.key] = _read(column, value)
        except ValueError as error:
            wrong.append(f"{name} {error}, found {value!r}")
    if wrong:
        raise ValueError("; ".join(wrong))
    return _made(spaces, cells)


def _made(spaces: Mapping[str, Mapping[str, Any]], cells: Sequence[Any]) -> Experiment:
    record = dict(spaces["record"])
    given = record.pop("id", "")
    key = given if 0 < len(given) <= _LONGEST else _derived(given or repr([str(c or "") for c in cells]))
    return Experiment(
        name=record.pop("name", given or key),
        kind="import",
        configuration=spaces["params"],
        metrics=tuple(
            Metric(m, "", "", value) for m, value in spaces["metrics"].items() if value is not None
        ),
        latency={name: value for name, value in spaces["latency"].items() if value is not None},
        figures=spaces["figures"],
        result={"experiment_id": given} if given and given != key else {},
        id=key,
        **record,
    )


def _derived(text: str) -> str:
    """An id for what has none that fits."""
    return digest_of(text.encode("utf-8", "surrogatepass"))[:_LONGEST]


def _read(column: Column, value: Any) -> Any:
    """The value of a cell."""
    space, key = column
    if space == "metrics":
        return _value_of(key, value)
    if space == "latency" or key == _COST:
        return _number(value, lowest=0)
    if space in ("params", "figures"):
        return _setting(value)
    if key == "at":
        return moment(value)
    return _tags(str(value)) if key == "tags" else str(value)


def _value_of(measure: str, value: Any) -> float | None:
    try:
        bounded = parse(measure).bounded
    except MeasureError:
        bounded = False
    return _number(value, 0, 1) if bounded else _number(value)


def _number(value: Any, lowest: float = -math.inf, highest: float = math.inf) -> float | None:
    """A number within bounds; None where it is not one by intention."""
    try:
        number = value if type(value) in (int, float) else float(value)
    except (TypeError, ValueError):
        raise ValueError("must be a number") from None
    if math.isnan(number):
        return None
    if math.isinf(number) or not lowest <= number <= highest:
        most = f" and at most {highest:g}" if highest < math.inf else ""
        raise ValueError("must be finite" if math.isinf(number) else f"must be at least {lowest:g}{most}")
    return float(number) if highest == 1 else number


def _setting(value: Any) -> Any:
    if isinstance(value, str):
        return _loaded(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value if isinstance(value, int | float) else str(value)


def moment(value: Any) -> datetime:
    """A time; one without a zone is UTC."""
    try:
        at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
    except ValueError:
        raise ValueError("must be a time such as 2026-01-31T12:00:00+00:00") from None
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _tags(text: str) -> tuple[str, ...]:
    listed = _loaded(text)
    tags = listed if isinstance(listed, list) else text.split(",")
    return tuple(dict.fromkeys(str(tag).strip() if tags is not listed else str(tag) for tag in tags if tag))
