"""The table of experiments: a page of rows, their differences to a pinned baseline, groups and a trend."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.core.errors import InputError
from assay.core.records import Experiment
from assay.core.tables import Scores
from assay.evaluation.comparability import ComparabilityReason, comparability_reasons
from assay.evaluation.compare import ComparisonOptions, compare_scores
from assay.evaluation.configuration import differing_settings
from assay.evaluation.experiment_fields import (
    ExperimentField,
    default_columns,
    default_measures,
    sort_experiments,
)
from assay.evaluation.trends import Trend
from assay.stats.comparison import Comparison
from assay.store.experiment_order import (
    SeriesPoint,
    count_experiments,
    count_groups,
    group_order,
    read_fields,
    read_series,
    sort_order,
)
from assay.store.saved_filters import SavedFilter, delete_filter, read_filters, save_filter
from assay.store.store import Store
from assay.views.compare import comparison_dict
from assay.views.trends import describe_reason, trend_dict
from assay.workflows.stores import open_existing_store
from assay.workflows.trends import read_trend

ROWS = 50
MAX_ROWS = 500
_TREND_POINTS = 30
_MAX_PINNED = 20
_LEAST_POINTS = 3  # of a series that is shown without being asked for
NO_BASELINE = "none"


@dataclass(frozen=True, kw_only=True)
class ExperimentTableRequest:
    """Which experiments, columns, order and groups to show, and with what to compare."""

    where: str = ""
    columns: Sequence[str] = ()  # measures, latencies, figures and settings; none: the usual ones
    sort: str = ""
    reverse: bool = False
    group: str = ""  # name, kind, tag or a setting
    baseline: str = ""  # the id of a pinned experiment, or `none`; empty: the newest pinned one
    series: str = ""  # the name whose trend is shown; empty: the one with most rows
    with_differing: bool = False  # also the settings that differ, and no column that is equal in all rows
    offset: int = 0
    limit: int = ROWS
    store: str | None = None

    def __post_init__(self) -> None:
        if self.offset < 0 or not 0 < self.limit <= MAX_ROWS:
            raise InputError(
                f"expected an offset of 0 or more and a limit from 1 to {MAX_ROWS}, found {self.offset} "
                f"and {self.limit}"
            )


@dataclass(frozen=True)
class Difference:
    """An experiment compared with the baseline, or why that cannot be done."""

    comparison: Comparison | None
    margin: float
    reasons: tuple[ComparabilityReason, ...] = ()

    @property
    def state(self) -> str:
        """better, worse, same or open; empty if the two cannot be compared."""
        return "" if self.comparison is None else self.comparison.state(self.margin)

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain data, with the keys that `assay compare --format json` prints."""
        if self.comparison is None:
            return {"state": None, "reasons": [describe_reason(reason) for reason in self.reasons]}
        return comparison_dict(self.comparison, self.margin)


