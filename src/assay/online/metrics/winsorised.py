"""Values of queries cut at a quantile, so that a few very large ones do not decide a mean."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assay.online.event_tables import fetch_row
from assay.online.metrics.metric import Column, Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ibis.expr.types import Table, Value


def winsorise(
    metrics: Sequence[Metric], facts: Table, quantile: float
) -> tuple[list[Metric], dict[str, float]]:
    """Return the metrics with larger values cut at a quantile of the values above 0, and where."""
    columns = {
        f"x{number}": values.quantile(quantile, where=values > 0)
        for number, metric in enumerate(metrics)
        if (values := _heavy_values(metric, facts)) is not None
    }
    if not columns:
        return [*metrics], {}
    row = fetch_row(facts.aggregate(**columns))
    caps = {metrics[int(name[1:])].name: float(cap) for name, cap in row.items() if cap is not None}
    return [_cut(metric, caps[metric.name]) if metric.name in caps else metric for metric in metrics], caps


def _heavy_values(metric: Metric, facts: Table) -> Value | None:
    """Return the values of a metric that may be very large, None if it has no such values."""
    if metric.scope != "query" or metric.quantile is not None:
        return None
    value = metric.value(facts)
    return None if value.type().is_boolean() else value.cast("float64")


def _cut(metric: Metric, cap: float) -> Metric:
    value: Column = metric.value

    def cut(facts: Table) -> Value:
        values = value(facts).cast("float64")
        return (values > cap).ifelse(cap, values)  # null stays null on every database

    return replace(metric, value=cut)
