"""Quantiles of the values of queries (latency), with variance clustered by unit: three scans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.online.event_tables import fetch_row, fetch_rows, load_ibis
from assay.online.metrics.metric import Metric
from assay.stats.clustered_quantiles import (
    ClusteredQuantile,
    estimate_clustered_quantile,
    levels_to_read,
)
from assay.stats.moments import Moments

if TYPE_CHECKING:
    from ibis.expr.types import Table, Value

_MOST_READS = 60  # quantiles in one scan
Slice = tuple[Any, ...]  # the values of the `by` columns


class _Case(NamedTuple):
    """One quantile of one slice, before its interval is known."""

    slice: Slice
    metric: Metric
    value: float | None
    below: Moments


def unit_quantiles(
    facts: Table, metrics: Sequence[Metric], by: Sequence[str] = (), level: float = 0.95
) -> dict[Slice, dict[str, ClusteredQuantile]]:
    """Return the quantiles among the metrics, for each value of the `by` columns.

    `facts` has the unit of each query as unit_id. A quantile between two values is interpolated.
    """
    cases = list(_count_below(facts, [m for m in metrics if m.quantile is not None], by))
    ends = _read_ends(facts, cases, by, level)
    results: dict[Slice, dict[str, ClusteredQuantile]] = {}
    for case in cases:
        q = case.metric.quantile or 0.5
        known = {q: case.value, **ends.get((case.slice, case.metric.name), {})}
        result = estimate_clustered_quantile(case.below, q, known.get, level)
        results.setdefault(case.slice, {})[case.metric.name] = result
    return results


def _count_below(facts: Table, metrics: Sequence[Metric], by: Sequence[str]) -> Iterator[_Case]:
    """Yield the quantiles, with the sums over units of how many values are at or below them."""
    if not metrics:
        return
    values = {f"x{number}": m.value(facts).cast("float64") for number, m in enumerate(metrics)}
    facts = facts.select("unit_id", *by, **values)
    columns = {
        f"q{number}": facts[f"x{number}"].quantile(metric.quantile) for number, metric in enumerate(metrics)
    }
    cuts = facts.group_by(list(by)).aggregate(**columns) if by else facts.aggregate(**columns)
    units = _units_below(facts, cuts, len(metrics), by)
    for row in fetch_rows(_sum_units(units, len(metrics), by)):
        key = tuple(row[name] for name in by)
        for number, metric in enumerate(metrics):
            names = {"n": "n", "sum": "s", "sum_squares": "t", "denominator_sum": "d"}
            names |= {"denominator_sum_squares": "e", "cross": "c"}
            sums = {name: row[f"{letter}{number}"] or 0 for name, letter in names.items()}
            yield _Case(key, metric, row[f"q{number}"], Moments.from_fields(sums))


def _units_below(facts: Table, cuts: Table, count: int, by: Sequence[str]) -> Table:
    """Return, for each unit, how many values it has and how many are at or below each quantile."""
    cuts = cuts.rename({f"cut_{name}": name for name in by})
    same = [facts[name].identical_to(cuts[f"cut_{name}"]) for name in by]
    joined = facts.inner_join(cuts, same) if by else facts.cross_join(cuts)
    sums: dict[str, Value] = {}
    for n in range(count):
        value = joined[f"x{n}"]
        sums[f"b{n}"] = (value <= joined[f"q{n}"]).ifelse(1, 0).sum().cast("float64")
        sums[f"w{n}"] = value.count().cast("float64")
        sums[f"q{n}"] = joined[f"q{n}"].max()
    return joined.group_by("unit_id", *by).aggregate(**sums)


def _sum_units(units: Table, count: int, by: Sequence[str]) -> Table:
    sums: dict[str, Value] = {}
    for n in range(count):
        below, weight = units[f"b{n}"], units[f"w{n}"]
        sums |= {
            f"n{n}": (weight > 0).ifelse(1, 0).sum(),
            f"s{n}": below.sum(),
            f"t{n}": (below * below).sum(),
            f"d{n}": weight.sum(),
            f"e{n}": (weight * weight).sum(),
            f"c{n}": (below * weight).sum(),
            f"q{n}": units[f"q{n}"].max(),
        }
    return units.group_by(list(by)).aggregate(**sums) if by else units.aggregate(**sums)


def _read_ends(
    facts: Table, cases: Sequence[_Case], by: Sequence[str], level: float
) -> Mapping[tuple[Slice, str], dict[float, float | None]]:
    """Return the values at the levels that end the intervals, many in one scan."""
    wanted = [
        (case, at)
        for case in cases
        for at in levels_to_read(case.below, case.metric.quantile or 0.5, level) or ()
        if 0 < at < 1
    ]
    ends: dict[tuple[Slice, str], dict[float, float | None]] = {}
    for start in range(0, len(wanted), _MOST_READS):
        block = wanted[start : start + _MOST_READS]
        columns = {f"r{n}": _read(facts, case, at, by) for n, (case, at) in enumerate(block)}
        row = fetch_row(facts.aggregate(**columns))
        for n, (case, at) in enumerate(block):
            ends.setdefault((case.slice, case.metric.name), {})[at] = row[f"r{n}"]
    return ends


def _read(facts: Table, case: _Case, at: float, by: Sequence[str]) -> Value:
    ibis = load_ibis()
    value = case.metric.value(facts).cast("float64")
    where = None
    for name, wanted in zip(by, case.slice, strict=True):
        same = facts[name].isnull() if wanted is None else facts[name] == ibis.literal(wanted)
        where = same if where is None else where & same
    return value.quantile(at, where=where)
