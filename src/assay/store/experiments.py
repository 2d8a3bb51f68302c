"""Experiments as records: their metrics as rows, their settings and figures as attributes for filters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, insert, not_, select

from assay.core.errors import InputError
from assay.core.records import Experiment, Metric
from assay.evaluation.configuration import flatten_settings
from assay.store.records import KIND_PREFIX, Record, batches, check_record
from assay.store.schema import metrics, records

_BODY_FIELDS = (
    "configuration",
    "digests",
    "policy",
    "latency",
    "figures",
    "code",
    "environment",
    "result",
)

_METRIC_COLUMNS = tuple(metrics.c[n] for n in ("measure", "column", "slice", "value", "low", "high", "n"))


@dataclass(frozen=True)
class ExperimentKind:
    """How experiments are stored; with `measures`, only these are read, and only over all queries."""

    measures: tuple[str, ...] | None = None
    noun: str = "experiment"

    def condition(self) -> ColumnElement[bool]:
        """Records whose kind is the command that measured them."""
        return not_(records.c.kind.startswith(KIND_PREFIX, autoescape=True))

    def to_record(self, value: Experiment) -> Record:
        """The record of an experiment."""
        _check(value)
        return Record(
            id=value.id,
            name=value.name,
            kind=value.kind,
            at=value.at,
            body={name: getattr(value, name) for name in _BODY_FIELDS},
            tags=value.tags,
            note=value.note,
            pinned=value.pinned,
            deleted_at=value.deleted_at,
            links=value.digests,
            attributes=_attributes(value),
        )

    def insert_details(self, connection: Connection, value: Experiment) -> None:
        """Insert the metrics of an experiment."""
        if value.metrics:
            connection.execute(insert(metrics), [_metric_row(value.id, m) for m in value.metrics])

    def from_records(self, connection: Connection, rows: Sequence[Record]) -> list[Experiment]:
        """The experiments of records, with their metrics."""
        metrics_by_id = self._read_metrics(connection, [record.id for record in rows])
        return [_experiment(record, metrics_by_id[record.id]) for record in rows]

    def _read_metrics(self, connection: Connection, ids: Sequence[str]) -> dict[str, list[Metric]]:
        metrics_by_id: dict[str, list[Metric]] = {record_id: [] for record_id in ids}
        for batch in batches(ids):
            query = select(metrics.c.record, *_METRIC_COLUMNS).where(metrics.c.record.in_(batch))
            if self.measures is not None:
                query = query.where(metrics.c.measure.in_(self.measures), metrics.c.column == "")
            for record_id, *values in connection.execute(query):
                metrics_by_id[record_id].append(Metric(*values))
        return metrics_by_id


def check_experiment(value: Experiment) -> None:
    """Raise InputError if an experiment could not be read back unchanged."""
    check_record(ExperimentKind().to_record(value))


def _check(e: Experiment) -> None:
    """Refuse metrics that could not be read back unchanged, and a kind that belongs to other records."""
    for m in e.metrics:
        if any(x is not None and not math.isfinite(x) for x in (m.value, m.low, m.high)):
            raise InputError(
                f"{m.measure} of {e.name!r} is not a finite number; an undefined value must be None"
            )
    if e.kind.startswith(KIND_PREFIX):
        raise InputError(f"the kind of {e.name!r} must not start with {KIND_PREFIX!r}, found {e.kind!r}")


def _metric_row(record_id: str, m: Metric) -> dict[str, Any]:
    values = {"value": m.value, "low": m.low, "high": m.high, "n": m.n}
    return {"record": record_id, "measure": m.measure, "column": m.column, "slice": m.value_of, **values}


def _attributes(e: Experiment) -> Mapping[str, Mapping[str, Any]]:
    """The values that filters compare, by space and key."""
    return {
        "params": flatten_settings(e.configuration),
        "latency": e.latency,
        "figures": flatten_settings(e.figures),
        "environment": flatten_settings(e.environment),
        "policy": flatten_settings(e.policy),
        "code": {"version": e.code} if e.code else {},
    }


def _experiment(record: Record, record_metrics: list[Metric]) -> Experiment:
    return Experiment(
        name=record.name,
        at=record.at,
        kind=record.kind,
        metrics=tuple(sorted(record_metrics, key=lambda m: m[:3])),  # each database has its own order
        tags=record.tags,
        note=record.note,
        pinned=record.pinned,
        deleted_at=record.deleted_at,
        id=record.id,
        **record.body,
    )
