"""The sums of a table of units, computed by its database in one pass."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.core.errors import FormatError, InputError, first_line
from assay.online.ab.cells import DAY, Cell, TestSums
from assay.online.ab.design import MetricColumns
from assay.online.ab.unit_columns import ChosenColumns, UnitColumns, choose_columns
from assay.online.ab.unit_values import read_quantiles, refuse_texts
from assay.online.event_tables import load_ibis
from assay.stats.moments import Moments

if TYPE_CHECKING:
    from ibis.expr.types import NumericColumn, Scalar, Table

_MOST_CELLS = 200_000
_SUMS = ("sum", "denominator_sum", "covariate_sum", "covariate_denominator_sum")
_SQUARES = tuple(f"{name}_squares" for name in _SUMS)
_CROSSES = {
    (0, 1): "cross",
    (0, 2): "cross_covariate",
    (1, 2): "denominator_cross_covariate",
    (0, 3): "cross_covariate_denominator",
    (1, 3): "denominator_cross_covariate_denominator",
    (2, 3): "covariate_cross",
}


def sum_units(table: Table, columns: UnitColumns, path: str = "", level: float = 0.95) -> TestSums:
    """Return the sums of a table with one row for each unit; `level` is that of the quantiles."""
    types = {name: _is_number(kind) for name, kind in table.schema().items()}
    try:
        refuse_texts(table, [name for name in types if not types[name]], columns)
        chosen = choose_columns(types, columns)
        return _sum_chosen(table, columns, chosen, level)
    except InputError as error:
        raise FormatError(str(error), path) from None
    except Exception as error:  # each database has its own
        raise FormatError(f"the units cannot be read: {first_line(error)}", path) from None


def _is_number(kind: Any) -> bool:
    return bool(kind.is_numeric() or kind.is_boolean())


def _sum_chosen(table: Table, columns: UnitColumns, chosen: ChosenColumns, level: float) -> TestSums:
    units, excluded = _distinct_units(table, columns)
    metrics = [metric for metric in chosen.metrics if metric.quantile is None]
    keys = {"variant": units[columns.variant].cast("string")}
    keys |= {f"key{i}": _key(units, role, name) for i, (role, name) in enumerate(chosen.groups.items())}
    sums: dict[str, Scalar] = {"n": units.count()}
    for place, metric in enumerate(metrics):
        sums |= {f"m{place}_{name}": value for name, value in _sums_of(units, metric).items()}
    rows = units.group_by(**keys).aggregate(**sums).to_pyarrow().to_pylist()
    if len(rows) > _MOST_CELLS:
        raise InputError(
            f"expected at most {_MOST_CELLS:,} combinations of days, strata and slices, found {len(rows):,}"
        )
    unassigned = sum(row["n"] for row in rows if row["variant"] is None)
    excluded |= {"no variant": unassigned} if unassigned else {}
    rows = [row for row in rows if row["variant"] is not None]
    _check_numbers(rows, metrics, units, columns)
    cells = _read_cells(rows, metrics, len(chosen.groups))
    quantiles = read_quantiles(units, chosen.metrics, columns.variant, level)
    return TestSums(cells, tuple(chosen.groups), _notes(chosen), excluded, quantiles)


def _notes(chosen: ChosenColumns) -> list[str]:
    listing = ", ".join(chosen.ignored)
    return [f"columns without numbers are no metrics: {listing}"] * bool(listing)


def _key(units: Table, role: str, name: str) -> Any:
    """Return a column that divides the sums as text; a day without its time."""
    column = units[name]
    if role != DAY or column.type().is_integer():
        return column.cast("string")
    return column.cast("date").cast("string")


def _distinct_units(table: Table, columns: UnitColumns) -> tuple[Table, dict[str, int]]:
    """Return the units that have one row, and how many units were left out, by the reason."""
    if has_distinct_units(table, columns.unit):
        return table, {}
    without_id = int(table[columns.unit].isnull().sum().to_pyarrow().as_py() or 0)
    excluded = {"no unit id": without_id} if without_id else {}
    return _leave_out_repeated(table.filter(table[columns.unit].notnull()), columns, excluded)


def has_distinct_units(table: Table, unit: str) -> bool:
    """Return whether each unit has one row; if not for certain, the rows are counted by unit."""
    backend = table.get_backend()
    if backend.name != "duckdb":
        counts = table.aggregate(rows=table.count(), units=table[unit].nunique()).to_pyarrow().to_pylist()[0]
        return bool(counts["rows"] == counts["units"])
    quoted = unit.replace('"', '""')
    hashes = backend.raw_sql(f'SELECT hash("{quoted}") AS h FROM ({table.compile()})')
    column = hashes.fetchnumpy()["h"]  # equal hashes of different units are counted by unit, too
    column.sort()
    return not bool((column[1:] == column[:-1]).any())


def _leave_out_repeated(
    table: Table, columns: UnitColumns, excluded: dict[str, int]
) -> tuple[Table, dict[str, int]]:
    """Leave out the units that are in several variants; a unit with two rows in one variant is an error."""
    rows = table.group_by(unit=table[columns.unit]).aggregate(
        rows=table.count(), variants=table[columns.variant].nunique()
    )
    repeated = rows.filter((rows["variants"] == 1) & (rows["rows"] > 1))
    example = repeated.order_by("unit").limit(1).to_pyarrow().to_pylist()
    if example:
        count = int(repeated.count().to_pyarrow().as_py())
        noun = "unit has" if count == 1 else "units have"
        raise InputError(
            f"expected one row for each unit, but {count:,} {noun} several, such as "
            f"{example[0]['unit']!r} with {example[0]['rows']}: add up the rows of a unit"
        )
    mixed = rows.filter(rows["variants"] > 1).select("unit")
    count = int(mixed.count().to_pyarrow().as_py())
    if not count:
        return table, excluded
    kept = table.anti_join(mixed, table[columns.unit] == mixed["unit"])
    return kept, {**excluded, "in several variants": count}


def _sums_of(units: Table, metric: MetricColumns) -> dict[str, Scalar]:
    """Return the sums of one metric over the units that have it."""
    names = [metric.value, metric.denominator, metric.covariate, metric.covariate_denominator]
    parts: list[Any] = [_number(units, name) if name else None for name in names]
    value, denominator, covariate, _ = parts
    if denominator is None:
        if covariate is None:
            return {"n": value.count(), "sum": value.sum(), "sum_squares": (value * value).sum()}
        return _sums_with_covariate(value, covariate)
    is_defined = value.notnull() & denominator.notnull()
    if covariate is not None:  # a unit without a past adds nothing
        parts[2:] = [part.fill_null(0.0) for part in parts[2:]]
    sums = {"n": is_defined.sum(), "least": denominator.min()}
    for place, part in enumerate(parts):
        if part is not None:
            sums[_SUMS[place]] = part.sum(where=is_defined)
            sums[_SQUARES[place]] = (part * part).sum(where=is_defined)
    for (first, second), name in _CROSSES.items():
        a, b = parts[first], parts[second]
        if a is not None and b is not None:
            sums[name] = (a * b).sum(where=is_defined)
    return sums


def _sums_with_covariate(value: Any, covariate: Any) -> dict[str, Scalar]:
    """Return the sums of a mean with a covariate, which new units lack."""
    has_value, has_covariate = value.notnull(), covariate.notnull()
    return {
        "n": value.count(),
        "sum": value.sum(),
        "sum_squares": (value * value).sum(),
        "known": (has_value & has_covariate).sum(),
        "known_sum": value.sum(where=has_covariate),
        "covariate_sum": covariate.sum(where=has_value),
        "covariate_sum_squares": (covariate * covariate).sum(where=has_value),
        "cross_covariate": (value * covariate).sum(),
    }


def _number(units: Table, name: str) -> NumericColumn:
    """Return a column as numbers; a truth is 0 or 1."""
    ibis, column = load_ibis(), units[name]
    if column.type().is_boolean():  # PostgreSQL casts no truth
        column = ibis.cases((column, 1), (~column, 0), else_=ibis.null("int64"))
    return column.cast("float64")


def _check_numbers(
    rows: Sequence[Mapping[str, Any]], metrics: Sequence[MetricColumns], units: Table, columns: UnitColumns
) -> None:
    """Refuse values that are no finite numbers, and denominators below 0."""
    for place, metric in enumerate(metrics):
        own = [{k.removeprefix(f"m{place}_"): v for k, v in row.items()} for row in rows]
        sums = [row[f"m{place}_sum_squares"] for row in rows]
        sums += [value for row in own for key, value in row.items() if key.endswith("sum_squares")]
        if not all(math.isfinite(value) for value in sums if isinstance(value, float)):
            _refuse_infinite(metric, units, columns)
        if any((row.get(f"m{place}_least") or 0) < 0 for row in rows):
            raise InputError(
                f"{metric.name}: expected counts of 0 or more in {metric.denominator}, found less"
            )


def _refuse_infinite(metric: MetricColumns, units: Table, columns: UnitColumns) -> None:
    for name in (metric.value, metric.denominator, metric.covariate, metric.covariate_denominator):
        if name is None or not units[name].type().is_floating():
            continue
        wrong = units.filter(units[name].isnan() | units[name].isinf())
        rows = wrong.select(unit=wrong[columns.unit].cast("string")).order_by("unit").limit(1)
        example = rows.to_pyarrow().to_pylist()
        if example:
            count = int(wrong.count().to_pyarrow().as_py())
            raise InputError(
                f"expected finite numbers in {name}, found NaN or infinity in {count:,} "
                f"row{'s' * (count != 1)}, such as unit {example[0]['unit']!r}: "
                "leave the cell empty where a unit has no value"
            )
    raise InputError(f"the squares of {metric.value} are too large to add up: divide the values")


def _read_cells(rows: Sequence[Mapping[str, Any]], metrics: Sequence[MetricColumns], keys: int) -> list[Cell]:
    fills = [_mean_covariate(rows, place) for place in range(len(metrics))]
    return [
        Cell(
            row["variant"],
            tuple(row[f"key{i}"] for i in range(keys)),
            int(row["n"]),
            {m.name: _read_moments(row, place, fills[place]) for place, m in enumerate(metrics)},
        )
        for row in rows
    ]


def _mean_covariate(rows: Sequence[Mapping[str, Any]], place: int) -> float:
    """Return the mean of a covariate over all arms, which stands for it in units that lack it."""
    known = sum(row.get(f"m{place}_known") or 0 for row in rows)
    total = sum(row.get(f"m{place}_covariate_sum") or 0.0 for row in rows)
    return total / known if known else 0.0


def _read_moments(row: Mapping[str, Any], place: int, fill: float) -> Moments:
    prefix = f"m{place}_"
    sums = {key.removeprefix(prefix): value or 0 for key, value in row.items() if key.startswith(prefix)}
    sums.pop("least", None)
    if "known" in sums:
        missing, rest = sums["n"] - sums.pop("known"), sums["sum"] - sums.pop("known_sum")
        sums["covariate_sum"] += missing * fill
        sums["covariate_sum_squares"] += missing * fill**2
        sums["cross_covariate"] += rest * fill
    return Moments(n=int(sums.pop("n")), **sums)
