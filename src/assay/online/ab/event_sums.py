"""The sums of an A/B test from a log of events: one row for each user, then one for each variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from assay.core.errors import InputError
from assay.online.ab.cells import TestSums
from assay.online.ab.traffic import IN_SEVERAL
from assay.online.ab.unit_columns import DENOMINATOR_SUFFIX, UnitColumns
from assay.online.ab.unit_sums import sum_units
from assay.online.event_tables import EventTables, fetch_row, load_ibis
from assay.online.metrics.metric import DEFAULT_SETTINGS, Metric, MetricSettings
from assay.online.metrics.query_facts import check_columns
from assay.online.metrics.winsorised import winsorise
from assay.online.unit_quantiles import unit_quantiles
from assay.online.units import UNIT, UnitQueries
from assay.stats.clustered_quantiles import ClusteredQuantile

if TYPE_CHECKING:
    from ibis.expr.types import Table

BEFORE_SUFFIX = "__before"  # of the value of a metric before the test
_SLICE = "slice_of_"


@dataclass(frozen=True, kw_only=True)
class LoggedTest:
    """Which queries of a log belong to a test, and what is computed of them."""

    metrics: Sequence[Metric]
    experiment: str | None = None  # its experiment_id; None: the only one of the log
    start: str | None = None  # the first day; what users did before is their past
    uses_past: bool = False  # CUPED: the same metrics before the test explain some of the variance
    stratum: str | None = None
    by: Sequence[str] = ()  # a unit belongs to the slice of its first query in the test
    unit: str = UNIT
    settings: MetricSettings = DEFAULT_SETTINGS
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.uses_past and self.start is None:
            raise InputError(
                "--cuped needs the first day of the test, before which events are the past: --start"
            )


def sum_events(tables: EventTables, test: LoggedTest) -> TestSums:
    """Return the sums of each variant of a test over its units."""
    columns = list(dict.fromkeys(filter(None, (test.stratum, *test.by))))
    check_columns(columns, tables, "--by")
    queries = UnitQueries(tables, test.metrics, columns, test.unit, test.settings)
    names = [*queries.columns, *(["experiment_id"] if "experiment_id" in queries.facts.columns else [])]
    facts = queries.facts.select(*names).cache()
    caps: Mapping[str, float] = {}
    if test.settings.winsorise is not None:
        cut, caps = winsorise(test.metrics, facts, test.settings.winsorise)
        queries = replace(queries, metrics=cut)
    own = _queries_of_test(facts, test)
    units = _unit_table(queries, facts, own, test, columns).cache()
    sums = sum_units(units, _unit_columns(queries.metrics, test, columns))
    return replace(
        sums,
        notes=[*sums.notes, *_notes(facts, own, caps)],
        quantiles=_quantiles(own, queries.metrics, test.level, sums.excluded),
    )


def _queries_of_test(facts: Table, test: LoggedTest) -> Table:
    """Return the facts of the queries that have a variant of the test, from its first day on."""
    own = facts.filter(facts.variant.notnull())
    if test.experiment is not None:
        own = own.filter(own.experiment_id == test.experiment)
    _check_experiment(facts, own, test.experiment)
    if test.start is None:
        return own
    own = own.filter(own["at"] >= _time(test.start))
    if not fetch_row(own.aggregate(n=own.count()))["n"]:
        raise InputError(f"--start {test.start}: no query of the test is on or after this day")
    return own


def _check_experiment(facts: Table, own: Table, experiment: str | None) -> None:
    """Refuse a log of several experiments unless one is named, and one that it does not have."""
    has_variant = facts.filter(facts.variant.notnull())
    rows = has_variant.group_by("experiment_id").aggregate(n=has_variant.count()).to_pyarrow().to_pylist()
    names = sorted(str(row["experiment_id"]) for row in rows if row["experiment_id"] is not None)
    if experiment is not None and experiment not in names:
        found = ", ".join(names[:10]) or "none"
        raise InputError(f"--experiment {experiment}: the log has no such experiment_id; found {found}")
    if experiment is None and len(rows) > 1 and len(names) > 1:
        raise InputError(
            f"the log has {len(names)} experiments ({', '.join(names[:10])}): name one with --experiment"
        )


def _time(day: str) -> Any:
    from datetime import datetime

    try:
        time = datetime.fromisoformat(day)
    except ValueError:
        raise InputError(f"--start expects a day such as 2026-01-08, found {day!r}") from None
    return load_ibis().literal(time.replace(tzinfo=None), type="timestamp")


def _unit_table(
    queries: UnitQueries, facts: Table, own: Table, test: LoggedTest, columns: Sequence[str]
) -> Table:
    """Return one row for each unit and variant, with its slices and its past."""
    units = queries.unit_table(["variant"], own)
    if columns:
        first = own.group_by(["unit_id", "variant"]).aggregate(
            **{f"{_SLICE}{name}": own[name].argmin(own["at"]) for name in columns}
        )
        first = first.rename({"other_unit": "unit_id", "other_variant": "variant"})
        same = [units.unit_id == first.other_unit, units.variant == first.other_variant]
        units = units.left_join(first, same).drop("other_unit", "other_variant")
    if not test.uses_past or test.start is None:
        return units
    past = queries.unit_table([], facts.filter(facts["at"] < _time(test.start)))
    names = {_before(name): name for name in past.columns if name not in ("unit_id", "first_at")}
    past = past.drop("first_at").rename({"past_unit": "unit_id", **names})
    return units.left_join(past, units.unit_id == past.past_unit).drop("past_unit")


def _before(name: str) -> str:
    """Return the name of a column of the past, which is no metric of its own."""
    stem = name.removesuffix(DENOMINATOR_SUFFIX)
    return f"{stem}{BEFORE_SUFFIX}{name.removeprefix(stem)}"


def _unit_columns(metrics: Sequence[Metric], test: LoggedTest, columns: Sequence[str]) -> UnitColumns:
    """Return what the columns of the table of units mean."""
    summed = [metric for metric in metrics if metric.quantile is None]
    covariates = {}
    if test.uses_past:
        for metric in summed:
            parts = [metric.name, f"{metric.name}{DENOMINATOR_SUFFIX}"][: 1 + metric.is_ratio]
            covariates[metric.name] = [_before(part) for part in parts]
    return UnitColumns(
        metrics=[metric.name for metric in summed],
        needs_metrics=bool(summed),
        covariates=covariates,
        day="first_at",
        stratum=f"{_SLICE}{test.stratum}" if test.stratum else None,
        by=[name for name in columns if name in test.by],
        slice_columns={name: f"{_SLICE}{name}" for name in columns},
    )


def _quantiles(
    own: Table, metrics: Sequence[Metric], level: float, excluded: Mapping[str, int]
) -> dict[str, dict[str, ClusteredQuantile]]:
    """Return the quantiles of each variant, without units in several variants."""
    wanted = [metric for metric in metrics if metric.quantile is not None]
    if not wanted:
        return {}
    if excluded.get(IN_SEVERAL):
        units = own.group_by("unit_id").aggregate(variants=own.variant.nunique())
        mixed = units.filter(units.variants > 1).select(mixed_unit=units.unit_id)
        own = own.anti_join(mixed, own.unit_id == mixed.mixed_unit)
    by_slice = unit_quantiles(own, wanted, ("variant",), level)
    return {
        metric.name: {str(key[0]): found[metric.name] for key, found in by_slice.items()} for metric in wanted
    }


def _notes(facts: Table, own: Table, caps: Mapping[str, float]) -> list[str]:
    counts = fetch_row(facts.aggregate(n=facts.count(), without=facts.variant.isnull().sum()))
    used = int(fetch_row(own.aggregate(n=own.count()))["n"])
    without = int(counts["without"] or 0)
    notes = [f"{used:,} of {int(counts['n']):,} queries belong to the test; {without:,} have no variant"]
    return notes + [f"{name}: values above {cap:g} count as {cap:g}" for name, cap in caps.items()]
