"""Keep what was measured online in the store, linked to the offline experiments that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.core.errors import InputError
from assay.core.online_records import (
    AB_TEST,
    BASELINE,
    CANDIDATE,
    DATASET,
    INTERLEAVING,
    ONLINE_METRICS,
    SHADOW,
)
from assay.core.records import Experiment
from assay.store.datasets import DatasetVersions
from assay.store.store import Store
from assay.workflows.recording import SavedExperiment
from assay.workflows.settings import PROJECT_FILE
from assay.workflows.store_location import store_url


@dataclass(frozen=True, kw_only=True)
class SaveOnlineRequest:
    """The name under which an online result is kept, and the offline evidence that it belongs to."""

    name: str
    offline: Sequence[str] = ()  # a baseline and a candidate: ids or names of experiments
    dataset: str | None = None  # a version of an evaluation set; None: that of the offline experiments
    tables: Mapping[str, str] = field(default_factory=dict)  # digests of tables by role
    store: str | None = None
    project: str | Path = PROJECT_FILE

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InputError("--save expects a name, found none")
        if len(self.offline) not in (0, 2):
            raise InputError(
                f"--offline expects BASELINE and CANDIDATE, two experiments, found {len(self.offline)}"
            )


def check_online_saving(request: SaveOnlineRequest) -> None:
    """Refuse experiments or a dataset version that are not in the store, before anything is computed."""
    if request.offline or request.dataset:
        with Store(store_url(request.store, request.project)) as store:
            _links(store, request)


def save_online(kind: str, body: Mapping[str, Any], request: SaveOnlineRequest) -> SavedExperiment:
    """Save the JSON of an A/B test, an interleaving, online metrics or a shadow report."""
    with Store(store_url(request.store, request.project)) as store:
        save = {
            AB_TEST: store.save_ab_test,
            INTERLEAVING: store.save_interleaving,
            ONLINE_METRICS: store.save_online_metrics,
            SHADOW: store.save_shadow_report,
        }[kind]
        links = {**_links(store, request), **request.tables}
        return SavedExperiment(request.name, save(request.name, body, links), store.url)


def _links(store: Store, request: SaveOnlineRequest) -> dict[str, str]:
    """Return the ids of the offline experiments and the digest of the dataset version, by role."""
    experiments = [store.get(name) for name in request.offline]
    links = dict(zip((BASELINE, CANDIDATE), (e.id for e in experiments), strict=False))
    digest = _dataset_digest(store, request, experiments)
    return {**links, DATASET: digest} if digest else links


def _dataset_digest(
    store: Store, request: SaveOnlineRequest, experiments: Sequence[Experiment]
) -> str | None:
    versions = DatasetVersions(store)
    if request.dataset:
        return versions.get(request.dataset).digest
    qrels = {e.digests.get("qrels") for e in experiments} - {None}
    return next((v.digest for v in versions.find() if v.digests.get("qrels") in qrels), None)
