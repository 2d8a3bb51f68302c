"""Trends of the experiments in a store."""

from __future__ import annotations

from assay.core.records import Experiment
from assay.core.tables import Scores
from assay.evaluation.trends import Trend, make_trend
from assay.measures import Measure
from assay.store.store import Store


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

    def read_scores(experiment: Experiment, measure: str) -> Scores | None:
        digest = experiment.digests.get("scores")
        is_stored = digest is not None and store.tables.has(digest)
        return store.scores(experiment, only=measure) if is_stored else None

    experiments = store.list(where, names=[name] if name else (), limit=limit)[::-1]
    return make_trend(experiments, read_scores, measure, column=column, value=value, level=level)
