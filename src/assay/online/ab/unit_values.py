"""Single values of a table of units: its quantiles, and texts where numbers are expected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.core.errors import InputError
from assay.online.ab.design import MetricColumns
from assay.online.ab.unit_columns import UnitColumns
from assay.stats.clustered_quantiles import ClusteredQuantile, clustered_quantile

if TYPE_CHECKING:
    from ibis.expr.types import Table


def read_quantiles(
    units: Table, metrics: Sequence[MetricColumns], variant: str, level: float
) -> dict[str, dict[str, ClusteredQuantile]]:
    """Return the quantiles among the metrics, by variant; each unit has one value."""
    found: dict[str, dict[str, ClusteredQuantile]] = {}
    for metric in metrics:
        if metric.quantile is None:
            continue
        rows = units.select(variant=units[variant].cast("string"), x=units[metric.value].cast("float64"))
        frame = rows.to_polars().drop_nulls()
        found[metric.name] = {}
        for (name,), part in frame.partition_by("variant", as_dict=True).items():
            values = part["x"].to_numpy()
            if not np.isfinite(values).all():
                raise InputError(f"expected finite numbers in {metric.value}, found NaN or infinity")
            found[metric.name][str(name)] = clustered_quantile(
                values, np.arange(len(values)), metric.quantile, level
            )
    return found


def refuse_texts(table: Table, names: Iterable[str], columns: UnitColumns) -> None:
    """Refuse texts in columns that are named as metrics, or most of whose values are numbers."""
    if columns.unit not in table.columns or table.get_backend().name != "duckdb":
        return
    taken = {columns.unit, columns.variant, *columns.groups.values()}
    names = [name for name in names if name not in taken and table[name].type().is_string()]
    for name in names:
        if name in columns.numbers:
            refuse_text(table, name, columns.unit)
    if not names:
        return
    counts: dict[str, object] = {}
    for place, name in enumerate(names):
        counts[f"known{place}"] = table[name].count()
        counts[f"numbers{place}"] = table[name].try_cast("float64").count()
    row = table.aggregate(**counts).to_pyarrow().to_pylist()[0]
    for place, name in enumerate(names):
        if row[f"numbers{place}"] * 2 > row[f"known{place}"]:
            refuse_text(table, name, columns.unit)


def refuse_text(table: Table, name: str, unit: str) -> None:
    """Raise an error with the first value of a column that is no number."""
    wrong = table.filter(table[name].notnull() & table[name].try_cast("float64").isnull())
    rows = wrong.select(unit=wrong[unit].cast("string"), value=wrong[name]).limit(1)
    example = rows.to_pyarrow().to_pylist()
    count = int(wrong.count().to_pyarrow().as_py())
    place = f"{example[0]['value']!r} of unit {example[0]['unit']!r}" if example else "texts"
    raise InputError(
        f"expected numbers in {name}, found {place} ({count:,} such): leave the cell empty "
        "where a unit has no value, or name the metrics with --metric"
    )