@dataclass(frozen=True)
class ExperimentTable:
    """A page of the table."""

    experiments: tuple[Experiment, ...]  # without the baseline
    total: int  # that the filter admits
    stored: int  # of the store
    fields: tuple[ExperimentField, ...]
    available: tuple[ExperimentField, ...]
    measure: str  # of the differences, the trend and the groups; empty: none was measured
    baseline: Experiment | None
    pinned: tuple[Experiment, ...]
    differences: Mapping[str, Difference]  # by the id of the experiment
    groups: Mapping[str, str | None] = field(default_factory=dict)  # by the id of the experiment
    group_counts: Mapping[str | None, int] = field(default_factory=dict)
    series: Mapping[str, Sequence[SeriesPoint]] = field(default_factory=dict)  # by name, for groups by name
    trend: tuple[str, Trend] | None = None
    filters: tuple[SavedFilter, ...] = ()
    offset: int = 0
    has_more: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data; the experiments are as `assay experiments list` prints them."""
        return {
            "experiments": [experiment.to_dict() for experiment in self.experiments],
            "total": self.total,
            "offset": self.offset,
            "columns": [str(one) for one in self.fields],
            "available_columns": [str(one) for one in self.available],
            "measure": self.measure or None,
            "baseline": None if self.baseline is None else self.baseline.to_dict(),
            "differences": {name: value.to_dict() for name, value in self.differences.items()},
            "groups": dict(self.groups),
            "trend": None if self.trend is None else {"name": self.trend[0], **trend_dict(self.trend[1])},
            "filters": [one._asdict() for one in self.filters],
        }


def list_experiment_table(request: ExperimentTableRequest) -> ExperimentTable:
    """Return one page of the table; nothing but its rows is read."""
    sort = ExperimentField.parse(request.sort) if request.sort else None
    with open_existing_store(request.store) as store:
        pinned = store.list("pinned", limit=_MAX_PINNED) if request.baseline != NO_BASELINE else []
        baseline = _choose_baseline(pinned, request.baseline)
        rows = _read_rows(store, request, sort, baseline)
        experiments = rows[: request.limit]
        shown = [*([baseline] if baseline else []), *experiments]
        fields = _choose_fields(request, shown, sort)
        measure = _main_measure(fields, sort)
        groups = {e.id: _group_of(e, request.group) for e in experiments} if request.group else {}
        values = list(dict.fromkeys(groups.values()))
        is_first = not request.offset
        return ExperimentTable(
            experiments=tuple(experiments),
            total=count_experiments(store, request.where),
            stored=count_experiments(store),
            fields=fields,
            available=tuple(read_fields(store)) if is_first else (),
            measure=measure,
            baseline=baseline,
            pinned=tuple(pinned),
            differences=_compare_with(store, baseline, experiments, measure) if baseline else {},
            groups=groups,
            group_counts=count_groups(store, request.where, request.group, values) if groups else {},
            series=_read_group_series(store, request.group, measure, values),
            trend=_read_series_trend(store, request.series, measure, experiments) if is_first else None,
            filters=tuple(read_filters(store.database)) if is_first else (),
            offset=request.offset,
            has_more=len(rows) > request.limit,
        )


def _choose_baseline(pinned: Sequence[Experiment], wanted: str) -> Experiment | None:
    """Return the pinned experiment with an id, or the newest pinned one."""
    if not wanted or not pinned:
        return pinned[0] if pinned else None
    chosen = next((e for e in pinned if e.id == wanted), None)
    if chosen is None:
        raise InputError(
            f"expected the id of a pinned experiment as baseline, found {wanted!r}; pin it first"
        )
    return chosen


def _read_rows(
    store: Store,
    request: ExperimentTableRequest,
    sort: ExperimentField | None,
    baseline: Experiment | None,
) -> list[Experiment]:
    """Return the rows of the page, without the baseline, which has a place of its own."""
    parts = [f"({request.where})"] if request.where.strip() else []
    parts += [f"id != '{baseline.id}'"] if baseline else []
    order = [*(group_order(request.group) if request.group else ()), *sort_order(sort, request.reverse)]
    experiments = store.list(" and ".join(parts), limit=request.limit + 1, offset=request.offset, order=order)
    if sort and not request.offset and not request.group:  # refuses a field that none of them has
        sort_experiments(experiments, sort, request.reverse)
    return experiments


def _choose_fields(
    request: ExperimentTableRequest, shown: Sequence[Experiment], sort: ExperimentField | None
) -> tuple[ExperimentField, ...]:
    """Return the columns: the chosen or usual ones, that of the order, and the settings that differ."""
    chosen = [ExperimentField.parse(text) for text in request.columns]
    fields = [*(chosen or [*default_measures(shown), *default_columns(shown)]), *([sort] if sort else [])]
    if request.with_differing:
        differing = differing_settings({e.id: e.configuration for e in shown})
        fields = [one for one in fields if one == sort or _differs(one, shown)]
        fields += [ExperimentField("params", key) for key in differing]
    return tuple(dict.fromkeys(fields))


def _differs(one: ExperimentField, shown: Sequence[Experiment]) -> bool:
    return len({json.dumps(one.value(e), default=str) for e in shown}) > 1


def _main_measure(fields: Sequence[ExperimentField], sort: ExperimentField | None) -> str:
    measures = [one.key for one in (*([sort] if sort else []), *fields) if one.space == "metrics"]
    return measures[0] if measures else ""


def _group_of(experiment: Experiment, group: str) -> str | None:
    """Return the group of an experiment, as the database sorts it."""
    if group in ("name", "kind"):
        return str(getattr(experiment, group))
    if group == "tag":
        return experiment.tags[0] if experiment.tags else None
    value = ExperimentField.parse(group).value(experiment)
    return value if isinstance(value, str) or value is None else json.dumps(value)


def _read_group_series(
    store: Store, group: str, measure: str, values: Sequence[str | None]
) -> Mapping[str, Sequence[SeriesPoint]]:
    if group != "name" or not measure:
        return {}
    return read_series(store, measure, [value for value in values if value is not None], _TREND_POINTS)


def _read_series_trend(
    store: Store, name: str, measure: str, experiments: Sequence[Experiment]
) -> tuple[str, Trend] | None:
    """Return the trend of a name: the one asked for, else the one with most rows if they are several."""
    if not name:
        counts = Counter(e.name for e in experiments).most_common(1)
        name = counts[0][0] if counts and counts[0][1] >= _LEAST_POINTS else ""
    if not name or not measure:
        return None
    trend = read_trend(store, measure, name=name, limit=_TREND_POINTS)
    return (name, trend) if len(trend.points) > 1 else None


def _compare_with(
    store: Store, baseline: Experiment, experiments: Sequence[Experiment], measure: str
) -> dict[str, Difference]:
    """Return the corrected comparison of a baseline with rows by one measure, as `assay compare` makes it.

    The rows are corrected for together; those that are not comparable with the baseline have reasons.
    """
    options = ComparisonOptions()
    reasons = {e.id: _blocking_reasons(baseline, e, measure) for e in experiments}
    before = _read_scores(store, baseline, measure)
    others = {} if before is None else _comparable_scores(store, experiments, reasons, measure)
    differences = {e.id: Difference(None, options.margin, reasons[e.id]) for e in experiments}
    if before is not None and others:
        rows = compare_scores(before, others, baseline_name=baseline.id, options=options).rows
        differences |= {row.candidate_name: Difference(row, options.margin) for row in rows}
    return differences


def _blocking_reasons(a: Experiment, b: Experiment, measure: str) -> tuple[ComparabilityReason, ...]:
    if not measure:
        return ()
    return tuple(reason for reason in comparability_reasons(a, b, measure) if reason.blocks)


def _comparable_scores(
    store: Store,
    experiments: Sequence[Experiment],
    reasons: Mapping[str, Sequence[ComparabilityReason]],
    measure: str,
) -> dict[str, Scores]:
    scores = {e.id: _read_scores(store, e, measure) for e in experiments if not reasons[e.id]}
    return {name: values for name, values in scores.items() if values is not None}


def _read_scores(store: Store, experiment: Experiment, measure: str) -> Scores | None:
    digest = experiment.digests.get("scores")
    if not measure or digest is None or not store.tables.has(digest):
        return None
    scores = store.scores(experiment, only=measure)
    return scores if scores is not None and measure in scores.values else None


def export_experiment_table(request: ExperimentTableRequest) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of all experiments that the filter admits, with intervals and n."""
    sort = ExperimentField.parse(request.sort) if request.sort else None
    order = sort_order(sort, request.reverse)
    with open_existing_store(request.store) as store:
        first = store.list(request.where, limit=MAX_ROWS, order=order)
        fields = _choose_fields(request, first, sort)
        rows, page = [_export_row(e, fields) for e in first], first
        while len(page) == MAX_ROWS:
            page = store.list(request.where, limit=MAX_ROWS, offset=len(rows), order=order)
            rows += [_export_row(e, fields) for e in page]
    head = ["id", "name", "at", "kind", "tags", "pinned", "note"]
    return head + [name for one in fields for name in _export_head(one)], rows


