"""Which columns of a table of units are metrics, covariates, days, strata and slices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.core.errors import InputError
from assay.core.suggestions import did_you_mean
from assay.online.ab.cells import DAY, PHASE, STRATUM
from assay.online.ab.design import MetricColumns

DENOMINATOR_SUFFIX = "__denominator"
_RESERVED = ("day", "first_at", "phase", "stratum")


@dataclass(frozen=True, kw_only=True)
class UnitColumns:
    """What the columns of a table of units mean; metrics that are not named are found by their type."""

    unit: str = "unit_id"
    variant: str = "variant"
    metrics: Sequence[str] = ()  # empty: all columns of numbers that have no other meaning
    ratios: Mapping[str, Sequence[str]] = field(default_factory=dict)
    covariates: Mapping[str, Sequence[str]] = field(default_factory=dict)
    quantiles: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    needs_metrics: bool = True  # False: the metrics are computed from other tables
    day: str | None = None
    stratum: str | None = None
    phase: str | None = None
    by: Sequence[str] = ()
    slice_columns: Mapping[str, str] = field(default_factory=dict)  # where a slice has another name

    @property
    def numbers(self) -> set[str]:
        """The columns that are named as metrics, parts of metrics or covariates."""
        parts = [*self.ratios.values(), *self.covariates.values()]
        quantiles = [column for column, _ in self.quantiles.values()]
        return {*self.metrics, *quantiles, *(name for part in parts for name in part)}

    @property
    def groups(self) -> dict[str, str]:
        """The columns that divide the sums, by their names in the sums."""
        roles = {DAY: self.day, STRATUM: self.stratum, PHASE: self.phase}
        return {
            **{role: column for role, column in roles.items() if column},
            **{column: self.slice_columns.get(column, column) for column in self.by},
        }


@dataclass(frozen=True)
class ChosenColumns:
    """The metrics of a table, the columns that divide them, and the columns that are left out."""

    metrics: Sequence[MetricColumns]
    groups: Mapping[str, str]
    ignored: Sequence[str] = ()


def choose_columns(types: Mapping[str, bool], columns: UnitColumns) -> ChosenColumns:
    """Return the metrics of a table; `types` says of each column whether it has numbers.

    >>> chosen = choose_columns({"unit_id": False, "variant": False, "clicks": True}, UnitColumns())
    >>> [metric.name for metric in chosen.metrics]
    ['clicks']
    """
    _check_columns(types, columns)
    day = columns.day or next((name for name in ("day", "first_at") if name in types), None)
    groups = {**({DAY: day} if day else {}), **columns.groups}
    names = list(columns.metrics) or _find_metrics(types, columns, groups.values())
    names += [name for name in (*columns.ratios, *columns.quantiles) if name not in names]
    if not names and columns.needs_metrics:
        raise InputError(
            f"expected a column of numbers for each metric, found none; columns: {', '.join(types)}"
        )
    metrics = [_metric_columns(name, types, columns) for name in names]
    used = {columns.unit, columns.variant, *groups.values(), *_columns_used(metrics)}
    ignored = [name for name in types if name not in used and not types[name]]
    return ChosenColumns(metrics, groups, ignored)


def _check_columns(types: Mapping[str, bool], columns: UnitColumns) -> None:
    """Refuse names of columns that the table lacks, with the ones it has."""
    needed = {columns.unit: "unit_id", columns.variant: "variant"}
    for name, role in needed.items():
        if name not in types:
            option = f"--{'unit' if role == 'unit_id' else role}"
            raise InputError(
                f"expected a column {name}, found {', '.join(types)}: name it with {option} COLUMN"
            )
    _check_numeric(types, columns)
    for role, column in columns.groups.items():
        if column not in types:
            _refuse(column, {DAY: "--day", STRATUM: "--stratify", PHASE: "--phase"}.get(role, "--by"), types)


def _check_numeric(types: Mapping[str, bool], columns: UnitColumns) -> None:
    """Refuse columns of metrics that are not there, or that have no numbers."""
    derived = {*columns.ratios, *columns.quantiles}
    listed = [(name, "--metric") for name in columns.metrics if name not in derived]
    listed += [(column, "--ratio") for parts in columns.ratios.values() for column in parts]
    listed += [(column, "--covariate") for parts in columns.covariates.values() for column in parts]
    listed += [(column, "--quantile") for column, _ in columns.quantiles.values()]
    for name, option in listed:
        if name not in types:
            _refuse(name, option, types)
        if not types[name]:
            raise InputError(f"{option}: expected numbers in the column {name}, found another type")


def _refuse(name: str, option: str, types: Iterable[str]) -> None:
    hint = did_you_mean(name, types) or f"columns: {', '.join(types)}"
    raise InputError(f"{option}: there is no column {name}; {hint}")


def _find_metrics(types: Mapping[str, bool], columns: UnitColumns, groups: Iterable[str]) -> list[str]:
    """Return the columns of numbers that have no other meaning."""
    parts = [*columns.ratios.values(), *columns.covariates.values()]
    taken = {columns.unit, columns.variant, *groups, *_RESERVED, *(name for part in parts for name in part)}
    taken |= {column for column, _ in columns.quantiles.values()}
    numbers = [name for name, is_number in types.items() if is_number and name not in taken]
    return [name for name in numbers if not name.endswith(DENOMINATOR_SUFFIX)]


def _metric_columns(name: str, types: Mapping[str, bool], columns: UnitColumns) -> MetricColumns:
    if name in columns.quantiles:
        column, q = columns.quantiles[name]
        return MetricColumns(name, column, quantile=q)
    implied = f"{name}{DENOMINATOR_SUFFIX}"
    parts = columns.ratios.get(name) or ([name, implied] if implied in types else [name])
    covariates = columns.covariates.get(name) or ()
    if covariates and len(covariates) != len(parts):
        expected = "COLUMN/COLUMN, since it is a ratio" if len(parts) == 2 else "one COLUMN"
        raise InputError(f"--covariate {name}: expected {expected}, found {'/'.join(covariates)}")
    return MetricColumns(
        name,
        parts[0],
        parts[1] if len(parts) == 2 else None,
        covariates[0] if covariates else None,
        covariates[1] if len(covariates) == 2 else None,
    )


def _columns_used(metrics: Iterable[MetricColumns]) -> set[str]:
    parts = [(m.value, m.denominator, m.covariate, m.covariate_denominator) for m in metrics]
    return {column for part in parts for column in part if column}
