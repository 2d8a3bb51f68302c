"""The order, the groups and the fields of experiments in SQL, so that a page reads only what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, func, select

from assay.core.errors import InputError
from assay.core.records import Experiment
from assay.evaluation.experiment_fields import ExperimentField
from assay.store.experiments import ExperimentKind
from assay.store.filters import parse_filter, refuse_unknown_keys
from assay.store.records import batches
from assay.store.schema import attributes, links, metrics, records, tags
from assay.store.store import Store

FIELD_SPACES = ("latency", "figures", "params")
_MAX_NAMES = 200  # of one space that are offered as columns
_GROUP_COLUMNS = ("name", "kind")


class SeriesPoint(NamedTuple):
    """The value of a measure in one experiment."""

    name: str
    id: str
    at: datetime
    value: float


def sort_order(field: ExperimentField | None, reverse: bool = False) -> list[ColumnElement[Any]]:
    """Return the order of experiments: the best value of a field first, those without it last.

    It is the order of `sort_experiments`; without a field, the newest are first.
    """
    newest: list[ColumnElement[Any]] = [records.c.at.desc(), records.c.id.asc()]
    if field is None:
        return newest
    descending = reverse == (field.is_better_if_less or field.space == "params")
    number, text = _values(field)
    order: list[ColumnElement[Any]] = [(number.is_(None) & text.is_(None)).asc()]
    if field.space == "metrics":
        return [*order, _direct(number, descending), *newest]
    return [
        *order,
        _direct(number.is_(None), descending),
        _direct(number, descending),
        _direct(text, descending),
        *newest,
    ]


def _direct(value: ColumnElement[Any], descending: bool) -> ColumnElement[Any]:
    return value.desc() if descending else value.asc()


def _values(field: ExperimentField) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Return the number and the text of a field of a record."""
    if field.space == "metrics":
        value = select(metrics.c.value).where(
            metrics.c.record == records.c.id,
            metrics.c.measure == field.key,
            metrics.c.column == "",
            metrics.c.slice == "",
        )
        return value.scalar_subquery(), value.scalar_subquery()
    number, text = (
        select(column)
        .where(
            attributes.c.record == records.c.id,
            attributes.c.space == field.space,
            attributes.c.key == field.key,
        )
        .scalar_subquery()
        for column in (attributes.c.number, attributes.c.text)
    )
    return number, text


def group_value(group: str) -> ColumnElement[Any]:
    """Return by what experiments are grouped: name, kind, their first tag, or a setting such as params.ef."""
    if group in _GROUP_COLUMNS:
        return records.c[group]
    if group == "tag":
        return select(func.min(tags.c.tag)).where(tags.c.record == records.c.id).scalar_subquery()
    space, _, key = group.partition(".")
    if space in FIELD_SPACES and key:
        return _values(ExperimentField(space, key))[1]
    raise InputError(f"expected groups by name, kind, tag or a setting such as params.KEY, found {group!r}")


def group_order(group: str) -> list[ColumnElement[Any]]:
    """Return the order of groups; experiments that belong to none are last."""
    value = group_value(group)
    return [value.is_(None).asc(), value.asc()]


def count_experiments(store: Store, where: str = "") -> int:
    """Return how many experiments a filter admits."""
    query = select(func.count()).select_from(records).where(*_conditions(where))
    with store.database.read_transaction() as connection:
        return int(connection.execute(query).scalar_one())


def count_uses(store: Store, role: str, digests: Sequence[str]) -> dict[str, int]:
    """Return how many experiments refer to each of these tables in a role, by digest."""
    query = (
        select(links.c.digest, func.count())
        .join(records, records.c.id == links.c.record)
        .where(*_conditions(""), links.c.role == role, links.c.digest.in_(digests))
        .group_by(links.c.digest)
    )
    with store.database.read_transaction() as connection:
        return {digest: int(count) for digest, count in connection.execute(query)}


def find_experiment_ids(
    store: Store, where: str = "", *, names: Sequence[str] = (), limit: int | None = None
) -> list[str]:
    """Return the ids of the experiments that `Store.list` returns, in its order."""
    conditions = [*_conditions(where), *([records.c.name.in_(names)] if names else [])]
    query = select(records.c.id).where(*conditions).order_by(*sort_order(None)).limit(limit)
    with store.database.read_transaction() as connection:
        if where.strip():
            refuse_unknown_keys(where, connection)
        return list(connection.execute(query).scalars())


def read_experiments(store: Store, ids: Sequence[str]) -> dict[str, Experiment]:
    """Return experiments in full, by their ids."""
    found: list[Experiment] = []
    for batch in batches(ids):
        found += store.records(ExperimentKind()).find(records.c.id.in_(batch))
    return {experiment.id: experiment for experiment in found}


def count_groups(store: Store, where: str, group: str, values: Sequence[str | None]) -> dict[str | None, int]:
    """Return how many experiments that a filter admits are in each of these groups."""
    value = group_value(group)
    is_shown = value.in_([one for one in values if one is not None])
    condition = is_shown | value.is_(None) if None in values else is_shown
    # The value is read from a query within: PostgreSQL cannot group by a query for each row.
    inner = select(value.label("value")).where(*_conditions(where), condition).subquery()
    query = select(inner.c.value, func.count()).group_by(inner.c.value)
    with store.database.read_transaction() as connection:
        return {name: int(count) for name, count in connection.execute(query)}


def _conditions(where: str) -> list[ColumnElement[bool]]:
    conditions = [ExperimentKind().condition(), records.c.deleted_at.is_(None)]
    return [*conditions, parse_filter(where)] if where.strip() else conditions


def read_fields(store: Store) -> list[ExperimentField]:
    """Return every measure, latency, figure and setting that experiments have."""
    with store.database.read_transaction() as connection:
        names = _distinct(connection, metrics.c.measure)
        fields = [ExperimentField("metrics", name) for name in names]
        for space in FIELD_SPACES:
            keys = _distinct(connection, attributes.c.key, attributes.c.space == space)
            fields += [ExperimentField(space, key) for key in keys]
    return fields


def _distinct(connection: Connection, column: Any, *conditions: ColumnElement[bool]) -> list[str]:
    """Return the values of an indexed column; each is one look into the index, whatever the rows."""
    values: list[str] = []
    while len(values) < _MAX_NAMES:
        beyond = [column > values[-1]] if values else []
        value = connection.execute(select(func.min(column)).where(*conditions, *beyond)).scalar()
        if value is None:
            break
        values.append(value)
    return values


def read_series(store: Store, measure: str, names: Sequence[str], limit: int) -> dict[str, list[SeriesPoint]]:
    """Return the newest values of a measure by the name of the experiments, the oldest first."""
    columns = records.c
    series = {}
    with store.database.read_transaction() as connection:
        for name in names:
            query = (
                select(columns.id, columns.at, metrics.c.value)
                .join(metrics, metrics.c.record == columns.id)
                .where(
                    *_conditions(""),
                    columns.name == name,
                    metrics.c.measure == measure,
                    metrics.c.column == "",
                    metrics.c.slice == "",
                    metrics.c.value.is_not(None),
                )
                .order_by(columns.at.desc())
                .limit(limit)
            )
            rows = connection.execute(query).all()
            series[name] = [SeriesPoint(name, row.id, _time(row.at), row.value) for row in reversed(rows)]
    return series


def _time(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC)
