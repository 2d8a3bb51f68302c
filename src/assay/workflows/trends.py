"""Trends of the experiments in a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from assay.core.recent_values import RecentValues
from assay.core.records import Experiment
from assay.core.tables import Scores
from assay.evaluation.comparability import ComparabilityReason
from assay.evaluation.trends import Trend, make_trend
from assay.measures import Measure
from assay.store.datasets import DatasetVersions
from assay.store.experiment_order import find_experiment_ids, read_experiments
from assay.store.store import Store

_trends = RecentValues[Trend](100)  # of experiments, whose figures never change


def read_trend(
    store: Store,
    measure: Measure | str,
    *,
    column: str = "",
    value: str = "",
    name: str | None = None,
    where: str = "",
    limit: int | None = None,
    level: float = 0.95,
) -> Trend:
    """Return the trend of one system (by name or filter) by one measure, over all queries or a slice."""

    ids = find_experiment_ids(store, where, names=[name] if name else (), limit=limit)[::-1]
    key = (store.database.url, tuple(ids), str(measure), column, value, level)
    trend = _trends.get(key, lambda: _compute(store, ids, measure, column, value, level))
    if not any(point.reasons for point in trend.points):
        return trend
    labels = DatasetVersions(store).labels_by_qrels()
    points = (replace(point, reasons=name_reasons(point.reasons, labels)) for point in trend.points)
    return replace(trend, points=tuple(points))


def _compute(
    store: Store, ids: Sequence[str], measure: Measure | str, column: str, value: str, level: float
) -> Trend:
    def read_scores(experiment: Experiment, measure: str) -> Scores | None:
        digest = experiment.digests.get("scores")
        is_stored = digest is not None and store.tables.has(digest)
        return store.scores(experiment, only=measure) if is_stored else None

    experiments = read_experiments(store, ids)
    chosen = [experiments[one] for one in ids if one in experiments]
    return make_trend(chosen, read_scores, measure, column=column, value=value, level=level)


def name_reasons(
    reasons: Iterable[ComparabilityReason], labels: Mapping[str, str]
) -> tuple[ComparabilityReason, ...]:
    """Return reasons that name the versions of the evaluation set whose judgments differ."""
    return tuple(
        reason._replace(names=(labels.get(reason.first or "", ""), labels.get(reason.second or "", "")))
        for reason in reasons
    )