def _export_head(one: ExperimentField) -> list[str]:
    names = [str(one)]
    return [*names, f"{one} low", f"{one} high", f"{one} n"] if one.space == "metrics" else names


def _export_row(e: Experiment, fields: Sequence[ExperimentField]) -> list[str]:
    row: list[Any] = [e.id, e.name, e.at.isoformat(), e.kind, " ".join(e.tags), e.pinned, e.note]
    for one in fields:
        metric = e.metric(one.key) if one.space == "metrics" else None
        if one.space != "metrics":
            row.append(one.value(e))
        else:
            row += [None] * 4 if metric is None else [metric.value, metric.low, metric.high, metric.n]
    return ["" if value is None else value if isinstance(value, str) else json.dumps(value) for value in row]


@dataclass(frozen=True, kw_only=True)
class SaveFilterRequest:
    """A state of the table to keep under a name, or a name to remove."""

    name: str
    address: str = ""
    store: str | None = None


def keep_filter(request: SaveFilterRequest) -> SavedFilter:
    """Save a state of the table under a name."""
    value = SavedFilter(request.name.strip(), request.address)
    with open_existing_store(request.store) as store:
        save_filter(store.database, value)
    return value


def remove_filter(request: SaveFilterRequest) -> None:
    """Remove a saved filter."""
    with open_existing_store(request.store) as store:
        delete_filter(store.database, request.name)
