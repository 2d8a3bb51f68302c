"""The stored queries of an experiment, with their texts and slices."""

from __future__ import annotations

from assay.core.recent_values import RecentValues
from assay.core.records import Experiment
from assay.core.tables import Queries
from assay.store.rankings import read_queries
from assay.workflows.stores import open_existing_store

_queries = RecentValues[Queries | None](8)


def query_texts(experiment: Experiment, store: str | None = None) -> Queries | None:
    """Return the queries of an experiment; None if they are not kept."""
    key = tuple(experiment.digests.get(role) for role in ("queries", "slices"))
    with open_existing_store(store) as opened:
        return _queries.get((opened.url, key), lambda: read_queries(opened, experiment))
